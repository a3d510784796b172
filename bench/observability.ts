/**
 * What do metrics and spans cost a put, when whoever receives them does nothing; metrics for Prometheus; and a feed of
 * changes? Against none being set.
 */

import type { MetricsSink, StoreOptions, Tracer } from 'prestige-dedup'
import { prometheusSink } from 'prestige-dedup/prometheus'

import type { Bench, Case, Limits } from './harness/bench.ts'
import { measurePuts, openOurs } from './put.ts'

const ONE = { bytes: 1024, repeats: 'half', flight: 32, durability: 'os' } as const

const metrics: MetricsSink = { counter: () => {}, histogram: () => {}, gauge: () => {} }
const span = { setAttribute: () => {}, addEvent: () => {}, end: () => {} }
const tracer: Tracer = { startSpan: () => span }

function caseOf(name: string, options: StoreOptions, limits?: Limits): Case {
  return {
    name: `put 1 KiB, half duplicates, 32 in flight, os, ${name}`,
    ours: { run: (place) => measurePuts(ONE, place, (where) => openOurs(where, ONE, options)) },
    reference: {
      name: 'the same, nothing set',
      run: (place) => measurePuts(ONE, place, (where) => openOurs(where, ONE)),
    },
    ...(limits && { limits }),
  }
}

export const bench: Bench = {
  name: 'observability',
  question: 'What do metrics, spans and a feed of changes cost a put, against none being set?',
  cases: [
    caseOf('metrics', { metrics }, { ratioMax: 1.05 }),
    caseOf('metrics and tracer', { metrics, tracer }),
    caseOf('metrics for Prometheus', { metrics: prometheusSink() }),
    caseOf('a feed of changes', { changes: true }, { ratioMax: 1.4 }),
  ],
}
