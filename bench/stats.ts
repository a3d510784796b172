/** Does stats() stay instant on a large store? Against counting the keys by listing them. */

import { openStore, type PutItem, type Store } from 'prestige-dedup'

import type { Bench, Fixture, Place, Sample } from './harness/bench.ts'
import { hashedKeys, scaled } from './harness/data.ts'
import { Latencies, measure, nextTurn } from './harness/measure.ts'

const CALLS = 10_000

function countOf(scale: number): number {
  return scaled(1_000_000, scale)
}

/** Small values, half of them duplicates. */
async function* items(scale: number): AsyncGenerator<PutItem> {
  const keys = hashedKeys(countOf(scale))
  for (const [at, key] of keys.entries()) yield { key, value: `value ${at >> 1}` }
}

const fixture: Fixture = {
  name: 'million',
  async build({ directory, scale }) {
    const store = await openStore(directory, { durability: 'os' })
    for await (const outcome of store.putMany(items(scale))) if (!outcome.ok) throw outcome.error
    await store.close()
  },
}

async function askForStats(store: Store, keys: number, latencies: Latencies): Promise<void> {
  for (let at = 0; at < CALLS; at++) {
    await latencies.time(at, async () => {
      if ((await store.stats()).keys !== keys) throw new Error('The count is wrong.')
    })
    if (at % 100 === 0) await nextTurn()
  }
}

async function listKeys(store: Store, keys: number): Promise<void> {
  let found = 0
  for await (const _key of store.keys()) found++
  if (found !== keys) throw new Error('The count is wrong.')
}

async function withStore(
  { directory }: Place,
  work: (store: Store) => Promise<Sample>,
): Promise<Sample> {
  const store = await openStore(directory, { durability: 'os' })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

export const bench: Bench = {
  name: 'stats',
  question: 'Does stats() stay instant with a million keys, against counting by listing them?',
  cases: [
    {
      name: '1 M keys',
      ours: {
        fixture,
        run: (place) =>
          withStore(place, async (store) => {
            const keys = countOf(place.scale)
            await askForStats(store, keys, new Latencies(CALLS))
            return measure({ ops: CALLS, place }, (latencies) =>
              askForStats(store, keys, latencies),
            )
          }),
      },
      reference: {
        name: 'counting by keys()',
        fixture,
        run: (place) =>
          withStore(place, (store) =>
            measure({ ops: 1, place }, () => listKeys(store, countOf(place.scale))),
          ),
      },
      limits: { p50MsMax: 1 },
    },
  ],
}
