/** Workers that share a run of the corpus job: on a simulated engine by a seed, and as real processes that are killed. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { documents } from '../src/dedupe/rows.ts'
import { openDedupe } from '../src/index.ts'
import { amount } from './amount.ts'
import { prestige } from './children/cli.ts'
import { corpus, jsonl, linesOf, published, textMaker, writeFiles } from './corpus-kit.ts'
import { runCorpusRound } from './crash/worker-rounds.ts'
import { runCorpusSchedule } from './simulation/corpus-schedule.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-workers-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)

describe('workers on an engine that validates, with crashes at any step', () => {
  it('end with the same whole result; where order does not matter, with that of one alone', async () => {
    const sums = { crashes: 0, takenOver: 0 }
    const modes = new Set<string>()
    for (let seed = 1; seed <= amount(6, 24); seed++) {
      const { crashes, takenOver, trace } = await runCorpusSchedule(seed)
      sums.crashes += crashes
      sums.takenOver += takenOver
      modes.add(trace.split('\n')[0]!)
    }
    expect(modes.size).toBeGreaterThan(1)
    expect(sums.crashes).toBeGreaterThan(10)
    expect(sums.takenOver).toBeGreaterThan(5)
  }, 300_000)

  it('are decided by the seed alone', async () => {
    expect(await runCorpusSchedule(7)).toEqual(await runCorpusSchedule(7))
  }, 300_000)
})

describe('a document that is met again while a better copy supersedes it', () => {
  it('is superseded, and has been met', async () => {
    for (let seed = 1; seed <= amount(10, 40); seed++) {
      const world = new SimulatedWorld(seed)
      world.limits = { keyBytesMax: 2048, valueBytesMax: 4096, cellsMax: 100 }
      const open = (worker: string) => openDedupe(world.open(worker), { keep: ['longest'] })
      const text = 'nothing but a few words about a fox'
      const [one, other] = [await open('one'), await open('other')]
      await one.decide({ id: 'old', text })
      await other.decide({ id: 'else', text: 'something else' })
      const row = () => {
        const rows = world.rows(documents).map(({ bytes }) => documents.codec.decode(bytes))
        return rows.find(({ id }) => id === 'old')!
      }
      const { session } = row()
      await Promise.all([
        one.decide({ id: 'old', text }),
        other.decide({ id: 'better', text: `${text}  ` }),
      ])
      expect(row().action, `seed ${seed}`).toBe('superseded')
      expect(row().session, `seed ${seed}`).not.toBe(session)
    }
  })
})

describe('processes that share a directory and are killed', () => {
  // `npm run long -- crash` has more of everything.
  const round = { workers: 3, documents: amount(240, 1200), killsMax: amount(2, 4), betweenMs: 500 }

  it('write what one alone writes, where order does not matter', async () => {
    const report = await runCorpusRound({ ...round, seed: 2, orderIndependent: true })
    expect(report.kills).toBeGreaterThan(0)
  })

  it('lose and double nothing, and keep one of each, as documents come', async () => {
    const report = await runCorpusRound({ ...round, seed: 3, orderIndependent: false })
    expect(report.kills).toBeGreaterThan(0)
  })
})

describe('a run that goes on', () => {
  const dedupe = (...args: string[]) => prestige(['dedupe', at('in'), '-o', at('out'), ...args])

  it('is worked on by so many processes, to the bytes that one writes', async () => {
    writeFiles(at('in'), {
      'a.jsonl': jsonl(corpus(250)) + '{"bad\n',
      'b.jsonl': jsonl(corpus(250, 2)),
      'c.jsonl': jsonl(corpus(250)),
    })
    const many = await dedupe('--order-independent', '--workers', '3', '--json')
    expect([many.code, many.err]).toEqual([0, ''])
    const alone = ['dedupe', at('in'), '-o', at('alone'), '--order-independent', '--json']
    const { json } = await prestige(alone)
    expect(many.json.summary).toEqual(json.summary)
    expect(published(at('out'))).toEqual(published(at('alone')))
    expect(JSON.parse(readFileSync(at('out/report.json'), 'utf8'))).toMatchObject({
      run: { id: many.json.run },
    })
  })

  it('is joined by whoever asks for the same, and all end with the same result', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(2000)), 'b.jsonl': jsonl(corpus(2000, 2)) })
    const runs = await Promise.all([dedupe('--json'), dedupe('--json'), dedupe('--json')])
    expect(runs.map(({ code, err }) => [code, err])).toEqual(runs.map(() => [0, '']))
    expect(new Set(runs.map(({ json }) => json.run)).size).toBe(1)
    const summaries = runs.map(({ json }) => json.summary)
    for (const summary of summaries) expect(summary).toEqual(summaries[0])
    expect(summaries[0]).toMatchObject({ documents: 4000, repeated: 0 })
    const listed = await prestige(['runs', '--state', at('out/state'), '--json'])
    expect(listed.json).toHaveLength(1)
  })

  it('stops for all of them at a ceiling, and where the input is refused', async () => {
    const text = textMaker(4)
    const [one, other] = [text(), text()]
    const copies = (id: string, own: string) =>
      Array.from({ length: 300 }, (_, n) => ({ id: `${id}-${n}`, text: own }))
    writeFiles(at('in'), {
      'a.jsonl': jsonl(copies('a', one)),
      'b.jsonl': jsonl(copies('b', other)),
    })
    const three = ['--workers', '3', '--max-drop', '60%']
    const ceiling = await dedupe(...three)
    expect([ceiling.code, ceiling.err]).toEqual([2, expect.stringContaining('would be dropped')])
    expect(published(at('out'))).toEqual({})
    const more = await Promise.all([dedupe('--json'), dedupe('--json')])
    expect(more.map(({ code }) => code)).toEqual([0, 0])
    writeFiles(at('in'), { 'c.jsonl': '{"bad\n' })
    const strict = await dedupe('--workers', '2', '--strict')
    expect([strict.code, strict.err]).toEqual([2, expect.stringContaining('c.jsonl')])
    const whole = await dedupe('--workers', '2', '-q')
    expect([whole.code, whole.err]).toEqual([1, expect.stringContaining('invalid-json')])
    expect(linesOf(at('out/rejects.jsonl'))).toHaveLength(1)
  })

  it('goes on at once after a worker was stopped, whose leases are given back', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(500)), 'b.jsonl': jsonl(corpus(500, 2)) })
    const deduper = await openDedupe(at('state'))
    const stop = new AbortController()
    const job = { inputs: [at('in')], out: at('out'), sharing: { leaseMs: 1e9, worker: 'first' } }
    const stopped = deduper.run({
      ...job,
      watcher: { signal: stop.signal, onProgress: () => stop.abort() },
    })
    await expect(stopped).rejects.toThrow('aborted')
    const result = await deduper.run({ ...job, sharing: { leaseMs: 1e9, worker: 'second' } })
    expect(result.summary).toMatchObject({ documents: 1000, repeated: 0 })
    await deduper.close()
  })

  it('refuses workers where they cannot share', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(5)) })
    expect((await dedupe('--workers', '2', '--plan')).err).toContain('--workers has no effect')
    expect((await dedupe('--workers', '0')).err).toContain('1 or more')
    const piped = await prestige(['dedupe', '-', '-o', at('out'), '--workers', '2'])
    expect(piped.err).toContain('cannot read stdin')
  })
})
