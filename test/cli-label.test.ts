/** `prestige label`: answers become lines that tune reads, at once and one by one. */

import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { inProcess, prestige as spawned } from './children/cli.ts'

let cwd: string
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'prestige-label-'))
})
afterEach(() => rm(cwd, { recursive: true }))

const BASE = 'the quick brown fox jumps over the lazy dog near the old river bank at noon'
const PAIRS = [
  { a: BASE, b: 'nothing of this is in the other text at all, not a single word of it' },
  { a: BASE, b: `${BASE} today` },
  { a: '新聞報導說今天天氣很好', b: '新聞報導說明天天氣很好' },
  { a: BASE, b: BASE.replace('noon', 'night').replace('quick', 'slow') },
]

const write = (name: string, records: readonly object[]) =>
  writeFile(join(cwd, name), records.map((one) => `${JSON.stringify(one)}\n`).join(''))
const out = () => readFile(join(cwd, 'labels.jsonl'), 'utf8')
const labels = async () =>
  (await out())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
/** By these, the pair with "today" is the nearest to the threshold. */
const NEAREST = ['--profile', 'words-1', '--threshold', '0.9']
const label = (answers: string, ...args: readonly string[]) =>
  inProcess(['label', ...args, '-o', 'labels.jsonl'], { cwd, input: answers })

describe('label', () => {
  beforeEach(() => write('pairs.jsonl', PAIRS))

  it('asks about the pair nearest to the threshold first, and writes what tune reads', async () => {
    const { code, text, err } = await label('y\nn\nyes\nNO\n', 'pairs.jsonl', ...NEAREST)
    expect([code, err]).toEqual([0, ''])
    expect(text).toContain('{+today+}')
    expect(text).toContain('0 left. Choose a threshold: prestige tune --pairs labels.jsonl')
    expect((await labels()).map(({ label: one }) => one)).toEqual([
      'duplicate',
      'different',
      'duplicate',
      'different',
    ])
    expect((await labels())[0]).toMatchObject(PAIRS[1]!)
    const tuned = await inProcess(['tune', '--pairs', 'labels.jsonl', '--json'], { cwd })
    expect(tuned.json).toMatchObject({ pairs: 4, duplicates: 2, different: 2 })
  })

  it('goes on where it stopped, and says what is left', async () => {
    const first = await label('y\nq\nn\n', 'pairs.jsonl', ...NEAREST, '--json')
    expect(first.json).toEqual({
      file: 'labels.jsonl',
      labels: 1,
      duplicates: 1,
      different: 0,
      skipped: 0,
      left: 3,
    })
    const second = await label('n\n', 'pairs.jsonl', ...NEAREST)
    expect(second.err).toContain('labels.jsonl has 1 label; 3 pairs left')
    expect(second.text).not.toContain('today')
    expect(second.text).toContain('2 left')
    await label('n\nn\n', 'pairs.jsonl')
    const done = await label('', 'pairs.jsonl', '--json')
    expect(done.json).toMatchObject({ labels: 4, left: 0 })
  })

  it('takes the last answer back, also that of a session before', async () => {
    await label('y\nn\nu\ny\ns\nu\ns\n', 'pairs.jsonl')
    expect((await labels()).map(({ label: one }) => one)).toEqual(['duplicate', 'duplicate'])
    const { text } = await label('u\nn\nu\nu\nu\nq\n', 'pairs.jsonl')
    expect(await out()).toBe('')
    expect(text).toContain('4 left')
    expect((await label('u\nq\n', 'pairs.jsonl')).err).toContain('nothing to undo')
  })

  it('shows skipped pairs again next time', async () => {
    expect((await label('s\ns\n', 'pairs.jsonl', '--json')).json).toMatchObject({
      labels: 0,
      skipped: 2,
      left: 4,
    })
  })

  it('has every answer in the file before it asks again, so a kill loses none', async () => {
    const run = await spawned(['label', 'pairs.jsonl', '-o', 'labels.jsonl'], {
      cwd,
      meanwhile: async (child) => {
        let seen = ''
        const shown = (what: string) =>
          new Promise<void>((resolve) => {
            const look = () => {
              if (seen.includes(what)) resolve()
            }
            child.stdout.on('data', (part: Buffer) => {
              seen += part.toString()
              look()
            })
            look()
          })
        await shown('4 left')
        child.stdin.write('y\nn\n')
        await shown('2 left')
        child.kill('SIGKILL')
      },
    })
    expect(run.code).toBe(null)
    expect(await labels()).toHaveLength(2)
    expect((await label('y\nn\n', 'pairs.jsonl', '--json')).json).toMatchObject({ labels: 4 })
  })

  it('removes the half line that a crash has left, and nothing else', async () => {
    await label('y\nn\nq\n', 'pairs.jsonl')
    const whole = await out()
    await appendFile(join(cwd, 'labels.jsonl'), '{"a":"half of a li')
    const { code, err } = await label('q\n', 'pairs.jsonl')
    expect([code, err]).toEqual([0, expect.stringContaining('was incomplete and was removed (18')])
    expect(await out()).toBe(whole)
    // A last line that only lacks its end is whole.
    await writeFile(join(cwd, 'labels.jsonl'), whole.trimEnd())
    await label('y\nq\n', 'pairs.jsonl')
    expect(await labels()).toHaveLength(3)
    const damaged = `{"a":"half of\n${whole}`
    await writeFile(join(cwd, 'labels.jsonl'), damaged)
    expect(await label('y\n', 'pairs.jsonl')).toMatchObject({
      code: 2,
      err: expect.stringContaining('labels.jsonl, line 1: it is not JSON'),
    })
    expect(await out()).toBe(damaged)
  })

  it('reads pairs from CSV and TSV, and fields of any name', async () => {
    await writeFile(join(cwd, 'pairs.csv'), 'a,b\n"one, two",one two\n')
    await writeFile(join(cwd, 'pairs.tsv'), 'text1\ttext2\n"three\tthree four\n')
    await write('named.jsonl', [{ q: { text: 'five' }, other: 'five six' }])
    await label('y\n', 'pairs.csv')
    await label('n\n', 'pairs.tsv')
    await label('n\n', 'named.jsonl', '--fields', 'q.text,other')
    expect(await labels()).toEqual([
      { a: 'one, two', b: 'one two', label: 'duplicate' },
      { a: '"three', b: 'three four', label: 'different' },
      { a: 'five', b: 'five six', label: 'different' },
    ])
  })

  it.each([
    [['pairs.jsonl'], 'x\n', 'Answer 1 is "x". Answers are: y duplicates'],
    [['pairs.jsonl'], '', 'There are no answers on stdin'],
    [['-'], 'y\n', 'the texts must be in a file'],
    [['missing.jsonl'], 'y\n', 'missing.jsonl'],
    [['pairs.jsonl', 'pairs.jsonl'], 'y\n', 'Add --inputs'],
    [['pairs.jsonl', '--fields', 'a,b,label'], 'y\n', '--fields takes two names'],
    [['pairs.jsonl', '--fields', 'a,c'], 'y\n', 'line 1: there is no text "c"'],
    [['pairs.jsonl', '--limit', '3'], 'y\n', '--limit has no effect without --inputs'],
    [['pairs.jsonl', '--treshold', '0.7'], 'y\n', 'Did you mean "--threshold"?'],
    [['pairs.txt'], 'y\n', 'is not JSONL, CSV, TSV or Parquet'],
    [['--inputs', 'pairs.jsonl'], 'y\n', 'Name another with --text-field'],
    [['--inputs', 'pairs.jsonl', '--limit', '0'], 'y\n', '--limit 0: must be 1 or more'],
  ])('refuses %j with answers %j', async (args, answers, message) => {
    const { code, err } = await label(answers, ...args)
    expect(err).toContain(message)
    expect(code).toBeGreaterThan(0)
  })

  it('needs a file for the labels, which must be JSON lines', async () => {
    const { code, err } = await inProcess(['label', 'pairs.jsonl'], { cwd })
    expect([code, err]).toEqual([2, expect.stringContaining('label needs -o FILE')])
    await writeFile(join(cwd, 'labels.jsonl'), 'a\tb\tlabel\none\ttwo\t1\n')
    expect((await label('y\n', 'pairs.jsonl')).err).toContain('does not hold JSON lines')
    expect((await inProcess(['annotate'], { cwd })).err).toContain('label')
  })
})

describe('label --inputs', () => {
  const words = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) => `word${from + at}`).join(' ')

  it('chooses pairs around the threshold, never identical texts, always in one order', async () => {
    const documents = [
      words(0, 60),
      words(0, 60).toUpperCase(),
      `${words(0, 56)} ${words(500, 4)}`,
      `${words(0, 48)} ${words(600, 12)}`,
      words(1000, 60),
      `${words(1000, 58)} ${words(700, 2)}`,
      words(2000, 60),
      '',
    ]
    await write(
      'in.jsonl',
      documents.map((body, at) => ({ id: at, body })),
    )
    const args = ['--inputs', 'in.jsonl', '--text-field', 'body']
    const { json } = await label('n\n'.repeat(50), ...args, '--json')
    const found = await labels()
    expect(json.labels).toBe(found.length)
    expect(
      found.map(({ a, b }) => `${documents.indexOf(a)} ${documents.indexOf(b)}`).toSorted(),
    ).toEqual(['0 2', '0 3', '2 3', '4 5'])
    const before = await out()
    await rm(join(cwd, 'labels.jsonl'))
    await label('n\nn\n', ...args)
    await label('n\nn\n', ...args)
    expect(await out()).toBe(before)
    await rm(join(cwd, 'labels.jsonl'))
    expect((await label('y\ny\n', ...args, '--limit', '1', '--json')).json).toMatchObject({
      labels: 1,
      left: 0,
    })
  })
})
