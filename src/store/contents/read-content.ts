/**
 * The bytes of a content, whatever rows they are in: inside a transaction (`bytesOf`), and part by part outside
 * (`readContent`, `readChunks`).
 *
 * Contents never change under an id, and neither do chunks under their digest: so nothing that is read here need be
 * relied on, but for deltas, which may be written otherwise. A chunk may move to another pack between two looks; what is missing is looked for again.
 */

import { createHash } from 'node:crypto'

import { type Bytes, EMPTY, equalBytes, latin1 } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  glance,
  type ReadScope,
  type Space,
  type Transaction,
} from '../../backends/index.ts'
import { unreadable } from '../../platform/rows.ts'
import { hasDigest } from '../../fingerprint/index.ts'
import { contents, partCount, partKey } from '../rows.ts'
import {
  type ChunkRef,
  type ChunkRow,
  chunks,
  endOf,
  packs,
  recipeKey,
  type RecipePart,
  recipes,
} from './chunk-rows.ts'
import {
  BATCH_BYTES,
  BATCH_CHUNKS,
  inflate,
  InflatedPacks,
  type ReadRefs,
  runsOf,
} from './chunk-runs.ts'
import { shortBytes } from './deltas.ts'
import { HINT } from './compression.ts'
import type { Layout } from './layout.ts'

export interface ContentPlace {
  readonly id: Bytes
  readonly bytes: number
}

const PARTS_AT_ONCE = 4
/** More is only read as a stream. */
const HELD_BYTES_MAX = 1024 * 1024 * 1024
/** A chunk that moved is found at the next look; one that is not there then is gone. */
const LOOKS_MAX = 4

/** The bytes of a content; `undefined` when they are not all there, or cannot be read. */
export function* bytesOf(
  { id, bytes }: ContentPlace,
  layout: Layout,
): Transaction<Buffer | undefined> {
  if (!layout.isLong(bytes)) return yield* shortBytes({ id, bytes }, layout)
  if (layout.chunks) return yield* chunkedBytes(id, bytes)
  const count = partCount(bytes, layout.rowBytes)
  const cells = Array.from({ length: count }, (_, part) => cell(contents, partKey(id, part)))
  const parts = yield* glance(...cells)
  const value = Buffer.concat(parts.map((part) => part ?? EMPTY))
  return value.byteLength === bytes ? value : undefined
}

function* chunkedBytes(id: Bytes, bytes: number): Transaction<Buffer | undefined> {
  const value = Buffer.allocUnsafe(bytes)
  const inflated = new InflatedPacks()
  let end = 0
  for (let part = 0; end < bytes; part++) {
    const [recipe] = yield* glance(cell(recipes, recipeKey(id, part)))
    if (recipe?.offset !== end || endOf(recipe) > bytes) return undefined
    for (const batch of batchesOf(recipe.chunks)) {
      for (const found of yield* findChunks(batch, inflated)) {
        if (!found) return undefined
        value.set(found, end)
        end += found.byteLength
      }
    }
  }
  return end === bytes ? value : undefined
}

/** The same outside a transaction. */
export async function readContent(
  backend: Backend,
  place: ContentPlace,
  layout: Layout,
): Promise<Buffer | undefined> {
  const { bytes } = place
  if (bytes > HELD_BYTES_MAX) return undefined
  if (!layout.isLong(bytes)) return backend.read(() => bytesOf(place, layout))
  const value = Buffer.allocUnsafe(bytes)
  let end = 0
  const pieces = layout.chunks ? readChunks(backend, place) : readParts(backend, place, layout)
  for await (const piece of pieces) {
    // What is too long or too short would leave memory of others in the value.
    if (end + piece.byteLength > bytes) return undefined
    value.set(piece, end)
    end += piece.byteLength
  }
  return end === bytes ? value : undefined
}

/** Parts of a content of a store without chunks. Ends where one is missing. */
async function* readParts(
  backend: Backend,
  { id, bytes }: ContentPlace,
  { rowBytes }: Layout,
): AsyncGenerator<Bytes> {
  const count = partCount(bytes, rowBytes)
  for (let from = 0; from < count; from += PARTS_AT_ONCE) {
    const to = Math.min(count, from + PARTS_AT_ONCE)
    for (const [at, part] of (await backend.read(findParts, id, from, to)).entries()) {
      const wanted = Math.min(rowBytes, bytes - (from + at) * rowBytes)
      if (part?.byteLength !== wanted) return
      yield part
    }
  }
}

function* findParts(
  _scope: ReadScope,
  id: Bytes,
  from: number,
  to: number,
): Transaction<(Bytes | undefined)[]> {
  const parts = Array.from({ length: to - from }, (_, at) => partKey(id, from + at))
  return yield* glance(...parts.map((key) => cell(contents, key)))
}

export interface ChunkRange {
  readonly start: number
  readonly end: number
  /** Check each chunk against its own digest. */
  readonly checks: boolean
}

/**
 * The bytes of a content that is cut into chunks, from `start` up to and without `end`, a few chunks at a time. Ends
 * early where something is missing or wrong: whoever asks knows how many bytes there should be.
 */
export async function* readChunks(
  backend: Backend,
  place: ContentPlace,
  range: ChunkRange = { start: 0, end: place.bytes, checks: false },
): AsyncGenerator<Bytes> {
  for await (const pieces of readBatches(backend, place, range)) yield* pieces
}

/** The same, with all pieces of a batch at once. Nobody else has their memory. */
export async function* readBatches(
  backend: Backend,
  { id }: ContentPlace,
  { start, end, checks }: ChunkRange,
): AsyncGenerator<readonly Bytes[]> {
  if (start >= end) return
  const read = checks && backend.serial ? runsOf(backend) : lookups(backend, checks)
  let at: number | undefined
  for (let part = await partAt(backend, id, start); ; part++) {
    const recipe = await backend.read(findRecipe, id, part)
    if (!recipe || recipe.offset !== (at ?? recipe.offset)) return
    const wanted = within(recipe, start, end)
    let from = wanted.offset
    for await (const pieces of read(wanted.chunks)) {
      const to = pieces.reduce((sum, piece) => sum + piece.byteLength, from)
      yield from < start || to > end ? cut(pieces, start - from, end - from) : pieces
      from = to
    }
    at = endOf(wanted)
    if (from !== at || at >= end || recipe.chunks.length === 0) return
  }
}

/** The chunks of a part that have bytes of a range. */
function within(part: RecipePart, start: number, end: number): RecipePart {
  let { offset } = part
  let first = 0
  for (const { bytes } of part.chunks) {
    if (offset + bytes > start) break
    offset += bytes
    first++
  }
  let last = first
  for (let at = offset; at < end && last < part.chunks.length; last++)
    at += part.chunks[last]?.bytes ?? 0
  return { ...part, offset, chunks: part.chunks.slice(first, last) }
}

function cut(pieces: readonly Bytes[], start: number, end: number): Bytes[] {
  let at = 0
  return pieces.map((piece) => {
    const from = at
    at += piece.byteLength
    return piece.subarray(Math.max(0, start - from), Math.max(0, end - from))
  })
}

/** Looks for every chunk of a batch, and then for all their packs. */
function lookups(backend: Backend, checks: boolean): ReadRefs {
  const inflated = new InflatedPacks()
  return async function* (refs) {
    for (const batch of batchesOf(refs)) {
      const found = await lookForChunks(backend, batch, inflated)
      if (!found || (checks && !areRight(batch, found))) return
      // A copy, also of a single chunk: whoever gets it may change it, and others read from the same pack.
      yield [Buffer.concat(found)]
    }
  }
}

/** Longer contents are copied as streams where that can be: nobody has to hold them whole. */
export const WHOLE_BYTES_MAX = 8 * 1024 * 1024

export function isStreamed({ chunks }: Layout, bytes: number): boolean {
  return chunks !== undefined && bytes > WHOLE_BYTES_MAX
}

/**
 * All bytes of a content that is cut into chunks. Ends with an error where they are not all there, or have another
 * SHA-256: whoever copies them must not have shown anything to anybody by then.
 */
export async function* readChecked(
  backend: Backend,
  place: ContentPlace,
  digest: Bytes,
): AsyncGenerator<Bytes> {
  const sha256 = createHash('sha256')
  for await (const piece of readChunks(backend, place)) {
    sha256.update(piece)
    yield piece
  }
  if (!equalBytes(sha256.digest(), digest)) throw unreadable('contents', HINT)
}

function areRight(refs: readonly ChunkRef[], found: readonly Bytes[]): boolean {
  return refs.every(({ digest }, at) => hasDigest(found[at] ?? EMPTY, digest))
}

/** The last part that begins at or before an offset. Offsets ascend, so few parts have to be looked at. */
async function partAt(backend: Backend, id: Bytes, offset: number): Promise<number> {
  if (offset === 0) return 0
  let low = 0
  let step = 1
  const isBehind = async (part: number) => {
    const recipe = await backend.read(findRecipe, id, part)
    return recipe === undefined || recipe.offset > offset
  }
  while (!(await isBehind(low + step))) {
    low += step
    step *= 2
  }
  let high = low + step
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await isBehind(middle)) high = middle
    else low = middle
  }
  return low
}

export function* findRecipe(
  _scope: ReadScope,
  id: Bytes,
  part: number,
): Transaction<RecipePart | undefined> {
  const [recipe] = yield* glance(cell(recipes, recipeKey(id, part)))
  return recipe
}

export function* batchesOf(refs: readonly ChunkRef[]): Generator<ChunkRef[]> {
  let batch: ChunkRef[] = []
  let bytes = 0
  for (const ref of refs) {
    batch.push(ref)
    bytes += ref.bytes
    if (bytes < BATCH_BYTES && batch.length < BATCH_CHUNKS) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

async function lookForChunks(
  backend: Backend,
  batch: readonly ChunkRef[],
  inflated: InflatedPacks,
): Promise<Bytes[] | undefined> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const found = await backend.read(() => findChunks(batch, inflated))
    const there = found.filter((chunk) => chunk !== undefined)
    if (there.length === batch.length) return there
  }
  return undefined
}

/** The bytes of some chunks; `undefined` for each that is not there, or cannot be read. */
export function* findChunks(
  refs: readonly ChunkRef[],
  inflated: InflatedPacks,
  space: Space<ChunkRow | undefined> = chunks,
): Transaction<(Bytes | undefined)[]> {
  const rows = yield* glance(...refs.map(({ digest }) => cell(space, digest)))
  const wanted = new Map<string, Buffer>()
  for (const row of rows) if (row && !inflated.get(row.pack)) wanted.set(latin1(row.pack), row.pack)
  const ids = [...wanted.values()]
  const found = yield* glance(...ids.map((id) => cell(packs, id)))
  const fresh = new Map<string, Bytes>()
  for (const [at, pack] of found.entries()) {
    const id = ids[at]
    const raw = id && pack && inflate(pack)
    if (raw) fresh.set(latin1(id), raw)
  }
  const values = rows.map((row, at) => {
    const raw = row && (fresh.get(latin1(row.pack)) ?? inflated.get(row.pack))
    if (!raw || row.bytes !== refs[at]?.bytes) return undefined
    const value = raw.subarray(row.offset, row.offset + row.bytes)
    return value.byteLength === row.bytes ? value : undefined
  })
  for (const [name, raw] of fresh) inflated.add(name, raw)
  return values
}
