/** `explain A B` and `tune`: what they print, what they refuse, and that they need no store. */

import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { displayWidth } from '../src/platform/display-width.ts'
import { compareTexts, thresholdSvg, tune } from '../src/index.ts'
import { inProcess as prestige, type RunOptions } from './children/cli.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MRPC = join(
  process.env['PRESTIGE_DATA'] ?? join(ROOT, '../shared/data'),
  'mrpc/msr-para-train.tsv',
)

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-tune-'))
})
afterAll(() => rm(directory, { recursive: true }))

const run = (args: readonly string[], options: RunOptions = {}) => prestige(args, options)

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, content)
  return path
}

const fox = 'The quick brown fox jumps over the lazy dog and runs away.\n'
const wolf = 'the quick brown WOLF jumps over the lazy dog and runs away.\n'

describe('explain of two texts', () => {
  it('shows them side by side, with what they share', async () => {
    const paths = [await file('fox.txt', fox), await file('wolf.txt', wolf)]
    const { code, text, err } = await run(['explain', ...paths, '--profile', 'words-3'])
    expect([code, err]).toEqual([0, ''])
    expect(text).toContain('[-fox -]')
    expect(text).toContain('{+WOLF +}')
    expect(text).toMatch(/verdict +different: below the threshold of 0\.8/)
    expect(text).toMatch(/similarity +0\.538; estimate of a sketch of 128 slots: 0\.\d{3}/)
    expect(text).toMatch(/shingles +10 in A, 10 in B, 7 in both \(words-3\)/)
    expect(text).toMatch(/in both +"the quick brown"/)
    expect(text).toMatch(/only in A +"quick brown fox"/)
    expect(text).toMatch(/only in B +"quick brown wolf"/)
    expect(text).not.toContain('\u001b')
  })

  it('lists the passages that are in both, a line each, shortened', async () => {
    const said = 'we met – at last – at the Café Zürich, near the old harbour in 東京都港区六本木'
    const long = `\u001b[31m${said}, ${said.toUpperCase()}`
    const { text } = await run(['explain', '--text', `She wrote: ${long}`, `${long} he replied`])
    const end = Buffer.byteLength(long)
    expect(text).toMatch(
      new RegExp(`passages of A +bytes 1\\d to ${end + 11}: ".*we met – at last .*…"`),
    )
    expect(text).toMatch(new RegExp(`passages of B +bytes \\d to ${end}: ".*we met – at last .*…"`))
    expect(text).not.toContain('\u001b')
    expect((await run(['explain', '--text', 'one', 'two'])).text).not.toContain('passages')
  })

  it('prints what compareTexts says with --json', async () => {
    const { code, json } = await run(['explain', '--text', fox, wolf, '--json'])
    expect(code).toBe(0)
    expect(json).toEqual(compareTexts(fox, wolf))
    const options = { threshold: 0.3, slots: 256, bands: 60, rows: 4, profile: 'words-2' } as const
    const typed = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
    const other = await run(['explain', '--text', fox, wolf, '--json', '--limit', '1', ...typed])
    expect(other.json).toEqual(
      compareTexts(fox, wolf, { ...options, shinglesMax: 1, passagesMax: 1 }),
    )
    expect(other.json).toMatchObject({ isDuplicate: false, sharedShingles: ['the quick'] })
    expect(other.json.vetoes).toMatchObject([{ guard: 'words', a: ['fox'], b: ['wolf'] }])
  })

  it('canonicalises as it is told', async () => {
    const same = ['explain', '--text', 'CAFÉ  au lait', 'cafe\u0301 au lait', '--json']
    expect((await run(same)).json.similarity).toBe(1)
    expect((await run([...same, '--canonical', 'none'])).json.similarity).toBeLessThan(1)
    const json = ['explain', '--text', '{"a":1,"b":2}', '{"b":2, "a":1}', '--canonical', 'json']
    expect((await run(json)).text).toContain('duplicates: at or above')
    expect((await run([...json.slice(0, 3), 'no json', ...json.slice(4)])).code).toBe(2)
  })

  it('takes one text from stdin', async () => {
    const path = await file('one.txt', fox)
    const first = await run(['explain', '-', path, '--json'], { input: wolf })
    expect(first.json.onlyInA).toEqual(compareTexts(wolf, fox).onlyInA)
    const second = await run(['explain', path, '-'], { input: wolf })
    expect(second.text).toContain('B: stdin')
  })

  it.each([
    ['Hindi', 'सभी मनुष्यों को गौरव और अधिकारों के मामले में', 'सभी मनुष्यों को गौरव तथा अधिकारों के विषय में'],
    ['Chinese', '人人生而自由，在尊严和权利上一律平等。', '人人生而自由，在尊严与权利上一律平等。'],
    [
      'Arabic',
      'يولد جميع الناس أحرارًا متساوين في الكرامة',
      'يولد جميع الناس أحرارا متساوين في الحقوق',
    ],
    ['emoji', '👩‍👩‍👧‍👦🎁🇩🇪 party', '👩‍👩‍👧‍👦🎁🇩🇰 party'],
  ])('keeps its columns in %s', async (_, a, b) => {
    const { code, text } = await run(['explain', '--text', a, b])
    expect(code).toBe(0)
    const rows = text
      .split('\n\n')[0]!
      .split('\n')
      .filter((line) => line.includes('│'))
    const borders = new Set(rows.map((row) => displayWidth(row.slice(0, row.indexOf('│')))))
    expect(borders.size).toBe(1)
    expect(text).toContain('[-')
  })

  it('is as wide as it is told, and sane where that is nonsense', async () => {
    const widths = async (columns: string) => {
      process.env['COLUMNS'] = columns
      const { text } = await run(['explain', '--text', fox.repeat(3), wolf.repeat(3)])
      return Math.max(...text.split('\n\n')[0]!.split('\n').map(displayWidth))
    }
    const before = process.env['COLUMNS']
    try {
      expect(await widths('60')).toBeLessThanOrEqual(60)
      expect(await widths('120')).toBeGreaterThan(90)
      expect(await widths('wide')).toBeLessThanOrEqual(100)
      expect(await widths('-3')).toBeLessThanOrEqual(100)
    } finally {
      if (before === undefined) delete process.env['COLUMNS']
      else process.env['COLUMNS'] = before
    }
  })

  it('takes empty texts and texts of one character', async () => {
    const empty = await run(['explain', '--text', '', ''])
    expect([empty.code, empty.text.includes('different')]).toEqual([0, true])
    expect((await run(['explain', '--text', 'a', 'A', '--json'])).json.similarity).toBe(1)
    const path = await file('empty.txt', '')
    expect((await run(['explain', path, path])).code).toBe(0)
  })

  it('says when texts are too different to align', async () => {
    const words = (letter: string) => Array.from({ length: 3000 }, (_, at) => letter + at).join(' ')
    const { code, text } = await run([
      'explain',
      await file('x', words('x')),
      await file('y', words('y')),
    ])
    expect([code, text.includes('too different to be aligned completely')]).toEqual([0, true])
  })

  it('refuses what it cannot compare', async () => {
    const good = await file('good.txt', fox)
    const bad = await file('bad.txt', Buffer.from([0x61, 0xff, 0x62]))
    const calls = [
      { args: [bad, good], code: 2, message: 'bad.txt is not UTF-8 text' },
      { args: [good, '-'], code: 2, message: 'on stdin is not UTF-8', input: Buffer.from([0xff]) },
      { args: [good, join(directory, 'none')], code: 3, message: 'There is no file' },
      { args: [good, directory], code: 1, message: 'illegal operation on a directory' },
      { args: ['-', '-'], code: 2, message: 'Only one of the texts' },
      {
        args: ['a', 'b', '--text', '--threshold', '2'],
        code: 2,
        message: '--threshold 2: must be',
      },
      { args: ['a', 'b', '--text', '--threshold', '1e-1'], code: 2, message: 'at most 1' },
      { args: ['a', 'b', '--text', '--slots', '100'], code: 2, message: 'multiple of 16' },
      { args: ['a', 'b', '--text', '--bands', '4'], code: 2, message: '--bands and --rows' },
      { args: ['a', 'b', '--text', '--profile', 'lines'], code: 2, message: 'profile' },
      { args: ['a', 'b', '--text', '-e'], code: 2, message: '--escaped has no effect' },
      { args: ['key', '--text'], code: 2, message: 'comparing two texts' },
      { args: ['a', 'b', 'c'], code: 2, message: 'too many' },
    ]
    const runs = await Promise.all(
      calls.map(({ args, input = '' }) => run(['explain', ...args], { input })),
    )
    calls.forEach(({ code, message }, at) => {
      expect(runs[at]!.err).toContain(message)
      expect([runs[at]!.code, runs[at]!.text]).toEqual([code, ''])
    })
  })
})

/** Duplicates differ in one word of ten, others in all but one. */
const pairs = Array.from({ length: 40 }, (_, at) => {
  const words = Array.from({ length: 10 }, (_word, index) => `w${at}x${index * 7}`)
  const isDuplicate = at % 2 === 0
  const other = words.map((word, index) => (isDuplicate === (index === 9) ? `other${at}` : word))
  return { a: words.join(' '), b: other.join(' '), isDuplicate }
})
const jsonLines = pairs
  .map(({ a, b, isDuplicate }) => JSON.stringify({ a, b, label: isDuplicate ? 1 : 0 }))
  .join('\n')

describe('tune', () => {
  it('prints a threshold, bands, and what every threshold gets right', async () => {
    const path = await file('pairs.jsonl', jsonLines)
    const { code, text, err } = await run(['tune', '--pairs', path])
    expect([code, err]).toEqual([0, ''])
    const { threshold, banding } = tune(pairs)
    expect(text).toMatch(new RegExp(`threshold +${threshold}, the best F1\n`))
    expect(text).toContain(`${banding.bands} of ${banding.rows} rows, from 128 slots`)
    expect(text).toContain('40: 20 duplicates, 20 different')
    expect(text).toMatch(/precision +1\.000 \[0\.839, 1\.000\]/)
    expect(text.match(/^ +\d\.\d\d {2}/gm)!.length).toBeGreaterThanOrEqual(20)
    expect(text.match(/← chosen/g)).toHaveLength(1)
    expect(text.split('\n').filter((line) => line.length > 100)).toEqual([])
  })

  it('prints what the library says with --json, from a file or from stdin', async () => {
    const path = await file('again.jsonl', jsonLines)
    const { threshold } = tune(pairs)
    const apply = [
      `prestige dedupe INPUT -o DIR --threshold ${threshold}`,
      `prestige put KEY VALUE --dedup near --threshold ${threshold}`,
    ]
    const expected = { ...JSON.parse(JSON.stringify(tune(pairs))), wrong: [], apply }
    expect((await run(['tune', '--pairs', path, '--json'])).json).toEqual(expected)
    expect((await run(['tune', '--pairs', '-', '--json'], { input: jsonLines })).json).toEqual(
      expected,
    )
    const options = ['--profile', 'words-2', '--slots', '256', '--recall-min', '0.9']
    const other = await run(['tune', '--pairs', path, '--json', ...options])
    const { apply: typed, wrong, ...said } = other.json
    expect(said).toEqual(
      JSON.parse(JSON.stringify(tune(pairs, { profile: 'words-2', slots: 256, recallMin: 0.9 }))),
    )
    expect(wrong).toEqual([])
    expect(typed).toEqual([
      `PRESTIGE_DEDUPE_NEAR_PROFILE=words-2 PRESTIGE_DEDUPE_NEAR_SLOTS=256 prestige dedupe INPUT -o DIR --threshold ${said.threshold}`,
    ])
  })

  it('reads columns, by the names it is given', async () => {
    const lines = pairs.map(({ a, b, isDuplicate }) => `${isDuplicate}\t${a}\tx\t${b}`)
    const path = await file('pairs.tsv', ['verdict\tone\tid\tother', ...lines].join('\r\n'))
    const { json } = await run(['tune', '--pairs', path, '--fields', 'one,other,verdict', '--json'])
    expect(json.threshold).toBe(tune(pairs).threshold)
    expect((await run(['tune', '--pairs', path])).err).toContain('--fields')
  })

  it('draws the curves, whole or not at all', async () => {
    const target = join(directory, 'pictures')
    await mkdir(target)
    const path = await file('drawn.jsonl', jsonLines)
    const svg = join(target, 'threshold.svg')
    await writeFile(svg, 'an older one')
    expect((await run(['tune', '--pairs', path, '--svg', svg])).code).toBe(0)
    expect(await readFile(svg, 'utf8')).toBe(thresholdSvg(tune(pairs)))
    expect(await readdir(target)).toEqual(['threshold.svg'])
    const nowhere = await run(['tune', '--pairs', path, '--svg', join(target, 'no/such.svg')])
    expect([nowhere.code, nowhere.text]).toEqual([3, ''])
    const taken = join(target, 'taken')
    await mkdir(taken)
    expect((await run(['tune', '--pairs', path, '--svg', taken])).code).toBe(1)
    expect((await readdir(target)).toSorted()).toEqual(['taken', 'threshold.svg'])
  })

  it('names the line that it cannot read, and prints nothing else', async () => {
    const lines = jsonLines.split('\n')
    const bad = await file('bad.jsonl', lines.with(6, '{"a":"x","b":"y","label":"?"}').join('\n'))
    const { code, text, err } = await run(['tune', '--pairs', bad])
    expect([code, text]).toEqual([2, ''])
    expect(err).toContain(`${bad}, line 7: "label" is 1 or 0`)
    const json = await run(['tune', '--pairs', bad, '--json'])
    expect(JSON.parse(json.err).error.code).toBe('INVALID_VALUE')
    const broken = await file('broken.jsonl', Buffer.from(`${lines[0]}\n{"a":"\xff"}`, 'latin1'))
    expect((await run(['tune', '--pairs', broken])).err).toContain('line 2: it is not UTF-8 text')
  })

  it('refuses what it cannot tune by', async () => {
    const path = await file('usual.jsonl', jsonLines)
    const one = await file('one.jsonl', '{"a":"x","b":"y","label":1}')
    const empty = await file('empty.jsonl', '\n')
    const calls = [
      { args: [], code: 2, message: 'needs --pairs FILE' },
      { args: ['--pairs', join(directory, 'none')], code: 3, message: 'There is no file' },
      { args: ['--pairs', one], code: 2, message: '1 duplicates and 0 different' },
      { args: ['--pairs', empty], code: 2, message: '0 duplicates and 0 different' },
      {
        args: ['--pairs', path, '--precision', '0'],
        code: 2,
        message: '--precision 0: must be',
      },
      {
        args: ['--pairs', path, '--precision-min', '0.9'],
        code: 2,
        message: 'Did you mean "--precision"?',
      },
      {
        args: ['--pairs', path, '--judge', 'x.json', '--profile', 'words-3'],
        code: 2,
        message: '--profile has no effect with --judge',
      },
      {
        args: ['--pairs', path, '--precision', '1', '--recall-min', '1'],
        code: 2,
        message: 'not both',
      },
      { args: ['--pairs', path, '--fields', 'a,b'], code: 2, message: 'three names' },
      { args: ['--pairs', path, '--slots', '65'], code: 2, message: 'multiple of 16' },
      { args: ['pairs.jsonl'], code: 2, message: 'too many' },
    ]
    const runs = await Promise.all(calls.map(({ args }) => run(['tune', ...args])))
    calls.forEach(({ code, message }, at) => {
      expect(runs[at]!.err).toContain(message)
      expect([runs[at]!.code, runs[at]!.text]).toEqual([code, ''])
    })
  })

  const many = Array.from({ length: 5 }, (_, round) =>
    pairs.map(({ a, b, isDuplicate }) => ({
      a: `${a} round${round}`,
      b: `${b} round${round}`,
      label: isDuplicate ? 'Yes' : 'no',
    })),
  ).flat()
  const csv = (rows: readonly { a: string; b: string; label: string }[]) =>
    `text1,text2,label\n${rows.map(({ a, b, label }) => `"${a}","${b}",${label}\n`).join('')}`

  it('promises a precision with its proof, and says how to apply it', async () => {
    const path = await file('many.csv', csv(many))
    const { code, text, err } = await run(['tune', '--pairs', path, '--precision', '0.9'])
    expect([code, err]).toEqual([0, ''])
    expect(text).toContain('a precision of 0.9 with 95 % confidence: 100 of 100 are right')
    expect(text).toContain('No labelled pair is on the wrong side.')
    expect(text).toMatch(/prestige dedupe INPUT -o DIR --threshold 0\.\d+/)
    const { json } = await run(['tune', '--pairs', path, '--precision', '0.9', '--json'])
    expect(json.promise).toMatchObject({ precision: 0.9, called: 100, right: 100 })
    expect(json.promise.low).toBeGreaterThan(0.9)
  })

  it('refuses a precision that is not proven, with what is wrong and what to label next', async () => {
    const wrong = { a: 'take ten mg a day', b: 'take ten mg a day.', label: 'different' }
    const open = { a: 'an open question', b: 'an open question!', label: '' }
    const path = await file('few.csv', csv([wrong, open, ...many.slice(0, 40)]))
    const { code, text, err } = await run(['tune', '--pairs', path, '--precision', '0.9'])
    expect(code).toBe(2)
    expect(err).toMatch(/do not prove a precision of 0\.9\..*about \d+ more labelled pairs/)
    expect(text).toMatch(/Different pairs that are merged: 1.*\n {2}line 2 0\.\d+\n {4}take ten mg/)
    expect(text).toMatch(/of those without a label, the nearest are\n {2}line 3\n/)
    const json = await run(['tune', '--pairs', path, '--precision', '0.9', '--json'])
    expect(JSON.parse(json.err).error.code).toBe('PRECISION_UNPROVEN')
    expect(json.json).toMatchObject({
      shortfall: { precision: 0.9, morePairs: expect.any(Number) },
      mistakes: [{ pair: 0, isDuplicate: false }],
      next: { pairs: [1] },
    })
  })

  it('lists the pairs it gets wrong on both sides, as many as are asked for, with their texts', async () => {
    const missed = Array.from({ length: 14 }, (_, at) => ({
      a: `The ${at}th fox runs through the old forest`,
      b: `Nothing like it at all, number ${at * 7}`,
      label: at % 2 === 0 ? 'yes' : 'Yes',
    }))
    const merged = {
      a: 'The mill is open on every Sunday.',
      b: 'THE MILL is open on every Sunday.',
    }
    const path = await file('wrong.csv', csv([...many, ...missed, { ...merged, label: 'no' }]))
    const { code, text } = await run(['tune', '--pairs', path])
    expect(code).toBe(0)
    expect(text).toMatch(
      /Different pairs that are merged: 1, .*\n {2}line \d+ 1\.000\n {4}The mill/,
    )
    expect(text).toMatch(/Duplicates that are missed: 14, the clearest first/)
    expect(text.match(/th fox runs/g)).toHaveLength(10)
    expect(text).toContain('and 4 more (--wrong)')
    const all = await run(['tune', '--pairs', path, '--wrong', '20'])
    expect(all.text.match(/th fox runs/g)).toHaveLength(14)
    expect(all.text).not.toContain('(--wrong)')
    const { json } = await run(['tune', '--pairs', path, '--json'])
    expect(json.wrong).toHaveLength(15)
    const line = many.length + missed.length + 2
    expect(json.wrong).toContainEqual({ line, similarity: 1, isDuplicate: false, ...merged })
    const few = await run(['tune', '--pairs', path, '--json', '--wrong', '2'])
    expect(few.json.wrong).toHaveLength(2)
  })

  it('prints a command that dedupe takes', async () => {
    const path = await file('apply.csv', csv(many))
    const options = ['--profile', 'words-2', '--slots', '256']
    const { json } = await run(['tune', '--pairs', path, '--json', ...options])
    const [command] = json.apply
    await file('doc.jsonl', '{"id": "a", "text": "one and the same text"}\n')
    const typed = command
      .replace('INPUT', join(directory, 'doc.jsonl'))
      .replace('DIR', join(directory, 'applied'))
    const words = typed.split(' ')
    const at = words.indexOf('prestige')
    const variables = words.slice(0, at).map((one: string) => one.split('='))
    for (const [name, value] of variables) process.env[name] = value
    try {
      expect((await run([...words.slice(at + 1), '-q'])).code).toBe(0)
    } finally {
      for (const [name] of variables) delete process.env[name]
    }
    const manifest = JSON.parse(readFileSync(join(directory, 'applied/manifest.json'), 'utf8'))
    const { threshold, profile, slots } = manifest.config.near
    expect({ threshold, profile, slots }).toEqual({
      threshold: json.threshold,
      profile: 'words-2',
      slots: 256,
    })
  })

  it('fits a judge, writes it, and explains two texts by it', async () => {
    const path = await file('judged.csv', csv(many))
    const judge = join(directory, 'judge.json')
    const fitted = await run(['tune', '--pairs', path, '--judge', judge, '--precision', '0.8'])
    expect([fitted.code, fitted.err]).toEqual([0, ''])
    expect(fitted.text).toContain(`prestige dedupe INPUT -o DIR --judge ${judge} --precision 0.8`)
    expect(fitted.text).toMatch(/promised precision +probability +proven +recall/)
    const written = await readFile(judge, 'utf8')
    expect((await run(['tune', '--pairs', path, '--judge', judge, '--json'])).json.judge).toEqual(
      JSON.parse(written),
    )
    const { a, b } = many[0]!
    const asked = ['explain', '--text', a, b, '--judge', judge, '--precision', '0.8']
    expect((await run(asked)).text).toMatch(/judge: duplicates: probability .* precision of 0\.8/)
    const { json } = await run([...asked, '--json'])
    expect(json.judge).toMatchObject({ isDuplicate: true, precision: 0.8 })
    expect(json.judge.contributions[0]).toHaveProperty('points')
    const byDefault = await run(['explain', '--text', a, b, '--judge', 'default'])
    expect(byDefault.text).toMatch(/characters in common \(Jaccard\): 0\.\d{3}/)
    const broken = await file('broken-judge.json', written.replace('"bias"', '"basis"'))
    const refused = await run(['explain', '--text', a, b, '--judge', broken])
    expect([refused.code, refused.err.includes('This judge cannot be used')]).toEqual([2, true])
    const toomuch = await run([
      'explain',
      '--text',
      a,
      b,
      '--judge',
      judge,
      '--precision',
      '0.9999',
    ])
    expect(toomuch.err).toContain('at most')
    expect((await run(['explain', '--text', a, b, '--precision', '0.9'])).err).toContain('--judge')
  })

  const hasPairs = existsSync(MRPC)
  if (!hasPairs) process.emitWarning(`NOT TESTED: tune on labelled sentences, not at ${MRPC}.`)

  it.runIf(hasPairs || process.env['CI'])('reads real labelled sentences, every one', async () => {
    const lines = readFileSync(MRPC, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
    const fields = '#1 String,#2 String,Quality'
    const { json } = await run(['tune', '--pairs', MRPC, '--fields', fields, '--json'])
    expect(json.pairs).toBe(lines.length - 1)
    expect(json.duplicates).toBe(lines.filter((line) => line.startsWith('1\t')).length)
    expect(json.chosen.f1.value).toBeGreaterThan(0.79)
  })
})
