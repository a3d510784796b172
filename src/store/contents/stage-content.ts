/**
 * Long contents: cut into chunks, and written part by part under a fresh id before the transaction that makes them
 * visible. Chunks that are there are shared; those that are not go into new packs.
 *
 * Invariant: a part is written in the same transaction that finds all of its chunks there, or writes them, and takes
 * away the marks of collectors from them. So no collector can take what a recipe names.
 */

import { type Bytes, EMPTY, equalBytes, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Backend,
  type BackendLimits,
  cell,
  glance,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { digestOf } from '../../fingerprint/index.ts'
import { staged } from '../rows.ts'
import { countStored } from '../tallies.ts'
import {
  type ChunkRef,
  type ChunkRow,
  chunks,
  isWholePack,
  leftPacks,
  lengthsIn,
  PACK_CHUNKS_MAX,
  PACK_HEAD_BYTES_MAX,
  packOf,
  packs,
  recipeKey,
  recipes,
  RECIPE_HEAD_BYTES,
  REF_BYTES,
} from './chunk-rows.ts'
import { compressAside } from './compression.ts'
import type { Layout } from './layout.ts'

/** Larger packs compress no better, and one chunk of a pack costs inflating all. */
const PACK_BYTES = 64 * 1024
/** So much of a value is written by one transaction, where the engine can. */
const PART_BYTES = 4 * 1024 * 1024
const PART_CHUNKS_MAX = 1024
/** Cells of a transaction besides chunks and packs: recipe, staged row, tallies. */
const OTHER_CELLS = 8
/** Each has a commit of somebody else for its reason. */
const ROUNDS_MAX = 1000
const SOUND_MAX = 2048

/** A chunk of the value that is being staged. */
export interface Chunk extends ChunkRef {
  readonly value: Bytes
}

export function chunkOf(value: Bytes): Chunk {
  return { digest: digestOf(value), bytes: value.byteLength, value }
}

/** Where a part ends, at the latest. */
export class PartLimits {
  readonly chunksMax: number
  readonly bytesMax: number
  readonly packBytes: number
  readonly cellsMax: number

  constructor({ cellsMax, valueBytesMax, transactionBytesMax = Infinity }: BackendLimits) {
    this.cellsMax = cellsMax - OTHER_CELLS
    const rowMax = Math.floor((valueBytesMax - RECIPE_HEAD_BYTES) / REF_BYTES)
    // At worst every chunk is new, and a pack of its own.
    this.chunksMax = Math.min(PART_CHUNKS_MAX, rowMax, Math.floor(this.cellsMax / 2))
    this.bytesMax = Math.min(PART_BYTES, Math.floor(transactionBytesMax / 2))
    this.packBytes = Math.min(PACK_BYTES, valueBytesMax - PACK_HEAD_BYTES_MAX)
  }
}

/** Writes the parts of one content, in their order. */
export class Stager {
  readonly id: Buffer
  /** Of what was taken: bytes; and of what was written, those whose chunks were there. */
  bytes = 0
  sharedBytes = 0
  readonly #backend: Backend
  readonly #layout: Layout
  readonly #checks: boolean
  readonly #limits: PartLimits
  /** Packs that were made sure of for this content: they never change. */
  readonly #sound = new Map<string, Set<number>>()
  #parts = 0
  #waiting: Chunk[] = []
  #waitingBytes = 0
  #writing: Promise<void> = Promise.resolve()
  /** Where a transaction that has ended leaves nothing under way, the memory of its packs is used again. */
  readonly #room: PackRoom | undefined

  private constructor(backend: Backend, layout: Layout, checks: boolean, id: Buffer) {
    this.#backend = backend
    this.#layout = layout
    this.#checks = checks
    this.#limits = new PartLimits(backend.limits)
    this.#room = backend.serial ? new PackRoom() : undefined
    this.id = id
  }

  /** `checks`: packs that the content will share are made sure of. */
  static async begin(backend: Backend, layout: Layout, checks: boolean): Promise<Stager> {
    return new Stager(backend, layout, checks, await backend.run(announce))
  }

  /** Nothing to wait for, unless a part is complete while the one before it is still being written. */
  add(chunk: Chunk): Promise<void> | undefined {
    const { chunksMax, bytesMax } = this.#limits
    const isFull = this.#waitingBytes + chunk.bytes > bytesMax || this.#waiting.length >= chunksMax
    const begun = isFull ? this.#begin() : undefined
    this.#waiting.push(chunk)
    this.#waitingBytes += chunk.bytes
    return begun
  }

  /** Writes what waits. Resolves when everything is written that was added until now. */
  flush(): Promise<void> {
    void this.#begin()
    return this.#writing
  }

  /** Resolves when nothing is being written any more, whatever became of it. */
  async settled(): Promise<void> {
    await this.#writing.catch(() => undefined)
  }

  /** Takes what waits as a part, which is written while the next one is gathered. */
  #begin(): Promise<void> {
    const own = this.#waiting
    const bytes = this.#waitingBytes
    this.#waiting = []
    this.#waitingBytes = 0
    const before = this.#writing
    if (own.length === 0) return before
    const place = { id: this.id, part: this.#parts++, offset: this.bytes }
    this.bytes += bytes
    this.#writing = this.#keepAfter(before, own, place)
    // Whoever waits for the next part gets the error.
    this.#writing.catch(() => undefined)
    return before
  }

  async #keepAfter(
    before: Promise<void>,
    own: readonly Chunk[],
    place: Pick<Part, 'id' | 'part' | 'offset'>,
  ): Promise<void> {
    await before
    this.sharedBytes += await this.#keep(own, place)
  }

  async #keep(own: readonly Chunk[], place: Pick<Part, 'id' | 'part' | 'offset'>): Promise<number> {
    const distinct = [...new Map(own.map((chunk) => [latin1(chunk.digest), chunk])).values()]
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const there = await this.#backend.read(findPlaces, distinct, this.#checks, this.#sound)
      const missing = distinct.filter((_, at) => !there[at]?.isSound)
      this.#room?.clear()
      const made = await makePacks(missing, this.#layout, this.#limits.packBytes, this.#room)
      const notesMax = this.#limits.cellsMax - distinct.length - made.length
      const part = { ...place, own, distinct, there, made, notesMax }
      const shared = await this.#backend.run(keepPart, part)
      if (shared !== undefined) return shared
    }
    throw new PrestigeError(
      'CONTENDED',
      'Chunks of this value came and went every time. Try again.',
    )
  }
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* announce(scope: Scope): Transaction<Buffer> {
  const id = scope.id()
  scope.write(cell(staged, id), { parts: 0, buried: false, renewedAt: scope.now() })
  return id
}

/** Where a chunk was found, and whether it is as it was written. */
export interface Place {
  readonly row: ChunkRow | undefined
  readonly isSound: boolean
}

export function* findPlaces(
  _scope: ReadScope,
  wanted: readonly ChunkRef[],
  checks: boolean,
  sound: Map<string, Set<number>> = new Map(),
): Transaction<Place[]> {
  const rows = yield* glance(...wanted.map(({ digest }) => cell(chunks, digest)))
  if (!checks) return rows.map((row) => ({ row, isSound: row !== undefined }))
  if (sound.size > SOUND_MAX) sound.clear()
  const ids = new Map<string, Buffer>()
  for (const row of rows)
    if (row && !sound.has(latin1(row.pack))) ids.set(latin1(row.pack), row.pack)
  const found = yield* glance(...[...ids.values()].map((id) => cell(packs, id)))
  for (const [at, name] of [...ids.keys()].entries()) {
    const pack = found[at]
    if (pack && isWholePack(pack)) sound.set(name, placesIn(pack))
  }
  return rows.map((row, at) => {
    if (!row || row.bytes !== wanted[at]?.bytes) return { row, isSound: false }
    return { row, isSound: sound.get(latin1(row.pack))?.has(placeOf(row)) === true }
  })
}

/** Offset and length as one number: a chunk is shorter than 16 MiB. */
function placeOf({ offset, bytes }: { readonly offset: number; readonly bytes: number }): number {
  return offset * 2 ** 24 + bytes
}

function placesIn(pack: Bytes): Set<number> {
  let offset = 0
  return new Set(
    lengthsIn(pack).map((bytes) => {
      const place = placeOf({ offset, bytes })
      offset += bytes
      return place
    }),
  )
}

export interface MadePack {
  readonly chunks: readonly ChunkRef[]
  readonly row: Buffer
}

/** Memory for packs that are written one part after another. It becomes as large as a part has needed. */
class PackRoom {
  #memory: Buffer = EMPTY
  #taken = 0

  /** Nobody uses what was taken any more. */
  clear(): void {
    if (this.#taken > this.#memory.byteLength) this.#memory = Buffer.allocUnsafeSlow(this.#taken)
    this.#taken = 0
  }

  take(bytes: number): Buffer {
    const from = this.#taken
    this.#taken += bytes
    const isThere = this.#taken <= this.#memory.byteLength
    return isThere ? this.#memory.subarray(from, from + bytes) : Buffer.allocUnsafeSlow(bytes)
  }
}

/** Packs of some chunks, compressed on other threads. `room`: what the rows of the packs are made in. */
export async function makePacks(
  wanted: readonly Chunk[],
  { compression }: Layout,
  packBytes: number,
  room?: PackRoom,
): Promise<MadePack[]> {
  const groups: Chunk[][] = []
  let bytes = Infinity
  for (const chunk of wanted) {
    const last = groups.at(-1)
    if (last && bytes + chunk.bytes <= packBytes && last.length < PACK_CHUNKS_MAX) {
      last.push(chunk)
      bytes += chunk.bytes
    } else {
      groups.push([chunk])
      bytes = chunk.bytes
    }
  }
  return Promise.all(
    groups.map(async (group) => {
      const values = group.map(({ value }) => value)
      const raw = joined(values)
      const row = packOf(values, raw, await compressAside(raw, compression), room)
      return { chunks: group, row }
    }),
  )
}

/** All of them as one: without a copy where they lie side by side, as new chunks mostly do. */
function joined(values: readonly Bytes[]): Bytes {
  const [first] = values
  if (!first) return EMPTY
  let end = first.byteOffset
  for (const { buffer, byteOffset, byteLength } of values) {
    if (buffer !== first.buffer || byteOffset !== end) return Buffer.concat(values)
    end += byteLength
  }
  return Buffer.from(first.buffer, first.byteOffset, end - first.byteOffset)
}

interface Part {
  readonly id: Buffer
  readonly part: number
  readonly offset: number
  /** All chunks of the part, in their order. */
  readonly own: readonly ChunkRef[]
  readonly distinct: readonly ChunkRef[]
  /** Where each of those was found. */
  readonly there: readonly Place[]
  readonly made: readonly MadePack[]
  /** So many packs that damaged chunks were in can be noted as well. Others are left to a verification. */
  readonly notesMax: number
}

/** Returns how many bytes were there before; nothing if chunks came or went since they were looked for. */
function* keepPart(scope: Scope, part: Part): Transaction<number | undefined> {
  const { id, offset, own, distinct, there, made } = part
  const staging = yield* requireStaged(id)
  const rows = yield* read(...distinct.map(({ digest }) => cell(chunks, digest)))
  let missingBytes = 0
  let chunkBytes = 0
  const left = new Map<string, Buffer>()
  for (const [at, { digest, bytes }] of distinct.entries()) {
    const [now, before] = [rows[at], there[at]]
    if (before?.isSound) {
      if (!now) return undefined
      if (now.mark) scope.write(cell(chunks, digest), { ...now, mark: undefined })
    } else {
      // What is there by now was written meanwhile, unless it is what was found to be damaged.
      if (now && !(before?.row && equalBytes(before.row.pack, now.pack))) return undefined
      missingBytes += bytes
      chunkBytes += bytes - (now?.bytes ?? 0)
      if (now) left.set(latin1(now.pack), now.pack)
    }
  }
  for (const pack of [...left.values()].slice(0, part.notesMax))
    scope.write(cell(leftPacks, pack), scope.id())
  let packBytes = 0
  for (const pack of made) packBytes += keepPack(scope, pack)
  const wholeBytes = own.reduce((sum, { bytes }) => sum + bytes, 0)
  const sharedBytes = wholeBytes - missingBytes
  scope.write(cell(recipes, recipeKey(id, part.part)), { offset, sharedBytes, chunks: own })
  scope.write(cell(staged, id), { ...staging, parts: part.part + 1, renewedAt: scope.now() })
  countStored(scope, { chunkBytes, packBytes })
  return sharedBytes
}

/** Writes a pack, and where its chunks are. Returns its length. `markOf`: marks of collectors that stay. */
export function keepPack(
  scope: Scope,
  { chunks: own, row }: MadePack,
  markOf: (digest: Buffer) => Buffer | undefined = () => undefined,
): number {
  const pack = scope.id()
  scope.write(cell(packs, pack), row)
  let offset = 0
  for (const { digest, bytes } of own) {
    scope.write(cell(chunks, digest), { pack, offset, bytes, mark: markOf(digest) })
    offset += bytes
  }
  return row.byteLength
}

/** Buried parts are being removed: nothing may be added to them, and they can never become visible. */
export function* requireStaged(id: Buffer) {
  const [row] = yield* read(cell(staged, id))
  if (row && !row.buried) return row
  throw new PrestigeError(
    'BACKEND_UNAVAILABLE',
    'The parts of this value were swept before the put could end: it took longer than the staging lease. Put it again.',
  )
}
