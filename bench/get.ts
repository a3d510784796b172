/**
 * What does a get cost, against plain lmdb handing out the same bytes?
 *
 * Ours reads two rows (the key's entry, then its content) from a snapshot renewed for every get, and answers
 * through a promise; the reference reads one row, synchronously, from a snapshot that lmdb renews by a timer.
 * All keys are read once before the clock starts, so that no side pays for the first touch of a page.
 */

import { openStore } from 'prestige-dedup'

import type { Bench, Case, Fixture, Place, Sample } from './harness/bench.ts'
import { hashedKeys, scaled, shuffled, values } from './harness/data.ts'
import { inFlight, Latencies, measure, nextTurn } from './harness/measure.ts'
import { openRaw, rawPuts } from './harness/raw.ts'

export type Size = 1024 | 65536

export function keysOf(bytes: Size, scale: number): Buffer[] {
  return hashedKeys(scaled(bytes === 1024 ? 200_000 : 4_000, scale))
}

export function ourFixture(bytes: Size): Fixture {
  return {
    name: `ours-${bytes}`,
    async build({ directory, scale }) {
      const keys = keysOf(bytes, scale)
      const all = values(keys.length, bytes, 'none', 3)
      const store = await openStore(directory, { durability: 'os' })
      await inFlight(256, keys.length, (at) => store.put(keys[at]!, all[at]!))
      await store.close()
    },
  }
}

export function rawFixture(bytes: Size): Fixture {
  return {
    name: `raw-${bytes}`,
    async build({ directory, scale }) {
      const keys = keysOf(bytes, scale)
      const root = openRaw(directory, 'os')
      await rawPuts(root, keys, values(keys.length, bytes, 'none', 3), 'os')
      await root.close()
    },
  }
}

interface GetCase {
  readonly bytes: Size
  readonly flight: 1 | 32
  readonly isMiss: boolean
}

/** The keys in the order in which they are asked for, and how long every answer must be. */
function questions({ bytes, isMiss }: GetCase, scale: number) {
  const known = keysOf(bytes, scale)
  const asked = isMiss ? hashedKeys(known.length, 'miss') : known
  const rounds = bytes === 1024 ? 1 : 5
  const order = shuffled(known.length, 4)
  const keys = Array.from(
    { length: known.length * rounds },
    (_, at) => asked[order[at % known.length]!]!,
  )
  return { keys, expected: isMiss ? undefined : bytes }
}

function assertLength(found: Uint8Array | undefined, expected: number | undefined): void {
  if (found?.byteLength !== expected) throw new Error('A get answered with something else.')
}

function bytesOf({ bytes, isMiss }: GetCase, count: number): number | undefined {
  return bytes === 65536 && !isMiss ? bytes * count : undefined
}

async function ours(one: GetCase, place: Place): Promise<Sample> {
  const { keys, expected } = questions(one, place.scale)
  const store = await openStore(place.directory, { durability: 'os' })
  const getAll = (latencies: Latencies) =>
    inFlight(one.flight, keys.length, (at) =>
      latencies.time(at, async () => assertLength(await store.get(keys[at]!), expected)),
    )
  await getAll(new Latencies(keys.length))
  const bytes = bytesOf(one, keys.length)
  const sample = await measure({ ops: keys.length, bytes, place }, getAll)
  await store.close()
  return sample
}

async function reference(one: GetCase, place: Place): Promise<Sample> {
  const { keys, expected } = questions(one, place.scale)
  const root = openRaw(place.directory, 'os')
  const getAll = async () => {
    for (const [at, key] of keys.entries()) {
      assertLength(root.getBinary(key), expected)
      if (at % 1000 === 0) await nextTurn()
    }
  }
  await getAll()
  const bytes = bytesOf(one, keys.length)
  const sample = await measure({ ops: keys.length, bytes, place }, getAll)
  await root.close()
  return sample
}

function caseOf(one: GetCase): Case {
  const { bytes, flight, isMiss } = one
  const what = isMiss ? `misses among ${bytes / 1024} KiB` : `${bytes / 1024} KiB`
  return {
    name: `${what}, ${flight === 1 ? 'one by one' : `${flight} in flight`}`,
    ours: { fixture: ourFixture(bytes), run: (place) => ours(one, place) },
    reference: {
      name: 'lmdb getBinary',
      fixture: rawFixture(bytes),
      run: (place) => reference(one, place),
    },
    limits: { ratioMax: 2 },
  }
}

export const bench: Bench = {
  name: 'get',
  question: 'What does a get cost, against plain lmdb getBinary of the same bytes?',
  cases: [
    { bytes: 1024, flight: 1, isMiss: false } as const,
    { bytes: 1024, flight: 32, isMiss: false } as const,
    { bytes: 65536, flight: 1, isMiss: false } as const,
    { bytes: 65536, flight: 32, isMiss: false } as const,
    { bytes: 1024, flight: 1, isMiss: true } as const,
    { bytes: 1024, flight: 32, isMiss: true } as const,
  ].map(caseOf),
}
