/**
 * An index on disk: whole, or not at all. Written aside, synced, and moved into place; read back only if every byte
 * is what was written, by the embedder that asks. Anything else is a reason to make the index again from rows.
 *
 * `prstvec1`, length of the header (4), header as JSON, ids (16 each), vectors (singles, little endian), and of a graph
 * its keys (4 each) and its own bytes; at last the SHA-256 (32) of everything before.
 */

import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'

import { temporaryName, writeNamed } from '../../platform/atomic-file.ts'
import { codeOf } from '../../platform/errors.ts'
import { ID_BYTES } from '../../fingerprint/index.ts'
import { GraphIndex, openGraph } from './graph-index.ts'
import type { GraphOptions, CheckedIndexOptions } from './options.ts'
import { ScanIndex } from './scan-index.ts'
import type { EngineName } from './vector-index.ts'

const MAGIC = Buffer.from('prstvec1')
const VERSION = 1
const DIGEST_BYTES = 32
const PIECE_BYTES = 4 * 1024 * 1024

export type SavableIndex = ScanIndex | GraphIndex

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
  // All of the index is taken in one go, before anybody else has a turn: it stands for one position.
  const graphAside = temporaryName(path)
  const parts = partsOf(index, standing)
  if (index instanceof GraphIndex) parts.push(takenGraph(index, graphAside))
  try {
    if (index instanceof GraphIndex) parts.push(await readFile(graphAside))
    await writeNamed(path, piecesOf(parts))
  } finally {
    await rm(graphAside, { force: true })
  }
}

function partsOf(index: SavableIndex, standing: Standing): Buffer[] {
  const { rows, dimensions, engine } = index
  const slots = takenSlots(index)
  const ids = Buffer.allocUnsafe(slots.length * ID_BYTES)
  const vectors = new Float32Array(slots.length * dimensions)
  slots.forEach((slot, at) => {
    rows.ids.idOf(slot).copy(ids, at * ID_BYTES)
    vectors.set(rows.vectorAt(slot), at * dimensions)
  })
  const header: Header = {
    version: VERSION,
    engine,
    dimensions,
    count: slots.length,
    ...standing,
    ...(index instanceof GraphIndex && { graph: index.options }),
  }
  const written = Buffer.from(JSON.stringify(header))
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(written.byteLength)
  return [MAGIC, length, written, ids, Buffer.from(vectors.buffer)]
}

function takenSlots({ rows }: SavableIndex): number[] {
  const slots: number[] = []
  for (let slot = 0; slot < rows.ids.slots; slot++) if (rows.ids.isTaken(slot)) slots.push(slot)
  return slots
}

/** Its keys. The graph itself can only be saved as a file. */
function takenGraph(index: GraphIndex, aside: string): Buffer {
  index.graph.save(aside)
  const slots = takenSlots(index)
  const keys = Buffer.allocUnsafe(slots.length * 4)
  slots.forEach((slot, at) => keys.writeUInt32LE(index.keyOf(slot), at * 4))
  return keys
}

/** In pieces, so that others have a turn. At last their digest. */
function* piecesOf(parts: readonly Buffer[]): Generator<Buffer> {
  const digest = createHash('sha256')
  for (const part of parts) {
    for (let from = 0; from < part.byteLength; from += PIECE_BYTES) {
      const piece = part.subarray(from, from + PIECE_BYTES)
      digest.update(piece)
      yield piece
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
  const bytes = await readFile(path).catch((failure: unknown) => {
    if (codeOf(failure) === 'ENOENT') return undefined
    throw failure
  })
  if (bytes === undefined) return { unusable: 'missing' }
  const from = MAGIC.byteLength + 4
  if (bytes.byteLength < from + DIGEST_BYTES) return { unusable: 'torn' }
  if (!bytes.subarray(0, MAGIC.byteLength).equals(MAGIC)) return { unusable: 'other version' }
  if (!(await isWhole(bytes))) return { unusable: 'damaged' }
  const bodyAt = from + bytes.readUInt32BE(MAGIC.byteLength)
  // safe: the digest says that this is what was written here.
  const header = JSON.parse(bytes.toString('utf8', from, bodyAt)) as Header
  if (header.version !== VERSION) return { unusable: 'other version' }
  if (header.embedder !== expected.embedder || header.dimensions !== expected.dimensions) {
    return { unusable: 'other embedder' }
  }
  if (!fits(header, expected.options)) return { unusable: 'other settings' }
  const index = await rebuilt(header, bytes.subarray(bodyAt, -DIGEST_BYTES), path, expected.options)
  return index ? { index, position: header.position } : { unusable: 'damaged' }
}

async function isWhole(bytes: Buffer): Promise<boolean> {
  const digest = createHash('sha256')
  const end = bytes.byteLength - DIGEST_BYTES
  for (let at = 0; at < end; at += PIECE_BYTES) {
    digest.update(bytes.subarray(at, Math.min(end, at + PIECE_BYTES)))
    await new Promise(setImmediate)
  }
  return digest.digest().equals(bytes.subarray(end))
}

function fits({ engine, graph, count }: Header, options: CheckedIndexOptions): boolean {
  const wanted = engineFor(options, count)
  if (engine !== wanted) return false
  return (
    engine === 'scan' || (graph?.m === options.m && graph.efConstruction === options.efConstruction)
  )
}

export function engineFor({ engine, scanMax }: CheckedIndexOptions, count: number): EngineName {
  if (engine !== 'auto') return engine
  return count > scanMax ? 'hnsw' : 'scan'
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
      if (row % 4096 === 4095) await new Promise(setImmediate)
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
