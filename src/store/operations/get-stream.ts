/** A value as a stream: only the chunks that are asked for are read, and only as they are taken. */

import { ReadableStream } from 'node:stream/web'

import { asBuffer, type Bytes, equalBytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { type Backend, cell, read, type ReadScope, type Transaction } from '../../backends/index.ts'
import type { Layout } from '../contents/layout.ts'
import { readBatches } from '../contents/read-content.ts'
import type { CallOptions } from '../call-options.ts'
import type { StoreCore } from '../core.ts'
import type { Notes } from '../observe.ts'
import { keyBytes, refuseUnknown, type StoreKey } from '../prepare.ts'
import { readLongOf, readValue } from '../read-value.ts'
import { digests, type Entry } from '../rows.ts'
import { damaged, findBoth, findEntry, type Found, type Reading } from '../transactions/get.ts'
import { type Head, headOf, noted, reading as readingCall } from './get.ts'

export interface GetStreamOptions {
  /** The first byte. Default: 0. */
  readonly start?: number | undefined
  /** The byte behind the last one, as in `slice`; one behind the end of the value means its end. Default: the end. */
  readonly end?: number | undefined
  /** Stops when it is aborted, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
}

/** A value together with what is known of it, both of one moment. */
export interface ValueWithHead {
  readonly head: Head
  /** Absent: the value is long, and is read by `stream`. */
  readonly value?: Buffer
  /** The bytes, or those of a range, as they are read. Another value is never given: CONTENDED, if it was replaced. */
  stream(options?: GetStreamOptions): ReadableStream<Uint8Array>
}

/** Entry and bytes are read in one transaction; of a long value, the entry. */
export async function getWithHead(
  core: StoreCore,
  key: StoreKey,
  options: CallOptions,
): Promise<ValueWithHead | undefined> {
  const { gate, observer, lifecycle } = core
  const bytes = keyBytes(key)
  return readingCall(core, 'The get', options, (backend) =>
    gate.pass(async () => {
      const work = (notes?: Notes) => withHead(backend, core, bytes, notes)
      const found = await (observer ? observer.observe('get', work) : work())
      if (found && lifecycle.tracksReads) await lifecycle.used(bytes)
      return found
    }),
  )
}

async function withHead(
  backend: Backend,
  { backend: engine, reading }: StoreCore,
  key: Buffer,
  notes: Notes | undefined,
): Promise<ValueWithHead | undefined> {
  notes?.attribute('key_bytes', key.byteLength)
  const found = await backend.read(findWithHead, key, reading)
  if (notes) noted(found?.bytes, found !== undefined, notes)
  if (!found) return undefined
  const { layout } = reading
  // The parts of an old format are not read bit by bit.
  const whole =
    found.bytes === undefined && !layout.chunks
      ? await readLongOf(backend, key, found.entry, reading)
      : found
  if (!whole) return undefined
  const { entry } = whole
  const value = whole.bytes && asBuffer(whole.bytes)
  const stream = (options: GetStreamOptions = {}) => {
    const { start, end } = rangeOf(options)
    if (value) return streamOf(only(value.subarray(start, Math.max(start, end))), options.signal)
    const range = { start, end: Math.min(end, entry.bytes), checks: reading.check !== undefined }
    return streamOf(pieces(engine, key, entry, range), options.signal)
  }
  return { head: headOf(entry), ...(value && { value }), stream }
}

/** As `findSound`: nobody will hash a long value whole. */
function* findWithHead(
  scope: ReadScope,
  key: Bytes,
  reading: Reading,
): Transaction<Found | undefined> {
  const found = yield* findBoth(scope, key, reading)
  if (found && !found.bytes) yield* requireSound(key, found.entry)
  return found
}

/** `undefined`: there is no such key. */
export async function getStream(
  backend: Backend,
  key: Buffer,
  reading: Reading,
  options: GetStreamOptions,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const { signal } = options
  const { start, end } = rangeOf(options)
  signal?.throwIfAborted()
  const { layout } = reading
  const entry = await backend.read(findSound, key, layout)
  if (entry === undefined) return undefined
  const range = { start, end: Math.min(end, entry.bytes), checks: reading.check !== undefined }
  if (layout.chunks && layout.isLong(entry.bytes))
    return streamOf(pieces(backend, key, entry, range), signal)
  const value = await readValue(backend, key, reading)
  return value && streamOf(only(value.subarray(start, Math.max(start, end))), signal)
}

function rangeOf(options: GetStreamOptions): { readonly start: number; readonly end: number } {
  refuseUnknown(options, ['start', 'end', 'signal'])
  return {
    start: placeOf('start', options.start ?? 0),
    end: placeOf('end', options.end ?? Number.MAX_SAFE_INTEGER),
  }
}

function placeOf(name: string, place: number): number {
  if (Number.isSafeInteger(place) && place >= 0) return place
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${name} is a number of bytes from 0, not ${String(place)}.`,
  )
}

async function* only(value: Buffer): AsyncGenerator<readonly Bytes[]> {
  if (value.byteLength > 0) yield [value]
}

/** The entry of a key. That of a long value must point at the content of its digest: nobody will hash it whole. */
function* findSound(scope: ReadScope, key: Bytes, layout: Layout): Transaction<Entry | undefined> {
  const entry = yield* findEntry(scope, key)
  if (entry !== undefined && layout.isLong(entry.bytes)) yield* requireSound(key, entry)
  return entry
}

function* requireSound(key: Bytes, entry: Entry): Transaction<void> {
  const [known] = yield* read(cell(digests, entry.digest))
  if (!known || !equalBytes(known.id, entry.id)) throw damaged(key)
}

/** Never other bytes: what ends early was deleted or replaced meanwhile, or is damaged. */
async function* pieces(
  backend: Backend,
  key: Buffer,
  entry: Entry,
  range: { readonly start: number; readonly end: number; readonly checks: boolean },
): AsyncGenerator<readonly Bytes[]> {
  let left = Math.max(0, range.end - range.start)
  for await (const batch of readBatches(backend, entry, range)) {
    for (const { byteLength } of batch) left -= byteLength
    yield batch
  }
  if (left === 0) return
  const now = await backend.read(findEntry, key)
  if (now && equalBytes(now.id, entry.id)) throw damaged(key)
  throw new PrestigeError(
    'CONTENDED',
    'The value was replaced or deleted while it was being read. Read it again from its beginning.',
  )
}

function streamOf(
  source: AsyncGenerator<readonly Bytes[]>,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        signal?.throwIfAborted()
        const next = await source.next()
        signal?.throwIfAborted()
        if (next.done === true) controller.close()
        else for (const piece of next.value) controller.enqueue(piece)
      },
      async cancel() {
        await source.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}
