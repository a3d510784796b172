/**
 * Chunks that lie side by side in a pack are read together: a value that was new is read pack by pack, with one lookup a
 * pack instead of one a chunk.
 *
 * Invariant: bytes that are given out are in no pack that is kept for later, so whoever gets them may change them.
 */

import { type Bytes, EMPTY, latin1 } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  glance,
  type ReadScope,
  type Transaction,
} from '../../backends/index.ts'
import { hasDigest } from '../../fingerprint/index.ts'
import { type ChunkRef, chunks, lengthsIn, packs, rawOf } from './chunk-rows.ts'

/** So much of a value is put together at a time. */
export const BATCH_BYTES = 1024 * 1024
export const BATCH_CHUNKS = 256
const INFLATED_MAX = 64

/** Gives the bytes of chunks, batch by batch; ends early where something is missing or wrong. */
export type ReadRefs = (refs: readonly ChunkRef[]) => AsyncGenerator<readonly Bytes[]>

/** On an engine that need not be asked for everything at once, and with checks: pack by pack (`findRuns`). */
export function runsOf(backend: Backend): ReadRefs {
  const inflated = new InflatedPacks<OpenPack>()
  return async function* (refs) {
    for (let at = 0; at < refs.length;) {
      const { pieces, count } = await backend.read(findRuns, refs, at, inflated)
      if (count === 0) return
      yield pieces
      at += count
    }
  }
}

interface OpenPack {
  readonly lengths: readonly number[]
  readonly raw: Bytes
}

/**
 * About a batch of chunks from the one at `from` on: their bytes, and how many there are before one that is missing or
 * wrong. Chunks that were new together are side by side in a pack: only the first of them is looked for, and the
 * digests of the others say whether they are those that follow it.
 *
 * A pack that is needed whole is given as it is; of others, parts are copied, and the pack is used again.
 */
function* findRuns(
  _scope: ReadScope,
  refs: readonly ChunkRef[],
  from: number,
  inflated: InflatedPacks<OpenPack>,
): Transaction<{ readonly pieces: Bytes[]; readonly count: number }> {
  const pieces: Bytes[] = []
  let parts: Bytes[] = []
  let at = from
  for (let bytes = 0; bytes < BATCH_BYTES && at - from < BATCH_CHUNKS && at < refs.length;) {
    const [row] = yield* glance(cell(chunks, refs[at]?.digest ?? EMPTY))
    if (!row) break
    const known = inflated.get(row.pack)
    const pack = known ?? openPack((yield* glance(cell(packs, row.pack)))[0])
    const run = pack && runIn(pack, row.offset, refs, at)
    if (!run) break
    if (!known && run.bytes.byteLength === pack.raw.byteLength) {
      if (parts.length > 0) pieces.push(Buffer.concat(parts))
      parts = []
      pieces.push(run.bytes)
    } else {
      if (!known) inflated.add(latin1(row.pack), pack)
      parts.push(run.bytes)
    }
    at += run.count
    bytes += run.bytes.byteLength
  }
  if (parts.length > 0) pieces.push(Buffer.concat(parts))
  return { pieces, count: at - from }
}

function openPack(bytes: Bytes | undefined): OpenPack | undefined {
  const raw = bytes && inflate(bytes)
  return raw && { lengths: lengthsIn(bytes), raw }
}

/** The chunks from `at` on that are in a pack from an offset on, one after another. */
function runIn(
  { lengths, raw }: OpenPack,
  offset: number,
  refs: readonly ChunkRef[],
  at: number,
): { readonly bytes: Bytes; readonly count: number } | undefined {
  let index = 0
  for (let start = 0; start < offset; index++) start += lengths[index] ?? Infinity
  let end = offset
  let count = 0
  for (; at + count < refs.length; count++) {
    const { bytes, digest } = refs[at + count] ?? {}
    if (bytes === undefined || digest === undefined || bytes !== lengths[index + count]) break
    if (!hasDigest(raw.subarray(end, end + bytes), digest)) break
    end += bytes
  }
  return count > 0 ? { bytes: raw.subarray(offset, end), count } : undefined
}

export function inflate(pack: Bytes): Bytes | undefined {
  try {
    return lengthsIn(pack).length > 0 ? rawOf(pack) : undefined
  } catch {
    return undefined
  }
}

/** The packs that were inflated last: chunks that were new together are mostly read together. */
export class InflatedPacks<T = Bytes> {
  readonly #packs = new Map<string, T>()

  get(id: Bytes): T | undefined {
    return this.#packs.get(latin1(id))
  }

  add(name: string, raw: T): void {
    this.#packs.set(name, raw)
    const [oldest] = this.#packs.keys()
    if (this.#packs.size > INFLATED_MAX && oldest !== undefined) this.#packs.delete(oldest)
  }
}
