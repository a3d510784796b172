/**
 * Repeats simulated schedules: `npm run simulate -- --seed 1 --schedules 100000 [--kind KIND]` (a name in
 * test/simulation/kinds.ts), of all kinds of store by default. With one schedule it prints the trace of that seed, so
 * that any failure can be replayed.
 */

import { parseArgs } from 'node:util'

import { allKinds, storeKinds } from '../test/simulation/kinds.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    schedules: { type: 'string', default: '10000' },
    kind: { type: 'string', default: 'both' },
  },
})
const first = Number(values.seed)
const schedules = Number(values.schedules)
const started = performance.now()
const sum = { schedules: 0, steps: 0, crashes: 0 }

const kinds = Object.entries(values.kind === 'both' ? storeKinds : allKinds).filter(
  ([kind]) => values.kind === 'both' || kind === values.kind,
)

for (let seed = first; seed < first + schedules; seed++) {
  for (const [kind, run] of kinds) {
    try {
      const report = await run(seed)
      sum.schedules++
      sum.steps += report.steps
      sum.crashes += report.crashes
      if (schedules === 1) console.log(report.trace)
    } catch (error) {
      const again = `npm run simulate -- --seed ${seed} --schedules 1 --kind ${kind}`
      console.error(`Seed ${seed} failed. Repeat it with: ${again}`)
      throw error
    }
  }
  if (sum.schedules % 1000 === 0) process.stderr.write(`\r${sum.schedules} schedules`)
}
const seconds = ((performance.now() - started) / 1000).toFixed(1)
console.log(`\n${JSON.stringify({ seed: first, ...sum, seconds, failures: 0 })}`)
