/** What do metrics and spans cost a put, when whoever receives them does nothing? Against none being set. */

import type { MetricsSink, StoreOptions, Tracer } from 'prestige-dedup'

import type { Bench, Case } from './harness/bench.ts'
import { measurePuts, openOurs } from './put.ts'

const ONE = { bytes: 1024, repeats: 'half', flight: 32, durability: 'os' } as const

const metrics: MetricsSink = { counter: () => {}, histogram: () => {}, gauge: () => {} }
const tracer: Tracer = {
  startSpan: () => ({ setAttribute: () => {}, addEvent: () => {}, end: () => {} }),
}

function caseOf(name: string, options: StoreOptions): Case {
  return {
    name: `put 1 KiB, half duplicates, 32 in flight, os, ${name}`,
    ours: { run: (place) => measurePuts(ONE, place, (where) => openOurs(where, ONE, options)) },
    reference: {
      name: 'the same, nothing set',
      run: (place) => measurePuts(ONE, place, (where) => openOurs(where, ONE)),
    },
  }
}

export const bench: Bench = {
  name: 'observability',
  question: 'What do metrics and spans cost a put, against none being set?',
  cases: [caseOf('metrics', { metrics }), caseOf('metrics and tracer', { metrics, tracer })],
}
