/**
 * What does collecting in the background cost the puts beside it? The store has many contents without keys; one side
 * collects them while it puts, the other one leaves them.
 */

import { openStore, type StoreOptions } from 'prestige-dedup'

import type { Bench, Case, Fixture, Place, Sample } from './harness/bench.ts'
import { hashedKeys, scaled, values } from './harness/data.ts'
import { diskBytes, inFlight, measure } from './harness/measure.ts'

const BYTES = 1024
const IN_FLIGHT = 32

const released: Fixture = {
  name: 'released',
  async build({ directory, scale }) {
    const count = scaled(100_000, scale)
    const keys = hashedKeys(count, 'released')
    const all = values(count, BYTES, 'none', 11)
    const store = await openStore(directory, { durability: 'os', gc: 'manual' })
    await inFlight(256, count, (at) => store.put(keys[at]!, all[at]!))
    await inFlight(256, count, (at) => store.delete(keys[at]!))
    await store.close()
  },
}

async function puts(place: Place, options: StoreOptions): Promise<Sample> {
  const count = scaled(100_000, place.scale)
  const keys = hashedKeys(count)
  const all = values(count, BYTES, 'half', 12)
  const store = await openStore(place.directory, { durability: 'os', ...options })
  const sample = await measure({ ops: count, place }, (latencies) =>
    inFlight(IN_FLIGHT, count, (at) => latencies.time(at, () => store.put(keys[at]!, all[at]!))),
  )
  await store.close()
  return { ...sample, diskBytes: await diskBytes(place.directory) }
}

const puttingBeside: Case = {
  name: '1 KiB, half duplicates, 32 in flight, os, beside collecting',
  changesFixture: true,
  ours: { fixture: released, run: (place) => puts(place, { gc: 'background', gcGraceMs: 0 }) },
  reference: {
    name: 'the same puts, nothing collected',
    fixture: released,
    run: (place) => puts(place, { gc: 'manual' }),
  },
  limits: { ratioMax: 1.15 },
}

export const bench: Bench = {
  name: 'background-gc',
  question: 'What does collecting in the background cost the puts beside it?',
  cases: [puttingBeside],
}
