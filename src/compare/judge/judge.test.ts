import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { randomNumbers } from '../../../bench/harness/data.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { guardNames } from '../guards/veto.ts'
import { PrecisionUnproven } from '../review.ts'
import { defaultJudge } from './default-judge.ts'
import { judged } from './features.ts'
import { fitJudge, type JudgePair } from './fit-judge.ts'
import { explainJudgement, judgeTexts } from './judge-texts.ts'
import { fitLogistic } from './logistic.ts'
import { cutFor, type JudgeModel, readJudge } from './model.ts'
import { tuneJudge } from './tune-judge.ts'

const WORDS = 'the river runs past nine old mills where grain was ground for bread and beer'.split(
  ' ',
)

/** Duplicates differ in a word, others in most, and a few of either kind are labelled the other way. */
function madePairs(count: number, seed: number): JudgePair[] {
  const pick = randomNumbers(seed)
  return Array.from({ length: count }, (_, at) => {
    const words = Array.from({ length: 8 + pick(8) }, () => WORDS[pick(WORDS.length)]! + pick(9))
    const isAlike = at % 2 === 0
    const other = words.map((word) => (pick(10) < (isAlike ? 1 : 6) ? `other${pick(99)}` : word))
    return { a: words.join(' '), b: other.join(' '), isDuplicate: isAlike !== (pick(20) === 0) }
  })
}

const pairs = madePairs(600, 1)
const model = fitJudge(pairs)
const judge = (a: string, b: string, of: JudgeModel = model) => judgeTexts(of, judged(a), judged(b))

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc
    .array(
      fc.constantFrom(
        'ten',
        '10',
        'mg',
        'not',
        'Bob',
        'Monday',
        'नमस्ते',
        '你好世界',
        '🎁',
        'é',
        'é',
      ),
      {
        maxLength: 12,
      },
    )
    .map((words) => words.join(' ')),
)

describe('fitting', () => {
  it('gives the same bytes for the same pairs, in any order and with sides exchanged', () => {
    const json = JSON.stringify(model)
    expect(JSON.stringify(fitJudge(pairs))).toBe(json)
    expect(JSON.stringify(fitJudge(pairs.toReversed()))).toBe(json)
    const exchanged = pairs.map(({ a, b, isDuplicate }) => ({ a: b, b: a, isDuplicate }))
    expect(JSON.stringify(fitJudge(exchanged))).toBe(json)
    expect(json.length).toBeLessThan(6000)
  })

  it('finds the weights that a logistic model has, worked out elsewhere', () => {
    // Of 10 rows at -1, 2 are duplicates; of 10 at 1, 8: log(4) at either side, without a penalty.
    const rows = Array.from({ length: 20 }, (_, at) => Float64Array.of(at < 10 ? -1 : 1))
    const labels = rows.map((_, at) => (at < 10 ? at < 2 : at < 18))
    const { bias, weights } = fitLogistic({ rows, labels, signs: [0], penalty: 1e-9 })
    expect(bias).toBeCloseTo(0, 8)
    expect(weights[0]).toBeCloseTo(Math.log(4), 6)
    expect(fitLogistic({ rows, labels, signs: [-1], penalty: 1 }).weights).toEqual([0])
  })

  it('stays finite where one feature tells all apart', () => {
    const rows = Array.from({ length: 40 }, (_, at) => Float64Array.of(at < 20 ? -1 : 1, 0))
    const labels = rows.map((_, at) => at >= 20)
    const { weights } = fitLogistic({ rows, labels, signs: [1, 1], penalty: 1 })
    expect(weights[0]).toBeGreaterThan(1)
    expect(weights.every(Number.isFinite)).toBe(true)
  })

  it('takes every guard there is', () => {
    const names = model.features.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(guardNames.map((name) => `guard-${name}`)))
    expect(names).not.toContain('cosine')
    expect(model.needsCosine).toBe(false)
  })

  it('refuses too few pairs, and cosines for some of them', () => {
    expect(() => fitJudge(pairs.slice(0, 12))).toThrow(/at least 10 pairs of either kind/)
    const some = pairs.map((pair, at) => (at === 0 ? { ...pair, cosine: 0.5 } : pair))
    expect(() => fitJudge(some)).toThrow(/1 of 600 pairs have a cosine/)
    expect(() => fitJudge(pairs.map((pair) => ({ ...pair, cosine: 7 })))).toThrow(/not 7/)
    // @ts-expect-error -- an option that there is not
    expect(() => fitJudge(pairs, { precision: 1 })).toThrow(/not an option/)
  })
})

describe('judging', () => {
  it('is the same in both orders, between 0 and 1, and adds up', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        const one = judge(a, b)
        expect(judge(b, a)).toEqual(one)
        expect(one.probability).toBeGreaterThanOrEqual(0)
        expect(one.probability).toBeLessThanOrEqual(1)
        const sum = one.contributions.reduce((all, { points }) => all + points, model.bias)
        expect(1 / (1 + Math.exp(-sum))).toBeCloseTo(one.probability, 9)
      }),
    )
  })

  it('never falls when more is in common, and never rises by a guard', () => {
    for (const one of [model, defaultJudge(), defaultJudge({ cosine: true })]) {
      for (const { name, weight } of one.features) {
        if (/^(jaccard|containment|cosine|numbers|names)/.test(name))
          expect(weight).toBeGreaterThanOrEqual(0)
        if (name.startsWith('guard-')) expect(weight).toBeLessThanOrEqual(0)
      }
    }
    const words = Array.from({ length: 12 }, (_, at) => `word${String.fromCodePoint(97 + at)}`)
    const a = words.join(' ')
    let last = -1
    // From nothing in common to everything, with equal lengths.
    for (let same = 0; same <= words.length; same++) {
      const b = words.map((word, at) => (at < same ? word : `x${word.slice(1)}`)).join(' ')
      const { probability } = judge(a, b)
      expect(probability).toBeGreaterThanOrEqual(last)
      last = probability
    }
  })

  it('takes empty texts, one character and any script, and refuses what is not UTF-8', () => {
    const odd = ['', 'x', '你好，世界', 'नमस्ते', '\ud800', '🎁'].map((text) => judged(text))
    expect(() => judged(Uint8Array.of(0xff, 0x61))).toThrow(/not valid UTF-8/)
    for (const a of odd) {
      for (const b of odd) expect(judgeTexts(model, a, b).probability).toBeGreaterThanOrEqual(0)
    }
    const alike = judge(
      '人人生而自由，在尊严和权利上一律平等。',
      '人人生而自由，在尊严与权利上一律平等。',
    )
    const others = judge(
      '人人生而自由，在尊严和权利上一律平等。',
      '今天天气很好，我们去公园散步吧。',
    )
    expect(alike.probability).toBeGreaterThan(others.probability)
  })

  it('needs a cosine if it was fitted with one, and only then', () => {
    const withCosine = defaultJudge({ cosine: true })
    expect(() => judge('a', 'b', withCosine)).toThrow(/needs the cosine/)
    const at = (cosine: number) =>
      judgeTexts(withCosine, judged('a b c'), judged('a b d'), { cosine }).probability
    expect(at(0.9)).toBeGreaterThan(at(0.1))
    expect(() => at(Number.NaN)).toThrow(/-1 to 1, not NaN/)
  })

  it('says what would flip the decision, and is right about it', () => {
    const cut = 0.5
    const a = 'the river runs past nine old mills'
    const { probability, flips } = judgeTexts(model, judged(a), judged('the river runs past ten'), {
      cut,
    })
    const flip = flips.find(({ feature }) => feature === 'jaccard-chars')
    if (flip) {
      const { weight, scale } = model.features.find(({ name }) => name === 'jaccard-chars')!
      const logit = Math.log(probability / (1 - probability))
      expect(logit + (weight * (flip.to - flip.value)) / scale).toBeCloseTo(0, 9)
    }
    const apart = 'Take 10 mg of it every Monday.'
    const judgement = judgeTexts(defaultJudge(), judged(apart), judged(apart.replace('10', '50')))
    const lines = explainJudgement(judgement)
    expect(lines[0]).toMatch(/^(different|duplicates): probability 0\.\d{3}, and 0\.500 is needed$/)
    expect(lines.join('\n')).toContain('the guard numbers keeps them apart')
    const points = judgement.contributions.map((one) => Math.abs(one.points))
    expect(points).toEqual(points.toSorted((first, second) => second - first))
  })
})

describe('a judge as JSON', () => {
  it('is read as it was written', () => {
    expect(readJudge(JSON.stringify(model))).toEqual(model)
    expect(readJudge(JSON.parse(JSON.stringify(model)))).toEqual(model)
  })

  // oxlint-disable-next-line no-explicit-any -- tests change whatever there is
  const changed = (change: (json: Record<string, any>) => void) => {
    const json = JSON.parse(JSON.stringify(model))
    change(json)
    return json
  }
  it.each([
    ['no JSON', '{', /not JSON/],
    ['nothing', undefined, /format is missing/],
    ['another format', { format: 'other' }, /format is "other"/],
    ['a later version', changed((json) => (json['version'] = 2)), /version is 2/],
    [
      'an unknown feature',
      changed((json) => (json['features'][0].name = 'smell')),
      /feature "smell"/,
    ],
    [
      'a guard that there is not',
      changed((json) => (json['features'].at(-1).name = 'guard-tides')),
      /guard "tides"/,
    ],
    ['a changed weight', changed((json) => (json['features'][0].weight += 1)), /hash does not fit/],
    ['a wrong sign', changed((json) => (json['features'][0].weight = -1)), /wrong sign/],
    ['a missing part', changed((json) => delete json['bias']), /bias cannot be read/],
    ['no number', changed((json) => (json['bias'] = 'x')), /bias cannot be read/],
  ])('is refused by name: %s', (_, json, message) => {
    expect(() => readJudge(json)).toThrow(message)
    expect(() => readJudge(json)).toThrow(PrestigeError)
  })
})

describe('what a judge promises', () => {
  it('is a cut that rises with the precision, or an error that names the most it can promise', () => {
    const { calibration } = model
    expect(calibration.length).toBeGreaterThan(3)
    for (const [at, one] of calibration.entries()) {
      expect(one.low).toBeGreaterThanOrEqual(one.precision)
      if (at > 0) expect(one.cut).toBeGreaterThanOrEqual(calibration[at - 1]!.cut)
      expect(cutFor(model, one.precision)).toBe(one.cut)
    }
    const best = calibration.at(-1)!.precision
    expect(() => cutFor(model, 0.9999)).toThrow(`at most ${best}, not 0.9999`)
    expect(() => cutFor(model, 0)).toThrow(/greater than 0/)
    const few = fitJudge(pairs.slice(0, 40))
    expect(() => cutFor(few, 0.99)).toThrow(PrestigeError)
  })

  it('is what tuning chooses, and applies to pairs it has not seen', () => {
    const tuning = tuneJudge(pairs, { precision: 0.8 })
    expect(tuning.judge).toEqual(model)
    expect(tuning.threshold).toBe(cutFor(model, 0.8))
    expect(tuning.promise!.low).toBeGreaterThanOrEqual(0.8)
    const called = madePairs(2000, 2).filter(
      ({ a, b }) => judge(a as string, b as string).probability >= tuning.threshold,
    )
    expect(called.filter(({ isDuplicate }) => isDuplicate).length / called.length).toBeGreaterThan(
      0.8,
    )
  })

  it('refuses with what is missing, what is wrong and what to label next', () => {
    const open = { a: 'one two three', b: 'one two four', isDuplicate: undefined }
    const ask = () => tuneJudge([...pairs.slice(0, 60), open], { precision: 0.999 })
    expect(ask).toThrow(PrecisionUnproven)
    try {
      ask()
    } catch (error) {
      expect(error).toMatchObject({ code: 'PRECISION_UNPROVEN', next: { pairs: [60] } })
      expect(String(error)).toMatch(/do not prove a precision of 0\.999/)
    }
  })
})
