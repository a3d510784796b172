/** What does getMany cost a key, given arrays of 100, or all keys as one stream? */

import { openStore, type ItemOutcome } from 'prestige-dedup'

import type { Bench, Case, Place, Sample } from './harness/bench.ts'
import { shuffled } from './harness/data.ts'
import { measure, nextTurn } from './harness/measure.ts'
import { openRaw } from './harness/raw.ts'
import { keysOf, ourFixture, rawFixture } from './get.ts'

async function* stream<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

const ARRAY = 100
const BYTES = 1024

type Way = 'arrays of 100' | 'one stream'

function questions(scale: number): Buffer[] {
  const keys = keysOf(BYTES, scale)
  return Array.from(shuffled(keys.length, 5), (at) => keys[at]!)
}

async function ours(way: Way, place: Place): Promise<Sample> {
  const keys = questions(place.scale)
  const store = await openStore(place.directory, { durability: 'os' })
  const check = (outcome: ItemOutcome<Buffer | undefined>) => {
    if (!outcome.ok || outcome.result?.byteLength !== BYTES) throw new Error('A get went wrong.')
  }
  const getArrays = async () => {
    for (let from = 0; from < keys.length; from += ARRAY) {
      for (const outcome of await store.getMany(keys.slice(from, from + ARRAY))) check(outcome)
    }
  }
  const getStream = async () => {
    for await (const outcome of store.getMany(stream(keys))) check(outcome)
  }
  const getAll = way === 'one stream' ? getStream : getArrays
  await getAll()
  const sample = await measure({ ops: keys.length, place }, getAll)
  await store.close()
  return sample
}

async function reference(place: Place): Promise<Sample> {
  const keys = questions(place.scale)
  const root = openRaw(place.directory, 'os')
  const getAll = async () => {
    for (let from = 0; from < keys.length; from += ARRAY) {
      const found = keys.slice(from, from + ARRAY).map((key) => root.getBinary(key))
      if (found.some((value) => value?.byteLength !== BYTES)) throw new Error('A get went wrong.')
      await nextTurn()
    }
  }
  await getAll()
  const sample = await measure({ ops: keys.length, place }, getAll)
  await root.close()
  return sample
}

function caseOf(way: Way): Case {
  return {
    name: `1 KiB, ${way}`,
    ours: { fixture: ourFixture(BYTES), run: (place) => ours(way, place) },
    reference: {
      name: 'lmdb getBinary, 100 a turn',
      fixture: rawFixture(BYTES),
      run: reference,
    },
  }
}

export const bench: Bench = {
  name: 'get-many',
  question: 'What does getMany cost a key, against plain lmdb getBinary of 100 keys a turn?',
  cases: [caseOf('arrays of 100'), caseOf('one stream')],
}
