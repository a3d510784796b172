import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { corpus, HOSTILE, HOSTILE_SOURCE, reading, run } from '../../test/report-kit.ts'
import { ClusterCounter } from '../dedupe/phases/cluster-sizes.ts'
import { undoJob } from '../dedupe/phases/take-back.ts'
import { summarise } from '../dedupe/phases/summary.ts'
import { displayWidth } from '../platform/display-width.ts'
import type { ReadingInput } from '../input/index.ts'
import { reportOf, samplePairs, sendMetrics, textReport } from './index.ts'
import { stretchesOf } from '../dedupe/inspect/texts.ts'

async function reported(...args: Parameters<typeof run>) {
  const ran = await run(...args)
  return { ...ran, report: await reportOf(ran.backend, ran.result.run, { version: '1.2.3' }) }
}

describe('a report', () => {
  it('tells what became of every document, and nothing is lost from the sums', async () => {
    const { report } = await reported()
    const { documents, bytes, methods } = report
    expect(report).toMatchObject({ format: 1, versions: { prestige: '1.2.3' } })
    expect(documents).toMatchObject({ in: 12, kept: 5, dropped: 7, linked: 0, rejected: 2 })
    expect(documents).toMatchObject({ superseded: 2, superseding: 2, repeated: 0 })
    expect(documents.kept + documents.dropped + documents.linked).toBe(documents.in)
    const found = methods.reduce((sum, { dropped }) => sum + dropped, 0)
    expect(found + documents.repeated).toBe(documents.dropped)
    expect(bytes.in).toBe(corpus.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0))
    expect(bytes.kept + bytes.saved).toBe(bytes.in)
    expect(report.duplicationRate).toBeCloseTo(7 / 12)
    expect(report.rejects.map(({ reason }) => reason).toSorted()).toEqual([
      'invalid-json',
      'missing-field',
    ])
    expect(report.throughput?.documentsPerSecond).toBeGreaterThan(0)
  })

  it('counts a superseded document by how the better copy was found, not as near', async () => {
    const { report } = await reported(corpus.slice(0, 2))
    expect(report.documents.superseded).toBe(1)
    expect(report.methods.find(({ method }) => method === 'exact')?.dropped).toBe(1)
  })

  it('survives JSON, with sources named __proto__ and constructor', async () => {
    const { report } = await reported()
    expect(JSON.parse(JSON.stringify(report))).toEqual(report)
    const names = report.sources.map(({ source }) => source)
    expect(names).toEqual(expect.arrayContaining(['__proto__', 'constructor', HOSTILE_SOURCE]))
    for (const { documents, kept, dropped, linked } of report.sources) {
      expect(kept + dropped + linked).toBe(documents)
    }
    expect(Object.hasOwn(Object.prototype, 'documents')).toBe(false)
  })

  it('compares what came with what was there, in both directions', async () => {
    const there = await reported(corpus.slice(0, 2))
    const back = await reported(corpus.slice(0, 2).toReversed())
    const at = ({ report }: typeof there, came: string, was: string) => {
      const { sources, counts } = report.collisions
      return counts[sources.indexOf(came)]?.[sources.indexOf(was)]
    }
    expect([at(there, 'wiki', 'web'), at(there, 'web', 'wiki')]).toEqual([1, 0])
    expect([at(back, 'wiki', 'web'), at(back, 'web', 'wiki')]).toEqual([0, 1])
    // Whichever came first, the better source survives.
    for (const { report } of [there, back]) {
      expect(report.collisions.crossSource).toBe(1)
      expect(report.dominance).toEqual([
        { source: 'web', won: 0, lost: 1, within: 0 },
        { source: 'wiki', won: 1, lost: 0, within: 0 },
      ])
    }
  })

  it('sums up the sources that it does not name', async () => {
    const { backend, result } = await run()
    const report = await reportOf(backend, result.run, { sourcesMax: 1 })
    expect(report.sources.map(({ source }) => source)).toEqual(['web'])
    expect(report.otherSources).toMatchObject({ documents: 8, kept: 4, dropped: 4 })
    const sum = report.collisions.counts.flat().reduce((one, other) => one + other, 0)
    expect(sum).toBe(7)
    expect(report.collisions.counts).toHaveLength(2)
  })

  it('shows the largest clusters, sizes, similarities and the closest calls', async () => {
    const { report } = await reported()
    expect(report.clusters.count).toBe(4)
    expect(report.clusters.largest[0]).toMatchObject({
      id: 'web/1',
      size: 5,
      survivor: { id: 'wiki/1', source: 'wiki' },
    })
    const counted = report.clusters.sizes.map(({ from, to, clusters }) => [from, to, clusters])
    expect(counted).toEqual([
      [2, 2, 3],
      [3, 3, 0],
      [4, 4, 0],
      [5, 8, 1],
    ])
    const near = report.similarity.reduce((sum, bin) => sum + bin.near, 0)
    expect(near).toBe(5)
    const closest = report.closestCalls.map(({ similarity }) => similarity)
    expect(closest).toHaveLength(5)
    expect(closest).toEqual(closest.toSorted((one, other) => one - other))
  })

  it('counts the same clusters however few may be held', async () => {
    const { backend, result } = await run()
    const held = await summarise(backend, result.run)
    const scanned = await summarise(backend, result.run, new ClusterCounter(0))
    expect(scanned.clusters).toBe(4)
    expect(scanned).toEqual(held)
  })

  it('tells of shared passages and of documents that came before', async () => {
    const passage = Array.from({ length: 600 }, (_, at) => `shared${at}`).join(' ')
    const own = (word: string) => Array.from({ length: 900 }, (_, at) => word + at).join(' ')
    const lines = [
      { id: 'a', source: 'one', text: `${passage} ${own('a')}` },
      { id: 'b', source: 'two', text: `${passage} ${own('b')}` },
      { id: 'b', source: 'two', text: `${passage} ${own('b')}` },
    ]
    const { report, backend } = await reported(lines, { chunks: { enabled: true } })
    expect(report.documents).toMatchObject({ kept: 1, linked: 1, dropped: 1, repeated: 1 })
    expect(report.passages).toMatchObject({ documents: 1, longest: [{ id: 'b', of: { id: 'a' } }] })
    expect(report.passages.bytes).toBeGreaterThan(1000)
    expect(report.collisions.crossSource).toBe(1)
    expect(textReport(report)).toMatch(/linked +1 +of those kept: chunk 1/)
    const [pair] = await samplePairs(backend, report, reading)
    expect(pair).toMatchObject({ method: 'chunk', a: { id: 'b' }, b: { id: 'a' } })
  })

  it('of a run that does not exist is refused by name; of one taken back it says so', async () => {
    const { backend, result } = await run()
    await expect(reportOf(backend, 'other')).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' })
    await expect(reportOf(backend, result.run, { sourcesMax: 0 })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    await undoJob(backend, result.run, false)
    const report = await reportOf(backend, result.run)
    expect(report.documents.in).toBe(0)
    expect(textReport(report)).toContain('This run was taken back')
  })
})

describe('sample pairs', () => {
  it('give back the texts of both documents', async () => {
    const { backend, report } = await reported()
    const pairs = await samplePairs(backend, report, reading)
    expect(pairs.length).toBeGreaterThan(4)
    for (const { a, b, spans = [], notes } of pairs) {
      expect(notes).toEqual([])
      const sides = [a, b].map(({ id }) => corpus.find((line) => line.id === id)?.text)
      expect(spans.map((span) => ('a' in span ? span.a : '')).join('')).toBe(sides[0])
      expect(spans.map((span) => ('b' in span ? span.b : '')).join('')).toBe(sides[1])
    }
  })

  it('are found wherever in their file they are', async () => {
    const wordOf = (number: number) => (Math.imul(number + 1, 0x9e3779b1) >>> 0).toString(36)
    const fillers = Array.from({ length: 410 }, (_, at) => {
      const text = Array.from({ length: 20 }, (__, word) => wordOf(1000 + at * 20 + word)).join(' ')
      return { id: `filler/${at}`, source: 'filler', text }
    })
    const near = (at: number) => {
      const text = Array.from({ length: 60 }, (_, word) => wordOf(at * 60 + word)).join(' ')
      return [text, text.replace(wordOf(at * 60 + 7), 'changed')]
    }
    const pairs = [0, 1, 2, 3].map(near)
    const lines = [...pairs.map(([text = '']) => text), ...pairs.map(([, text = '']) => text)]
    const placed = lines.map((text, at) => ({ id: `pair/${at}`, source: 'pair', text }))
    // The later ones are close together, for how far into the file they are.
    const from = (at: number) => at * 20 + (at > 3 ? 250 : 0)
    const spread = placed.flatMap((line, at) => [...fillers.slice(from(at), from(at + 1)), line])
    const { backend, report } = await reported(spread)
    const samples = await samplePairs(backend, report, reading)
    expect(samples).toHaveLength(4)
    for (const { a, b, spans = [], notes } of samples) {
      expect(notes).toEqual([])
      const texts = [a, b].map(({ id }) => placed.find((line) => line.id === id)?.text)
      expect(spans.map((span) => ('a' in span ? span.a : '')).join('')).toBe(texts[0])
      expect(spans.map((span) => ('b' in span ? span.b : '')).join('')).toBe(texts[1])
    }
  })

  it('start reading again where that is less than reading on', () => {
    const positions = [3, 10, 11, 100, 105, 4000, 4400, 9000]
    expect(stretchesOf(positions, { format: 'jsonl', compression: 'none' })).toEqual([
      [3],
      [10, 11],
      [100, 105],
      [4000, 4400],
      [9000],
    ])
    expect(stretchesOf(positions, { format: 'jsonl', compression: 'gzip' })).toEqual([positions])
    expect(stretchesOf(positions, { format: 'csv', compression: 'none' })).toEqual([positions])
    expect(stretchesOf([], { format: 'jsonl', compression: 'none' })).toEqual([])
  })

  it('find a document of an earlier run in the input of that run', async () => {
    const first = await run(corpus.slice(0, 1))
    const { backend, report } = await reported([corpus[2]!], {}, first.backend)
    const [pair] = await samplePairs(backend, report, reading)
    expect(pair).toMatchObject({ a: { id: 'web/2' }, b: { id: 'web/1' }, notes: [] })
    expect(pair?.spans?.length).toBeGreaterThan(1)
  })

  it('say when an input is gone, has changed, or is read in another way', async () => {
    const { backend, report, directory } = await reported()
    const texts = async (options: ReadingInput = reading) =>
      (await samplePairs(backend, report, options)).map(({ spans, notes }) => [spans, notes.join()])
    for (const [spans, note] of await texts({ fields: { source: 'source', text: 'id' } })) {
      expect([spans, note]).toEqual([undefined, expect.stringContaining('cannot be shown')])
    }
    const file = join(directory, 'corpus.jsonl')
    writeFileSync(file, '{"id":"web/1","text":"other"}\n')
    for (const [spans, note] of await texts()) {
      expect([spans, note]).toEqual([undefined, expect.stringContaining('cannot be shown')])
    }
    rmSync(file)
    for (const [spans, note] of await texts()) {
      expect([spans, note]).toEqual([undefined, expect.stringContaining('cannot be shown')])
      expect(note).not.toContain(directory)
    }
  })
})

describe('the text of a report', () => {
  it.each([40, 60, 80, 120])('is never wider than %d columns', async (width) => {
    const { report } = await reported([
      ...corpus,
      { id: `long/${'漢'.repeat(90)}`, source: '名'.repeat(60), text: 'lonely words' },
    ])
    for (const line of textReport(report, { width }).split('\n')) {
      expect(displayWidth(line), line).toBeLessThanOrEqual(width)
    }
  })

  it('has the figures, and no colour unless asked for', async () => {
    const { report } = await reported()
    const text = textReport(report)
    expect(text).toMatch(/dropped +7 .* 58\.3 %/)
    expect(text).toMatch(/across sources +5/)
    expect(text).not.toContain('\u001b')
    expect(textReport(report, { colour: true })).toContain('\u001b[1m')
  })

  it('lets nothing through that a terminal would obey', async () => {
    const { report } = await reported([
      { id: 'a\u001b[2J\u0007', source: '\u001b]0;owned\u0007', text: 'one two three four' },
      { id: 'b\u202e', source: 'x\u001b[31m', text: 'one two three four' },
    ])
    // oxlint-disable-next-line no-control-regex -- they are what must not be there
    expect(textReport(report)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
  })
})

describe('the measurements of a report', () => {
  it('bear the names of the original, and add up', async () => {
    const { report } = await reported()
    const sent = new Map<string, number>()
    const note = (name: string, value: number, labels?: object) =>
      sent.set(labels ? `${name} ${JSON.stringify(labels)}` : name, value)
    sendMetrics(report, { counter: note, gauge: note, histogram: note })
    const of = (name: string) => sent.get(`global_fingerprints.${name}`)
    expect(of('total_checked')).toBe(12)
    expect([of('total_dropped'), of('total_kept'), of('total_kept_linked')]).toEqual([7, 5, 0])
    expect([of('simhash_hits'), of('minhash_hits'), of('chunk_hits')]).toEqual([0, 5, 0])
    expect(of('cross_dataset_collisions')).toBe(5)
    expect(of('duplication_rate_pct')).toBeCloseTo(58.33)
    expect(of('source_dropped {"source":"web"}')).toBe(3)
    expect(of(`source_kept {"source":"wiki"}`)).toBe(1)
    expect([...sent.keys()].some((name) => name.includes(JSON.stringify(HOSTILE)))).toBe(false)
  })
})
