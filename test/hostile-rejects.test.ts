/** Input of which little or nothing is a document: bounded records, and a failure that says why. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { RejectBudget } from '../src/dedupe/phases/rejects.ts'
import { inProcess as prestige } from './children/cli.ts'
import { jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-rejects-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
const dedupe = (...args: string[]) => prestige(['dedupe', ...args], { cwd: directory })
const text = textMaker(9)
const good = Array.from({ length: 5 }, (_, n) => ({ id: `good-${n}`, text: text() }))

describe('records of rejects', () => {
  it('stay small however many there are, and all are counted', async () => {
    writeFiles(directory, { 'in/a.jsonl': `${jsonl(good)}${'{x\n'.repeat(50_000)}` })
    const run = await dedupe('in', '-o', 'out')
    expect(run.code).toBe(1)
    expect(run.text).toMatch(/rejected +50,000 .*rejects\.jsonl has the first 1,000/)
    expect(linesOf(at('out/rejects.jsonl'))).toHaveLength(1000)
    const { summary } = JSON.parse(readFileSync(at('out/manifest.json'), 'utf8'))
    expect(summary).toMatchObject({
      documents: 5,
      rejected: 50_000,
      rejectsUnrecorded: 49_000,
      rejectsByReason: { 'invalid-json': 50_000 },
    })
    expect(statSync(at('out/state/data.mdb')).size).toBeLessThan(8 * 1024 * 1024)
  })

  it('are bounded for a run against a state and in order-independent runs', async () => {
    writeFiles(directory, { 'in/a.jsonl': jsonl(good), 'bad/b.jsonl': '{x\n'.repeat(3000) })
    const first = await dedupe('in', 'bad', '-o', 'out', '--order-independent', '--json')
    expect(first.json.summary).toMatchObject({ rejected: 3000, rejectsUnrecorded: 2000 })
    const second = await dedupe('bad', '-o', 'other', '--against', 'out/state', '--json')
    expect(second.code).toBe(1)
    expect(second.json.summary).toMatchObject({ rejected: 3000 })
  })

  it('have a limit for all shards together, in number and in size', () => {
    const many = new RejectBudget()
    const reject = { message: 'no JSON' }
    let written = 0
    while (many.allows(reject)) written++
    expect(written).toBe(100_000)
    const large = new RejectBudget()
    written = 0
    while (large.allows({ message: 'x'.repeat(1024 * 1024) })) written++
    expect(written).toBe(31)
  })

  it('are small each, whatever the names of fields are', async () => {
    const line = JSON.stringify({ ['n'.repeat(1_000_000)]: 1 })
    writeFiles(directory, { 'in/a.jsonl': `${jsonl(good)}${line}\n` })
    expect((await dedupe('in', '-o', 'out')).code).toBe(0)
    expect(statSync(at('out/rejects.jsonl')).size).toBeLessThan(2000)
  })
})

describe('records of files that are one document each', () => {
  it('name the file of the document, not the first of its batch', async () => {
    writeFiles(directory, {
      'in/a.txt': 'another',
      'in/b.txt': 'the same text',
      'in/c.txt': 'the same text',
      'in/d.txt': Buffer.from([0xff, 0xfe, 0]),
    })
    for (const target of [['out'], ['other', '--against', 'out/state']]) {
      await dedupe('in', '-o', ...target)
      const out = target[0] ?? ''
      const duplicates = linesOf(at(out, 'duplicates.jsonl'))
      expect(duplicates.map(({ id, file }) => [id, file])).toContainEqual(['c.txt', 'c.txt'])
      expect(linesOf(at(out, 'rejects.jsonl'))).toMatchObject([{ file: 'd.txt' }])
      const [run = ''] = readdirSync(at(out, 'runs'))
      const outputs = linesOf(at(out, 'runs', run, 'outputs.jsonl'))
      const kept = existsSync(at(out, 'kept')) ? readdirSync(at(out, 'kept')) : []
      expect(outputs.map(({ output }) => output)).toEqual(kept.map((name) => `kept/${name}`))
    }
    expect((await prestige(['show', 'c.txt', '-o', at('out'), '--file', 'c.txt'])).code).toBe(0)
  })
})

describe('the exit code', () => {
  it('is 1 with the first reject if most of an input was rejected', async () => {
    const wrong = Array.from({ length: 4 }, (_, n) => ({ id: n, body: 'wrong field' }))
    writeFiles(directory, { 'in/a.jsonl': jsonl(good), 'in/b.jsonl': jsonl(wrong) })
    const run = await dedupe('in', '-o', 'out')
    expect(run.code).toBe(1)
    expect(run.err).toMatch(/b\.jsonl, line 1 \(missing-field\): It has no field text/)
    expect(linesOf(at('out/kept/a.jsonl'))).toHaveLength(5)
    const plan = await dedupe('in', '-o', 'elsewhere', '--plan')
    expect([plan.code, plan.err.includes('no field text')]).toEqual([1, true])
  })

  it('is 1 with the reject of the input that could not be read, not of another one', async () => {
    writeFiles(directory, {
      'in/a.json': '[{"id":1,"text":"one"},5]',
      'in/b.json': '[{"id":1,"text":"x"},{"id":2',
    })
    const run = await dedupe('in', '-o', 'out')
    expect(run.code).toBe(1)
    expect(run.err).toMatch(/^b\.json could not be read to the end: 1 of 2 records rejected\./)
    expect(run.err).toMatch(/It stopped at b\.json, element 2 \(truncated\): .*repair the file/)
    expect(run.err).toContain('It does not count as processed: the next run reads it again.')
    expect(run.err).not.toMatch(/a\.json|piece|options/)
  })

  it('is 1 for a gzip that ends too early, and what was read before is kept', async () => {
    const packed = gzipSync(jsonl(good))
    writeFiles(directory, { 'in/a.jsonl.gz': packed.subarray(0, packed.length - 12) })
    const run = await dedupe('in', '-o', 'out')
    expect(run.code).toBe(1)
    expect(run.err).toContain('ends too early')
  })

  it('is 0 for a few rejects among documents', async () => {
    writeFiles(directory, { 'in/a.jsonl': `${jsonl(good)}{x\n` })
    const run = await dedupe('in', '-o', 'out')
    expect([run.code, run.err]).toEqual([0, ''])
  })
})
