/**
 * Claims documents and commits them until it is killed, and says in a file what was acknowledged.
 * Arguments: directory, log file, worker, documents, lease in milliseconds, and after how many documents it only holds
 * its claim and does no more.
 */

import { openSync, writeSync } from 'node:fs'

import { openLedger } from '../../dist/index.js'

const [directory, logFile, worker, count, leaseMs, holdsAfter] = process.argv.slice(2)
const log = openSync(logFile, 'a')
const ledger = await openLedger(directory, { durability: 'os' })
process.stdout.write('ready\n')

let done = 0
const options = { leaseMs: Number(leaseMs), run: 'r', source: 's', worker }
for (let left = Number(count); left > 0;) {
  left = 0
  for (let at = 0; at < Number(count); at++) {
    const claim = await ledger.claim(`doc ${at}`, options)
    if (!claim.ok) {
      if (claim.reason === 'claimed') left++
      continue
    }
    left++
    writeSync(log, `B\t${claim.id}\t${claim.token}\n`)
    if (++done === Number(holdsAfter)) {
      process.stdout.write('holding\n')
      await new Promise((resolve) => setTimeout(resolve, 1e6))
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
    await ledger.commit(claim, { status: 'accepted', detail: worker })
    writeSync(log, `A\t${claim.id}\t${claim.token}\n`)
  }
}
await ledger.close()
process.stdout.write('done\n')
