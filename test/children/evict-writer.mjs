/**
 * Puts and reads in a bounded store until it is killed, and says in a file what it began and what was acknowledged.
 * Arguments: directory, log file, seed, durability. Lines: `B lane key number`, `A lane`.
 */

import { openSync, writeSync } from 'node:fs'

import { openStore } from '../../dist/index.js'
import { seededRandom } from '../../dist/backends/simulated/backend.js'

const [directory, logFile, seed, durability] = process.argv.slice(2)
const random = seededRandom(Number(seed))
const log = openSync(logFile, 'a')
const LANES = 8

const bounds = { maxKeys: 200, evictTo: 0.5, recencyMs: 0 }
const store = await openStore(directory, { durability, ...bounds, changes: true })
process.stdout.write('ready\n')

async function runLane(lane) {
  for (;;) {
    const key = `lane ${lane} key ${Math.floor(random() * 1000)}`
    const dice = random()
    const number = Math.floor(random() * 400)
    if (dice < 0.2) await store.get(key)
    else if (dice < 0.22) await store.prune({ olderThanMs: 50 })
    else {
      writeSync(log, `B\t${lane}\t${key}\t${number}\n`)
      const sliding = dice > 0.8 ? { ttlMs: 1e9, sliding: true } : {}
      await store.put(key, `value ${number} of many`, sliding)
      writeSync(log, `A\t${lane}\n`)
    }
  }
}

await Promise.all(Array.from({ length: LANES }, (_, lane) => runLane(lane)))
