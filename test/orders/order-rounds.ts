/**
 * With `orderIndependent`, which documents are kept depends on nothing else: the same ones for every order of the input,
 * number of workers, bound of memory and engine. Engines on servers have no tables in memory, and refuse a bound.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { Redis } from 'ioredis'

import { createTables } from '../../src/backends/dynamodb/index.ts'
import { openLmdb } from '../../src/backends/lmdb/backend.ts'
import { dedupeSpaces, near } from '../../src/dedupe/rows.ts'
import { randomWords } from '../../src/fingerprint/mix.ts'
import { openDedupe } from '../../src/index.ts'
import { corpus, jsonl, linesOf, writeFiles } from '../corpus-kit.ts'
import { keptFiles } from '../output-check.ts'
import { type DynamoServer, startDynamo } from '../servers/dynamodb.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { shuffled } from '../table-model.ts'

export const ORDERS = 20
export const WORKERS = [1, 2, 3, 4] as const
export const STATES = ['lmdb', 'lmdb, bounded', 'redis', 'dynamodb'] as const

export interface OrderCase {
  readonly order: number
  readonly workers: (typeof WORKERS)[number]
  readonly state: (typeof STATES)[number]
}

/** The full product. */
export function everyCase(): OrderCase[] {
  return Array.from({ length: ORDERS }, (_, order) =>
    WORKERS.flatMap((workers) => STATES.map((state) => ({ order, workers, state }))),
  ).flat()
}

/** Of 20 cases of a sample. Servers take longer. */
const SHARES = { lmdb: 8, 'lmdb, bounded': 8, redis: 3, dynamodb: 1 } as const

/** One case for each order, chosen by a seed; together they have every number of workers and every state. */
export function sampledCases(seed: number): OrderCase[] {
  const next = randomWords(seed)
  const states = STATES.flatMap((state) => Array.from({ length: SHARES[state] }, () => state))
  const workers = shuffled(WORKERS.length, next).map((at) => WORKERS[at] ?? 1)
  return shuffled(ORDERS, next).map((order, at) => ({
    order,
    workers: workers[at % workers.length] ?? 1,
    state: states[at] ?? 'lmdb',
  }))
}

/** So many that not all of them fit into the least memory. */
const DOCUMENTS = 260
const MEMORY = 100_000
const FILES = 6

/** Where states are, and servers for them. */
export class OrderRounds {
  readonly #directory = mkdtempSync(join(tmpdir(), 'prestige-orders-'))
  readonly #docs = corpus(DOCUMENTS, 5)
  #count = 0
  #redis: RedisServer | undefined
  #dynamo: DynamoServer | undefined

  /** Ids of the documents that are kept, and how many pages of the index were on disk. */
  async run({ order, workers, state }: OrderCase): Promise<{ kept: string; pages: number }> {
    const directory = join(this.#directory, String(this.#count++))
    const input = join(directory, 'in')
    const out = join(directory, 'out')
    const docs = shuffled(this.#docs.length, randomWords(order + 1)).map((at) => this.#docs[at])
    const each = Math.ceil(docs.length / FILES)
    for (let file = 0; file < FILES; file++) {
      writeFiles(input, { [`${file}.jsonl`]: jsonl(docs.slice(file * each, (file + 1) * each)) })
    }
    const location = await this.#location(state, directory)
    const options = {
      orderIndependent: true,
      keep: ['longest' as const],
      ...(state.startsWith('lmdb') && { durability: 'os' as const }),
      ...(state === 'lmdb, bounded' && { memory: MEMORY }),
    }
    await Promise.all(Array.from({ length: workers }, () => work(location, options, input, out)))
    const ids = keptFiles(out).flatMap((name) =>
      linesOf(join(out, 'kept', name)).map(({ id }) => id),
    )
    const pages = state === 'lmdb, bounded' ? await pagesIn(location) : 0
    rmSync(directory, { recursive: true })
    return { kept: ids.map(String).toSorted().join(' '), pages }
  }

  async stop(): Promise<void> {
    await this.#redis?.stop()
    await this.#dynamo?.stop()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async #location(state: OrderCase['state'], directory: string): Promise<string> {
    if (state === 'redis') {
      this.#redis ??= await startRedis()
      const client = new Redis(this.#redis.url)
      await client.flushall()
      client.disconnect()
      return this.#redis.url
    }
    if (state === 'dynamodb') {
      this.#dynamo ??= await startDynamo()
      const location = this.#dynamo.location(`orders${this.#count}`)
      await createTables(location)
      return location
    }
    return join(directory, 'state')
  }
}

/** One of the workers that share a run, each with an opened state of its own. */
async function work(
  location: string,
  options: Parameters<typeof openDedupe>[1],
  input: string,
  out: string,
): Promise<void> {
  const deduper = await openDedupe(location, options)
  try {
    // The order of documents says nothing about their source.
    await deduper.run({ inputs: [{ path: input, source: 'corpus' }], out, run: 'shared' })
  } finally {
    await deduper.close()
  }
}

async function pagesIn(location: string): Promise<number> {
  const backend = await openLmdb(location, { spaces: dedupeSpaces, durability: 'os' })
  let pages = 0
  for await (const { key } of backend.scan(near.snapshots)) {
    if (key.toString('latin1').startsWith('page')) pages++
  }
  await backend.close()
  return pages
}
