/**
 * Values that come bit by bit. What they are is known only at their end: until then their chunks are staged, and
 * whoever reads ahead of the writer waits.
 *
 * Memory: a window that is being filled and cut, one whose chunks are being written, and the packs of those. All three
 * are used again and again: to take new memory for every megabyte costs more than hashing it.
 */

import { createHash } from 'node:crypto'

import type { Bytes } from '../../platform/bytes.ts'
import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { chunkEnds, chunkSizes } from '../../fingerprint/index.ts'
import { chunkOf, Stager } from '../contents/stage-content.ts'
import {
  type Preparation,
  STREAM_BYTES_MAX,
  type StoreStream,
  typeName,
  VALUE_BYTES_MAX,
} from '../prepare.ts'
import { withStaged } from '../transactions/staging.ts'

/** Pieces are copied into windows, which are cut: whoever gave them may use their memory again. */
const WINDOW_BYTES = 4 * 1024 * 1024

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
  const stager = await Stager.begin(backend, layout, check !== undefined)
  const digest = await withStaged(engine, stager.id, async () => {
    try {
      return await stageWindows(stager, pieces, layout.chunks?.averageBytes)
    } finally {
      await pieces.rest.return?.(undefined)
      await stager.settled()
    }
  })
  const { id, bytes, sharedBytes } = stager
  return { staged: { id, bytes, sharedBytes }, digest }
}

/** Returns the SHA-256 of all bytes. */
async function stageWindows(
  stager: Stager,
  pieces: Pieces,
  averageBytes: number | undefined,
): Promise<Buffer> {
  const windowBytes = Math.max(WINDOW_BYTES, 2 * chunkSizes(averageBytes).maxBytes)
  const sha256 = createHash('sha256')
  const filling = new Filling(pieces)
  let window: Buffer = Buffer.allocUnsafeSlow(windowBytes)
  let other: Buffer | undefined
  let written = Promise.resolve()
  let held = 0
  for (;;) {
    const used = await filling.fill(window, held)
    if (stager.bytes + used > STREAM_BYTES_MAX) throw tooLong()
    sha256.update(window.subarray(held, used))
    const isLast = used < windowBytes
    const ends = chunkEnds(window.subarray(0, used), { averageBytes })
    // The last chunk may go on in the next window, and is cut again there.
    if (!isLast) ends.pop()
    let start = 0
    for (const end of ends) {
      const full = stager.add(chunkOf(window.subarray(start, end)))
      if (full) await full
      start = end
    }
    const own = stager.flush()
    await written
    if (isLast) {
      await own
      return sha256.digest()
    }
    // Nobody reads the other window any more.
    other ??= Buffer.allocUnsafeSlow(windowBytes)
    held = window.copy(other, 0, start, used)
    written = own
    ;[window, other] = [other, window]
  }
}

/** Copies pieces into memory, one after another. */
class Filling {
  readonly #gathered: Iterator<Bytes>
  readonly #rest: AsyncIterator<Bytes>
  /** What is left of a piece that did not fit. */
  #left: Bytes | undefined

  constructor({ gathered, rest }: Pieces) {
    this.#gathered = gathered[Symbol.iterator]()
    this.#rest = rest
  }

  /** Fills a window from here on. Returns where it ended: before the end of the window only if there are no more. */
  async fill(window: Buffer, from: number): Promise<number> {
    let used = from
    while (used < window.byteLength) {
      const piece = this.#left ?? (await this.#next())
      if (!piece) break
      const taken = piece.subarray(0, window.byteLength - used)
      window.set(taken, used)
      used += taken.byteLength
      this.#left =
        taken.byteLength < piece.byteLength ? piece.subarray(taken.byteLength) : undefined
    }
    return used
  }

  async #next(): Promise<Bytes | undefined> {
    const gathered = this.#gathered.next()
    if (gathered.done !== true) return gathered.value
    const next = await this.#rest.next()
    return next.done === true ? undefined : next.value
  }
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
