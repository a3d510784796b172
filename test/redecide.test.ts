/** --again from the texts in the state: that inputs are not read to decide, and every reason why some are. */

import {
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { cell } from '../src/backends/index.ts'
import { packs, replays } from '../src/dedupe/rows.ts'
import { openDedupe } from '../src/index.ts'
import { inProcess as prestige, type Run } from './children/cli.ts'
import { jsonl, published, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-redecide-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
const dedupe = (...args: string[]) => prestige(['dedupe', ...args])
const succeed = async (run: Promise<Run>): Promise<Run> => {
  const done = await run
  expect([done.code, done.err]).toEqual([0, expect.not.stringContaining('prestige:')])
  return done
}

/** Exact, canonical and near copies, texts without a word, an empty one, an id that is there twice, and rejects. */
function corpus(seed: number, count = 6): string {
  const text = textMaker(seed)
  const lines = Array.from({ length: count }, (_, n) => {
    const one = text(50)
    return jsonl([
      { id: `${seed}-${n}`, text: one, score: n % 3, lang: 'en', kind: 'web' },
      { id: `${seed}-${n}-near`, text: `${one} and more`, score: 5 },
      { id: `${seed}-${n}-exact`, text: one, score: 7, kind: 'book' },
      { id: `${seed}-${n}-case`, text: one.toUpperCase(), score: 1 },
      { id: `${seed}-${n}-part`, text: one.split(' ').slice(0, 43).join(' ') },
      { text: `without an id, ${one.slice(0, 90)}` },
    ])
  })
  const odd = [
    { id: 'dash', text: '-' },
    { id: 'empty', text: '' },
    { id: 'blank', text: '  ' },
  ]
  return [
    ...lines,
    '{"id": 1}\n',
    'no JSON\n',
    jsonl(odd),
    jsonl([{ id: 'dash', text: '-' }]),
  ].join('')
}

/** Times that can be set again. */
const TIME = new Date('2026-01-01')

function write(files: Record<string, string>): void {
  writeFiles(at('in'), files)
  for (const name of Object.keys(files)) utimesSync(at('in', name), TIME, TIME)
}

const writeInputs = () => write({ 'a.jsonl': corpus(1), 'b.jsonl': corpus(2) + corpus(1, 3) })

const FROM_STATE = 'Texts are taken from the state: inputs are not read to decide.'
const fields = ['--quality-field', 'score', '--language-field', 'lang', '--type-field', 'kind']

/** Other bytes, of the same size and time. */
function spoil(file: string): () => void {
  const bytes = readFileSync(file)
  writeFileSync(file, Buffer.alloc(bytes.length, 'x'))
  utimesSync(file, TIME, TIME)
  return () => {
    writeFileSync(file, bytes)
    utimesSync(file, TIME, TIME)
  }
}

describe('--again where the state has all texts', () => {
  const changes: [string, string[], string[]][] = [
    ['threshold', [], ['--threshold', '0.95']],
    ['keep rule', [], ['--keep', 'longest']],
    ['profile', [], ['--profile', 'words-3']],
    ['methods', [], ['--chunks', '--containment', '0.6']],
    ['guards', [], ['--no-guards', '--threshold', '0.7']],
    ['order', [], ['--order-independent', '--keep', 'longest']],
    ['order, back', ['--order-independent', '--keep', 'longest'], ['--threshold', '0.9']],
    ['threads', [], ['--threshold', '0.95', '--threads', '2']],
  ]
  it.each(changes)(
    'decides without the inputs, as a fresh run does: %s',
    async (_, first, then) => {
      writeInputs()
      await succeed(dedupe(at('in'), '-o', at('out'), '-q', ...first))
      const typed = [at('in'), '-o', at('out'), ...then, '--again']
      const back = ['a.jsonl', 'b.jsonl'].map((name) => spoil(at('in', name)))
      const plan = await succeed(dedupe(...typed, `--plan=${at('spoilt.jsonl')}`))
      expect(plan.err).toContain(FROM_STATE)
      for (const restore of back) restore()
      const done = await succeed(dedupe(...typed))
      expect(done.err).toContain(FROM_STATE)
      await succeed(dedupe(at('in'), '-o', at('fresh'), '-q', ...first, ...then))
      expect(published(at('out'))).toEqual(published(at('fresh')))
      expect(readFileSync(at('spoilt.jsonl'), 'utf8')).toBe(
        readFileSync(at('fresh/duplicates.jsonl'), 'utf8'),
      )
      expect((await prestige(['verify', '--store', at('out/state')])).code).toBe(0)
    },
  )
})
