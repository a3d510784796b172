/**
 * Values that come bit by bit. What they are is known only at their end: until then their chunks are staged, and
 * whoever reads ahead of the writer waits.
 *
 * Memory: a block that is being filled, a part that is gathered, one that is written.
 */

import { createHash } from 'node:crypto'

import { type Bytes, EMPTY } from '../../platform/bytes.ts'
import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { ContentChunker } from '../../fingerprint/index.ts'
import { chunkOf, Stager } from '../contents/stage-content.ts'
import {
  type Preparation,
  STREAM_BYTES_MAX,
  type StoreStream,
  typeName,
  VALUE_BYTES_MAX,
} from '../prepare.ts'
import { withStaged } from '../transactions/staging.ts'

/** Pieces are copied into blocks: whoever gave them may use their memory again. */
const BLOCK_BYTES = 1024 * 1024

export function isStream(value: unknown): value is StoreStream {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return false
  return value instanceof Blob || Symbol.asyncIterator in value
}

/** Pieces that were gathered, and those that follow. */
export interface Pieces {
  readonly gathered: readonly Bytes[]
  readonly rest: AsyncIterator<Bytes>
  readonly signal: AbortSignal | undefined
}

/** The whole value, if it is not longer than this. */
export async function gather(
  value: StoreStream,
  bytesMax: number,
  signal: AbortSignal | undefined,
): Promise<Buffer | Pieces> {
  const rest = piecesOf(value, signal)
  const gathered: Bytes[] = []
  let bytes = 0
  for (;;) {
    const next = await rest.next()
    if (next.done === true) return Buffer.concat(gathered)
    gathered.push(Buffer.from(next.value))
    bytes += next.value.byteLength
    if (bytes > bytesMax) return { gathered, rest, signal }
    if (bytes > VALUE_BYTES_MAX) {
      await rest.return(undefined)
      throw tooLongToGather()
    }
  }
}

/** Ends as soon as the signal says so, whatever the source is waiting for. */
async function* piecesOf(
  value: StoreStream,
  signal: AbortSignal | undefined,
): AsyncGenerator<Bytes> {
  const source: AsyncIterable<unknown> = value instanceof Blob ? value.stream() : value
  const iterator = source[Symbol.asyncIterator]()
  let stop: (() => void) | undefined
  const stopped =
    signal &&
    new Promise<'stopped'>((resolve) => {
      stop = () => resolve('stopped')
      if (signal.aborted) stop()
      signal.addEventListener('abort', stop, { once: true })
    })
  let isOver = false
  try {
    for (;;) {
      const next = await (stopped ? Promise.race([iterator.next(), stopped]) : iterator.next())
      if (next === 'stopped') signal?.throwIfAborted()
      else if (next.done === true) {
        isOver = true
        return
      } else yield pieceOf(next.value)
    }
  } finally {
    if (stop) signal?.removeEventListener('abort', stop)
    // Not waited for: a source that hangs would hold up whoever wants to stop.
    if (!isOver) iterator.return?.(undefined).catch(() => undefined)
  }
}

function pieceOf(piece: unknown): Bytes {
  if (piece instanceof Uint8Array) return piece
  throw new PrestigeError(
    'INVALID_VALUE',
    `A stream of a value gives bytes, not ${typeName(piece)}.`,
  )
}

export interface StagedStream {
  readonly staged: { readonly id: Buffer; readonly bytes: number; readonly sharedBytes: number }
  readonly digest: Buffer
}

/** `engine`: takes back what was staged, also when `backend`, which the call sees of it, was given up. */
export async function stageStream(
  engine: Backend,
  backend: Backend,
  { layout, check }: Preparation,
  pieces: Pieces,
): Promise<StagedStream> {
  const sha256 = createHash('sha256')
  const chunker = new ContentChunker({ averageBytes: layout.chunks?.averageBytes })
  const stager = await Stager.begin(backend, layout, check !== undefined)
  await withStaged(engine, stager.id, async () => {
    try {
      const add = async (chunks: readonly Bytes[]) => {
        for (const chunk of chunks) {
          const full = stager.add(chunkOf(chunk))
          if (full) await full
        }
      }
      for await (const block of blocksOf(pieces)) {
        if (stager.bytes + block.byteLength > STREAM_BYTES_MAX) throw tooLong()
        sha256.update(block)
        await add(chunker.push(block))
      }
      await add(chunker.finish())
      await stager.finish()
    } finally {
      await pieces.rest.return?.(undefined)
      await stager.settled()
    }
  })
  const { id, bytes, sharedBytes } = stager
  return { staged: { id, bytes, sharedBytes }, digest: sha256.digest() }
}

/** All pieces one after another, in blocks that nobody else can change. */
async function* blocksOf({ gathered, rest }: Pieces): AsyncGenerator<Buffer> {
  let block = EMPTY
  let used = 0
  const fill = function* (piece: Bytes): Generator<Buffer> {
    for (let from = 0; from < piece.byteLength;) {
      if (used === block.byteLength) {
        if (used > 0) yield block
        block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
        used = 0
      }
      const taken = piece.subarray(from, from + block.byteLength - used)
      block.set(taken, used)
      used += taken.byteLength
      from += taken.byteLength
    }
  }
  for (const piece of gathered) yield* fill(piece)
  for (;;) {
    const next = await rest.next()
    if (next.done === true) break
    yield* fill(next.value)
  }
  if (used > 0) yield block.subarray(0, used)
}

/** Of stores that need all bytes of a value at once: by their format, or to know its canonical form. */
function tooLongToGather(): PrestigeError {
  return new PrestigeError(
    'INVALID_VALUE',
    `A value of this store has at most ${VALUE_BYTES_MAX} bytes. Only stores of format 3 without a canonical profile take longer streams.`,
  )
}

function tooLong(): PrestigeError {
  return new PrestigeError(
    'INVALID_VALUE',
    `A stream has at most ${STREAM_BYTES_MAX} bytes. Cut it into pieces.`,
  )
}
