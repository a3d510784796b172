/** What does putMany cost an item, given arrays of 100, or everything as one stream? */

import { openStore, type PutItem } from 'prestige-dedup'

import type { Bench, Case } from './harness/bench.ts'
import { inFlight } from './harness/measure.ts'
import { type Load, measurePuts, openReference, type PutCase, type Putting } from './put.ts'

const ARRAY = 100
const HALF_DUPLICATES = { bytes: 1024, repeats: 'half', flight: 256, durability: 'os' } as const

type Way = 'arrays of 100, 4 at a time' | 'one stream'

async function openOurs(directory: string, one: PutCase, way: Way): Promise<Putting> {
  const store = await openStore(directory, { durability: one.durability })
  const putArrays = async (load: Load) => {
    const { count } = load
    await inFlight(4, Math.ceil(count / ARRAY), async (at) => {
      const items = [...itemsOf(load, at * ARRAY, Math.min(count, (at + 1) * ARRAY))]
      for (const outcome of await store.putMany(items)) if (!outcome.ok) throw outcome.error
    })
  }
  const putStream = async (load: Load) => {
    for await (const outcome of store.putMany(stream(itemsOf(load, 0, load.count)))) {
      if (!outcome.ok) throw outcome.error
    }
  }
  return { put: way === 'one stream' ? putStream : putArrays, close: () => store.close() }
}

async function* stream<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

function* itemsOf({ keys, values }: Load, from: number, to: number): Generator<PutItem> {
  for (let at = from; at < to; at++) yield { key: keys[at]!, value: values[at]! }
}

function caseOf(one: PutCase, way: Way): Case {
  return {
    name: `${one.bytes / 1024} KiB, half duplicates, ${way}, ${one.durability}`,
    ours: { run: (place) => measurePuts(one, place, (where) => openOurs(where, one, way)) },
    reference: {
      name: 'lmdb, batches of 100',
      run: (place) => measurePuts(one, place, (where) => openReference(where, one)),
    },
  }
}

export const bench: Bench = {
  name: 'put-many',
  question: 'What does putMany cost an item, against plain lmdb in batches of 100?',
  cases: [
    caseOf(HALF_DUPLICATES, 'arrays of 100, 4 at a time'),
    caseOf(HALF_DUPLICATES, 'one stream'),
    caseOf({ ...HALF_DUPLICATES, durability: 'fsync' }, 'one stream'),
  ],
}
