/**
 * A judge as it is kept: plain JSON of a few kilobytes, with all that judging needs and no text that it was fitted on.
 *
 * A file that this version cannot use as it was meant is refused by name, never used in part.
 */

import * as v from 'valibot'

import { digestOf } from '../../fingerprint/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { features } from './features.ts'

export const JUDGE_FORMAT = 'prestige-judge'
export const JUDGE_VERSION = 1

export interface JudgeFeature {
  readonly name: string
  /** Of the pairs it was fitted on. */
  readonly mean: number
  readonly scale: number
  /** Points that one `scale` above the mean adds to the logit. */
  readonly weight: number
}

/** A precision that is promised, and the least probability that keeps it. */
export interface JudgeCut {
  readonly precision: number
  readonly cut: number
  /** Lower bound of the precision, with a confidence of 95 %. */
  readonly low: number
  readonly recall: number
}

export interface JudgeModel {
  readonly format: typeof JUDGE_FORMAT
  readonly version: typeof JUDGE_VERSION
  readonly bias: number
  readonly features: readonly JudgeFeature[]
  /** Whether it needs the cosine of two texts, and by which embedder that was computed. */
  readonly needsCosine: boolean
  readonly embedder: string | null
  /** By precision, ascending. */
  readonly calibration: readonly JudgeCut[]
  readonly trainedOn: {
    readonly name: string
    readonly pairs: number
    readonly duplicates: number
    readonly folds: number
    readonly penalty: number
  }
  /** SHA-256 of all that is before it. */
  readonly hash: string
}

const count = v.pipe(v.number(), v.integer(), v.minValue(0))
const number = v.pipe(v.number(), v.finite())
const share = v.pipe(number, v.minValue(0), v.maxValue(1))

/** The order of the keys is that of the file, and of what is hashed. */
const judgeSchema = v.strictObject({
  format: v.literal(JUDGE_FORMAT),
  version: v.literal(JUDGE_VERSION),
  bias: number,
  features: v.array(
    v.strictObject({
      name: v.string(),
      mean: number,
      scale: v.pipe(number, v.gtValue(0)),
      weight: number,
    }),
  ),
  needsCosine: v.boolean(),
  embedder: v.nullable(v.string()),
  calibration: v.array(v.strictObject({ precision: share, cut: share, low: share, recall: share })),
  trainedOn: v.strictObject({
    name: v.string(),
    pairs: count,
    duplicates: count,
    folds: count,
    penalty: number,
  }),
  hash: v.string(),
}) satisfies v.GenericSchema<unknown, JudgeModel>

/** Reads a judge from JSON text, or from what JSON.parse made of it. */
export function readJudge(json: unknown): JudgeModel {
  const value = typeof json === 'string' ? parsed(json) : json
  const { format, version } = v.is(v.looseObject({}), value)
    ? { format: Reflect.get(value, 'format'), version: Reflect.get(value, 'version') }
    : {}
  if (format !== JUDGE_FORMAT)
    throw noJudge(`its format is ${shown(format)}, not "${JUDGE_FORMAT}"`)
  if (version !== JUDGE_VERSION) {
    throw noJudge(
      `its version is ${shown(version)}; this version of prestige reads ${JUDGE_VERSION}`,
    )
  }
  const read = v.safeParse(judgeSchema, value)
  if (!read.success) {
    const [issue] = read.issues
    throw noJudge(`${v.getDotPath(issue) ?? 'it'} cannot be read (${issue.message})`)
  }
  const model = read.output
  refuseFeatures(model)
  if (hashOf(model) !== model.hash) throw noJudge('its hash does not fit: it was changed by hand')
  return deepFrozen(model)
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new PrestigeError('FORMAT_UNSUPPORTED', 'This is not a judge: it is not JSON.', {
      cause: error,
    })
  }
}

const shown = (value: unknown) => (value === undefined ? 'missing' : JSON.stringify(value))

function noJudge(problem: string): PrestigeError {
  return new PrestigeError(
    'FORMAT_UNSUPPORTED',
    `This judge cannot be used: ${problem}. Make one with prestige tune --judge FILE.`,
  )
}

function refuseFeatures(model: JudgeModel): void {
  const names = model.features.map(({ name }) => name)
  for (const name of names) {
    if (features.has(name)) continue
    const [, guard] = /^guard-(.*)$/.exec(name) ?? []
    throw noJudge(
      guard === undefined
        ? `it uses the feature "${name}", which this version does not measure`
        : `it uses the guard "${guard}", which this version does not have`,
    )
  }
  if (new Set(names).size < names.length) throw noJudge('it names a feature twice')
  if (names.includes('cosine') !== model.needsCosine)
    throw noJudge('needsCosine does not fit its features')
  for (const { name, weight } of model.features) {
    if (weight * (features.get(name)?.sign ?? 0) >= 0) continue
    throw noJudge(`the weight of "${name}" has the wrong sign`)
  }
}

/** With its hash, which covers all the rest. */
export function sealed(model: Omit<JudgeModel, 'hash'>): JudgeModel {
  return deepFrozen({ ...model, hash: hashOf(model) })
}

function hashOf(model: Omit<JudgeModel, 'hash'>): string {
  const { format, version, bias, needsCosine, embedder, calibration, trainedOn } = model
  const rest = { format, version, bias, features: model.features, needsCosine, embedder }
  return digestOf(Buffer.from(JSON.stringify({ ...rest, calibration, trainedOn }))).toString('hex')
}

/** What it is judged by is remembered beside it, so it must never change. */
function deepFrozen(model: JudgeModel): JudgeModel {
  for (const list of [model.features, model.calibration]) list.forEach((one) => Object.freeze(one))
  for (const part of [model.features, model.calibration, model.trainedOn]) Object.freeze(part)
  return Object.freeze(model)
}

/** The least probability at which a judge promises this precision. */
export function cutFor(model: JudgeModel, precision: number): number {
  if (!(precision > 0 && precision <= 1)) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `precision: must be a number greater than 0 and at most 1, not ${String(precision)}.`,
    )
  }
  const found = model.calibration.find((one) => one.precision >= precision)
  if (found) return found.cut
  const best = model.calibration.at(-1)
  const { pairs } = model.trainedOn
  throw new PrestigeError(
    'PRECISION_UNPROVEN',
    best
      ? `This judge can promise a precision of at most ${best.precision}, not ${precision}, by the ${pairs} pairs ` +
          `it was fitted on. Ask for ${best.precision} or less, or fit one on more labelled pairs with prestige tune.`
      : `This judge can promise no precision: the ${pairs} pairs it was fitted on do not suffice. Fit one on more ` +
          `labelled pairs with prestige tune.`,
  )
}
