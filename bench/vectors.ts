/**
 * What does a search among many vectors cost, and what does it miss? Every index beside a search in floats through
 * vectors, in the same run: CPU of a query and of building, memory, and how often the most similar is found.
 *
 * Vectors have 384 dimensions and 48 degrees of freedom, as those of sentences have about, and lie in topics of 200,
 * whose members have a cosine of about 0.7. Queries say nearly the same as one of them: half have a cosine of 0.95 with
 * it, half of 0.8. With the kind `noise`, vectors are noise in all dimensions around centres, in clusters of 50 with a
 * cosine of 0.5: nothing that a model gives, and the hardest case for codes. 100,000 vectors unless asked for otherwise;
 * a million are for `ivf` alone, since a graph of them takes half an hour of CPU: `--scale 10 --case ivf`.
 *
 * `ivf` keeps the floats in a file, as it does in a store that is a directory; the others keep them in memory.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { floatTable } from '../src/fingerprint/index.ts'
import {
  openVectorIndex,
  openVectorView,
  type SavableIndex,
  vectorCosine,
} from '../src/semantic/index.ts'
import { idOf, TopicVectors, UnitVectors } from '../test/texts/unit-vectors.ts'
import { collectGarbage, compare, type PureResult, rounded } from './harness/pure.ts'

const DIMENSIONS = 384
const QUERIES = 200
const REFERENCE_QUERIES = 4
const REFERENCE_VECTORS = 100_000
const K = 10

export interface VectorsResult extends PureResult {
  readonly vectors: number
  readonly buildCpuSeconds: number
  /** What the process grew by, floats included. Of an index that is measured alone: a second reuses what a first freed. */
  readonly residentMegabytes: number
  /** What an index says that it holds in memory. */
  readonly bytesPerVector?: number
  /** Queries whose first match is the most similar of all, by a search in floats. */
  readonly recallAt1: number
  readonly recallAt10: number
}

type Engine = 'scan' | 'ivf' | 'hnsw'
export type VectorsKind = 'topics' | 'noise'

const CASES: Readonly<Record<Engine, string>> = {
  scan: 'scan of codes, exact',
  ivf: 'ivf, 80 lists, floats in a file',
  hnsw: 'hnsw, m 16, ef 128 and 64',
}

/** The numbers of the most similar to each query, in floats, of vectors that pass one after another. */
class Truths {
  readonly queries: readonly Float32Array[]
  readonly best: { readonly at: number; readonly similarity: number }[][]
  readonly #table

  constructor(queries: readonly Float32Array[]) {
    this.queries = queries
    this.best = queries.map(() => [])
    this.#table = floatTable({ groups: 1, rows: queries.length, width: DIMENSIONS })
    this.#table.useRows(Float32Array.from(queries.flatMap((query) => [...query])))
  }

  pass(vector: Float32Array, at: number): void {
    this.#table.products(vector).forEach((similarity, query) => {
      const best = this.best[query]!
      if (best.length === K && similarity <= best[K - 1]!.similarity) return
      let place = best.length
      while (place > 0 && best[place - 1]!.similarity < similarity) place--
      best.splice(place, 0, { at, similarity })
      if (best.length > K) best.pop()
    })
  }

  recalls(index: SavableIndex): { recallAt1: number; recallAt10: number } {
    let first = 0
    let among = 0
    this.queries.forEach((query, number) => {
      const found = index.searchNow(query, K).map(({ id }) => id.readUInt32BE(12))
      const best = this.best[number]!.map(({ at }) => at)
      if (found[0] === best[0]) first++
      among += found.filter((at) => best.includes(at)).length
    })
    const { length } = this.queries
    return { recallAt1: first / length, recallAt10: among / length / K }
  }
}

function lookThrough(vectors: readonly Float32Array[], query: Float32Array): number {
  return vectors.reduce((best, vector) => Math.max(best, vectorCosine(query, vector)), -1)
}

interface Built {
  readonly index: SavableIndex
  close(): Promise<void>
}

async function built(
  engine: Engine,
  vectors: readonly Float32Array[],
  directory: string,
): Promise<Built> {
  if (engine !== 'ivf') {
    const index = await openVectorIndex(DIMENSIONS, { engine })
    vectors.forEach((vector, at) => index.add(idOf(at), vector))
    return { index, close: async () => undefined }
  }
  const source = {
    embedder: 'made up',
    dimensions: DIMENSIONS,
    count: async () => vectors.length,
    position: async () => '',
    since: async () => undefined,
    async *all() {
      for (const [at, vector] of vectors.entries()) yield { id: idOf(at), vector }
    },
  }
  return openVectorView(source, { engine, path: join(directory, 'index') })
}

async function measure(
  engine: Engine,
  vectors: readonly Float32Array[],
  truths: Truths,
  directory: string,
): Promise<VectorsResult> {
  collectGarbage()
  const residentBefore = process.memoryUsage().rss
  const before = process.cpuUsage()
  const view = await built(engine, vectors, directory)
  const { index } = view
  const { user, system } = process.cpuUsage(before)
  collectGarbage()
  const resident = process.memoryUsage().rss - residentBefore
  const { queries } = truths
  const some = vectors.slice(0, REFERENCE_VECTORS)
  const compared = await compare(
    { ops: queries.length, run: () => queries.forEach((query) => index.searchNow(query, K)) },
    {
      ops: (REFERENCE_QUERIES * some.length) / vectors.length,
      run: () => queries.slice(0, REFERENCE_QUERIES).forEach((query) => lookThrough(some, query)),
    },
    { warmUps: 1, rounds: 3 },
  )
  const recalls = truths.recalls(index)
  await view.close()
  return {
    bench: 'vectors',
    case: CASES[engine],
    vectors: vectors.length,
    buildCpuSeconds: rounded((user + system) / 1e6),
    residentMegabytes: rounded(resident / 2 ** 20),
    ...('bytes' in index && { bytesPerVector: rounded(index.bytes / vectors.length) }),
    ...recalls,
    reference: 'a search in floats',
    ...compared,
    isWithin: recalls.recallAt1 >= (engine === 'ivf' ? 0.98 : 0.99),
  }
}

function madeVectors(kind: VectorsKind, count: number): TopicVectors | UnitVectors {
  if (kind === 'topics') return new TopicVectors(384, DIMENSIONS, Math.ceil(count / 200))
  return new UnitVectors(384, DIMENSIONS, Math.ceil(count / 50))
}

export async function benchVectors(
  count: number,
  print: (result: VectorsResult) => void,
  only = '',
  kind: VectorsKind = 'topics',
): Promise<void> {
  const made = madeVectors(kind, count)
  const vectors = Array.from({ length: count }, () => made.member())
  const truths = new Truths(
    Array.from({ length: QUERIES }, (_, at) =>
      made.near(vectors[made.below(count)]!, at % 2 === 0 ? 0.95 : 0.8),
    ),
  )
  vectors.forEach((vector, at) => truths.pass(vector, at))
  const directory = await mkdtemp(join(tmpdir(), 'prestige-bench-vectors-'))
  try {
    for (const engine of ['scan', 'ivf', 'hnsw'] as const) {
      if (engine.includes(only)) print(await measure(engine, vectors, truths, directory))
    }
  } finally {
    await rm(directory, { recursive: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await benchVectors(
    Number(process.argv[2] ?? 100_000),
    (result) => process.stdout.write(`${JSON.stringify(result)}\n`),
    process.argv[3],
    process.argv[4] === 'noise' ? 'noise' : 'topics',
  )
}
