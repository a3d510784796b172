import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { readingOf } from './reading.ts'
import { type GuardName, readGuards, veto, vetoesOf } from './veto.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const DATA = process.env['PRESTIGE_DATA'] ?? join(ROOT, '../shared/data')

interface Pair {
  readonly kind: string
  readonly a: string
  readonly b: string
}

function pairsOf(name: string): Pair[] {
  const lines = readFileSync(join(ROOT, 'test/texts', name), 'utf8').split('\n')
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [kind = '', a = '', b = ''] = line.split('|')
      return { kind, a, b }
    })
}

const near = (a: string, b: string) => veto(a, b, {}, 'near')
const guardsOf = (a: string, b: string) => near(a, b).map(({ guard }) => guard)
const different = pairsOf('different-things.txt')
const harmless = pairsOf('harmless-edits.txt')

/** Some 150 words, long enough for facts to be incidental. */
const STORY = `The old library in the harbour district reopened after a long renovation, and many people wanted to
look at the new reading rooms. The architect explained that the walls had to be opened to replace the pipes, and that
the wooden floor was saved board by board. Visitors praised the bright hall with its tall windows and the quiet corner
for children. A small exhibition shows photographs of the building from its early years. The director thanked the
volunteers who carried the books out and in again, and said that the catalogue can now be searched from home. There
is a café on the ground floor, where readers may sit with a borrowed book. In the evening a choir sang on the stairs.
The city hopes that the library will become a meeting place for the whole district, as it was for generations.`

describe('guards of near duplicates', () => {
  it.each(different)('keep apart ($kind): $a | $b', ({ a, b }) => {
    expect(guardsOf(a, b)).not.toEqual([])
    expect(guardsOf(b, a)).toEqual(guardsOf(a, b))
  })

  it('let at most 5 % of harmless edits be kept apart', () => {
    expect(harmless.length).toBeGreaterThanOrEqual(200)
    const kept = harmless.filter(({ a, b }) => near(a, b).length > 0)
    expect(kept.length / harmless.length, JSON.stringify(kept)).toBeLessThanOrEqual(0.05)
  })

  it.each<[GuardName, string, string]>([
    ['numbers', 'It has 5 doors', 'It has doors'],
    ['versions', 'Use 2.0-rc1', 'Use 2.0-rc2'],
    ['versions', 'Use v1.2.3 here', 'Use it here'],
    ['identifiers', 'for arm64', 'for ppc64'],
    ['identifiers', 'the B52 bomber', 'the bomber'],
    ['identifiers', 'see libfoo-dev', 'see libfoo-doc'],
    ['identifiers', 'in /etc/foo.conf now', 'in /etc/bar.conf now'],
    ['identifiers', 'at https://example.com/a', 'at https://example.com/b'],
    ['identifiers', 'commit 3f2a9bc is bad', 'commit 3f2a9bd is bad'],
    ['identifiers', '安装arm64版', '安装ppc64版'],
    ['words', 'an import tax', 'an export tax'],
    ['words', 'prices increase', 'prices decrease'],
    ['words', 'hypotension in adults', 'hypertension in adults'],
    ['words', 'a typical case', 'an atypical case'],
    ['words', 'the cat sat', 'the bat sat'],
    ['words', 'drive north', 'drive south'],
    ['words', 'the employer pays', 'the employee pays'],
    ['order', 'dog bites man', 'man bites dog'],
    ['order', 'I did not say he came', 'I did say he not came'],
  ])('%s keeps %s from %s', (guard, a, b) => {
    expect(guardsOf(a, b)).toContain(guard)
    expect(guardsOf(b, a)).toContain(guard)
  })

  it('let a phrase move as a whole', () => {
    expect(near('Yesterday evening he came home', 'He came home yesterday evening')).toEqual([])
    expect(near('The ship went from Rome to Kiel', 'The ship went to Kiel from Rome')).toEqual([])
  })
})

describe('guards of longer near duplicates', () => {
  it.each<[GuardName, string, string]>([
    [
      'numbers',
      'Patients should take 10 tablets each day.',
      'Patients should take 50 tablets each day.',
    ],
    ['negation', 'The mayor has approved the plan.', 'The mayor has not approved the plan.'],
    ['negation', 'Das ist ein guter Plan.', 'Das ist kein guter Plan.'],
    ['units', 'It weighs about 10 kg in all.', 'It weighs about 10 lb in all.'],
    ['dates', 'It opens on Monday at noon.', 'It opens on Friday at noon.'],
    ['names', 'The speech of Alice was short.', 'The speech of Robert was short.'],
    [
      'identifiers',
      'It was built for arm64 machines only.',
      'It was built for ppc64 machines only.',
    ],
    ['versions', 'It needs the release 1.2.3 of that.', 'It needs the release 1.2.4 of that.'],
  ])('%s keep apart what was replaced: %s | %s', (guard, a, b) => {
    expect(guardsOf(`${STORY} ${a} ${STORY}`, `${STORY} ${b} ${STORY}`)).toEqual([guard])
  })

  it.each([
    ['', 'Read more: 12 other stories of 2024 that you may not know.'],
    ['Page 3 of 10', 'Page 4 of 10'],
    ['1,234 views', '1,562 views'],
    ['Retrieved on 5 May 2024', 'Retrieved on 7 June 2024'],
    ['updated 3 hours ago', 'updated 5 days ago'],
    ['a word', 'another word'],
  ])('let pages add or change what is incidental: %s | %s', (a, b) => {
    expect(near(`${STORY}\n${a}`, `${STORY}\n${b}`)).toEqual([])
  })

  const missing = !existsSync(join(DATA, 'articles'))
  if (missing) process.emitWarning(`NOT TESTED: guards on articles; there is no ${DATA}/articles.`)
  it.runIf(!missing || process.env['CI'])('let planted near duplicates of articles be', () => {
    const rows = readFileSync(join(DATA, 'articles/articles_1000.train'), 'utf8').split('\n')
    const texts = new Map(rows.map((row) => [row.split(' ', 1)[0], row.slice(row.indexOf(' '))]))
    const truth = readFileSync(join(DATA, 'articles/articles_1000.truth'), 'utf8')
      .trim()
      .split('\n')
    for (const line of truth) {
      const [a = '', b = ''] = line.split(' ')
      expect(near(texts.get(a)!, texts.get(b)!), line).toEqual([])
    }
  })
})

const WORDS =
  '1|2|1,500|two|not|never|Monday|May|kg|5 kg|5 lb|3 mg|v1.2|2.0-rc1|B52|arm64|the|cat|cats|Bob|Alice|and|,|.|не|नहीं|不|人|nicht'
const word = fc.constantFrom(...WORDS.split('|'))
const text = fc.oneof(
  fc.array(word, { maxLength: 8 }).map((words) => words.join(' ')),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom(...[...different, ...harmless].map(({ a }) => a)),
)
const strict: readonly GuardName[] = [
  'numbers',
  'units',
  'negation',
  'dates',
  'versions',
  'identifiers',
]

describe('guards of near duplicates and any text', () => {
  it('say the same with sides swapped, and nothing of a text and itself', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const swapped = near(b, a).map((one) => ({ guard: one.guard, a: one.b, b: one.a }))
        const guards = near(a, b)
        expect(guards.map(({ guard }) => guard)).toEqual(swapped.map(({ guard }) => guard))
        expect(guards.map((one) => [one.a.toSorted(), one.b.toSorted()])).toEqual(
          swapped.map((one) => [one.a.toSorted(), one.b.toSorted()]),
        )
        expect(vetoesOf(readingOf(a), readingOf(a), readGuards({}, 'near'), 'near')).toEqual([])
      }),
      { seed: 1, numRuns: 1000 },
    )
  })

  it('are transitive where facts are compared: what equals a third is equal', () => {
    const guards = { ...readGuards(false) } as Record<GuardName, boolean>
    for (const name of strict) guards[name] = true
    const isSame = (a: string, b: string) =>
      vetoesOf(readingOf(a), readingOf(b), guards, 'near').length === 0
    const fact = fc.array(word, { maxLength: 3 }).map((words) => words.join(' '))
    fc.assert(
      fc.property(fact, fact, fact, (a, b, c) => {
        if (isSame(a, b) && isSame(b, c)) expect(isSame(a, c), `${a} | ${b} | ${c}`).toBe(true)
      }),
      { seed: 2, numRuns: 5000 },
    )
  })

  it.each<[string, (text: string) => string]>([
    ['NFD', (one) => one.normalize('NFD')],
    [
      'full width',
      (one) => one.replaceAll(/[!-~]/g, (c) => String.fromCodePoint(c.charCodeAt(0) + 0xfee0)),
    ],
    ['zero-width spaces', (one) => one.replaceAll(/(.)(?=.)/gsu, '$1\u200b')],
    ['curly quotes', (one) => one.replaceAll("'", '’').replaceAll('"', '”')],
    ['soft hyphens', (one) => one.replaceAll(/(\p{L}{3})/gu, '$1\u00ad')],
    ['spaces', (one) => one.replaceAll(' ', '\u00a0')],
  ])('let a text be itself in %s', (_name, variant) => {
    for (const { a, b } of [...different, ...harmless]) {
      for (const one of [a, b]) expect(near(one, variant(one)), one).toEqual([])
    }
  })

  it('take time in proportion to its length', () => {
    for (const part of [
      '1,',
      '1 ',
      'a-',
      'a.',
      '-',
      'न',
      "a'",
      '1.1-',
      'a1',
      '/a',
      'v1.',
      '人',
      'Ab ',
      'not ',
    ]) {
      const long = part.repeat(50_000)
      expect(near(long, `${long} x not B52`)).toBeInstanceOf(Array)
    }
  })
})
