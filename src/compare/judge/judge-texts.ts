/** What a judge says about two texts, and why. Pure, synchronous, and the same in both orders. */

import { PrestigeError } from '../../platform/errors.ts'
import { features, type Judged, measure, type MeasurePlan, planOf } from './features.ts'
import { logitOf, requireCosine } from './fit-judge.ts'
import { sigmoid } from './logistic.ts'
import type { JudgeModel } from './model.ts'

export interface Contribution {
  readonly feature: string
  readonly value: number
  /** Added to the logit, beside a pair that is average in it. */
  readonly points: number
}

/** The decision would be the other one if this alone were so. */
export interface Flip {
  readonly feature: string
  readonly value: number
  /** The nearest value that flips the decision. */
  readonly to: number
}

export interface Judgement {
  /** That they are duplicates. */
  readonly probability: number
  /** The largest first, by amount. */
  readonly contributions: readonly Contribution[]
  /** The smallest change first, measured by how much pairs usually differ in it. */
  readonly flips: readonly Flip[]
}

export interface JudgeExtra {
  /** Cosine of the meanings, for a judge that needs it. */
  readonly cosine?: number | undefined
  /** Least probability of duplicates, which flips are about. Default: 0.5. */
  readonly cut?: number | undefined
}

const plans = new WeakMap<JudgeModel, MeasurePlan>()

function planFor(model: JudgeModel): MeasurePlan {
  let plan = plans.get(model)
  if (plan === undefined) {
    plan = planOf(model.features.map(({ name }) => name))
    plans.set(model, plan)
  }
  return plan
}

export function judgeTexts(
  model: JudgeModel,
  a: Judged,
  b: Judged,
  { cosine, cut = 0.5 }: JudgeExtra = {},
): Judgement {
  if (model.needsCosine && cosine === undefined) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      'This judge needs the cosine of the two texts. Give it, or use a judge that was fitted without one.',
    )
  }
  const values = measure(planFor(model), a, b, model.needsCosine ? requireCosine(cosine) : 0)
  const logit = logitOf(model, values)
  return {
    probability: sigmoid(logit),
    contributions: contributionsOf(model, values),
    flips: flipsOf(model, values, logit, cut),
  }
}

function contributionsOf(model: JudgeModel, values: readonly number[]): Contribution[] {
  const all = model.features.map(({ name, mean, scale, weight }, at) => {
    const value = values[at] ?? 0
    return { feature: name, value, points: (weight * (value - mean)) / scale }
  })
  return all.toSorted((one, other) => Math.abs(other.points) - Math.abs(one.points))
}

function flipsOf(model: JudgeModel, values: readonly number[], logit: number, cut: number): Flip[] {
  const missing = Math.log(cut / (1 - cut)) - logit
  const flips: (Flip & { change: number })[] = []
  model.features.forEach(({ name, scale, weight }, at) => {
    if (weight === 0) return
    const value = values[at] ?? 0
    const by = (missing * scale) / weight
    const to = features.get(name)?.isFlag ? flippedFlag(value, by) : value + by
    if (to === undefined || !isPossible(name, to)) return
    flips.push({ feature: name, value, to, change: Math.abs(to - value) / scale })
  })
  flips.sort((one, other) => one.change - other.change)
  return flips.map(({ feature, value, to }) => ({ feature, value, to }))
}

/** The other value of a flag, if that changes enough. */
function flippedFlag(value: number, by: number): number | undefined {
  const to = 1 - value
  return Math.sign(to - value) === Math.sign(by) && Math.abs(by) <= 1 ? to : undefined
}

/** A length cannot be changed by itself, so it flips nothing. */
function isPossible(name: string, to: number): boolean {
  if (name === 'length' || name === 'length-ratio') return false
  return to <= 1 && to >= (name === 'cosine' ? -1 : 0)
}

const FLIPS_SHOWN = 3

/** A judgement as lines for people: the decision, what it rests on, and what would flip it. */
export function explainJudgement(judgement: Judgement, cut = 0.5): string[] {
  const { probability, contributions, flips } = judgement
  const isDuplicate = probability >= cut
  const shown = contributions.filter(({ points }) => Math.abs(points) >= 0.05)
  return [
    `${isDuplicate ? 'duplicates' : 'different'}: probability ${probability.toFixed(3)}, and ` +
      `${cut.toFixed(3)} is needed`,
    ...shown.map(
      ({ feature, value, points }) =>
        `${points < 0 ? '−' : '+'}${Math.abs(points).toFixed(2)}  ${described(feature, value)}`,
    ),
    ...(flips.length === 0
      ? ['No single change would flip the decision.']
      : flips
          .slice(0, FLIPS_SHOWN)
          .map((flip) => `${isDuplicate ? 'Different' : 'Duplicates'} ${conditionOf(flip)}`)),
  ]
}

const labelOf = (feature: string) => features.get(feature)?.label ?? feature

function described(feature: string, value: number): string {
  if (!features.get(feature)?.isFlag) return `${labelOf(feature)}: ${value.toFixed(3)}`
  return value === 1 ? labelOf(feature) : `${feature.replace('guard-', 'the guard ')} finds nothing`
}

function conditionOf({ feature, to }: Flip): string {
  const guard = feature.replace('guard-', '')
  if (!features.get(feature)?.isFlag) return `if ${labelOf(feature)} were ${to.toFixed(3)}`
  return to === 0
    ? `without what the guard ${guard} found`
    : `if the guard ${guard} found something`
}
