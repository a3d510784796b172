/**
 * Repeats simulated schedules: `npm run simulate -- --seed 1 --schedules 100000`, of the store or, with
 * `--of resolver`, of the resolver. With one schedule it prints the trace of that seed, so that any failure can
 * be replayed.
 */

import { parseArgs } from 'node:util'

import { runResolverSchedule } from '../test/simulation/resolver-schedule.ts'
import { runSchedule } from '../test/simulation/schedule.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    schedules: { type: 'string', default: '10000' },
    of: { type: 'string', default: 'store' },
  },
})
const first = Number(values.seed)
const schedules = Number(values.schedules)
const started = performance.now()
const sum = { schedules: 0, steps: 0, crashes: 0 }

for (let seed = first; seed < first + schedules; seed++) {
  try {
    const report = await (values.of === 'resolver' ? runResolverSchedule : runSchedule)(seed)
    sum.schedules++
    sum.steps += report.steps
    sum.crashes += report.crashes
    if (schedules === 1) console.log(report.trace)
  } catch (error) {
    console.error(
      `Seed ${seed} failed. Repeat it with: npm run simulate -- --of ${values.of} --seed ${seed} --schedules 1`,
    )
    throw error
  }
  if (sum.schedules % 1000 === 0) process.stderr.write(`\r${sum.schedules} schedules`)
}
const seconds = ((performance.now() - started) / 1000).toFixed(1)
console.log(`\n${JSON.stringify({ seed: first, ...sum, seconds, failures: 0 })}`)
