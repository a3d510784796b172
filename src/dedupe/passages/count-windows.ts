/**
 * In how many documents each window of words or lines is: every run keeps the hashes of its windows, once a document, so
 * that later runs can count on. They are sorted and split into parts by their first bits: whoever counts holds one part
 * at a time in memory. When the rows of a run are removed, so are its counts.
 *
 * A document counts once in all runs. Of a file that was counted before and has changed, nothing is counted again: which
 * of its documents are new cannot be known, and too few are better than too many.
 */

import { createHash } from 'node:crypto'
import { resolve } from '../../platform/paths.ts'

import { asBuffer, type Bytes, concat, endOfPrefix } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  type Cell,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { type PassageKind, passageUnits, passageWindows } from '../../fingerprint/index.ts'
import { noteProgress } from '../../ledger/index.ts'
import { type Held, requireGoingOn } from '../phases/leases.ts'
import { passageCounts, passageFiles, runPrefix } from '../rows.ts'
import type { RunRow } from '../runs.ts'
import { keptTexts } from './kept-texts.ts'
import { passageSettings } from './settings.ts'

export const PARTS = 256
/** Hashes have 53 bits: eight name the part, the others are kept in six bytes. */
export const PART_SIZE = 2 ** 45
const HASH_BYTES = 6
/** So many hashes are held before they are written: 16 MB. */
const HELD_MAX = 2_000_000
const ROW_BYTES_MAX = 65_532
const ROWS_AT_ONCE = 64
/** Added to the shard in rows of windows that are looked for, but not counted. */
const NOT_COUNTED = 2 ** 31

/** `before` is asked before every shard; `earlier`: the runs that have counted before. */
export async function countWindows(
  backend: Backend,
  run: RunRow,
  earlier: readonly string[],
  held: Held,
  before: () => Promise<void>,
): Promise<void> {
  const { wordsMin, by } = passageSettings(run)
  const known = await filesCounted(backend, earlier)
  const isKnown = (file: string) => known.size > 0 && known.has(fileHash(file))
  for (const shard of run.shards) {
    await before()
    const files = (shard.files ?? [shard]).map(({ file }) => file)
    const passedOver = new Set(files.filter(isKnown))
    const counted = new HeldWindows(backend, held, shard.index)
    const others = new HeldWindows(backend, held, shard.index + NOT_COUNTED)
    for await (const { text, isOwn, file } of keptTexts(backend, run, shard)) {
      const windows = isOwn && !passedOver.has(file) ? counted : others
      await windows.add(windowsOf(text, by, wordsMin))
    }
    await counted.flush()
    await others.flush()
  }
  await keepFiles(backend, run, held, isKnown)
}

function windowsOf(text: Buffer, by: PassageKind, wordsMin: number): Float64Array {
  return passageWindows(passageUnits(text, by), wordsMin).hashes.toSorted()
}

/** Windows of documents of one shard, until they are written. */
class HeldWindows {
  readonly #backend: Backend
  readonly #held: Held
  readonly #shard: number
  readonly #parts: number[][] = Array.from({ length: PARTS }, () => [])
  #count = 0
  #pieces = 0

  constructor(backend: Backend, held: Held, shard: number) {
    this.#backend = backend
    this.#held = held
    this.#shard = shard
  }

  /** Of one document, in order. */
  async add(hashes: Float64Array): Promise<void> {
    let last = -1
    for (const hash of hashes) {
      if (hash === last) continue
      last = hash
      const part = Math.floor(hash / PART_SIZE)
      this.#parts[part]?.push(hash - part * PART_SIZE)
      this.#count++
    }
    if (this.#count >= HELD_MAX) await this.flush()
  }

  async flush(): Promise<void> {
    const rows: CountsRow[] = []
    for (const [part, hashes] of this.#parts.entries()) {
      const sorted = new Float64Array(hashes).toSorted()
      hashes.length = 0
      for (const value of piecesOf(this.#backend, sorted)) {
        const cellOf = cell(
          passageCounts,
          countsKey(this.#held.run, part, this.#shard, this.#pieces++),
        )
        rows.push([cellOf, value])
      }
    }
    this.#count = 0
    await keepRows(this.#backend, this.#held, rows)
  }
}

type CountsRow = readonly [cell: Cell<Bytes>, value: Buffer]

function* piecesOf({ limits }: Backend, hashes: Float64Array): Generator<Buffer> {
  const bytesMax = Math.min(ROW_BYTES_MAX, limits.valueBytesMax)
  const length = Math.floor(bytesMax / HASH_BYTES)
  for (let from = 0; from < hashes.length; from += length) {
    const piece = hashes.subarray(from, from + length)
    const row = Buffer.allocUnsafe(piece.length * HASH_BYTES)
    let at = 0
    for (const hash of piece) at = row.writeUIntBE(hash, at, HASH_BYTES)
    yield row
  }
}

async function keepRows(backend: Backend, held: Held, rows: readonly CountsRow[]): Promise<void> {
  const atOnce = backend.serial ? ROWS_AT_ONCE : 1
  for (let from = 0; from < rows.length; from += atOnce) {
    await backend.run(keepPage, held, rows.slice(from, from + atOnce))
  }
}

function* keepPage(scope: Scope, held: Held, rows: readonly CountsRow[]): Transaction<void> {
  yield* requirePublisher(scope, held)
  for (const [place, value] of rows) scope.write(place, value)
}

/** What is written for a run is written by whoever publishes it, while it goes on. */
export function* requirePublisher(scope: Scope, held: Held): Transaction<void> {
  yield* requireGoingOn(held)
  yield* noteProgress(scope, held, '')
}

function countsKey(run: string, part: number, ...numbers: number[]): Buffer {
  const behind = Buffer.alloc(1 + 4 * numbers.length)
  behind[0] = part
  for (const [at, number] of numbers.entries()) behind.writeUInt32BE(number, 1 + 4 * at)
  return concat(runPrefix(run), behind)
}

/** Hashes of one part, in order. */
export interface WindowsRow {
  readonly shard: number
  readonly isCounted: boolean
  readonly hashes: Float64Array
}

/** Rows as they were written. */
export async function* windowRows(
  backend: Backend,
  run: string,
  part: number,
): AsyncGenerator<WindowsRow> {
  const start = countsKey(run, part)
  const range = { start, end: endOfPrefix(start) }
  for await (const { key, value } of backend.scan(passageCounts, range)) {
    const number = key.readUInt32BE(start.byteLength)
    const isCounted = number < NOT_COUNTED
    const shard = isCounted ? number : number - NOT_COUNTED
    yield { shard, isCounted, hashes: decodeHashes(value) }
  }
}

function decodeHashes(value: Bytes): Float64Array {
  const row = asBuffer(value)
  const hashes = new Float64Array(row.byteLength / HASH_BYTES)
  for (let at = 0; at < hashes.length; at++) {
    const from = at * HASH_BYTES
    hashes[at] = row.readUInt16BE(from) * 2 ** 32 + row.readUInt32BE(from + 2)
  }
  return hashes
}

/** By its whole path, as documents are. */
function fileHash(file: string): number {
  return createHash('sha256').update(resolve(file)).digest().readUIntBE(0, HASH_BYTES)
}

async function filesCounted(
  backend: Backend,
  runs: readonly string[],
): Promise<ReadonlySet<number>> {
  const known = new Set<number>()
  for (const run of runs) {
    const start = runPrefix(run)
    for await (const { value } of backend.scan(passageFiles, { start, end: endOfPrefix(start) })) {
      for (const hash of decodeHashes(value)) known.add(hash)
    }
  }
  return known
}

async function keepFiles(
  backend: Backend,
  { id, shards }: RunRow,
  held: Held,
  isKnown: (file: string) => boolean,
): Promise<void> {
  const files = shards.flatMap((shard) => (shard.files ?? [shard]).map(({ file }) => file))
  const hashes = Float64Array.from(new Set(files.filter((file) => !isKnown(file))), fileHash)
  const rows = [...piecesOf(backend, hashes)].map((value, piece) => {
    const number = Buffer.alloc(4)
    number.writeUInt32BE(piece)
    return [cell(passageFiles, concat(runPrefix(id), number)), value] as const
  })
  await keepRows(backend, held, rows)
}
