/** Live measurements of the corpus job, the ledger and the engines. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { SimulatedWorld } from '../src/backends/simulated/index.ts'
import { type MetricsSink, openDedupe, openLedger } from '../src/index.ts'
import { jsonl, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-metrics-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)

/** Counters and numbers of histogram values added up, gauges as they were last. */
class Sink implements MetricsSink {
  readonly counted: Record<string, number> = {}
  readonly gauges: Record<string, number> = {}
  calls = 0

  counter(name: string, delta: number, labels: Readonly<Record<string, string>> = {}): void {
    this.calls++
    this.#add([name, ...Object.values(labels)].join(' '), delta)
  }

  histogram(name: string, value: number): void {
    this.calls++
    expect(value).toBeGreaterThanOrEqual(0)
    this.#add(name, 1)
  }

  gauge(name: string, value: number, labels: Readonly<Record<string, string>> = {}): void {
    this.calls++
    this.gauges[[name, ...Object.values(labels)].join(' ')] = value
  }

  of(prefix: string): Record<string, number> {
    const all = Object.entries({ ...this.counted, ...this.gauges })
    return Object.fromEntries(
      all.flatMap(([name, value]) =>
        name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
      ),
    )
  }

  #add(key: string, delta: number): void {
    this.counted[key] = (this.counted[key] ?? 0) + delta
  }
}

const make = textMaker(21)
const FIRST = make(60)
const SECOND = make(60)

describe('a corpus job with a sink', () => {
  it('sends what it decides while it goes on', async () => {
    writeFiles(directory, {
      'in/a.jsonl': jsonl([
        { id: '1', text: FIRST },
        { id: '2', text: SECOND },
        { id: '3', text: FIRST },
        { id: '4', text: make(60) },
      ]),
      'in/b.jsonl': jsonl([
        { id: '5', text: FIRST.toUpperCase() },
        { id: '6', text: `${SECOND} finally` },
      ]),
    })
    const sink = new Sink()
    await using deduper = await openDedupe(at('state'), { metrics: sink })
    const listing = { sources: 'files' as const }
    await deduper.run({ inputs: [at('in')], out: at('out'), run: 'r', listing })
    const { 'decide.latency_us': batches, ...sent } = sink.of('prestige.dedupe.')
    expect(batches).toBeGreaterThan(0)
    expect(sent).toEqual({
      'documents keep': 3,
      'documents drop': 3,
      'duplicates exact': 1,
      'duplicates canonical': 1,
      'duplicates near': 1,
      cross_source_duplicates: 2,
      'source_documents a': 4,
      'source_documents b': 2,
      'source_dropped a': 1,
      'source_dropped b': 2,
      duplication_rate: 0.5,
      collision_rate: 2 / 6,
      'dominance a': 0,
      'dominance b': 1,
      'decide.documents': batches,
    })
    expect(sink.of('prestige.engine.')['transactions run ok']).toBeGreaterThan(0)
  })

  it('sends how much of the chunks others have, and what was superseded', async () => {
    const sink = new Sink()
    const shared = make(300)
    await using deduper = await openDedupe('memory:', {
      metrics: sink,
      keep: ['longest'],
      chunks: { enabled: true, bytes: 256 },
    })
    await deduper.decide({ id: 'a', text: `${make(300)} ${shared}` })
    await deduper.decide({ id: 'b', text: `${shared} ${make(300)}` })
    await deduper.decide({ id: 'b2', text: FIRST })
    await deduper.decide({ id: 'b3', text: `${FIRST} longer` })
    const sent = sink.of('prestige.dedupe.')
    expect(sent['superseded']).toBe(1)
    expect(sent['duplicates chunk']).toBe(1)
    expect(sent['chunk_reuse_rate']).toBeGreaterThan(0.1)
    expect(sent['chunk_reuse_rate']).toBeLessThan(0.5)
  })

  it('sends as often as there are batches, not documents', async () => {
    const calls: number[] = []
    for (const count of [20, 200]) {
      const docs = Array.from({ length: count }, (_, id) => ({ id: `${id}`, text: make(8) }))
      writeFiles(directory, { [`in${count}/a.jsonl`]: jsonl(docs) })
      const sink = new Sink()
      const deduper = await openDedupe('memory:', { metrics: sink })
      await deduper.run({ inputs: [at(`in${count}`)], out: at(`out${count}`), run: 'r' })
      await deduper.close()
      calls.push(Object.values(sink.of('prestige.dedupe.decide.documents'))[0] ?? 0)
    }
    expect(calls).toEqual([1, 1])
  })

  it('counts a document once, however often it comes', async () => {
    const sink = new Sink()
    await using deduper = await openDedupe('memory:', { metrics: sink })
    await deduper.decide({ id: 'a', text: FIRST })
    await deduper.decide({ id: 'a', text: FIRST })
    expect(sink.of('prestige.dedupe.documents')).toEqual({ ' keep': 1 })
  })

  it('goes on when the sink throws', async () => {
    const throws = () => {
      throw new Error('no room')
    }
    const metrics = { counter: throws, histogram: throws, gauge: throws }
    await using deduper = await openDedupe('memory:', { metrics })
    expect(await deduper.decide({ id: 'a', text: FIRST })).toMatchObject({ action: 'keep' })
    await expect(openDedupe('memory:', { metrics: 3 as never })).rejects.toThrow('metrics')
  })
})

describe('a ledger with a sink', () => {
  it('sends its operations, lines and transactions', async () => {
    const sink = new Sink()
    await using ledger = await openLedger('memory:', { metrics: sink })
    await ledger.record([
      { id: 'a', status: 'accepted' },
      { id: 'b', status: 'duplicate', of: 'a' },
    ])
    const claim = await ledger.claim('c', { leaseMs: 1000 })
    if (claim.ok) await ledger.commit(claim, { status: 'accepted' })
    await ledger.commit({ id: 'c', token: 1 }, { status: 'accepted' }).catch(() => {})
    expect(sink.of('prestige.ledger.')).toEqual({
      'calls record ok': 1,
      'calls claim ok': 1,
      'calls commit ok': 1,
      'calls commit CLAIM_LOST': 1,
      'lines accepted': 2,
      'lines duplicate': 1,
      latency_us: 4,
    })
    expect(sink.of('prestige.engine.')).toMatchObject({
      'transactions run CLAIM_LOST': 1,
      latency_us: expect.any(Number),
    })
  })
})

describe('an engine with a sink', () => {
  it('sends how often transactions were run again', async () => {
    const world = new SimulatedWorld(11, { conflict: 0.5, lostReply: 0, failure: 0 })
    const sink = new Sink()
    await using ledger = await openLedger(world.open('a'), { metrics: sink })
    for (let id = 0; id < 10; id++) await ledger.record([{ id: `${id}`, status: 'accepted' }])
    expect(sink.of('prestige.engine.retries')[' run']).toBeGreaterThan(0)
  })
})
