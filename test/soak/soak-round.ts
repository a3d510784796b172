/**
 * One process uses a store in a directory for long: puts of few and of many values, deletes, expiry, collecting, closing
 * and opening again. At every opening all keys have the values of a plain Map, and the store is sound.
 */

import { openStore, type Store } from '../../src/index.ts'
import { seededRandom } from '../../src/backends/simulated/backend.ts'

const OPENINGS = 6
const STEPS = 1500
const KEYS = 400

export interface SoakReport {
  readonly steps: number
  readonly keys: number
}

export async function soakRound(directory: string, seed: number): Promise<SoakReport> {
  const random = seededRandom(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const known = new Map<string, string>()
  const gc = seed % 2 === 0 ? 'immediate' : 'manual'
  for (let opening = 0; opening < OPENINGS; opening++) {
    const store = await openStore(directory, { gc, durability: 'os' })
    try {
      await requireSame(store, known)
      for (let step = 0; step < STEPS; step++) await change(store, known, below)
      await store.collect()
      await requireSame(store, known)
    } finally {
      await store.close()
    }
  }
  return { steps: OPENINGS * STEPS, keys: known.size }
}

async function change(
  store: Store,
  known: Map<string, string>,
  below: (limit: number) => number,
): Promise<void> {
  const key = `key ${below(KEYS)}`
  const what = below(10)
  if (what === 0) {
    if ((await store.delete(key)) !== known.delete(key)) throw new Error(`delete of ${key}`)
  } else if (what === 1) {
    if ((await store.getText(key)) !== known.get(key)) throw new Error(`get of ${key}`)
  } else {
    // Most values are copies, some are long.
    const value = `${'x'.repeat(below(20) === 0 ? 100_000 : below(200))} ${below(50)}`
    known.set(key, value)
    await store.put(key, value)
  }
}

async function requireSame(store: Store, known: ReadonlyMap<string, string>): Promise<void> {
  for (const [key, value] of known) {
    if ((await store.getText(key)) !== value) throw new Error(`${key} has another value`)
  }
  const { keys } = await store.stats()
  if (keys !== known.size) throw new Error(`${keys} keys instead of ${known.size}`)
  const { problems } = await store.verify()
  if (problems.length > 0) throw new Error(JSON.stringify(problems[0]))
}
