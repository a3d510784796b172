/** What does deleteMany cost a key, given arrays of 1000? Half of the keys go. */

import { deleteCase } from './delete.ts'
import type { Bench } from './harness/bench.ts'

const ARRAY = 1000

export const bench: Bench = {
  name: 'delete-many',
  question: 'What does deleteMany cost a key, against plain lmdb removing the same keys?',
  cases: [
    deleteCase('1 KiB, half duplicates, arrays of 1000, os', 'half', async (store, keys) => {
      for (let from = 0; from < keys.length; from += ARRAY) {
        for (const outcome of await store.deleteMany(keys.slice(from, from + ARRAY))) {
          if (!outcome.ok || !outcome.result) throw new Error('A key was not there.')
        }
      }
    }),
  ],
}
