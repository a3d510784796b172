/**
 * One schedule of conditions and transactions: some workers on a simulated engine race for keys with `ifAbsent`, count with
 * `update`, and move amounts between two keys, interleaved at every read and commit by a seed, with conflicts and lost
 * replies. Every reply comes in the end, so what they were answered must add up.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { PrestigeError } from '../../src/platform/errors.ts'
import { SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { Layout } from '../../src/store/contents/layout.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { checkInvariants } from './invariants.ts'
import { pick } from './schedule.ts'

const WORKERS = ['w0', 'w1', 'w2']
const PRIZES = ['p0', 'p1']
const SUM = 100
const HOW = {
  layout: new Layout({ chunks: { fromBytes: 1024, averageBytes: 1024 } }),
  canonicalise: (bytes: Uint8Array) => bytes,
  sharesForms: false,
}

interface Tally {
  readonly won: Map<string, string[]>
  counted: number
  moved: number
  refused: number
}

export async function runConditions(seed: number): Promise<Tally> {
  const world = new SimulatedWorld(seed)
  const stores = new Map<string, Store>()
  for (const worker of WORKERS)
    stores.set(worker, await openStore(world.open(worker), { changes: true }))
  const [first] = stores.values()
  await first?.putMany([
    { key: 'a', value: String(SUM) },
    { key: 'b', value: '0' },
  ])
  world.faults = { conflict: world.random() * 0.2, lostReply: world.random() * 0.2, failure: 0 }
  let broken: unknown
  world.onChange = () => {
    try {
      checkInvariants(world, HOW)
    } catch (error) {
      broken ??= error
    }
  }
  const tally: Tally = { won: new Map(), counted: 0, moved: 0, refused: 0 }
  await Promise.all(
    [...stores].map(async ([worker, store]) => {
      for (let turn = 0; turn < 4; turn++) {
        await world.pause(worker)
        await attempt(world, worker, store, tally)
        await nextTurn()
      }
    }),
  )
  if (broken) throw broken
  world.faults = { conflict: 0, lostReply: 0, failure: 0 }
  const last = await openStore(world.open('last'))
  await check(last, tally)
  await last.collect()
  checkInvariants(world, HOW)
  return tally
}

async function attempt(
  world: SimulatedWorld,
  worker: string,
  store: Store,
  tally: Tally,
): Promise<void> {
  const dice = world.random()
  try {
    if (dice < 0.4) {
      const key = pick(world, PRIZES)
      await store.put(key, worker, { ifAbsent: true })
      tally.won.set(key, [...(tally.won.get(key) ?? []), worker])
    } else if (dice < 0.7) {
      await store.update('n', (value) => String(Number(value ?? 0) + 1))
      tally.counted++
    } else await move(world, store, tally)
  } catch (error) {
    if (!(error instanceof PrestigeError) || error.code !== 'PRECONDITION_FAILED') throw error
    tally.refused++
  }
}

async function move(world: SimulatedWorld, store: Store, tally: Tally): Promise<void> {
  const amount = 1 + Math.floor(world.random() * 5)
  const [a, b] = [await store.getText('a'), await store.getText('b')]
  const [headA, headB] = [await store.head('a'), await store.head('b')]
  if (a === undefined || b === undefined || !headA || !headB)
    throw new Error('a key that was never deleted is missing')
  // What was read and what is compared may be of two moments, so the sum is checked before it is written.
  if (Number(a) + Number(b) !== SUM) return
  await store.transaction([
    { put: 'a', value: String(Number(a) - amount), ifMatch: headA.digest },
    { put: 'b', value: String(Number(b) + amount), ifMatch: headB.digest },
  ])
  tally.moved++
}

async function check(store: Store, { won, counted }: Tally): Promise<void> {
  for (const key of PRIZES) {
    const winners = won.get(key) ?? []
    if (winners.length > 1) throw new Error(`${key} was put twice with ifAbsent: ${winners.join()}`)
    if ((await store.getText(key)) !== winners[0]) throw new Error(`${key} has another value`)
  }
  const count = Number((await store.getText('n')) ?? 0)
  if (count !== counted)
    throw new Error(`${counted} updates were acknowledged, and ${count} counted`)
  const sum = Number(await store.getText('a')) + Number(await store.getText('b'))
  if (sum !== SUM) throw new Error(`a transaction was applied in part: ${sum}`)
  const { problems } = await store.verify()
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
}
