import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

import { PrestigeError } from '../platform/errors.ts'
import { collisionProbability } from '../fingerprint/index.ts'
import { compareTexts } from './compare-texts.ts'
import { PrecisionUnproven } from './review.ts'
import { thresholdSvg } from './threshold-svg.ts'
import { chooseThreshold, type LabelledPair, type MeasuredPair, tune } from './tune.ts'
import { rateOf, wilson } from './wilson.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DATA = process.env['PRESTIGE_DATA'] ?? join(ROOT, '../shared/data')

const measured = (duplicates: readonly number[], different: readonly number[]): MeasuredPair[] => [
  ...duplicates.map((similarity) => ({ similarity, isDuplicate: true })),
  ...different.map((similarity) => ({ similarity, isDuplicate: false })),
]

/** Some of both kinds lie on the wrong side of every threshold. */
const mixed = measured([0.95, 0.9, 0.8, 0.7, 0.55, 0.3], [0.85, 0.6, 0.4, 0.2, 0.1, 0.05])

const many = Array.from({ length: 100 }, () => mixed).flat()

describe("Wilson's interval", () => {
  it('is what the formula gives, worked out elsewhere', () => {
    const { low, high } = wilson(8, 10)
    expect(low).toBeCloseTo(0.4902, 4)
    expect(high).toBeCloseTo(0.9433, 4)
    expect(wilson(0, 20).low).toBe(0)
    expect(wilson(0, 20).high).toBeCloseTo(0.1611, 4)
    expect(wilson(20, 20)).toEqual({ low: expect.closeTo(0.8389, 4), high: 1 })
  })

  it('is everything where nothing was counted', () => {
    expect(rateOf(0, 0)).toEqual({ value: undefined, low: 0, high: 1 })
  })
})

describe('tuning', () => {
  it('counts what every threshold gets right', () => {
    const { thresholds } = chooseThreshold(mixed)
    expect(thresholds.map(({ threshold }) => threshold)).toEqual(
      Array.from({ length: 96 }, (_, at) => (at + 5) / 100),
    )
    const at = thresholds.find(({ threshold }) => threshold === 0.6)!
    expect(at).toMatchObject({ truePositives: 4, falsePositives: 2, falseNegatives: 2 })
    expect(at.precision).toEqual(rateOf(4, 6))
    expect(at.recall).toEqual(rateOf(4, 6))
    expect(at.f1.value).toBeCloseTo(2 / 3, 10)
    expect(at.f1.low).toBeLessThan(2 / 3)
    expect(at.f1.high).toBeGreaterThan(2 / 3)
    expect(thresholds.at(-1)!.precision.value).toBeUndefined()
  })

  it('takes the threshold with the best F1', () => {
    const { threshold, chosen, thresholds } = chooseThreshold(mixed)
    const best = Math.max(...thresholds.map(({ f1 }) => f1.value!))
    expect(chosen.f1.value).toBe(best)
    expect(chosen.threshold).toBe(threshold)
    expect(chosen).toMatchObject({ truePositives: 6, falsePositives: 3, falseNegatives: 0 })
    expect(best).toBeCloseTo(0.8, 10)
  })

  it('stays in the middle where duplicates and others lie apart', () => {
    expect(chooseThreshold(measured([0.9, 0.95], [0.5, 0.2])).threshold).toBe(0.7)
  })

  it('takes the lowest threshold that is proven to be precise enough', () => {
    const { threshold, chosen, promise, thresholds } = chooseThreshold(many, { precision: 0.7 })
    expect(promise).toMatchObject({ precision: 0.7, cut: threshold, confidence: 0.95 })
    expect(promise!.low).toBeGreaterThanOrEqual(0.7)
    expect(promise!.low).toBeLessThan(chosen.precision.value!)
    // From 0.61 on the same pairs are called; the strictest of such thresholds is the surest.
    expect(threshold).toBe(0.7)
    const lower = thresholds.find((one) => one.threshold === 0.6)!
    expect(lower.precision.value).toBeLessThan(0.7)
  })

  it('refuses what a few pairs do not prove, and says what is missing', () => {
    const open = { similarity: 0.88, isDuplicate: undefined }
    const ask = () => chooseThreshold([...mixed, open], { precision: 0.7 })
    expect(ask).toThrow(PrecisionUnproven)
    try {
      ask()
    } catch (error) {
      expect(error).toMatchObject({
        code: 'PRECISION_UNPROVEN',
        kind: 'invalid',
        shortfall: { precision: 0.7, morePairs: expect.any(Number) },
        next: { pairs: [12] },
      })
      expect(String(error)).toMatch(/about \d+ more labelled pairs/)
    }
  })

  it('lists the pairs that it gets wrong, the clearest first', () => {
    const { mistakes, threshold } = chooseThreshold(mixed)
    expect(mistakes.map(({ similarity, isDuplicate }) => [similarity, isDuplicate])).toEqual([
      [0.85, false],
      [0.6, false],
      [0.4, false],
    ])
    expect(mixed[mistakes[0]!.pair]).toMatchObject({ similarity: 0.85 })
    expect(threshold).toBeLessThanOrEqual(0.3)
  })

  it('does not count pairs without a label, and ranks them for labelling', () => {
    const open = [0.9, 0.72, 0.1].map((similarity) => ({ similarity, isDuplicate: undefined }))
    const tuning = chooseThreshold([...open, ...measured([0.9, 0.95], [0.5, 0.2])])
    expect(tuning).toMatchObject({ pairs: 4, duplicates: 2, different: 2, threshold: 0.7 })
    expect(tuning.next).toEqual({ from: 0.65, to: 0.75, pairs: [1, 0, 2] })
  })

  it('takes the highest threshold that finds enough', () => {
    const { threshold, goal } = chooseThreshold(mixed, { recallMin: 0.8 })
    expect([threshold, goal]).toEqual([0.55, { kind: 'recall', min: 0.8 }])
    expect(chooseThreshold(mixed, { recallMin: 1 }).threshold).toBe(0.3)
  })

  it('says what is the best when nothing is good enough', () => {
    const pairs = measured([0.5], [0.9])
    expect(() => chooseThreshold(pairs, { precision: 0.9 })).toThrow(/would not help/)
    expect(() => chooseThreshold(measured([0.01], [0]), { recallMin: 0.5 })).toThrow(/0\.000/)
    expect(() => chooseThreshold(mixed, { precision: 1, recallMin: 1 })).toThrow(/not both/)
  })

  it('chooses bands that find pairs at the threshold, and says what they will find', () => {
    for (const slots of [64, 128, 512]) {
      const tuning = chooseThreshold(many, { slots, precision: 0.7 })
      const { threshold, banding, expectedRecall, chosen } = tuning
      const { bands, rows } = banding
      expect(collisionProbability(threshold, bands, rows)).toBeGreaterThanOrEqual(0.95)
      expect(collisionProbability(threshold + 0.05, bands, rows)).toBeGreaterThanOrEqual(0.99)
      const found = [0.95, 0.9, 0.8, 0.7, 0.55, 0.3]
        .filter((similarity) => similarity >= threshold)
        .reduce((sum, similarity) => sum + collisionProbability(similarity, bands, rows), 0)
      expect(expectedRecall).toBeCloseTo(found / 6, 12)
      expect(expectedRecall).toBeLessThan(chosen.recall.value!)
    }
  })

  it('finds bands for the lowest threshold, with the fewest slots', () => {
    const { threshold } = chooseThreshold(measured([0.05], [0]), { slots: 64 })
    expect(threshold).toBe(0.05)
  })

  it('draws a histogram in which every pair is once', () => {
    const { histogram } = chooseThreshold([...mixed, { similarity: 1, isDuplicate: true }])
    expect(histogram).toHaveLength(20)
    expect(histogram.reduce((sum, { duplicates }) => sum + duplicates, 0)).toBe(7)
    expect(histogram.reduce((sum, { different }) => sum + different, 0)).toBe(6)
    expect(histogram.at(-1)).toEqual({ from: 0.95, to: 1, duplicates: 2, different: 0 })
    expect(histogram[1]).toMatchObject({ from: 0.05, different: 1 })
  })

  it.each([
    [[], /0 duplicates and 0 different/],
    [measured([0.5], []), /1 duplicates and 0 different/],
    [measured([], [0.5]), /0 duplicates and 1 different/],
    [measured([Number.NaN], [0.5]), /0 to 1, not NaN/],
    [measured([2], [0.5]), /not 2/],
  ])('refuses %j', (pairs, message) => {
    expect(() => chooseThreshold(pairs)).toThrow(PrestigeError)
    expect(() => chooseThreshold(pairs)).toThrow(message)
  })

  it('measures texts in any script, in canonical form', () => {
    const pairs: LabelledPair[] = [
      { a: 'नमस्ते दुनिया', b: 'नमस्ते  दुनिया', isDuplicate: true },
      { a: '你好，世界', b: '你好，世界！', isDuplicate: true },
      { a: 'Cafe\u0301', b: 'caf\u00e9', isDuplicate: true },
      { a: 'مرحبا', b: '🎁', isDuplicate: false },
      { a: '', b: 'x', isDuplicate: false },
      { a: 'x'.repeat(300), b: 'y z '.repeat(100), isDuplicate: false },
    ]
    const { chosen, profiles } = tune(pairs)
    expect(chosen).toMatchObject({ truePositives: 3, falsePositives: 0, falseNegatives: 0 })
    const expected = pairs.map(({ a, b }) => compareTexts(a, b).profile)
    expect(Object.keys(profiles).toSorted()).toEqual([...new Set(expected)].toSorted())
    expect(tune(pairs, { profile: 'auto' }).profiles).toEqual({ 'chars-3': 5, 'words-5': 1 })
    expect(tune(pairs, { profile: 'chars-2' }).profiles).toEqual({ 'chars-2': 6 })
    expect(tune(pairs, { canonical: 'none' }).chosen.falseNegatives).toBeGreaterThan(0)
  })
})

describe('the picture of a tuning', () => {
  const tuning = chooseThreshold(mixed)
  const svg = thresholdSvg(tuning)
  const points = (name: string) =>
    new RegExp(`<polyline class="curve ${name}" points="([^"]+)"`).exec(svg)![1]!.split(' ')

  it('is the same every time, and loads nothing', () => {
    expect(thresholdSvg(chooseThreshold(mixed.toReversed()))).toBe(svg)
    expect(svg.replace('http://www.w3.org/2000/svg', '')).not.toMatch(
      /https?:|<script|@import|url\(|href|NaN|undefined/,
    )
    expect(svg.length).toBeLessThan(20_000)
  })

  it('has a title, labels, a legend and the four curves', () => {
    for (const text of ['<title', '<desc', 'threshold, and similarity', 'share of pairs', 'F1<'])
      expect(svg).toContain(text)
    expect(points('recall')).toHaveLength(96)
    // From 0.96 on nothing is called a duplicate, so there is nothing to be precise about.
    expect(points('precision')).toHaveLength(91)
    expect(points('found')).toHaveLength(101)
    expect(svg).toContain(`found by ${tuning.banding.bands} bands of ${tuning.banding.rows} rows`)
  })

  it('has more above less, and to the right of it', () => {
    const at = (point: string | undefined) => point!.split(',').map(Number)
    const [first, last] = [at(points('recall')[0]), at(points('recall').at(-1))]
    expect(first[0]!).toBeLessThan(last[0]!)
    expect(first[1]!).toBeLessThan(last[1]!)
    const [unlikely, likely] = [at(points('found')[0]), at(points('found').at(-1))]
    expect(unlikely[1]!).toBeGreaterThan(likely[1]!)
  })

  it('marks the threshold where it lies', () => {
    const x = /<line class="chosen" x1="([\d.]+)"/.exec(svg)![1]
    const own = points('recall')[Math.round(tuning.threshold * 100) - 5]!
    expect(own.split(',')[0]).toBe(x)
  })

  it('is well-formed', () => {
    const open: string[] = []
    for (const [, close, name, , self] of svg.matchAll(/<(\/?)([a-z]+)([^<>]*?)(\/?)>/g)) {
      if (close) expect(open.pop()).toBe(name)
      else if (!self) open.push(name!)
    }
    expect(open).toEqual([])
  })
})

const needed = ['articles/articles_100.train', 'mrpc/msr-para-train.tsv']
const missing = needed.filter((name) => !existsSync(join(DATA, name)))
if (missing.length > 0) {
  process.emitWarning(`NOT TESTED: tuning by labelled pairs; ${missing.join(', ')} not at ${DATA}.`)
}
const runsData = missing.length === 0 || process.env['CI']

describe('labelled pairs', () => {
  const linesOf = (name: string) =>
    readFileSync(join(DATA, name), 'utf8')
      .split(/\r?\n/)
      .filter((line) => line !== '')

  it.runIf(runsData)('of articles are separated without a mistake', () => {
    const articles = linesOf('articles/articles_100.train').map((line) => ({
      id: line.slice(0, line.indexOf(' ')),
      text: line.slice(line.indexOf(' ') + 1),
    }))
    const planted = new Set(linesOf('articles/articles_100.truth'))
    const pairs = articles.flatMap((one, at) =>
      articles.slice(at + 1).map((other) => ({
        a: one.text,
        b: other.text,
        isDuplicate: planted.has(`${one.id} ${other.id}`) || planted.has(`${other.id} ${one.id}`),
      })),
    )
    const { chosen, duplicates, expectedRecall } = tune(pairs, { profile: 'words-5' })
    expect(duplicates).toBe(planted.size)
    expect(chosen).toMatchObject({ falsePositives: 0, falseNegatives: 0 })
    expect(chosen.recall.low).toBeLessThan(0.8)
    expect(expectedRecall).toBeGreaterThan(0.99)
  })

  it.runIf(runsData)('of paraphrases show that shingles see form, not meaning', () => {
    const pairs = linesOf('mrpc/msr-para-train.tsv')
      .slice(1)
      .map((line) => line.split('\t'))
      .map(([label, , , a = '', b = '']) => ({ a, b, isDuplicate: label === '1' }))
    const { chosen } = tune(pairs)
    expect(chosen.f1.value).toBeGreaterThan(0.79)
    expect(chosen.f1.value).toBeLessThan(0.9)
    const precise = tune(pairs, { precision: 0.85 })
    expect(precise.threshold).toBeGreaterThan(chosen.threshold)
    expect(precise.chosen.recall.value).toBeLessThan(chosen.recall.value!)
  })
})
