/**
 * How fast are the tables that find near duplicates and similar vectors, and how much memory do they take,
 * beside what one would write without thinking of either, in the same run?
 *
 * Prints one JSON line a case. A tenth of the sketches are like an earlier one. The reference holds fewer
 * representatives than the near table, which is to its advantage: at a million it would need gigabytes.
 * The first argument is the number of representatives, a million unless given.
 */

import { pathToFileURL } from 'node:url'

import { computeBands, hammingDistance, NearTable, VectorTable } from '../src/fingerprint/index.ts'
import { randomWords } from '../src/fingerprint/mix.ts'
import { collectGarbage, compare, type PureResult, rounded } from './harness/pure.ts'

export interface TablesResult extends PureResult {
  readonly representatives: number
  readonly referenceRepresentatives: number
  /** Of all insertions together. */
  readonly cpuSeconds?: number
  /** The slowest single insertion, by the clock: growing must not make anybody wait. */
  readonly slowestMillis?: number
  readonly bucketBytesPerRepresentative?: number
  /** The target for it. */
  readonly bucketBytesMax?: number
  readonly signatureBytesPerRepresentative?: number
  readonly idBytesPerRepresentative?: number
  /** All but the sketches, which both sides hold. */
  readonly referenceBytesPerRepresentative?: number
  readonly comparedPerQuery?: number
}

const SLOTS = 128
const BANDING = { bands: 14, rows: 8 }
const REPRESENTATIVES = 1_000_000
const REFERENCE_REPRESENTATIVES = 50_000
const QUERIES = 50_000
const VECTOR_BITS = 256
const ESTIMATE_MIN = 0.7
/** Targets at a million representatives, of CPU an operation and of memory. */
const INSERT_MICROS_MAX = 3
const QUERY_MICROS_MAX = 20
const BUCKET_BYTES_MAX = 200

const next = randomWords(17)
const chance = () => next() / 2 ** 32
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
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

type Print = (result: TablesResult) => void

/** Both tables. */
interface Filled {
  readonly near: NearTable
  readonly maps: Searched
}

function filledMaps(rows: Rows): Searched {
  const table = mapTable()
  for (let at = 0; at < rows.count; at++) table.insert(rows.idAt(at), rows.sketchAt(at))
  return table
}

function filledNear(rows: Rows): NearTable {
  const table = new NearTable({ slots: SLOTS, ...BANDING })
  for (let at = 0; at < rows.count; at++) table.insert(rows.idAt(at), rows.sketchAt(at))
  table.settle()
  return table
}

/** Ready for a query after each insertion; the slowest of them in milliseconds. */
function slowestInsertion(rows: Rows): number {
  const table = new NearTable({ slots: SLOTS, ...BANDING })
  let slowest = 0
  for (let at = 0; at < rows.count; at++) {
    const start = performance.now()
    table.insert(rows.idAt(at), rows.sketchAt(at))
    table.settle()
    slowest = Math.max(slowest, performance.now() - start)
  }
  return slowest
}

function baseOf(rows: Rows, few: Rows) {
  return {
    bench: 'near-tables',
    representatives: rows.count,
    referenceRepresentatives: few.count,
    reference: 'maps of strings',
  } as const
}

async function benchInserts(rows: Rows, few: Rows, print: Print): Promise<Filled> {
  const made: { near?: NearTable; maps?: Searched } = {}
  const forget = () => {
    delete made.maps
    delete made.near
    collectGarbage()
  }
  const ofMaps = { ops: few.count, prepare: forget, run: () => (made.maps = filledMaps(few)) }
  const ofNear = { ops: rows.count, prepare: forget, run: () => (made.near = filledNear(rows)) }
  const compared = await compare(ofNear, ofMaps, { warmUps: 1, rounds: 5 })
  forget()
  const before = heldBytes()
  const maps = filledMaps(few)
  const ofReference = heldBytes() - before - few.count * SLOTS * 2
  const near = filledNear(rows)
  if (near.size !== rows.count) throw new Error('Some of what was inserted was not new.')
  const { bytes } = near.stats()
  const bucketBytes = bytes.buckets / rows.count
  print({
    ...baseOf(rows, few),
    case: 'near table: insert all at once',
    ...compared,
    opsPerSecond: rounded(1e6 / compared.cpuMicrosPerOp),
    cpuSeconds: rounded((compared.cpuMicrosPerOp * rows.count) / 1e6),
    bucketBytesPerRepresentative: rounded(bucketBytes),
    signatureBytesPerRepresentative: rounded(bytes.signatures / rows.count),
    idBytesPerRepresentative: rounded(bytes.ids / rows.count),
    referenceBytesPerRepresentative: rounded(ofReference / few.count),
    limit: INSERT_MICROS_MAX,
    bucketBytesMax: BUCKET_BYTES_MAX,
    isWithin: compared.cpuMicrosPerOp <= INSERT_MICROS_MAX && bucketBytes <= BUCKET_BYTES_MAX,
  })
  let slowest = 0
  const ofEach = { ops: rows.count, prepare: forget, run: () => (slowest = slowestInsertion(rows)) }
  const withLooks = await compare(ofEach, ofMaps, { warmUps: 0, rounds: 1 })
  print({
    ...baseOf(rows, few),
    case: 'near table: insert, ready for a query after each',
    ...withLooks,
    opsPerSecond: rounded(1e6 / withLooks.cpuMicrosPerOp),
    slowestMillis: rounded(slowest),
  })
  return { near, maps }
}

async function benchQueries(rows: Rows, few: Rows, filled: Filled, print: Print): Promise<void> {
  const { near, maps } = filled
  const unknown = Uint16Array.from({ length: QUERIES * SLOTS }, () => next() >>> 16)
  const ofUnknown = (at: number) => unknown.subarray(at * SLOTS, (at + 1) * SLOTS)
  const ofKnown = (from: Rows) => (at: number) => from.sketchAt((at * 7919) % from.count)
  const ofNear = (sketch: Uint16Array) => near.query(sketch, { estimateMin: ESTIMATE_MIN })
  const asking = (query: (sketch: Uint16Array) => unknown, sketchAt: Rows['sketchAt']) => ({
    ops: QUERIES,
    run() {
      for (let at = 0; at < QUERIES; at++) query(sketchAt(at))
    },
  })
  const cases = [
    { name: 'what is there', own: ofKnown(rows), theirs: ofKnown(few) },
    { name: 'what is not there', own: ofUnknown, theirs: ofUnknown },
  ]
  for (const { name, own, theirs } of cases) {
    const reference = asking((sketch) => maps.query(sketch), theirs)
    const compared = await compare(asking(ofNear, own), reference, { warmUps: 1, rounds: 5 })
    print({
      ...baseOf(rows, few),
      case: `near table: query ${name}`,
      ...compared,
      opsPerSecond: rounded(1e6 / compared.cpuMicrosPerOp),
      limit: QUERY_MICROS_MAX,
      isWithin: compared.cpuMicrosPerOp <= QUERY_MICROS_MAX,
    })
  }
}

/** A removal can be measured once, beside putting the same representatives back. */
async function benchRemovals(rows: Rows, few: Rows, table: NearTable, print: Print): Promise<void> {
  const ops = Math.floor(rows.count / 10)
  const each = (work: (at: number) => unknown) => ({
    ops,
    run() {
      for (let at = 0; at < ops; at++) work(at * 10)
    },
  })
  const removing = each((at) => table.remove(rows.idAt(at)))
  const inserting = each((at) => table.insert(rows.idAt(at), rows.sketchAt(at)))
  const compared = await compare(removing, inserting, { warmUps: 0, rounds: 3 })
  print({
    ...baseOf(rows, few),
    case: 'near table: remove',
    reference: 'putting it back',
    referenceRepresentatives: rows.count,
    ...compared,
    opsPerSecond: rounded(1e6 / compared.cpuMicrosPerOp),
  })
}

async function benchVectors(rows: Rows, representatives: number, print: Print): Promise<void> {
  const banding = { bands: VECTOR_BITS / 16, rows: 16 }
  const bytes = VECTOR_BITS / 8
  const signatures = Uint8Array.from({ length: representatives * bytes }, () => next() >>> 24)
  const table = new VectorTable({ bits: VECTOR_BITS, banding })
  const all = Array.from({ length: representatives }, (_, at) =>
    signatures.subarray(at * bytes, (at + 1) * bytes),
  )
  all.forEach((signature, at) => table.insert(rows.idAt(at), signature))
  const [ops, opsOfReference] = [200, 10]
  let compared = 0
  const run = () => {
    compared = 0
    for (let at = 0; at < ops; at++) {
      compared += table.query(all[at * 7]!, { estimateMin: 0.5, limit: 100 }).compared
    }
  }
  const runReference = () => {
    for (let at = 0; at < opsOfReference; at++) {
      const near = all.filter((one) => hammingDistance(one, all[at * 7]!) <= VECTOR_BITS / 3)
      if (near.length === 0) throw new Error('A vector is near itself.')
    }
  }
  const reference = { ops: opsOfReference, run: runReference }
  const times = await compare({ ops, run }, reference, { warmUps: 1, rounds: 5 })
  const how = table.stats().bands > 0 ? `${banding.bands} bands of ${banding.rows}` : 'scan'
  print({
    bench: 'near-tables',
    case: `vector table, ${VECTOR_BITS} bits: query by ${how}`,
    representatives,
    referenceRepresentatives: representatives,
    reference: 'hammingDistance of each',
    ...times,
    opsPerSecond: rounded(1e6 / times.cpuMicrosPerOp),
    comparedPerQuery: rounded(compared / ops),
  })
}

export async function benchNearTables(count: number, print: Print): Promise<void> {
  const rows = makeRows(count)
  const few = { ...rows, count: Math.min(count, REFERENCE_REPRESENTATIVES) }
  const filled = await benchInserts(rows, few, print)
  await benchQueries(rows, few, filled, print)
  await benchRemovals(rows, few, filled.near, print)
  for (const representatives of [10_000, 100_000, 200_000]) {
    if (representatives <= count) await benchVectors(rows, representatives, print)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await benchNearTables(Number(process.argv[2] ?? REPRESENTATIVES), (result) =>
    process.stdout.write(`${JSON.stringify(result)}\n`),
  )
}
