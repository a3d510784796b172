/** `resolve` and `members` on the command line: what they print, what they refuse, and their exit codes. */

import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { LineCutter } from '../src/cli/files/lines.ts'
import { inProcess as prestige, type Run, type RunOptions, shell } from './children/cli.ts'

let directory: string
let store: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-cli-resolve-'))
  store = join(directory, 'store')
})
afterAll(() => rm(directory, { recursive: true }))

const run = (args: readonly string[], options: RunOptions = {}) =>
  prestige(args, { store, ...options })
const resolve = (input: string | Uint8Array, ...args: string[]) =>
  run(['resolve', ...args], { input })
const columns = ({ text }: Run) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'))
const jsonLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

const FOX = 'the quick brown fox jumps over the lazy dog'

describe('resolve', () => {
  it('gives near duplicates one id, and says what each line is', async () => {
    const group = ['--group', 'foxes']
    const first = await resolve(`${FOX}\n${FOX}s\nsomething else altogether\n`, ...group)
    const [fox, foxes, other] = columns(first)
    expect(first.code).toBe(0)
    expect(fox).toEqual([expect.stringMatching(/^[\w-]{22}$/), 'new', '1', FOX])
    expect(foxes).toEqual([fox![0], 'match', expect.stringMatching(/^0\.\d{4}$/), `${FOX}s`])
    expect(other![1]).toBe('new')
    expect(other![0]).not.toBe(fox![0])
    expect(first.err).toBe('3 lines: 2 new, 1 match, 0 known\n')
    const again = await resolve(`${FOX}s\n${FOX}`, ...group)
    expect(columns(again).map((line) => line.slice(0, 2))).toEqual([
      [fox![0], 'known'],
      [fox![0], 'exact'],
    ])
    expect(again.err).toBe('2 lines: 0 new, 0 matches, 2 known\n')
  })

  it('never lets groups and namespaces see each other', async () => {
    const line = 'a line that comes three times'
    const runs = [
      await resolve(line, '--group', 'one'),
      await resolve(line, '--group', 'two'),
      await resolve(line, '--group', 'one', '--namespace', 'apart'),
    ]
    expect(runs.map((one) => columns(one)[0]![1])).toEqual(['new', 'new', 'new'])
  })

  it('reads files in order, and stdin where - stands', async () => {
    const path = join(directory, 'lines.txt')
    await writeFile(path, 'from a file\nand its second line')
    const both = await run(['resolve', path, '-', '--store', 'memory:', '--json'], {
      input: 'from stdin\n',
    })
    expect(jsonLines(both.text)).toMatchObject([
      { line: 1, file: path, status: 'new' },
      { line: 2, file: path, status: 'new' },
      { line: 1, status: 'new' },
    ])
    const nowhere = await run(['resolve', path, join(directory, 'none')], { store: 'memory:' })
    expect([nowhere.code, nowhere.text]).toEqual([3, ''])
    expect((await run(['resolve', directory], { store: 'memory:' })).code).toBe(1)
  })

  it('answers a line before the next one comes', async () => {
    await run(['resolve', '--store', 'memory:'], {
      meanwhile: async (child) => {
        const answered = () => new Promise((done) => child.stdout.once('data', done))
        const first = answered()
        child.stdin.write('one line\n')
        await first
        const second = answered()
        child.stdin.write('another one\n')
        await second
        child.stdin.end()
      },
    })
  })

  it('writes nothing with --lookup, and makes no store', async () => {
    const group = ['--group', 'looked up']
    await resolve(FOX, ...group)
    const looked = await resolve(`${FOX}\n${FOX}s\nnever seen before\n`, '--lookup', ...group)
    expect(columns(looked).map(([, status]) => status)).toEqual(['exact', 'match', 'unknown'])
    expect(columns(looked)[2]).toEqual(['-', 'unknown', '-', 'never seen before'])
    expect(looked.err).toBe('3 lines: 0 new, 1 match, 1 known, 1 unknown\n')
    const stats = await run(['resolve', '--stats', '--json', ...group])
    expect(stats.json).toMatchObject({ group: 'looked up', clusters: 1, members: 0 })
    const nowhere = join(directory, 'nowhere')
    expect((await run(['resolve', '--lookup'], { store: nowhere, input: 'x' })).code).toBe(3)
    expect(existsSync(nowhere)).toBe(false)
  })

  it('prints only sums with --quiet, and JSON alone with --json', async () => {
    const quiet = await resolve(`${FOX}\n\n`, '--quiet', '--store', 'memory:')
    expect([quiet.code, quiet.text]).toEqual([1, ''])
    expect(quiet.err).toBe('2 lines: 1 new, 0 matches, 0 known, 1 bad line\n')
    const json = await resolve(`${FOX}\n\n`, '--json', '--store', 'memory:')
    expect(json.json).toEqual({
      line: 1,
      group: 'default',
      id: expect.any(String),
      status: 'new',
      similarity: 1,
      representative: expect.any(String),
    })
    expect(jsonLines(json.err)).toEqual([
      { line: 2, error: { code: 'INVALID_VALUE', message: 'it is empty' } },
      { in: 2, new: 1, matches: 0, known: 0, unknown: 0, bad: 1 },
    ])
  })

  it('keeps the threshold and refuses another one later', async () => {
    const other = { store: join(directory, 'threshold'), input: FOX }
    await run(['resolve', '--threshold', '0.6', '--profile', 'chars-4'], other)
    expect((await run(['resolve'], other)).code).toBe(0)
    const mismatch = await run(['resolve', '--threshold', '0.9'], other)
    expect(mismatch.code).toBe(2)
    expect(mismatch.err).toContain('threshold is 0.6 there, and 0.9 was asked for')
    for (const bad of ['0', '1.5', 'x', '']) {
      expect((await run(['resolve', `--threshold=${bad}`], other)).code).toBe(2)
    }
    expect((await run(['resolve', '--gc', 'manual'], other)).code).toBe(2)
  })

  it('takes options from the environment and from the preset; flags win', async () => {
    const settings = async (line: string) => {
      const place = join(directory, `environment-${line.length}`)
      const made = await shell(`echo a line | ${line} --store ${place}`, store)
      expect(made.err).toContain('1 new')
      return (await run(['resolve', '--stats', '--json'], { store: place })).json.settings.text
    }
    expect(await settings('LSH_BANDS=20 LSH_ROWS=4 $P resolve')).toMatchObject({
      bands: 20,
      rows: 4,
      profile: 'chars-3',
      threshold: 0.6,
    })
    expect(await settings('$P resolve --preset lsh')).toMatchObject({ bands: 40, rows: 5 })
    expect(await settings('LSH_JAC_THRESHOLD=0.7 $P resolve --threshold 0.75')).toMatchObject({
      threshold: 0.75,
    })
  })

  it('forgets a cluster after its time', async () => {
    const group = ['--group', 'short-lived', '--ttl', '1ms']
    const first = await resolve(FOX, ...group)
    const second = await resolve(FOX, ...group)
    expect([columns(first)[0]![1], columns(second)[0]![1]]).toEqual(['new', 'new'])
  })

  it('ends quietly when its reader has seen enough', async () => {
    const cut = await shell('seq 50000 | $P resolve --store memory: | head -n 1', store)
    expect(cut.text).toMatch(/\tnew\t1\t1\n$/)
  })

  it('keeps what was resolved when it is interrupted', async () => {
    const args = ['resolve', '--group', 'interrupted']
    const stopped = await run(args, {
      meanwhile: async (child) => {
        const answered = new Promise((done) => child.stdout.once('data', done))
        child.stdin.write(`${FOX}\n`)
        await answered
        child.kill('SIGINT')
      },
    })
    expect([stopped.code, stopped.err]).toEqual([
      130,
      'stopped after 1 line: 1 new, 0 matches, 0 known\n',
    ])
    expect(columns(await run(args, { input: FOX }))[0]![1]).toBe('exact')
  })
})

describe('lines of any script', () => {
  const lines = [
    'नमस्ते दुनिया, आप कैसे हैं? मैं ठीक हूँ।',
    '你好，世界！今天的天气非常好，我们去公园散步吧。',
    'مرحبا بالعالم، كيف حالك اليوم؟ أتمنى لك يوما سعيدا',
    '👩‍👩‍👧‍👦 🎁 🇩🇪 emoji only with a few words between 🎉',
  ]

  it('are told as they came, and found again, be their ends \\n or \\r\\n', async () => {
    const group = ['--group', 'scripts']
    const first = await resolve(lines.join('\r\n'), ...group)
    expect(columns(first).map((line) => line[3])).toEqual(lines)
    const again = await resolve(`${lines.join('\n')}\n`, ...group)
    expect(columns(again).map(([, status]) => status)).toEqual(lines.map(() => 'exact'))
  })

  it('are one thing in NFC and NFD', async () => {
    const text = 'Voilà une très belle journée à l’été, où l’on mange des crêpes'
    const both = await resolve(
      `${text.normalize('NFC')}\n${text.normalize('NFD')}`,
      '-s',
      'memory:',
    )
    const [nfc, nfd] = columns(both)
    expect([nfd![0], nfd![1], nfd![2]]).toEqual([nfc![0], 'match', '1'])
    expect(nfd![3]).toBe(text.normalize('NFD'))
  })

  it('may begin with a mark, which is of the file and not of the line', async () => {
    const marked = await resolve(`\ufeff${FOX}\n${FOX}`, '--store', 'memory:')
    expect(columns(marked)[1]![1]).toBe('exact')
  })

  it('are told by number when they are not UTF-8, empty, or half of a pair', async () => {
    const bad = Buffer.concat([
      Buffer.from('good line\n'),
      Buffer.from([0xc3, 0x28, 0x0a]),
      Buffer.from('\n\r\nanother good line\n'),
      Buffer.from([0xed, 0xa0, 0x80, 0x0a]),
    ])
    const { code, err, text } = await resolve(bad, '--store', 'memory:')
    expect(code).toBe(1)
    expect(text.split('\n')).toHaveLength(3)
    expect(err).toBe(
      [
        'line 2: it is not valid UTF-8',
        'line 3: it is empty',
        'line 4: it is empty',
        'line 6: it is not valid UTF-8',
        '6 lines: 2 new, 0 matches, 0 known, 4 bad lines',
        '',
      ].join('\n'),
    )
  })

  it('of nothing but white space are taken', async () => {
    const { code, text } = await resolve('   \n\t\n', '--store', 'memory:')
    expect([code, text.split('\n').length]).toEqual([0, 3])
  })

  it('that are too long are bad lines, and the next one is read', async () => {
    const long = await shell(
      `(head -c 70000000 /dev/zero | tr '\\0' x; echo; echo a short one) | $P resolve -s memory: | cut -c 1-60`,
      store,
    )
    expect(long.err).toContain('line 1: it is longer than 64.0 MiB')
    expect(long.err).toContain('2 lines: 1 new')
    expect(long.text).toMatch(/\tnew\t1\ta short one\n$/)
  })

  it('stop the run at the first bad one with --strict', async () => {
    const group = ['--group', 'strict']
    const { code, err, text } = await resolve('first\n\nthird\n', '--strict', ...group)
    expect([code, text.split('\n').length]).toEqual([1, 2])
    expect(err).toBe('line 2: it is empty\n2 lines: 1 new, 0 matches, 0 known, 1 bad line\n')
    expect((await run(['resolve', '--stats', '--json', ...group])).json.clusters).toBe(1)
  })
})

describe('JSON lines', () => {
  const json = (...records: unknown[]) => records.map((one) => JSON.stringify(one)).join('\n')

  it('give text, group and an id of their own by field', async () => {
    const input = json(
      { body: FOX, from: 'web', key: 'a\tb' },
      { body: `${FOX}s`, from: 'web', key: 7 },
      { body: FOX, from: 3, key: { deep: true } },
    )
    const args = ['--jsonl', '--text-field', 'body', '--group-field', 'from', '--id-field', 'key']
    const plain = await resolve(input, ...args, '--store', 'memory:')
    expect(columns(plain).map(([, status, , ...own]) => [status, own.join('\t')])).toEqual([
      ['new', '"a\\tb"'],
      ['match', '7'],
      ['new', '{"deep":true}'],
    ])
    const told = await resolve(input, ...args, '--json', '--store', 'memory:')
    expect(jsonLines(told.text)).toMatchObject([
      { line: 1, group: 'web', ownId: 'a\tb', status: 'new' },
      { line: 2, group: 'web', ownId: 7, status: 'match' },
      { line: 3, group: '3', ownId: { deep: true }, status: 'new' },
    ])
  })

  it('that cannot be used are told with the reason', async () => {
    const input = ['{', '[1]', '{}', '{"text":5}', '{"text":""}', '{"text":"\\ud800"}'].join('\n')
    const { code, err } = await resolve(input, '--jsonl', '--store', 'memory:')
    expect(code).toBe(1)
    for (const reason of [
      'line 1: it is not valid JSON',
      'line 2: it is no JSON object',
      'line 3: it has no field "text"',
      'line 4: its "text" is not a text',
      'line 5: its "text" is empty',
      'line 6: ',
      '6 lines: 0 new, 0 matches, 0 known, 6 bad lines',
    ])
      expect(err).toContain(reason)
    expect((await resolve(FOX, '--text-field', 'body', '--store', 'memory:')).code).toBe(2)
  })

  it('may hold vectors', async () => {
    const vectors = { store: join(directory, 'vectors') }
    const input = json({ v: [1, 0, 0] }, { v: [0.99, 0.01, 0] }, { v: [0, 0, 1] }, { v: [1, 2] })
    const args = ['resolve', '--jsonl', '--vector-field', 'v', '--json']
    const opened = await run([...args, '--dimensions', '3', '--threshold', '0.9'], {
      ...vectors,
      input,
    })
    expect(opened.code).toBe(1)
    expect(jsonLines(opened.text).map(({ status }) => status)).toEqual(['new', 'match', 'new'])
    expect(opened.err).toContain('This resolver takes vectors of 3 dimensions')
    const again = await run(args, { ...vectors, input: json({ v: [1, 0, 0] }) })
    expect(again.json.status).toBe('exact')
    const half = await run([...args, '--threshold', '0.9'], { ...vectors, input })
    expect([half.code, half.err.includes('--dimensions')]).toEqual([2, true])
    const none = await run(args, { store: 'memory:', input })
    expect([none.code, none.err.includes('takes no vectors')]).toEqual([2, true])
  })
})

describe('members and stats', () => {
  it('list a cluster, its representative first', async () => {
    const group = ['--group', 'listed']
    const [first] = columns(await resolve(`${FOX}\n${FOX}s\n${FOX}!`, ...group))
    const id = first![0]!
    const listed = columns(await run(['members', ...group, '--', id]))
    expect(listed).toHaveLength(3)
    expect(listed[0]).toEqual([id, '1', expect.stringMatching(/^20.*Z$/)])
    const told = jsonLines((await run(['members', '--json', ...group, '--', id])).text)
    expect(told[0]).toMatchObject({ id, isRepresentative: true, similarity: 1 })
    expect(told.slice(1).every(({ isRepresentative }) => !isRepresentative)).toBe(true)
    const stats = await run(['resolve', '--stats', ...group])
    expect(stats.text).toMatch(/clusters +1\n +members +2\n/)
    expect(stats.text).toContain(`3  ${id}`)
    const missing = await run(['members', '--', id])
    expect([missing.code, missing.err]).toEqual([
      3,
      `prestige: There is no id ${id} in group "default".\n`,
    ])
    expect((await run(['members', 'no-id'])).code).toBe(2)
    expect((await run(['resolve', '--stats', 'file'])).code).toBe(2)
  })
})

describe('the cutter of lines', () => {
  const cut = (bytesMax: number, ...pieces: string[]) => {
    const cutter = new LineCutter(undefined, bytesMax)
    const lines = pieces.flatMap((piece) => cutter.cut(Buffer.from(piece)))
    return [...lines, ...cutter.end()].map(({ number, bytes }) => [number, bytes?.toString()])
  }

  it('does not care where pieces end', () => {
    const text = 'one\r\n\ntwo\nthree'
    const whole = cut(100, text)
    expect(whole).toEqual([
      [1, 'one'],
      [2, ''],
      [3, 'two'],
      [4, 'three'],
    ])
    expect(cut(100, ...Array.from(text))).toEqual(whole)
  })

  it('keeps nothing of a line that is too long', () => {
    expect(cut(3, 'abc\r\nabcd\nab', 'cdefgh', 'i\nab')).toEqual([
      [1, 'abc'],
      [2, undefined],
      [3, undefined],
      [4, 'ab'],
    ])
  })
})
