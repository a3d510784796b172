/**
 * Kills a process that evicts all the time with SIGKILL at random moments, again and again on one store, and checks
 * after every death: every value is one that its key had, rows about uses belong to keys, verify is clean, the bound
 * holds, eviction goes on, and a reader of the feed of changes knows what the store has.
 */

import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { openStore, type Store } from '../../src/index.ts'
import { seededRandom } from '../../src/backends/simulated/backend.ts'
import { catchUp, type Replica, requireReplay } from '../changes-kit.ts'
import { writeAndKill } from './crash-rounds.ts'

const WRITER = fileURLToPath(new URL('../children/evict-writer.mjs', import.meta.url))
const LANES = 8
const KEYS_MAX = 200

export interface EvictReport {
  readonly rounds: number
  readonly acknowledged: number
  /** Keys that were put and are not there at the end. */
  readonly gone: number
}

export async function evictRounds(
  directory: string,
  {
    rounds: roundsMin,
    seed,
    acknowledgedMin = 0,
    goneMin = 0,
  }: {
    readonly rounds: number
    readonly seed: number
    /** More rounds until there were so many, as in crash-rounds.ts. */
    readonly acknowledgedMin?: number
    readonly goneMin?: number
  },
): Promise<EvictReport> {
  const random = seededRandom(seed)
  const location = join(directory, 'store')
  const put = new Map<string, Set<string>>()
  const replica: Replica = new Map()
  let cursor: string | undefined
  let acknowledged = 0
  let gone = 0
  let round = 0
  for (; round < roundsMin || acknowledged < acknowledgedMin || gone < goneMin; round++) {
    const log = join(directory, `log-${round}.txt`)
    const durability = round % 2 === 0 ? 'os' : 'fsync'
    await writeAndKill(WRITER, [location, log, String(seed + round), durability], random() * 500)
    const done = replay(await readFile(log, 'utf8').catch(() => ''), put)
    await rm(log, { force: true })
    acknowledged += done
    gone = await check(location, put)
    cursor = await checkFeed(location, replica, cursor)
  }
  return { rounds: round, acknowledged, gone }
}

/** A reader that goes on behind what it saw before the death misses nothing, and sees nothing that was not committed. */
async function checkFeed(
  location: string,
  replica: Replica,
  after: string | undefined,
): Promise<string | undefined> {
  await using store = await openStore(location, { readOnly: true })
  const cursor = await catchUp(store, replica, after)
  await requireReplay(store, replica)
  return cursor
}

/** Everything a key may ever have had; how many puts were acknowledged. */
function replay(text: string, put: Map<string, Set<string>>): number {
  let acknowledged = 0
  for (const line of text.split('\n')) {
    const [kind, , key = '', number] = line.split('\t')
    if (kind === 'A') acknowledged++
    if (kind !== 'B') continue
    const values = put.get(key) ?? new Set()
    put.set(key, values.add(`value ${number} of many`))
  }
  return acknowledged
}

async function check(location: string, put: Map<string, Set<string>>): Promise<number> {
  await using store = await openStore(location, { durability: 'os', maxKeys: KEYS_MAX })
  const report = await store.verify()
  if (!report.isSound) throw new Error(`verify found ${JSON.stringify(report.problems[0])}`)
  let keys = 0
  for await (const [key, value] of store.entries()) {
    keys++
    if (!put.get(String(key))?.has(String(value))) throw new Error(`${key} never had ${value}`)
  }
  const { keys: counted } = await store.stats()
  if (counted !== keys) throw new Error(`stats say ${counted} keys, and there are ${keys}`)
  // Each lane may have put one key that it did not live to make room for.
  if (keys > KEYS_MAX + LANES) throw new Error(`there are ${keys} keys of at most ${KEYS_MAX}`)
  await requireWorking(store)
  return put.size - keys
}

/** Whatever went can be put again. */
async function requireWorking(store: Store): Promise<void> {
  const evicted = await store.evict({ toKeys: 50 })
  const { keys } = await store.stats()
  if (keys > 50) throw new Error(`${keys} keys are left of at most 50, and ${evicted.keys} went`)
}
