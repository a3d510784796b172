/**
 * What does a delete cost, against plain lmdb removing the same keys? Half of the keys go, in random order.
 *
 * Ours also drops the reference and, where it was the last one, the content and its digest.
 */

import { openStore, type Store } from 'prestige-dedup'

import type { Bench, Case, Fixture, Place, Sample } from './harness/bench.ts'
import { hashedKeys, type Repeats, scaled, shuffled, values } from './harness/data.ts'
import { diskBytes, inFlight, Latencies, measure } from './harness/measure.ts'
import { openRaw, rawDeletes, rawPuts } from './harness/raw.ts'

const BYTES = 1024
const WARM = 5_000

/** Keys to warm up with, and those the clock runs for. */
function keysOf(scale: number) {
  const count = scaled(100_000, scale)
  return { warm: hashedKeys(WARM, 'warm'), keys: hashedKeys(count) }
}

function loadOf(repeats: Repeats, scale: number) {
  const { warm, keys } = keysOf(scale)
  const all = [...warm, ...keys]
  return { keys: all, values: values(all.length, BYTES, repeats, 6) }
}

function doomed(scale: number): { readonly warm: Buffer[]; readonly keys: Buffer[] } {
  const { warm, keys } = keysOf(scale)
  const half = Math.floor(keys.length / 2)
  return { warm, keys: Array.from(shuffled(keys.length, 7), (at) => keys[at]!).slice(0, half) }
}

function ourFixture(repeats: Repeats): Fixture {
  return {
    name: `ours-${repeats}`,
    async build({ directory, scale }) {
      const { keys, values } = loadOf(repeats, scale)
      const store = await openStore(directory, { durability: 'os' })
      await inFlight(256, keys.length, (at) => store.put(keys[at]!, values[at]!))
      await store.close()
    },
  }
}

function rawFixture(repeats: Repeats): Fixture {
  return {
    name: `raw-${repeats}`,
    async build({ directory, scale }) {
      const { keys, values } = loadOf(repeats, scale)
      const root = openRaw(directory, 'os')
      await rawPuts(root, keys, values, 'os')
      await root.close()
    },
  }
}

type DeleteAll = (store: Store, keys: readonly Buffer[], latencies: Latencies) => Promise<void>

async function ours(deleteAll: DeleteAll, place: Place): Promise<Sample> {
  const { warm, keys } = doomed(place.scale)
  const store = await openStore(place.directory, { durability: 'os' })
  await deleteAll(store, warm, new Latencies(warm.length))
  const sample = await measure({ ops: keys.length, place }, (latencies) =>
    deleteAll(store, keys, latencies),
  )
  await store.close()
  return { ...sample, diskBytes: await diskBytes(place.directory) }
}

async function reference(place: Place): Promise<Sample> {
  const { warm, keys } = doomed(place.scale)
  const root = openRaw(place.directory, 'os')
  await rawDeletes(root, warm)
  const sample = await measure({ ops: keys.length, place }, () => rawDeletes(root, keys))
  await root.close()
  return { ...sample, diskBytes: await diskBytes(place.directory) }
}

export function deleteCase(name: string, repeats: Repeats, deleteAll: DeleteAll): Case {
  return {
    name,
    changesFixture: true,
    ours: { fixture: ourFixture(repeats), run: (place) => ours(deleteAll, place) },
    reference: {
      name: 'lmdb removeSync, batches of 100',
      fixture: rawFixture(repeats),
      run: reference,
    },
  }
}

const oneByOne: DeleteAll = (store, keys, latencies) =>
  inFlight(32, keys.length, (at) =>
    latencies.time(at, async () => {
      if (!(await store.delete(keys[at]!))) throw new Error('A key was not there.')
    }),
  )

export const bench: Bench = {
  name: 'delete',
  question: 'What does a delete cost, against plain lmdb removing the same keys?',
  cases: [
    deleteCase('1 KiB, half duplicates, 32 in flight, os', 'half', oneByOne),
    deleteCase('1 KiB, all new, 32 in flight, os', 'none', oneByOne),
  ],
}
