/** `keys`: those of a store, one a line in a reversible notation, as bytes with NULs, or as JSON lines. */

import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { usageFailure } from '../call/failure.ts'
import { jsonOf, print } from '../print/output.ts'
import { READING, withStore } from '../call/with-store.ts'

const CHUNK_BYTES = 64 * 1024

export async function run(invocation: Invocation): Promise<number> {
  if (invocation.operands.length > 0) {
    const { manageApiKeys } = await import('../serve/api-keys.ts')
    return manageApiKeys(invocation)
  }
  const encode = encoderOf(invocation)
  const options = {
    prefix: invocation.keyOption('prefix'),
    startAfter: invocation.keyOption('after'),
    limit: invocation.wholeNumber('limit'),
  }
  await withStore(invocation, READING, async (store) => {
    let chunk: Buffer[] = []
    let bytes = 0
    for await (const key of store.keys(options)) {
      invocation.signal.throwIfAborted()
      const line = encode(key)
      chunk.push(line)
      bytes += line.byteLength
      if (bytes < CHUNK_BYTES) continue
      await print(Buffer.concat(chunk))
      chunk = []
      bytes = 0
    }
    await print(Buffer.concat(chunk))
  })
  return 0
}

function encoderOf(invocation: Invocation): (key: Buffer) => Buffer {
  const asJson = invocation.flag('json')
  if (asJson && invocation.flag('print0')) throw usageFailure('Give --json or --print0, not both.')
  if (asJson) return (key) => Buffer.from(`${jsonOf({ key })}\n`)
  if (invocation.flag('print0')) return (key) => Buffer.concat([key, Buffer.of(0)])
  return (key) => Buffer.from(`${notationOf(key)}\n`)
}
