/** `uncut`: kept documents as they were before `--passages cut`, without their inputs. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { inProcess } from './children/cli.ts'
import { textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-uncut-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
const make = textMaker(31)
const notice = make(30)
const texts = [
  `${notice} ${make(40)}`,
  make(50),
  `${make(40)} ${notice} Ä ${make(20)}`,
  `${make(40)}\n${notice}`,
]
const cut = ['--passages', 'cut', '--passages-min-documents', '3']
const dedupe = async (...args: string[]) => {
  const { code, err } = await inProcess(['dedupe', at('in'), '-o', at('out'), '-q', ...args])
  expect([code, err]).toEqual([0, ''])
}
const uncut = (...args: string[]) => inProcess(['uncut', ...args, '-o', at('out')])
const linesIn = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

describe('uncut', () => {
  it.each([
    ['lines', []],
    ['several files', ['--shard-size', '1KB']],
    ['a file each', ['--format-out', 'files']],
    ['Parquet', ['--format-out', 'parquet']],
  ])('restores what was cut: %s', async (_, more) => {
    const docs = texts.map((text, n) => ({ id: `d${n}`, text }))
    const lines = [docs[0], { ...docs[0], id: 'copy' }, ...docs.slice(1)]
    writeFiles(at('in'), { 'a.jsonl': lines.map((doc) => JSON.stringify(doc)).join('\n') })
    await dedupe(...cut, ...more)
    rmSync(at('in'), { recursive: true })
    const all = await uncut()
    expect([all.code, all.err]).toEqual([0, ''])
    const restored = linesIn(all.text).map(({ id, text }) => ({ id, text }))
    expect(restored).toEqual(docs)
    const one = await uncut('d2')
    expect([one.code, one.text]).toEqual([0, `${texts[2]}\n`])
  })

  it('restores documents that are named by their place, and files', async () => {
    const [first = '', second = '', third = '', fourth = ''] = texts
    writeFiles(at('in'), {
      'a.csv': `text\n${second}\n${second}\n${first}\n`,
      'b.txt': third,
      'c.json': JSON.stringify({ text: fourth, n: 1 }),
    })
    await dedupe(...cut)
    const found = linesIn((await uncut()).text).map(({ id, file, text }) => `${id} ${file} ${text}`)
    expect(found.toSorted()).toEqual([
      `a.csv#2 kept/a.csv ${second}`,
      `a.csv#4 kept/a.csv ${first}`,
      `b.txt kept/b.txt ${third}`,
      `c.json#1 kept/c.json ${fourth}`,
    ])
  })

  it('fails by name for what is not there', async () => {
    const docs = texts.map((text, n) => ({ id: `d${n}`, text }))
    const lines = [...docs, { ...docs[0], id: 'copy' }]
    writeFiles(at('in'), { 'a.jsonl': lines.map((doc) => JSON.stringify(doc)).join('\n') })
    await dedupe(...cut, '--run', 'one')
    expect(await uncut('nobody')).toMatchObject({ code: 3, err: expect.stringContaining('nobody') })
    expect((await uncut('copy')).err).toContain('"copy" is not kept')
    rmSync(at('out/runs/one/passages.jsonl'))
    expect((await uncut('d0')).err).toContain('passages.jsonl is not there')
    writeFiles(at('out'), { 'kept/a.jsonl': '{}' })
    expect((await uncut('d0')).err).toContain('was changed since a run wrote it')
  })
})
