/**
 * An index on disk: whole, or not at all. Written aside, synced, and moved into place; read back only if every byte
 * is what was written, by the embedder that asks. Anything else is a reason to make the index again from rows.
 *
 * `prstvec1`, length of the header (4), header as JSON, ids (16 each), vectors (singles, little endian), and of a graph
 * its keys (4 each) and its own bytes, of lists what `CodedLists.parts` gives; at last the SHA-256 (32) of everything
 * before. Vectors of lists stay in the file, which is kept open: it may be replaced, and is never written to.
 */

import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'

import { temporaryName, writeNamed } from '../../platform/atomic-file.ts'
import { codeOf } from '../../platform/errors.ts'
import { ID_BYTES } from '../../fingerprint/index.ts'
import { CodedLists } from './coded-lists.ts'
import { GraphIndex, openGraph } from './graph-index.ts'
import { IvfIndex } from './ivf-index.ts'
import type { GraphOptions, CheckedIndexOptions } from './options.ts'
import { FileNumbers } from './row-numbers.ts'
import { ScanIndex } from './scan-index.ts'
import { type EngineName, turns, type VectorRows } from './vector-index.ts'

const MAGIC = Buffer.from('prstvec1')
const VERSION = 2
const DIGEST_BYTES = 32
const PIECE_BYTES = 4 * 1024 * 1024
const PIECE_ROWS = 256
const TURN_MS = 10

export type SavableIndex = ScanIndex | GraphIndex | IvfIndex

/** What a saved index stands for. */
export interface Standing {
  /** The id of the embedder whose vectors these are. */
  readonly embedder: string
  /** Up to where in the journal of its source it knows everything. */
  readonly position: string
}

interface Header extends Standing {
  readonly version: number
  readonly engine: EngineName
  readonly dimensions: number
  readonly count: number
  readonly graph?: GraphOptions
  /** How many lists there are, 0 where none were made yet. */
  readonly lists?: number
}

/** Why a saved index was not used. */
export type Unusable =
  | 'missing'
  | 'torn'
  | 'damaged'
  | 'other version'
  | 'other embedder'
  | 'other settings'

export type LoadedIndex =
  | { readonly index: SavableIndex; readonly position: string }
  | { readonly unusable: Unusable }

export async function saveIndex(
  index: SavableIndex,
  path: string,
  standing: Standing,
): Promise<void> {
  // All of the index is taken in one go, before anybody else has a turn: it stands for one position. Only vectors of
  // lists are read later. Those that have become others by then lie behind that position, and are seen again.
  const graphAside = temporaryName(path)
  const slots = takenSlots(index)
  const parts = [...startOf(index, slots, standing)]
  if (index instanceof IvfIndex) {
    const lists = index.lists?.parts(rowsOf(slots, index)) ?? []
    return writeNamed(path, piecesOf([parts, vectorsOf(index.rows, slots), lists]))
  }
  parts.push(...vectorsOf(index.rows, slots))
  if (index instanceof GraphIndex) parts.push(takenGraph(index, slots, graphAside))
  try {
    if (index instanceof GraphIndex) parts.push(await readFile(graphAside))
    await writeNamed(path, piecesOf([parts]))
  } finally {
    await rm(graphAside, { force: true })
  }
}

function startOf(index: SavableIndex, slots: readonly number[], standing: Standing): Buffer[] {
  const { rows, dimensions, engine } = index
  const ids = Buffer.allocUnsafe(slots.length * ID_BYTES)
  slots.forEach((slot, at) => rows.ids.idOf(slot).copy(ids, at * ID_BYTES))
  const header: Header = {
    version: VERSION,
    engine,
    dimensions,
    count: slots.length,
    ...standing,
    ...(index instanceof GraphIndex && { graph: index.options }),
    ...(index instanceof IvfIndex && { lists: index.lists?.shape.lists ?? 0 }),
  }
  const written = Buffer.from(JSON.stringify(header))
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(written.byteLength)
  return [MAGIC, length, written, ids]
}

function* vectorsOf(rows: VectorRows, slots: readonly number[]): Generator<Buffer> {
  for (let from = 0; from < slots.length; from += PIECE_ROWS) {
    const some = slots.slice(from, from + PIECE_ROWS)
    const vectors = new Float32Array(some.length * rows.dimensions)
    some.forEach((slot, at) => vectors.set(rows.vectorAt(slot), at * rows.dimensions))
    yield Buffer.from(vectors.buffer)
  }
}

/** Which row of the file a slot is. */
function rowsOf(slots: readonly number[], { rows }: SavableIndex): Uint32Array {
  const rowOf = new Uint32Array(rows.ids.slots)
  slots.forEach((slot, row) => (rowOf[slot] = row))
  return rowOf
}

function takenSlots({ rows }: SavableIndex): number[] {
  const slots: number[] = []
  for (let slot = 0; slot < rows.ids.slots; slot++) if (rows.ids.isTaken(slot)) slots.push(slot)
  return slots
}

/** Its keys. The graph itself can only be saved as a file. */
function takenGraph(index: GraphIndex, slots: readonly number[], aside: string): Buffer {
  index.graph.save(aside)
  const keys = Buffer.allocUnsafe(slots.length * 4)
  slots.forEach((slot, at) => keys.writeUInt32LE(index.keyOf(slot), at * 4))
  return keys
}

function* chained<T>(parts: readonly Iterable<T>[]): Generator<T> {
  for (const part of parts) yield* part
}

/** In pieces, so that others have a turn. At last their digest. */
async function* piecesOf(parts: readonly Iterable<Buffer>[]): AsyncGenerator<Buffer> {
  const digest = createHash('sha256')
  const turn = turns(TURN_MS)
  for (const part of chained(parts)) {
    for (let from = 0; from < part.byteLength; from += PIECE_BYTES) {
      const piece = part.subarray(from, from + PIECE_BYTES)
      digest.update(piece)
      yield piece
      await turn()
    }
  }
  yield digest.digest()
}

export interface Expected {
  readonly embedder: string
  readonly dimensions: number
  readonly options: CheckedIndexOptions
}

export async function loadIndex(path: string, expected: Expected): Promise<LoadedIndex> {
  const file = openedFile(path)
  if (file === undefined) return { unusable: 'missing' }
  let isKept = false
  try {
    const loaded = await loadFrom(file, path, expected)
    isKept = 'index' in loaded && loaded.index instanceof IvfIndex
    return loaded
  } finally {
    if (!isKept) closeSync(file)
  }
}

function openedFile(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (failure) {
    if (codeOf(failure) === 'ENOENT') return undefined
    throw failure
  }
}

async function loadFrom(file: number, path: string, expected: Expected): Promise<LoadedIndex> {
  const from = MAGIC.byteLength + 4
  const end = fstatSync(file).size - DIGEST_BYTES
  if (end < from) return { unusable: 'torn' }
  const start = bytesAt(file, 0, from)
  if (!start.subarray(0, MAGIC.byteLength).equals(MAGIC)) return { unusable: 'other version' }
  if (!(await isWhole(file, end))) return { unusable: 'damaged' }
  const bodyAt = from + start.readUInt32BE(MAGIC.byteLength)
  // safe: the digest says that this is what was written here.
  const header = JSON.parse(bytesAt(file, from, bodyAt).toString()) as Header
  if (header.version !== VERSION) return { unusable: 'other version' }
  if (header.embedder !== expected.embedder || header.dimensions !== expected.dimensions) {
    return { unusable: 'other embedder' }
  }
  if (!fits(header, expected.options)) return { unusable: 'other settings' }
  const index = await (header.engine === 'ivf'
    ? loadedLists(header, { file, from: bodyAt, end }, path, expected.options)
    : rebuilt(header, bytesAt(file, bodyAt, end), path, expected.options))
  return index ? { index, position: header.position } : { unusable: 'damaged' }
}

/** What is cut off is left out. */
function bytesAt(file: number, from: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafe(end - from)
  let read = 0
  for (let some = -1; read < bytes.byteLength && some !== 0; read += some) {
    some = readSync(file, bytes, read, Math.min(bytes.byteLength - read, 2 ** 30), from + read)
  }
  return bytes.subarray(0, read)
}

async function isWhole(file: number, end: number): Promise<boolean> {
  const digest = createHash('sha256')
  for (let at = 0; at < end; at += PIECE_BYTES) {
    digest.update(bytesAt(file, at, Math.min(end, at + PIECE_BYTES)))
    await setImmediate()
  }
  return digest.digest().equals(bytesAt(file, end, end + DIGEST_BYTES))
}

/** Of vectors, nothing is read but their ids and codes. */
async function loadedLists(
  { dimensions, count, lists = 0 }: Header,
  { file, from, end }: { readonly file: number; readonly from: number; readonly end: number },
  path: string,
  options: CheckedIndexOptions,
): Promise<IvfIndex | undefined> {
  const vectorsAt = from + count * ID_BYTES
  const listsAt = vectorsAt + count * dimensions * 4
  const numbers = new FileNumbers(dimensions, path, { file, from: vectorsAt })
  const index = new IvfIndex({ ...options, dimensions, numbers })
  const ids = bytesAt(file, from, vectorsAt)
  const turn = turns(TURN_MS)
  for (let row = 0; row < count; row++) {
    const slot = index.rows.ids.take(ids.subarray(row * ID_BYTES, (row + 1) * ID_BYTES))
    if (slot !== row) return undefined
    await turn()
  }
  if (lists === 0) return listsAt === end ? index : undefined
  const coded = new CodedLists({ dimensions, lists })
  if (!coded.fill(bytesAt(file, listsAt, end), count)) return undefined
  index.use(coded)
  return index
}

function fits({ engine, graph, count }: Header, options: CheckedIndexOptions): boolean {
  const wanted = engineFor(options, count)
  if (engine !== wanted) return false
  return (
    engine !== 'hnsw' || (graph?.m === options.m && graph.efConstruction === options.efConstruction)
  )
}

export function engineFor({ engine, scanMax }: CheckedIndexOptions, count: number): EngineName {
  if (engine !== 'auto') return engine
  return count > scanMax ? 'ivf' : 'scan'
}

async function rebuilt(
  { engine, dimensions, count }: Header,
  body: Buffer,
  path: string,
  options: CheckedIndexOptions,
): Promise<SavableIndex | undefined> {
  const vectorsAt = count * ID_BYTES
  const keysAt = vectorsAt + count * dimensions * 4
  const idAt = (row: number) => body.subarray(row * ID_BYTES, (row + 1) * ID_BYTES)
  const vectorAt = (row: number) => {
    const from = vectorsAt + row * dimensions * 4
    return new Float32Array(Uint8Array.from(body.subarray(from, from + dimensions * 4)).buffer)
  }
  if (engine === 'scan') {
    const index = new ScanIndex({ dimensions })
    for (let row = 0; row < count; row++) {
      index.add(idAt(row), vectorAt(row))
      if (row % 4096 === 4095) await setImmediate()
    }
    return body.byteLength === keysAt ? index : undefined
  }
  const graph = await openGraph(dimensions, options)
  const aside = temporaryName(path)
  try {
    await writeFile(aside, body.subarray(keysAt + count * 4))
    graph.load(aside)
  } finally {
    await rm(aside, { force: true })
  }
  if (graph.size() !== count) return undefined
  const index = new GraphIndex(dimensions, graph, options)
  for (let row = 0; row < count; row++) {
    index.link(index.rows.put(idAt(row), vectorAt(row)), body.readUInt32LE(keysAt + row * 4))
  }
  return index
}
