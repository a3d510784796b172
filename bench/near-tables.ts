/**
 * How fast are the tables that find near duplicates and similar vectors, and how much memory do they take,
 * beside a table made of Maps in the same run?
 *
 * Prints one JSON line a case. A tenth of the sketches are like an earlier one. Times are of CPU, since
 * machines are shared. The Maps hold fewer representatives: at a million they would need gigabytes.
 * The first argument is the number of representatives, a million unless given.
 */

import { pathToFileURL } from 'node:url'

import { computeBands, NearTable, VectorTable } from '../src/fingerprint/index.ts'
import { randomWords } from '../src/fingerprint/mix.ts'

export interface TablesResult {
  readonly bench: 'near-tables'
  readonly case: string
  readonly representatives: number
  readonly cpuMicrosPerOp: number
  /** The slowest single insertion, by the clock: growing must not make anybody wait. */
  readonly slowestMillis?: number
  readonly bucketBytesPerRepresentative?: number
  readonly signatureBytesPerRepresentative?: number
  readonly idBytesPerRepresentative?: number
  readonly comparedPerQuery?: number
}

const SLOTS = 128
const BANDING = { bands: 14, rows: 8 }
const REPRESENTATIVES = 1_000_000
const REFERENCE_REPRESENTATIVES = 50_000
const QUERIES = 50_000
const VECTOR_BITS = 256
const ESTIMATE_MIN = 0.7

const next = randomWords(17)
const chance = () => next() / 2 ** 32
const rounded = (value: number) => Number(value.toPrecision(3))

/** The best of a few rounds, and the first only warms up. */
function cpuMicros(ops: number, rounds: number, work: () => unknown): number {
  let best = Infinity
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    best = Math.min(best, user + system)
  }
  return rounded(best / ops)
}

interface Rows {
  readonly count: number
  idAt(at: number): Buffer
  sketchAt(at: number): Uint16Array
}

function makeRows(count: number): Rows {
  const sketches = new Uint16Array(count * SLOTS)
  const ids = Buffer.alloc(count * 16)
  for (let at = 0; at < count; at++) {
    ids.writeUIntBE(1_700_000_000_000 + at, at * 16, 6)
    ids.writeUInt32BE(next(), at * 16 + 12)
    const similarity = at > 0 && chance() < 0.1 ? 0.5 + chance() / 2 : 0
    const earlier = Math.floor(chance() * at) * SLOTS
    for (let slot = 0; slot < SLOTS; slot++) {
      const isSame = similarity > 0 && chance() < similarity
      sketches[at * SLOTS + slot] = isSame ? sketches[earlier + slot]! : next() >>> 16
    }
  }
  return {
    count,
    idAt: (at) => ids.subarray(at * 16, at * 16 + 16),
    sketchAt: (at) => sketches.subarray(at * SLOTS, (at + 1) * SLOTS),
  }
}

interface Searched {
  insert(id: Buffer, sketch: Uint16Array): void
  query(sketch: Uint16Array): number
}

/** What one would write without thinking of memory: a list of ids for every band and hash. */
function mapTable(): Searched {
  const buckets = new Map<string, string[]>()
  const sketches = new Map<string, Uint16Array>()
  const keysOf = (sketch: Uint16Array) =>
    Array.from(
      computeBands(sketch, BANDING.bands, BANDING.rows),
      (hash, band) => `b${band}:${hash.toString(16)}`,
    )
  return {
    insert(id, sketch) {
      const name = id.toString('hex')
      sketches.set(name, sketch.slice())
      for (const key of keysOf(sketch)) {
        const bucket = buckets.get(key)
        if (bucket) bucket.push(name)
        else buckets.set(key, [name])
      }
    },
    query(sketch) {
      const found = new Set(keysOf(sketch).flatMap((key) => buckets.get(key) ?? []))
      const ranked = [...found].map((name) => {
        const other = sketches.get(name)!
        let equal = 0
        for (let slot = 0; slot < SLOTS; slot++) if (other[slot] === sketch[slot]) equal++
        return { name, estimate: equal / SLOTS }
      })
      return ranked
        .filter(({ estimate }) => estimate >= ESTIMATE_MIN)
        .toSorted((a, b) => b.estimate - a.estimate || (a.name < b.name ? -1 : 1)).length
    },
  }
}

const heldBytes = () => {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

type Print = (result: TablesResult) => void

function printQueries(rows: Rows, table: Searched, of: string, print: Print): void {
  const base = { bench: 'near-tables', representatives: rows.count } as const
  const known = Array.from({ length: QUERIES }, (_, at) => rows.sketchAt((at * 7919) % rows.count))
  const unknown = Uint16Array.from({ length: QUERIES * SLOTS }, () => next() >>> 16)
  const all = (work: (at: number) => unknown) => () => {
    for (let at = 0; at < QUERIES; at++) work(at)
  }
  const ofKnown = cpuMicros(
    QUERIES,
    3,
    all((at) => table.query(known[at]!)),
  )
  print({ ...base, case: `${of}: query what is there`, cpuMicrosPerOp: ofKnown })
  const ofUnknown = cpuMicros(
    QUERIES,
    3,
    all((at) => table.query(unknown.subarray(at * SLOTS, (at + 1) * SLOTS))),
  )
  print({ ...base, case: `${of}: query what is not there`, cpuMicrosPerOp: ofUnknown })
}

function benchMaps(rows: Rows, print: Print): void {
  const before = heldBytes()
  const table = mapTable()
  const cpuMicrosPerOp = cpuMicros(rows.count, 1, () => {
    for (let at = 0; at < rows.count; at++) table.insert(rows.idAt(at), rows.sketchAt(at))
  })
  const bytes = heldBytes() - before - rows.count * SLOTS * 2
  print({
    bench: 'near-tables',
    case: 'maps of strings: insert',
    representatives: rows.count,
    cpuMicrosPerOp,
    bucketBytesPerRepresentative: rounded(bytes / rows.count),
    signatureBytesPerRepresentative: SLOTS * 2,
  })
  printQueries(rows, table, 'maps of strings', print)
}

function filled(rows: Rows, looks: boolean): { table: NearTable; slowestMillis: number } {
  const table = new NearTable({ slots: SLOTS, ...BANDING })
  let slowestMillis = 0
  for (let at = 0; at < rows.count; at++) {
    const start = looks ? performance.now() : 0
    table.insert(rows.idAt(at), rows.sketchAt(at))
    if (!looks) continue
    table.settle()
    slowestMillis = Math.max(slowestMillis, performance.now() - start)
  }
  table.settle()
  return { table, slowestMillis }
}

function benchNear(rows: Rows, print: Print): void {
  const base = { bench: 'near-tables', representatives: rows.count } as const
  let made = filled(rows, false)
  const atOnce = cpuMicros(rows.count, 2, () => (made = filled(rows, false)))
  const { bytes } = made.table.stats()
  print({
    ...base,
    case: 'near table: insert all at once',
    cpuMicrosPerOp: atOnce,
    bucketBytesPerRepresentative: rounded(bytes.buckets / rows.count),
    signatureBytesPerRepresentative: rounded(bytes.signatures / rows.count),
    idBytesPerRepresentative: rounded(bytes.ids / rows.count),
  })
  const withLooks = cpuMicros(rows.count, 1, () => (made = filled(rows, true)))
  const slowestMillis = rounded(made.slowestMillis)
  print({
    ...base,
    case: 'near table: insert, ready for a query after each',
    cpuMicrosPerOp: withLooks,
    slowestMillis,
  })
  const { table } = made
  const query = (sketch: Uint16Array) =>
    table.query(sketch, { estimateMin: ESTIMATE_MIN }).candidates.length
  printQueries(rows, { insert: () => undefined, query }, 'near table', print)
  const removed = Math.floor(rows.count / 10)
  const remove = cpuMicros(removed, 1, () => {
    for (let at = 0; at < removed; at++) table.remove(rows.idAt(at * 10))
  })
  print({ ...base, case: 'near table: remove', cpuMicrosPerOp: remove })
}

function benchVectors(rows: Rows, representatives: number, rowsOfBand: number, print: Print): void {
  const banding = { bands: Math.floor(VECTOR_BITS / rowsOfBand), rows: rowsOfBand }
  const bytes = VECTOR_BITS / 8
  const signatures = Uint8Array.from({ length: representatives * bytes }, () => next() >>> 24)
  const table = new VectorTable({ bits: VECTOR_BITS, banding })
  const signatureAt = (at: number) => signatures.subarray(at * bytes, (at + 1) * bytes)
  for (let at = 0; at < representatives; at++) table.insert(rows.idAt(at), signatureAt(at))
  const queries = 200
  let compared = 0
  const cpuMicrosPerOp = cpuMicros(queries, 4, () => {
    compared = 0
    for (let at = 0; at < queries; at++) {
      compared += table.query(signatureAt(at * 7), { estimateMin: 0.5, limit: 100 }).compared
    }
  })
  const how = table.stats().bands > 0 ? `${banding.bands} bands of ${banding.rows}` : 'scan'
  print({
    bench: 'near-tables',
    case: `vector table, ${VECTOR_BITS} bits: query by ${how}`,
    representatives,
    cpuMicrosPerOp,
    comparedPerQuery: rounded(compared / queries),
  })
}

export function benchNearTables(count: number, print: Print): void {
  const rows = makeRows(count)
  benchMaps({ ...rows, count: Math.min(count, REFERENCE_REPRESENTATIVES) }, print)
  benchNear(rows, print)
  for (const representatives of [10_000, 100_000, 200_000]) {
    if (representatives <= count) benchVectors(rows, representatives, 16, print)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  benchNearTables(Number(process.argv[2] ?? REPRESENTATIVES), (result) =>
    process.stdout.write(`${JSON.stringify(result)}\n`),
  )
}
