/**
 * Repeats simulated schedules: `npm run simulate -- --seed 1 --schedules 100000 [--kind exact|near|chunks|resolver|corpus]`, of
 * all kinds of store if not told otherwise. With one schedule it prints the trace of that seed, so that any failure can
 * be replayed.
 */

import { parseArgs } from 'node:util'

import { runCorpusSchedule } from '../test/simulation/corpus-schedule.ts'
import { runResolverSchedule } from '../test/simulation/resolver-schedule.ts'
import { runSchedule } from '../test/simulation/schedule.ts'

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

const all = ['exact', 'near', 'chunks', 'resolver', 'corpus'] as const
const stores = ['exact', 'near', 'chunks'] as const
const kinds = values.kind === 'both' ? stores : all.filter((kind) => kind === values.kind)

function run(kind: (typeof all)[number], seed: number) {
  if (kind === 'corpus') return runCorpusSchedule(seed)
  return kind === 'resolver' ? runResolverSchedule(seed) : runSchedule(seed, kind)
}

for (let seed = first; seed < first + schedules; seed++) {
  for (const kind of kinds) {
    try {
      const report = await run(kind, seed)
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
