import { describe, expect, it } from 'vitest'

import { openStore } from '../index.ts'
import { prometheusSink } from './index.ts'

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Family {
  readonly help: string
  readonly type: string
  readonly samples: Sample[]
}

const UNESCAPED: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' }
const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/y

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < text.length) {
    const at = LABEL.lastIndex
    const [, name, value] = LABEL.exec(text) ?? []
    if (name === undefined || value === undefined) throw new Error(`labels at ${at}: ${text}`)
    if (name in labels) throw new Error(`twice: ${name}`)
    labels[name] = value.replace(/\\(.)/g, (_, escaped: string) => UNESCAPED[escaped] ?? '')
  }
  return labels
}

function numberOf(text: string): number {
  const special = { '+Inf': Infinity, '-Inf': -Infinity, NaN }[text]
  const number = special ?? Number(text)
  if (special === undefined && Number.isNaN(number)) throw new Error(`no number: ${text}`)
  return number
}

/** The text format 0.0.4, strictly: HELP, then TYPE, then all samples of a family, and no other family in between. */
function parsed(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('The last line must end.')
  const families = new Map<string, Family>()
  let current = ''
  for (const line of text.slice(0, -1).split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (kind === 'HELP') {
      if (families.has(name)) throw new Error(`twice: ${name}`)
      current = name
      families.set(name, { help: rest, type: '', samples: [] })
    } else if (kind === 'TYPE') {
      const family = families.get(name)
      if (name !== current || !family || family.type) throw new Error(`TYPE of ${name}`)
      families.set(name, { ...family, type: rest })
    } else {
      const [, sampled = '', labels = '', value = ''] = LINE.exec(line) ?? []
      const family = families.get(current)
      const ends = family?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      if (!family || !ends.some((end) => sampled === current + end)) throw new Error(line)
      family.samples.push({ name: sampled, labels: labelsOf(labels), value: numberOf(value) })
    }
  }
  return families
}

describe('the text for Prometheus', () => {
  it('has every metric of a store, with its type and a description', async () => {
    const sink = prometheusSink()
    const store = await openStore('memory:', { metrics: sink, canonical: 'unicode' })
    await store.put('a', 'value')
    await store.put('b', 'value')
    await store.get('none')
    await store.stats()
    await store.close()
    const families = parsed(sink.render())
    const calls = families.get('prestige_put_calls_total')
    expect(calls).toMatchObject({ type: 'counter', samples: [{ labels: {}, value: 2 }] })
    expect(families.get('prestige_get_not_found_total')?.samples[0]?.value).toBe(1)
    expect(families.get('prestige_store_total_bytes')).toMatchObject({
      type: 'gauge',
      samples: [{ value: 5 }],
    })
    expect(families.get('prestige_put_latency_us')?.type).toBe('histogram')
    const kinds = [...families].filter(
      ([name, { type }]) => type === 'counter' && !name.endsWith('_total'),
    )
    expect(kinds).toEqual([])
    expect([...families].filter(([, { help }]) => help.includes('docs/'))).toEqual([])
  })

  it('counts values of a histogram in each bucket that is large enough', () => {
    const sink = prometheusSink({ buckets: { 'a.us': [1, 10] } })
    for (const value of [0.5, 1, 2, 10, 11, 1000]) sink.histogram('a.us', value, { of: 'x' })
    const samples = parsed(sink.render()).get('a_us')?.samples
    expect(
      samples?.map(({ name, labels, value }) => [name, labels['le'], labels['of'], value]),
    ).toEqual([
      ['a_us_bucket', '1', 'x', 2],
      ['a_us_bucket', '10', 'x', 4],
      ['a_us_bucket', '+Inf', 'x', 6],
      ['a_us_sum', undefined, 'x', 1024.5],
      ['a_us_count', undefined, 'x', 6],
    ])
  })

  it('escapes labels so that a parser finds what was given', () => {
    const sink = prometheusSink({ labels: { 'the store': 'C:\\data' } })
    const hostile = 'a "quoted" \\ \n line, with="this"'
    sink.counter('x', 1, { source: hostile })
    sink.counter('x', 2, { source: hostile })
    sink.counter('x', 5)
    const samples = parsed(sink.render()).get('x_total')?.samples
    expect(samples).toEqual([
      { name: 'x_total', labels: { source: hostile, the_store: 'C:\\data' }, value: 3 },
      { name: 'x_total', labels: { the_store: 'C:\\data' }, value: 5 },
    ])
  })

  it('has one series for one set of labels, in whatever order they are given', () => {
    const sink = prometheusSink()
    sink.gauge('g', 1, { a: '1', b: '2' })
    sink.gauge('g', Infinity, { b: '2', a: '1' })
    expect(parsed(sink.render()).get('g')?.samples).toEqual([
      { name: 'g', labels: { a: '1', b: '2' }, value: Infinity },
    ])
  })

  it('is empty before anything was measured', () => {
    expect(prometheusSink().render()).toBe('')
  })

  it('never has two kinds under one name, nor a counter that decreases', async () => {
    const sink = prometheusSink()
    sink.counter('a.b', 1)
    expect(() => sink.gauge('a.b', 1)).toThrow('a.b is a counter')
    expect(() => sink.gauge('a_b_total', 1)).toThrow('a_b_total is a counter')
    expect(() => sink.counter('a.b', -1)).toThrow('cannot be increased by -1')
    expect(() => prometheusSink({ buckets: { a: [2, 1] } })).toThrow('buckets of a')
    expect(parsed(sink.render()).size).toBe(1)
  })

  it('goes with its content type', () => {
    expect(prometheusSink().contentType).toContain('version=0.0.4')
  })
})
