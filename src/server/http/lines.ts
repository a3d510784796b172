/** JSON Lines as an answer: they are sent as they come. */

import { prestigeError } from '../../platform/errors.ts'

/** What is written to the client at once, if it is there. */
const BLOCK_BYTES = 64 * 1024

/** One line each. A failure after the beginning ends the answer with a line that says so. */
export function linesResponse(lines: AsyncIterable<unknown>, init: ResponseInit = {}): Response {
  const headers = new Headers(init.headers)
  headers.set('content-type', 'application/x-ndjson')
  return new Response(streamOf(blocksOf(lines)), { ...init, headers })
}

async function* blocksOf(lines: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  let block = ''
  try {
    for await (const line of lines) {
      block += `${JSON.stringify(line)}\n`
      if (block.length < BLOCK_BYTES) continue
      yield Buffer.from(block)
      block = ''
    }
  } catch (error) {
    block += `${JSON.stringify(failedLine(error))}\n`
  }
  if (block !== '') yield Buffer.from(block)
}

/** What failed, as a line has it. What is no error of ours may have anything in its message, and keeps it. */
export function failedLine(thrown: unknown): {
  readonly ok: false
  readonly code: string
  readonly message: string
} {
  const { code, message } = prestigeError(thrown)
  return { ok: false, code, message: code === 'UNEXPECTED' ? 'The server failed.' : message }
}

function streamOf(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await pieces.next()
        if (next.done === true) controller.close()
        else controller.enqueue(next.value)
      },
      async cancel() {
        await pieces.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}
