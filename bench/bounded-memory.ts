/**
 * Does an index of near duplicates keep its speed when it has less memory than it needs? Random sketches, a tenth of
 * them similar to an earlier one, are searched for and inserted in an LMDB directory, as the corpus job does: with a
 * bound of 64 MB, and without one. Decisions must be the same.
 */

import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Scope, Transaction } from '../src/backends/contract.ts'
import { openLmdb } from '../src/backends/lmdb/backend.ts'
import { mix, randomWords } from '../src/fingerprint/mix.ts'
import { MatchIndex } from '../src/match/match-index.ts'
import { nearSpaces, spacesOf } from '../src/match/rows.ts'
import { TextScheme } from '../src/match/scheme/text.ts'
import { boundPlot } from './harness/growth-plot.ts'

const PLOT = fileURLToPath(new URL('results/bounded-memory.svg', import.meta.url))
const SPACES = nearSpaces('bench')
const SLOTS = 128
const BANDING = { bands: 14, rows: 8 }
const GROUP = Buffer.alloc(16, 1)
const BATCH = 250
const DOCUMENTS = 1_000_000
/** Where it is measured, as shares of all documents. */
const POINTS = [0.1, 0.3, 1] as const
const BYTES_MAX = 64_000_000
/** By how much the CPU of a document may grow from the first point, where everything fits. */
const GROWTH_MAX = 1.5
const SIMILAR_SHARE = 0.1

export interface BoundPoint {
  readonly documents: number
  /** Of one document, since the point before. */
  readonly cpuMicros: number
  readonly cpuMicrosWithoutBound: number
  readonly bytes: number
  readonly bytesWithoutBound: number
}

interface Measured {
  readonly cpuMicros: number
  readonly bytes: number
  readonly diskBytes: number
  /** Of all decisions so far. */
  readonly digest: number
}

/** The sketch of a document depends on its number alone: none has to be kept. */
function sketchOf(number: number): Uint16Array {
  const next = randomWords(number)
  const own = Uint16Array.from({ length: SLOTS }, () => next() >>> 16)
  if (number === 0 || next() / 2 ** 32 >= SIMILAR_SHARE) return own
  const earlier = sketchOf(Math.floor((next() / 2 ** 32) * number))
  return own.map((slot, at) => (next() % 10 === 0 ? slot : (earlier[at] ?? 0)))
}

async function* measure(documents: number, bytesMax?: number): AsyncGenerator<Measured> {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-bound-'))
  const backend = await openLmdb(directory, { spaces: spacesOf(SPACES), durability: 'os' })
  const memory = bytesMax === undefined ? undefined : { bytesMax }
  const limits = { serial: true, candidatesMax: 100, bucketMax: 1000, memory }
  const index = new MatchIndex(SPACES, new TextScheme(SLOTS, BANDING), limits)
  let digest = 0
  function* decide(scope: Scope, sketches: readonly Uint16Array[]): Transaction<number> {
    for (const sketch of sketches) {
      const { candidates } = yield* index.find(GROUP, sketch, 0.7, scope)
      digest = mix(digest ^ candidates.length)
      if (candidates.length === 0)
        yield* index.insert(scope, GROUP, scope.id(), sketch, Buffer.alloc(25))
    }
    return digest
  }
  let done = 0
  try {
    for (const share of POINTS) {
      const upTo = Math.round(documents * share)
      let micros = 0
      const from = done
      while (done < upTo) {
        const length = Math.min(BATCH, upTo - done)
        const sketches = Array.from({ length }, (_, at) => sketchOf(done + at))
        const before = process.cpuUsage()
        await backend.run(decide, sketches)
        await index.spill(backend)
        const { user, system } = process.cpuUsage(before)
        micros += user + system
        done += length
      }
      const { size } = statSync(join(directory, 'data.mdb'))
      const cpuMicros = micros / (done - from)
      yield { cpuMicros, bytes: index.bytes, diskBytes: size, digest }
    }
  } finally {
    await backend.close()
    rmSync(directory, { recursive: true })
  }
}

export async function benchBoundedMemory(
  scale: number,
  print: (line: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  const documents = Math.round(DOCUMENTS * scale)
  const bytesMax = Math.round(BYTES_MAX * scale)
  const free: Measured[] = []
  for await (const one of measure(documents)) free.push(one)
  const points: BoundPoint[] = []
  let at = 0
  for await (const { cpuMicros, bytes, diskBytes, digest } of measure(documents, bytesMax)) {
    const reference = free[at]
    const point = {
      documents: Math.round(documents * (POINTS[at] ?? 1)),
      cpuMicros: rounded(cpuMicros),
      cpuMicrosWithoutBound: rounded(reference?.cpuMicros ?? 0),
      bytes,
      bytesWithoutBound: reference?.bytes ?? 0,
    }
    points.push(point)
    at++
    const growth = rounded(point.cpuMicros / (points[0]?.cpuMicros ?? point.cpuMicros))
    const isSame = digest === reference?.digest
    const isWithin = isSame && growth < GROWTH_MAX && bytes <= bytesMax
    const disk = { diskBytes, diskBytesWithoutBound: reference?.diskBytes }
    const name = `${Math.round(bytesMax / 1e6)} MB, ${point.documents} documents`
    print({ bench: 'bounded-memory', case: name, ...point, ...disk, growth, isSame, isWithin })
  }
  writeFileSync(PLOT, boundPlot(points, bytesMax))
}

function rounded(number: number): number {
  return Math.round(number * 100) / 100
}
