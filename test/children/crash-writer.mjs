/**
 * Writes to a store until it is killed, and says in a file what it began and what was acknowledged.
 * Arguments: directory, log file, seed, durability, dedup, and what goes on beside it: `collect` in the background,
 * `compact` again and again, or `rewrite`: near duplicates lose what they are coded against all the time. Lines: `B lane key op value`, `A lane`.
 */

import { openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { openStore } from '../../dist/index.js'
import { seededRandom } from '../../dist/backends/simulated/backend.js'

const [directory, logFile, seed, durability, dedup = 'exact', beside] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const log = openSync(logFile, 'a')
const LANES = 48
const KEYS_PER_LANE = 6
/** With many versions of a text, each has one key or none, and representatives go with theirs. */
const NUMBERS = beside === 'rewrite' ? 4000 : 80

/** Few enough that most puts are duplicates, and some longer than a part. */
function valueOf(number) {
  const bytes = number % 40 === 39 ? 5_000_000 : 10 + ((number * 97) % 3000)
  return Buffer.alloc(bytes, `value ${number} `)
}

/** Ten texts, eight versions of each: whoever came first is a representative, the others are linked to it. */
function nearValueOf(number) {
  const [kind, version] = [number % 10, Math.floor(number / 10)]
  const words = Array.from({ length: 150 }, (_, at) => `w${(kind + 1) * 1000 + at}`)
  return Buffer.from(`value ${number} ${words.join(' ')} v${version}`)
}

const valueFor = dedup === 'near' ? nearValueOf : valueOf
const store = await openStore(directory, {
  durability,
  dedup,
  ...(dedup === 'near' && { near: { guards: false } }),
  ...(beside === 'collect' && { gc: 'background', gcGraceMs: 5, gcBudgetMs: 1000 }),
})
process.stdout.write('ready\n')

async function runLane(lane) {
  for (;;) {
    const key = `lane ${lane} key ${Math.floor(random() * KEYS_PER_LANE)}`
    const dice = random()
    const number = Math.floor(random() * NUMBERS)
    const op = dice < 0.6 ? 'put' : dice < 0.7 ? 'putTtl' : dice < 0.95 ? 'delete' : 'collect'
    writeSync(log, `B\t${lane}\t${key}\t${op}\t${number}\n`)
    if (op === 'put') await store.put(key, valueFor(number))
    else if (op === 'putTtl') await store.put(key, valueFor(number), { ttlMs: 1e9 })
    else if (op === 'delete') await store.delete(key)
    else await store.collect()
    writeSync(log, `A\t${lane}\n`)
  }
}

async function compactAlways() {
  for (;;) {
    // So that something is written between two of them.
    await sleep(20)
    await store.compact()
  }
}

if (beside === 'compact') void compactAlways()
await Promise.all(Array.from({ length: LANES }, (_, lane) => runLane(lane)))
