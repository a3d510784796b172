import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { directoryWith } from '../../test/input-kit.ts'
import { textMaker } from '../../test/corpus-kit.ts'
import { openDedupe } from '../dedupe/index.ts'
import { htmlReport, reportOf, reportOfAll, samplesOf, textReport } from './index.ts'

const text = textMaker(21)
const [one, two, three] = [text(), text(), text()]

/** Three runs: the second has copies of the first, the third a better copy of one. */
async function threeRuns() {
  const directory = directoryWith({})
  const deduper = await openDedupe('memory:', { keep: ['longest'], near: { threshold: 0.7 } })
  const batches = [
    [{ id: 'a', text: one }, { id: 'b', text: two }, 'broken'],
    [
      { id: 'c', text: one },
      { id: 'd', text: three },
      { id: 'e', text: one.toUpperCase() },
    ],
    [{ id: 'f', text: `${two} and more` }],
  ]
  const runs: string[] = []
  for (const [at, lines] of batches.entries()) {
    const folder = join(directory, 'crawl', `day-${at + 1}`)
    mkdirSync(folder, { recursive: true })
    const json = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
    writeFileSync(join(folder, 'part.jsonl'), `${json.join('\n')}\n`)
    const out = join(directory, 'out')
    const name = `day-${at + 1}`
    runs.push((await deduper.run({ inputs: [folder], out: `${out}-${at}`, run: name })).run)
  }
  return { deduper, directory, runs }
}

describe('runs over time', () => {
  it('are in every report, each as it was when it was finished', async () => {
    const { deduper } = await threeRuns()
    const { runs } = await reportOf(deduper.backend, 'day-2')
    expect(
      runs.map(({ id, status, documents }) => Object.assign({ id, status }, documents)),
    ).toEqual([
      { id: 'day-1', status: 'finished', in: 2, kept: 2, dropped: 0, linked: 0, rejected: 1 },
      { id: 'day-2', status: 'finished', in: 3, kept: 1, dropped: 2, linked: 0, rejected: 0 },
      { id: 'day-3', status: 'finished', in: 1, kept: 1, dropped: 0, linked: 0, rejected: 0 },
    ])
    await deduper.close()
  })

  it('say so where the figures of a run are gone, and of a run that was undone', async () => {
    const { deduper, directory } = await threeRuns()
    await deduper.undo('day-3')
    rmSync(join(directory, 'out-0'), { recursive: true })
    const report = await reportOf(deduper.backend, 'day-2')
    expect(report.runs.map(({ status, documents }) => [status, documents?.in])).toEqual([
      ['finished', undefined],
      ['finished', 3],
      ['undone', undefined],
    ])
    expect(textReport(report)).toMatch(/–  +–  +–  +–  +– {2}day-1/)
    // Counted again where all runs are asked for.
    const all = await reportOfAll(deduper.backend)
    expect(all.runs.map(({ documents }) => documents?.in)).toEqual([2, 3, undefined])
    await deduper.close()
  })

  it('are drawn and listed on the page, and in the terminal', async () => {
    const { deduper } = await threeRuns()
    const report = await reportOf(deduper.backend, 'day-3')
    const page = htmlReport(report)
    expect(page).toContain('Runs over time')
    expect(page).toContain('id="plot-documents-by-run-title"')
    expect(textReport(report)).toMatch(/Runs\n.*\n {2}\d{4}-.* 2 +2 +0 +0 +1 {2}day-1\n/)
    await deduper.close()
  })
})

describe('a report of all runs', () => {
  it('counts every document once, as the state is now', async () => {
    const { deduper } = await threeRuns()
    const report = await reportOfAll(deduper.backend)
    expect(report.run).toMatchObject({ id: 'all runs', status: 'finished' })
    // b gave way to f.
    expect(report.documents).toMatchObject({
      in: 6,
      kept: 3,
      dropped: 3,
      superseded: 1,
      rejected: 1,
    })
    expect(report.inputs).toMatchObject({ files: 3, directory: 'crawl' })
    expect(report.clusters).toMatchObject({ count: 2 })
    expect(report.clusters.largest[0]).toMatchObject({ size: 3, survivor: { id: 'a' } })
    expect(textReport(report)).toMatch(/^All 3 runs\n {2}crawl \(day-1\/part\.jsonl, /)
    const { pairs, beginnings } = await samplesOf(deduper.backend, report)
    expect(htmlReport(report, pairs, beginnings)).toContain('All 3 runs')
    await deduper.undo('day-3')
    const without = await reportOfAll(deduper.backend)
    expect(without.documents).toMatchObject({ in: 5, kept: 3, dropped: 2, superseded: 0 })
    await deduper.close()
  })

  it('counts a document once that a later run has met again', async () => {
    const { deduper, directory } = await threeRuns()
    const folder = join(directory, 'crawl/day-1')
    const lines = [
      { id: 'a', text: one },
      { id: 'b', text: two },
      { id: 'z', text: text() },
    ]
    writeFileSync(join(folder, 'part.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'))
    const job = { inputs: [folder], out: join(directory, 'out-again'), run: 'again' }
    expect((await deduper.run(job)).summary).toMatchObject({ documents: 3, unchanged: 2 })
    const report = await reportOfAll(deduper.backend)
    expect(report.documents).toMatchObject({ in: 7, kept: 4, dropped: 3 })
    expect(report.inputs.files).toBe(3)
    await deduper.close()
  })

  it('of a state without runs is refused', async () => {
    const deduper = await openDedupe('memory:')
    await expect(reportOfAll(deduper.backend)).rejects.toThrow('There is no run in this state.')
    await deduper.close()
  })
})

describe('the top of a report', () => {
  it('names the corpus, the threshold, and the settings that are not the defaults', async () => {
    const { deduper } = await threeRuns()
    const report = await reportOf(deduper.backend, 'day-1')
    expect(report.inputs).toMatchObject({ directory: 'day-1', names: ['part.jsonl'] })
    expect(report.settings).toEqual([
      { name: 'near.threshold', value: '0.7' },
      { name: 'keep', value: 'longest' },
    ])
    const said = textReport(report)
    expect(said).toContain('day-1/part.jsonl')
    expect(said.replaceAll(/\s+/g, ' ')).toContain(
      'Near duplicates from a similarity of 0.7. Settings that are not the defaults: near.threshold: 0.7; keep: longest.',
    )
    const [top = ''] = htmlReport(report).split('<section')
    expect(top).toContain('day-1/part.jsonl')
    expect(top).toContain('Near duplicates from a similarity of 0.7')
    expect(top).toContain('near.threshold: <bdi>0.7</bdi>')
    await deduper.close()
  })

  it('says that all settings are the defaults, whatever a state fills in', async () => {
    const directory = directoryWith({ 'x.jsonl': JSON.stringify({ id: 'x', text: one }) })
    const deduper = await openDedupe('memory:')
    await deduper.run({ inputs: [join(directory, 'x.jsonl')], out: join(directory, 'o'), run: 'r' })
    const report = await reportOf(deduper.backend, 'r')
    expect(report.settings).toEqual([])
    expect(textReport(report)).toContain('similarity of 0.8; all settings are the defaults.')
    await deduper.close()
  })
})

describe('clusters in a report', () => {
  it('show how their texts begin, and say where an input is gone', async () => {
    const { deduper, directory } = await threeRuns()
    const report = await reportOf(deduper.backend, 'day-2')
    const first = one.slice(0, 40)
    const { beginnings } = await samplesOf(deduper.backend, report)
    expect(htmlReport(report, [], beginnings)).toContain(`dir="auto">${first}`)
    expect(textReport(report, { width: 120, beginnings })).toContain(first)
    rmSync(join(directory, 'crawl/day-1'), { recursive: true })
    const gone = await samplesOf(deduper.backend, report)
    expect(htmlReport(report, [], gone.beginnings)).toContain('Its input is gone or has changed.')
    await deduper.close()
  })
})
