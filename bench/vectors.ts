/**
 * What does a search among many vectors cost, and what does it miss? Every index beside a search in floats through
 * all vectors, in the same run: CPU of a query and of building, memory, and how often the most similar is found.
 *
 * Vectors have 384 dimensions and lie in clusters of about 50, whose members have a cosine of about 0.55. Half of the
 * queries are copies with a little noise (cosine 0.95), half with more (0.8). 100,000 vectors unless told otherwise.
 */

import { pathToFileURL } from 'node:url'

import { openVectorIndex, type SavableIndex, vectorCosine } from '../src/semantic/index.ts'
import { idOf, UnitVectors } from '../test/texts/unit-vectors.ts'
import { collectGarbage, compare, type PureResult, rounded } from './harness/pure.ts'

const DIMENSIONS = 384
const QUERIES = 200
const REFERENCE_QUERIES = 4
const K = 10

export interface VectorsResult extends PureResult {
  readonly vectors: number
  readonly buildCpuSeconds: number
  /** What the process grew by, floats included. Of an index that is measured alone: a second reuses what a first freed. */
  readonly residentMegabytes: number
  /** Queries whose first match is the most similar of all, by a search in floats. */
  readonly recallAt1: number
  readonly recallAt10: number
}

interface Truth {
  readonly query: Float32Array
  readonly best: readonly number[]
}

/** The numbers of the most similar, by floats alone. */
function lookThrough(vectors: readonly Float32Array[], query: Float32Array): number[] {
  const best: { at: number; similarity: number }[] = []
  vectors.forEach((vector, at) => {
    const similarity = vectorCosine(query, vector)
    if (best.length === K && similarity <= best[K - 1]!.similarity) return
    let place = best.length
    while (place > 0 && best[place - 1]!.similarity < similarity) place--
    best.splice(place, 0, { at, similarity })
    if (best.length > K) best.pop()
  })
  return best.map(({ at }) => at)
}

function recalls(index: SavableIndex, truths: readonly Truth[]): [number, number] {
  let first = 0
  let among = 0
  for (const { query, best } of truths) {
    const found = index.searchNow(query, K).map(({ id }) => id.readUInt32BE(12))
    if (found[0] === best[0]) first++
    among += found.filter((at) => best.includes(at)).length
  }
  return [first / truths.length, among / truths.length / K]
}

async function measure(
  engine: 'scan' | 'hnsw',
  vectors: readonly Float32Array[],
  truths: readonly Truth[],
): Promise<VectorsResult> {
  collectGarbage()
  const residentBefore = process.memoryUsage().rss
  const before = process.cpuUsage()
  const index = await openVectorIndex(DIMENSIONS, { engine })
  vectors.forEach((vector, at) => index.add(idOf(at), vector))
  const { user, system } = process.cpuUsage(before)
  const compared = await compare(
    { ops: truths.length, run: () => truths.forEach(({ query }) => index.searchNow(query, K)) },
    {
      ops: REFERENCE_QUERIES,
      run: () =>
        truths.slice(0, REFERENCE_QUERIES).forEach(({ query }) => lookThrough(vectors, query)),
    },
    { warmUps: 1, rounds: 3 },
  )
  const [recallAt1, recallAt10] = recalls(index, truths)
  return {
    bench: 'vectors',
    case: engine === 'scan' ? 'scan of codes, exact' : 'hnsw, m 16, ef 128 and 64',
    vectors: vectors.length,
    buildCpuSeconds: rounded((user + system) / 1e6),
    residentMegabytes: rounded((process.memoryUsage().rss - residentBefore) / 2 ** 20),
    recallAt1,
    recallAt10,
    reference: 'a search in floats',
    ...compared,
    isWithin: recallAt1 >= 0.99,
  }
}

export async function benchVectors(
  count: number,
  print: (result: VectorsResult) => void,
  only = '',
): Promise<void> {
  const made = new UnitVectors(384, DIMENSIONS, Math.ceil(count / 50))
  const vectors = Array.from({ length: count }, () => made.member())
  const truths = Array.from({ length: QUERIES }, (_, at) => {
    const query = made.near(vectors[made.below(count)]!, at % 2 === 0 ? 0.95 : 0.8)
    return { query, best: lookThrough(vectors, query) }
  })
  for (const engine of ['scan', 'hnsw'] as const) {
    if (engine.includes(only)) print(await measure(engine, vectors, truths))
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const count = Number(process.argv[2] ?? 100_000)
  await benchVectors(
    count,
    (result) => process.stdout.write(`${JSON.stringify(result)}\n`),
    process.argv[3],
  )
}
