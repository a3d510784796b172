/** `prestige dedupe … -o -`: documents in, those that are kept out, as a filter in a pipe. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { inProcess as prestige, shell } from './children/cli.ts'
import { corpus, jsonl, linesOf, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-filters-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)
const filter = (input: string | Uint8Array, ...args: string[]) =>
  prestige(['dedupe', ...args], { cwd: directory, input })
const left = () =>
  readdirSync(tmpdir()).filter((name) => /^prestige-(filter|input)-\w{6}$/.test(name))

const documents = corpus(100)
const keptOnly = documents.filter(({ id }) => id.startsWith('doc-'))

describe('a filter', () => {
  it('writes the very lines that are kept, and says all else on stderr', async () => {
    const before = left()
    const odd = documents.map((one) => ` ${JSON.stringify(one)}  `)
    const run = await filter(`${odd.join('\n')}\n`, '-', '-o', '-')
    expect(run.code).toBe(0)
    expect(run.text).toBe(keptOnly.map((one) => ` ${JSON.stringify(one)}  \n`).join(''))
    expect(run.err).toMatch(/kept +70\b/)
    expect(run.err).not.toContain('prestige undo')
    expect([readdirSync(directory), left()]).toEqual([[], before])
  })

  it('remembers in a state what it has seen, and lists duplicates if asked', async () => {
    const args = ['-', '--output=-', '--state', 'seen', '--duplicates', 'dropped.jsonl']
    const first = await filter(jsonl(documents.slice(0, 50)), ...args)
    expect(first.err).toContain('--state seen')
    const firstKept = first.text.trim().split('\n').length
    expect(linesOf(at('dropped.jsonl'))).toHaveLength(50 - firstKept)
    const second = await filter(jsonl(documents), ...args, '-q')
    expect([second.code, second.err]).toEqual([0, ''])
    expect(second.text.trim().split('\n')).toHaveLength(70 - firstKept)
    expect(linesOf(at('dropped.jsonl'))).toHaveLength(30 + firstKept)
  })

  it('reads files in the order given, compressed or not, and cleans against a state', async () => {
    const cut = documents.findIndex(({ id }, n) => n > 40 && id.startsWith('doc-'))
    const [first, second] = [documents.slice(0, cut), documents.slice(cut)]
    writeFiles(directory, {
      'b.jsonl.gz': gzipSync(jsonl(first)),
      'a.jsonl': jsonl([...first.slice(0, 9), ...second]),
    })
    const run = await filter('', 'b.jsonl.gz', 'a.jsonl', '-o', '-', '-q')
    expect(run.text).toBe(jsonl(keptOnly))
    await filter('', 'b.jsonl.gz', '-o', '-', '--state', 's', '-q')
    const clean = await filter('', 'a.jsonl', '-o', '-', '--against', 's', '-q')
    expect(clean.text).toBe(jsonl(second))
  })

  it('takes CSV, arrays and lines, but only what one stream can hold', async () => {
    expect((await filter('a\nb\na\n', '-', '-o', '-', '--format', 'lines', '-q')).text).toBe(
      'a\nb\n',
    )
    const csv = 'id,text\n1,"x, y"\n2,z\n3,z\n'
    expect((await filter(csv, '-', '-o', '-', '--format', 'csv', '-q')).text).toBe(csv.slice(0, -4))
    const array = await filter('[{"text":"a"},\n{"text":"a"}]', '-', '-o', '-', '-q')
    expect(JSON.parse(array.text)).toEqual([{ text: 'a' }])
    writeFiles(directory, { 'a.csv': csv, 'b.csv': csv, 'c/x.txt': 'x', 'd.jsonl': '' })
    for (const inputs of [['a.csv', 'b.csv'], ['c'], ['a.csv', 'd.jsonl']]) {
      const { code, err } = await filter('', ...inputs, '-o', '-', '--state', 's')
      expect([code, err]).toEqual([2, expect.stringContaining('cannot be joined to one')])
    }
  })

  it('that is stopped or fails remembers nothing', async () => {
    const state = ['--state', 's', '-q']
    const stopped = await filter(jsonl(documents), '-', '-o', '-', '--max-drop', '10%', ...state)
    expect([stopped.code, stopped.text]).toEqual([2, ''])
    expect(stopped.err).toContain('Nothing was written or remembered.')
    const strict = await filter('{"text": 5}\n', '-', '-o', '-', '--strict', ...state)
    expect([strict.code, strict.text]).toEqual([2, ''])
    const run = await filter(jsonl(documents), '-', '-o', '-', ...state)
    expect(run.text).toBe(jsonl(keptOnly))
  })

  it('reports rejects on stderr, also with -q, or lists them in a file', async () => {
    const lines = `bad\n${'{"text":"z"}\n{"text":"y"}\n'.repeat(8)}${'{x\n'.repeat(6)}`
    const few = await filter(lines, '-', '-o', '-', '-q', '--duplicates', 'd.jsonl')
    expect(few.code).toBe(0)
    expect(few.err).toMatch(/^rejected: stdin\.jsonl, line 1 \(invalid-json\): It is not JSON/)
    expect(few.err.trim().split('\n')).toHaveLength(6)
    expect(few.err).toContain('and 2 more rejects; --rejects FILE lists them')
    const listed = await filter(lines, '-', '-o', '-', '-q', '--rejects', 'r.jsonl')
    expect([listed.code, listed.err, listed.text]).toEqual([0, '', few.text])
    expect(linesOf(at('r.jsonl'))).toHaveLength(7)
    const array = await filter('[{"text":"a"},{"text":"b"},5]', '-', '-o', '-', '-q')
    expect(array.err).toContain('rejected: stdin.json, element 3 (wrong-type)')
    const none = await filter('', 'x.jsonl', '-o', 'out', '--rejects', 'r.jsonl')
    expect(none.err).toContain('--rejects has no effect without -o -: DIR/rejects.jsonl lists them')
  })

  it('says with its exit code that most was rejected', async () => {
    const run = await filter('{"text":"a"}\nb\nc\n', '-', '-o', '-', '-q')
    expect([run.code, run.text]).toEqual([1, '{"text":"a"}\n'])
    expect(run.err).toContain('was mostly rejected')
  })

  it('whose reader has seen enough ends quietly, with its state as it should be', async () => {
    const many = Array.from({ length: 3000 }, (_, n) => ({ text: `${n} `.repeat(300) }))
    writeFiles(directory, { 'x.jsonl': jsonl(many) })
    const args = `-o - --state ${at('s')} --threshold 1 -q`
    const run = await shell(`cat ${at('x.jsonl')} | $P dedupe - ${args} | head -n 1`, at('none'))
    expect([run.code, run.err, run.text]).toEqual([0, '', `${JSON.stringify(many[0])}\n`])
    const again = await filter(readFileSync(at('x.jsonl')), '-', ...args.split(' '))
    expect([again.code, again.text]).toEqual([0, ''])
    expect(existsSync(at('s/data.mdb'))).toBe(true)
  })
})
