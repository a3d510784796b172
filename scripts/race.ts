/**
 * `npm run race -- --backend lmdb|redis|dynamodb [--seed 1] [--unchecked]`: several processes put and resolve the same
 * things through one engine while some die; says what was stored twice, lost or wrong. Nothing may be.
 */

import { parseArgs } from 'node:util'

import { race } from '../test/race/race.ts'
import { sharedEngine } from '../test/race/engines.ts'
import { WHOLE } from '../test/race/work.ts'

const { values } = parseArgs({
  options: {
    backend: { type: 'string', default: 'lmdb' },
    seed: { type: 'string', default: '1' },
    processes: { type: 'string', default: '4' },
    'in-flight': { type: 'string', default: '8' },
    crashes: { type: 'string', default: '0.02' },
    values: { type: 'string', default: String(WHOLE.values) },
    clusters: { type: 'string', default: String(WHOLE.clusters) },
    unchecked: { type: 'boolean', default: false },
  },
})
const engine = await sharedEngine(values.backend)
try {
  const report = await race({
    ...WHOLE,
    location: engine.location,
    seed: Number(values.seed),
    processes: Number(values.processes),
    inFlight: Number(values['in-flight']),
    crashes: Number(values.crashes),
    values: Number(values.values),
    clusters: Number(values.clusters),
    unchecked: values.unchecked,
  })
  console.log(JSON.stringify({ backend: values.backend, seed: Number(values.seed), ...report }))
  const { storedTwice, lost, wrongReferences, unresolved, bothAccepted, wronglyMatched } = report
  const wrong = storedTwice + lost + wrongReferences + unresolved + bothAccepted + wronglyMatched
  if (wrong + report.errors.length > 0 && !values.unchecked) process.exitCode = 1
} finally {
  await engine.stop()
}
