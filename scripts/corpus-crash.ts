/**
 * Four processes share runs of the corpus job and are killed again and again: `npm run corpus-crash -- --rounds 20
 * [--seed 1] [--workers 4] [--documents 12000] [--kills 20] [--backend lmdb|redis|dynamodb]`. See test/crash/worker-rounds.ts.
 */

import { parseArgs } from 'node:util'

import { sharedEngine } from '../test/race/engines.ts'
import { runCorpusRound } from '../test/crash/worker-rounds.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '20' },
    workers: { type: 'string', default: '4' },
    documents: { type: 'string', default: '12000' },
    kills: { type: 'string', default: '20' },
    backend: { type: 'string', default: 'lmdb' },
  },
})
const first = Number(values.seed)
let kills = 0
for (let seed = first; seed < first + Number(values.rounds); seed++) {
  const orderIndependent = seed % 2 === 0
  const engine = values.backend === 'lmdb' ? undefined : await sharedEngine(values.backend)
  const report = await runCorpusRound({
    seed,
    state: engine?.location,
    workers: Number(values.workers),
    documents: Number(values.documents),
    killsMax: Number(values.kills),
    betweenMs: 1500,
    orderIndependent,
  })
  await engine?.stop()
  kills += report.kills
  console.log(JSON.stringify({ seed, orderIndependent, ...report }))
}
console.log(JSON.stringify({ rounds: Number(values.rounds), kills, failures: 0 }))
