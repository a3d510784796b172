/** `prestige dedupe --config job.yaml`: a file that says everything, and what is typed over it. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { commands, globalOptions } from '../src/cli/declarations/index.ts'
import { jobSchema } from '../src/dedupe/config/job-config.ts'
import { fieldsOf } from '../src/dedupe/config/schema-fields.ts'
import { inProcess as prestige } from './children/cli.ts'
import { corpus, jsonl, linesOf, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-config-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)
const dedupe = (...args: string[]) => prestige(['dedupe', ...args], { cwd: directory })

const [one, , two] = corpus(9)
const JOB = `
inputs: [wiki, books]
output: out
state: seen
run: nightly
threads: 0
keep: [source, first]
sourcePriority: [books]
json: true
`
beforeEach(() => {
  writeFiles(directory, {
    'jobs/wiki/a.jsonl': jsonl([one, two]),
    'jobs/books/a.jsonl': jsonl([one]),
    'jobs/job.yaml': JOB,
    'other.jsonl': jsonl([two]),
  })
})

describe('a config file', () => {
  it('is all that a job needs, with paths relative to it', async () => {
    const run = await dedupe('--config', 'jobs/job.yaml')
    expect([run.code, run.err]).toEqual([0, ''])
    expect(run.json).toMatchObject({ run: 'nightly', out: 'jobs/out', state: 'jobs/seen' })
    expect(Object.keys(run.json.summary.bySource)).toEqual(['wiki', 'books'])
    expect(linesOf(at('jobs/out/kept/wiki/a.jsonl'))).toEqual([two])
    expect(readdirSync(at('jobs')).toSorted()).toEqual(['books', 'job.yaml', 'out', 'seen', 'wiki'])
  })

  it('gives way to what is typed, setting by setting', async () => {
    const base = ['--config', 'jobs/job.yaml', '--source', 'books']
    const run = await dedupe('other.jsonl', ...base, '-o', 'here', '--run', 'mine')
    expect(run.json).toMatchObject({ run: 'mine', out: 'here', state: 'jobs/seen' })
    const plan = await dedupe(...base, '-n')
    expect([plan.code, plan.json.status]).toEqual([0, 'planned'])
    const against = await dedupe(...base, '-o', 'clean', '--against', 'jobs/seen')
    expect([against.code, against.err]).toEqual([0, ''])
    expect(existsSync(at('jobs/out'))).toBe(false)
  })

  it('W36: gives way to a default that is typed, has comments behind values, and no unknown names', async () => {
    const typed = (text: string) => {
      writeFiles(directory, { 'w36.yaml': text })
      return dedupe(
        'other.jsonl',
        '--config',
        'w36.yaml',
        '-o',
        'w36',
        '--threshold',
        '0.8',
        '--json',
      )
    }
    const run = await typed('near:\n  threshold: 0.95 # stricter\nrun: "weekly" # a name\n')
    expect([run.code, run.err, run.json.run]).toEqual([0, '', 'weekly'])
    const report = JSON.parse(readFileSync(at('w36/report.json'), 'utf8'))
    expect(JSON.stringify(report)).toContain('"threshold":0.8')
    expect(JSON.stringify(report)).not.toContain('0.95')
    const unknown = await typed('near:\n  treshold: 0.9\n')
    expect(unknown.code).toBe(2)
    expect(unknown.err).toContain('treshold')
  })

  it('may clean against a state, with the settings of that state', async () => {
    await dedupe('other.jsonl', '-o', 'known', '--threshold', '0.7', '-q')
    writeFiles(directory, {
      'c.yaml': 'inputs: [jobs]\noutput: clean\nagainst: known\nquiet: true',
    })
    expect(await dedupe('--config', 'c.yaml')).toMatchObject({ code: 0, err: '', text: '' })
    const ids = ['books', 'wiki'].map((name) => linesOf(at('clean/kept', name, 'a.jsonl')))
    expect(ids).toEqual([[one], [one]])
    const { code, err } = await dedupe('--config', 'c.yaml', '--state', 'x')
    expect([code, err]).toEqual([2, expect.stringContaining('--state has no effect')])
  })

  it.each([
    [[], 'dedupe needs INPUT...'],
    [['other.jsonl'], 'dedupe needs -o DIR'],
    [['--config', 'jobs/job.yaml', '--jaccard', '9'], '--jaccard 9: must be a number'],
    [['other.jsonl', '-o', 'x', '--ngram', '99'], '--ngram 99'],
    [['other.jsonl', '-o', 'x', '--ngram', '5', '--profile', 'words'], 'give only one'],
    [['other.jsonl', '-o', 'x', '--num_perm', '100'], '--num-perm 100'],
  ])('leaves mistakes to be named as they were typed: %j', async (args, message) => {
    const { code, err } = await dedupe(...args)
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
    expect(existsSync(at('x'))).toBe(false)
  })

  it('may name a judge by its file', async () => {
    writeFiles(directory, {
      'jobs/judged.yaml':
        'inputs: [wiki]\noutput: judged\nnear: { precision: 0.9, judge: none.json }',
    })
    const none = await dedupe('--config', 'jobs/judged.yaml')
    expect([none.code, none.err]).toEqual([3, expect.stringContaining('jobs/none.json')])
    writeFiles(directory, {
      'jobs/judged.yaml':
        'inputs: [wiki]\noutput: judged\nnear: { precision: 0.9, judge: default }',
    })
    expect(await dedupe('--config', 'jobs/judged.yaml', '-q')).toMatchObject({ code: 0, err: '' })
  })

  it('has a setting for every option of dedupe', () => {
    const { options, shared } = commands.dedupe
    const settings = new Set(fieldsOf(jobSchema).map(({ path }) => path.join('.')))
    const SETTING_OF: Record<string, string> = {
      out: 'output',
      backend: 'state',
      threshold: 'near.threshold',
      profile: 'near.profile',
      ngram: 'near.profile',
      slots: 'near.slots',
      precision: 'near.precision',
      judge: 'near.judge',
      'no-guards': 'near.guards',
      chunks: 'chunks.enabled',
      containment: 'containment.min',
      'containment-action': 'containment.action',
      format: 'input.format',
      source: 'input.source',
      'follow-symlinks': 'input.followSymlinks',
      'format-out': 'outputFormat',
      'shard-size': 'outputShardSize',
      passages: 'passages.action',
      'passages-min-documents': 'passages.documentsMin',
      'passages-min-words': 'passages.wordsMin',
      'passages-by': 'passages.by',
    }
    const names = [...Object.keys(options), ...shared, ...Object.keys(globalOptions)]
    const without = names.filter((name) => {
      const field = /^(.*)-field$/.exec(name)?.[1]
      const camel = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())
      return !settings.has(field ? `input.fields.${field}` : (SETTING_OF[name] ?? camel))
    })
    // To decide again is asked for each time.
    expect(without).toEqual(['config', 'again', 'help', 'version'])
  })

  it('with a secret in it does not show it', async () => {
    for (const state of ['redis://:hunter2@127.0.0.1:1', 'redis://u:hunter2@127.0.0.1:1/x?y=1']) {
      writeFiles(directory, { 's.yaml': `inputs: [jobs]\noutput: out\nstate: ${state}\n` })
      for (const more of [[], ['--json']]) {
        const run = await dedupe('--config', 's.yaml', ...more)
        expect(run.code).not.toBe(0)
        expect(run.err + run.text).not.toContain('hunter2')
      }
    }
    writeFiles(directory, { 's.yaml': 'state: [redis://:hunter2@127.0.0.1:1\n' })
    expect((await dedupe('--config', 's.yaml')).err).not.toContain('hunter2')
  })
})
