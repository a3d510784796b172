/**
 * Takes away chunks that no recipe names.
 *
 * No row counts who refers to a chunk, so recipes are read: chunks that none names are marked with a nonce; then the
 * recipes of puts that were under way are read again; then what still bears the mark goes, with its pack, in one
 * transaction. A put that needs a marked chunk takes the mark away in the transaction that writes its recipe.
 *
 * Why that is safe: a recipe part that the first scan has missed was written after the scan began, so its content was
 * staged then, or has an id that is younger. Both are read again after the marks. A part written after the mark has
 * taken the mark away. Recipes of contents that are healed are neither: each heal leaves a nonce, and whoever sweeps
 * relies on finding the one he found at first.
 *
 * It may be cut off at any point, and any number of processes may run it at once.
 */

import { type Bytes, endOfPrefix, equalBytes, latin1 } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  type Cell,
  glance,
  ID_BYTES,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { settings, staged } from '../rows.ts'
import { countStored, noteCollected, readGarbage } from '../tallies.ts'
import {
  type ChunkRow,
  chunks,
  leftPacks,
  type PackedChunk,
  packs,
  readableChunks,
  recipes,
} from './chunk-rows.ts'
import type { Layout } from './layout.ts'
import { LiveDigests } from './live-digests.ts'
import { chunkOf, keepPack, type MadePack, makePacks, PartLimits } from './stage-content.ts'
import { unusedPacks } from './unused-packs.ts'

/** Clocks of machines that share a store differ by less, and puts under way are read again however old. */
export const CLOCKS_DIFFER_MS = 60 * 60 * 1000
const MARKED_AT_ONCE = 32
/** Candidates that are marked before recipes are read again. */
const CANDIDATES_MAX = 10_000
/** Digests of one pass over the recipes: some 64 MiB of memory at most. */
const DIGESTS_MAX = 2 ** 21
const DIGESTS_A_SLICE = 1024
const ROUNDS_MAX = 100

/** Changes with every heal of a recipe. */
export const HEALS: Cell<Bytes> = cell(settings, Buffer.from('heals'))

export interface CollectedChunks {
  readonly chunks: number
  readonly chunkBytes: number
}

const NOTHING: CollectedChunks = { chunks: 0, chunkBytes: 0 }

/** Slices of a few milliseconds. Yields what each has taken away: nothing, where it has only looked. */
export async function* chunkSlices(
  backend: Backend,
  layout: Layout,
): AsyncGenerator<CollectedChunks> {
  if (!layout.chunks) return
  yield* unnamedChunks(backend, layout, layout.chunks.averageBytes)
  for await (const _slice of unusedPacks(backend)) yield NOTHING
}

async function* unnamedChunks(
  backend: Backend,
  layout: Layout,
  averageBytes: number,
): AsyncGenerator<CollectedChunks> {
  const garbage = await backend.read(readGarbage)
  if (garbage.garbageBytes === 0) return
  const collection = new Collection(backend, layout)
  const digests = Math.ceil(garbage.chunkBytes / averageBytes)
  const passes = Math.min(256, 2 ** Math.max(0, Math.ceil(Math.log2(digests / DIGESTS_MAX))))
  for (let pass = 0; pass < passes; pass++) {
    const width = 256 / passes
    const isDone = yield* collection.run(pass * width, (pass + 1) * width)
    if (!isDone) return
  }
  if (collection.isComplete) await backend.run(noteCollected, garbage)
}

interface Candidate {
  readonly digest: Buffer
  readonly mark: Buffer
  readonly pack: Buffer
}

/** What returns whether it was completed. */
type Slices = AsyncGenerator<CollectedChunks, boolean>

class Collection {
  /** Nothing was left to others. */
  isComplete = true
  readonly #backend: Backend
  readonly #layout: Layout

  constructor(backend: Backend, layout: Layout) {
    this.#backend = backend
    this.#layout = layout
  }

  /** Of digests whose first byte is in this range. */
  async *run(from: number, to: number): Slices {
    const heals = await this.#backend.read(findHeals)
    const underWay = await this.#underWay()
    const live = new LiveDigests()
    yield* this.#addLive(live, {}, from, to)
    let found: Buffer[] = []
    const end = to > 0xff ? undefined : Buffer.of(to)
    let rows = 0
    for await (const { key } of this.#backend.scan(chunks, { start: Buffer.of(from), end })) {
      if (++rows % DIGESTS_A_SLICE === 0) yield NOTHING
      if (live.has(key)) continue
      found.push(key)
      if (found.length < CANDIDATES_MAX) continue
      if (!(yield* this.#settle(found, underWay, heals))) return false
      found = []
    }
    return found.length === 0 || (yield* this.#settle(found, underWay, heals))
  }

  /** Puts that have not ended: the ids of their contents. */
  async #underWay(): Promise<{ readonly ids: readonly Buffer[]; readonly since: Buffer }> {
    const since = Buffer.alloc(6)
    since.writeUIntBE(Math.max(0, Math.floor(this.#backend.now()) - CLOCKS_DIFFER_MS), 0, 6)
    const ids: Buffer[] = []
    for await (const { key } of this.#backend.scan(staged)) ids.push(key.subarray(0, ID_BYTES))
    return { ids, since }
  }

  async *#addLive(
    live: LiveDigests,
    range: { readonly start?: Bytes; readonly end?: Bytes | undefined },
    from = 0,
    to = 256,
  ): AsyncGenerator<CollectedChunks> {
    let seen = 0
    for await (const { value } of this.#backend.scan(recipes, range)) {
      for (const { digest } of value.chunks) {
        const [first = 0] = digest
        if (first >= from && first < to) live.add(digest)
      }
      seen += value.chunks.length
      if (seen < DIGESTS_A_SLICE) continue
      seen = 0
      yield NOTHING
    }
  }

  /** Marks, reads again what may have been missed, and sweeps. */
  async *#settle(
    digests: readonly Buffer[],
    { ids, since }: { readonly ids: readonly Buffer[]; readonly since: Buffer },
    heals: Bytes | undefined,
  ): Slices {
    const byPack = new Map<string, Candidate[]>()
    for (let at = 0; at < digests.length; at += MARKED_AT_ONCE) {
      const marked = await this.#backend.run(mark, digests.slice(at, at + MARKED_AT_ONCE))
      for (const candidate of marked) {
        const name = latin1(candidate.pack)
        const others = byPack.get(name)
        if (others) others.push(candidate)
        else byPack.set(name, [candidate])
      }
      yield NOTHING
    }
    const live = new LiveDigests()
    yield* this.#addLive(live, { start: since })
    for (const id of ids) yield* this.#addLive(live, { start: id, end: endOfPrefix(id) })
    for (const candidates of byPack.values()) {
      const doomed = candidates.filter(({ digest }) => !live.has(digest))
      if (doomed.length === 0) continue
      const swept = await this.#sweep(doomed, heals)
      if (!swept) return false
      yield swept
    }
    return true
  }

  /** Some chunks of one pack. Nothing if a recipe was healed meanwhile. */
  async #sweep(
    doomed: readonly Candidate[],
    heals: Bytes | undefined,
  ): Promise<CollectedChunks | undefined> {
    const marks = new Map(doomed.map(({ digest, mark: own }) => [latin1(digest), own]))
    const [{ pack } = { pack: Buffer.alloc(0) }] = doomed
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const plan = await this.#planOf(pack, marks, doomed)
      const end = await this.#backend.run(sweepPack, { ...plan, pack, marks, heals })
      if (end === 'healed') return undefined
      if (end === 'again') continue
      this.isComplete &&= end.isComplete
      return end
    }
    this.isComplete = false
    return NOTHING
  }

  async #planOf(
    pack: Buffer,
    marks: ReadonlyMap<string, Buffer>,
    doomed: readonly Candidate[],
  ): Promise<Plan> {
    const { row, there } = await this.#backend.read(findPack, pack)
    if (!row) return { row, digests: doomed.map(({ digest }) => digest), made: [] }
    const digests = there.map(({ chunk }) => chunk.digest)
    const kept = there.filter(({ isHere, mark: own, chunk }) => {
      const doom = marks.get(latin1(chunk.digest))
      return isHere && !(doom && own && equalBytes(doom, own))
    })
    const bytesOf = (all: typeof there) => all.reduce((sum, one) => sum + one.chunk.value.length, 0)
    const isSparse = kept.length > 0 && 2 * bytesOf(kept) < bytesOf(there)
    if (!isSparse) return { row, digests, made: [] }
    const { packBytes } = new PartLimits(this.#backend.limits)
    const values = kept.map(({ chunk }) => chunkOf(chunk.value))
    return { row, digests, made: await makePacks(values, this.#layout, packBytes) }
  }
}

function* findHeals(_scope: ReadScope): Transaction<Bytes | undefined> {
  const [heals] = yield* read(HEALS)
  return heals
}

function* mark(scope: Scope, digests: readonly Buffer[]): Transaction<Candidate[]> {
  const rows = yield* read(...digests.map((digest) => cell(chunks, digest)))
  const own = scope.id()
  const marked: Candidate[] = []
  for (const [at, digest] of digests.entries()) {
    const row = rows[at]
    if (!row) continue
    scope.write(cell(chunks, digest), { ...row, mark: own })
    marked.push({ digest, mark: own, pack: row.pack })
  }
  return marked
}

interface InPack {
  readonly chunk: PackedChunk
  /** Its row points here. */
  readonly isHere: boolean
  readonly mark: Buffer | undefined
}

/** A pack, and where the chunks in it are by now. */
function* findPack(
  _scope: ReadScope,
  pack: Buffer,
): Transaction<{ readonly row: Bytes | undefined; readonly there: InPack[] }> {
  const [row] = yield* glance(cell(packs, pack))
  const inside = row && readableChunks(row)
  if (!inside) return { row: undefined, there: [] }
  const rows = yield* glance(...inside.map(({ digest }) => cell(chunks, digest)))
  const there = inside.map((chunk, at) => {
    const found = rows[at]
    return { chunk, isHere: isAt(found, pack, chunk.offset), mark: found?.mark }
  })
  return { row, there }
}

function isAt(row: ChunkRow | undefined, pack: Buffer, offset?: number): boolean {
  return row !== undefined && equalBytes(row.pack, pack) && (offset ?? row.offset) === row.offset
}

interface Plan {
  /** Absent: the pack cannot be read, and stays until nothing points into it. */
  readonly row: Bytes | undefined
  /** All chunks in the pack. */
  readonly digests: readonly Buffer[]
  /** Packs for what is left of it, where that is little. */
  readonly made: readonly MadePack[]
}

interface PackSweep extends Plan {
  readonly pack: Buffer
  readonly marks: ReadonlyMap<string, Buffer>
  readonly heals: Bytes | undefined
}

/** Removes chunks that still bear the mark, and the pack with the last of them; moves those that are left. */
function* sweepPack(
  scope: Scope,
  { pack, row, digests, made, marks, heals }: PackSweep,
): Transaction<(CollectedChunks & { readonly isComplete: boolean }) | 'again' | 'healed'> {
  const [healed] = yield* read(HEALS)
  if (latin1(healed ?? Buffer.alloc(0)) !== latin1(heals ?? Buffer.alloc(0))) return 'healed'
  const rows = yield* read(...digests.map((digest) => cell(chunks, digest)))
  const doomed: Buffer[] = []
  let chunkBytes = 0
  let isComplete = true
  const left = new Map<string, ChunkRow>()
  for (const [at, digest] of digests.entries()) {
    const found = rows[at]
    if (!found || !isAt(found, pack)) continue
    const own = marks.get(latin1(digest))
    if (own && found.mark && equalBytes(own, found.mark)) {
      doomed.push(digest)
      chunkBytes += found.bytes
    } else {
      left.set(latin1(digest), found)
      // Another collector has marked it, and may not come to its end.
      if (own && found.mark) isComplete = false
    }
  }
  let packBytes = 0
  // Where nothing points into it, somebody else has removed it, and counted that.
  const isThere = doomed.length > 0 || left.size > 0
  if (row && isThere && (left.size === 0 || made.length > 0)) {
    const moved = made.flatMap((one) => one.chunks)
    const isAsPlanned =
      moved.length === left.size && moved.every(({ digest }) => left.has(latin1(digest)))
    // Nothing may have been written by then: it would be committed without being counted.
    if (!isAsPlanned) return 'again'
    packBytes -= row.byteLength
    scope.remove(cell(packs, pack))
    const markOf = (digest: Buffer) => left.get(latin1(digest))?.mark
    for (const one of made) packBytes += keepPack(scope, one, markOf)
  }
  for (const digest of doomed) scope.remove(cell(chunks, digest))
  if (!row && doomed.length > 0) scope.write(cell(leftPacks, pack), scope.id())
  countStored(scope, { chunkBytes: -chunkBytes, packBytes })
  return { chunks: doomed.length, chunkBytes, isComplete }
}
