/** What decides which texts are near duplicates. It is recorded beside what was decided by it. */

import { createHash } from 'node:crypto'

import { PrestigeError } from '../platform/errors.ts'
import {
  type Banding,
  chooseBands,
  hashVersion,
  DEFAULT_PROFILE,
  NearTable,
  shapeOf,
  type ShingleProfile,
} from '../fingerprint/index.ts'
import {
  cutFor,
  defaultJudge,
  type GuardOptions,
  type Guards,
  type JudgeModel,
  readGuards,
  readJudge,
} from '../compare/index.ts'
import type { EvidenceKind } from './evidence.ts'

export interface TextNearSettings {
  /** Texts of at least this Jaccard similarity are near duplicates. */
  readonly similarityMin: number
  readonly profile: ShingleProfile
  readonly slots: number
  readonly bands: number
  readonly rows: number
  readonly evidence: EvidenceKind
  readonly hashVersion: string
  /** What keeps similar texts apart. `false`, or absent as in version 1: similarity alone decides. */
  readonly guards?: Guards | false | undefined
  /** What decides, and how often it may be wrong. Absent: similarity decides. */
  readonly judge?: JudgeSettings | undefined
}

export interface JudgeSettings {
  /** Of those it calls the same, so many are. */
  readonly precision: number
  readonly model: JudgeModel
}

export interface TextNearWanted {
  /** Default: 0.8; with a judge, 0.5. */
  readonly similarityMin?: number | undefined
  readonly profile?: ShingleProfile | undefined
  readonly slots?: number | undefined
  readonly bands?: number | undefined
  readonly rows?: number | undefined
  readonly evidence: EvidenceKind
  /** Default: all that are on by default, where the evidence is the text. */
  readonly guards?: GuardOptions | false | undefined
  /** A judge decides, at a cut that keeps this precision. */
  readonly precision?: number | undefined
  /** Default, with `precision`: the judge that ships with the package. */
  readonly judge?: JudgeModel | undefined
}

const DEFAULT_THRESHOLD = 0.8
/** What is less similar than this, a judge is not asked about. */
const JUDGED_MIN = 0.5

export function defaultThreshold(isJudged: boolean): number {
  return isJudged ? JUDGED_MIN : DEFAULT_THRESHOLD
}

/** At low thresholds 128 slots leave too few rows a band to be selective. */
const LOW_THRESHOLD = 0.6
const SLOTS = 128
const SLOTS_STEP = 16

/** Fills in what was not asked for. */
export function textNearSettings(wanted: TextNearWanted): TextNearSettings {
  const { profile: asked = DEFAULT_PROFILE, evidence } = wanted
  const judge = judgeOf(wanted)
  const { similarityMin = defaultThreshold(judge !== undefined) } = wanted
  if (!(similarityMin > 0 && similarityMin <= 1)) {
    throw refusal(
      `threshold: must be a number greater than 0 and at most 1, not ${String(similarityMin)}.`,
    )
  }
  const shape = shapeOf(asked) // refuses what is none
  const banding = bandingOf(wanted)
  const needed = banding ? roundUp(banding.bands * banding.rows) : 0
  const slots = wanted.slots ?? Math.max(needed, similarityMin <= LOW_THRESHOLD ? 2 * SLOTS : SLOTS)
  const chosen = banding ?? chooseBands({ slots, threshold: similarityMin })
  if (chosen.bands * chosen.rows > slots) {
    throw refusal(`${chosen.bands} bands of ${chosen.rows} rows do not fit in ${slots} slots.`)
  }
  const { bands, rows } = chosen
  void new NearTable({ slots, bands, rows }) // refuses what no table can have, before anything is kept
  // One spelling of one profile: `chars` is `chars-3`.
  const profile = typeof shape === 'string' ? shape : shape.name
  const settings = { similarityMin, profile, slots, bands, rows, evidence }
  const judgement = { guards: guardsOf(wanted), ...(judge && { judge }) }
  return { ...settings, hashVersion: hashVersion(), ...judgement }
}

function judgeOf({ precision, judge, evidence }: TextNearWanted): JudgeSettings | undefined {
  if (precision === undefined && judge === undefined) return undefined
  if (precision === undefined) throw refusal('precision: is missing, and a judge needs one.')
  if (evidence !== 'text') {
    const why = `A judge reads texts, and evidence is '${evidence}'.`
    throw refusal(`precision: ${why} Give evidence: 'text'.`)
  }
  const model = judge ? readJudge(judge) : defaultJudge()
  if (model.needsCosine) {
    throw refusal(
      'judge: it needs the meaning of texts. Fit one with prestige tune, without --semantic.',
    )
  }
  void cutFor(model, precision) // refuses what it cannot promise
  return { precision, model }
}

/** What was asked for, or recorded, in a form that can be compared and shown. */
export function judgeName({ judge }: Pick<TextNearSettings, 'judge'>): {
  readonly precision: number | false
  readonly judge: string | false
} {
  return { precision: judge?.precision ?? false, judge: judge?.model.hash ?? false }
}

function guardsOf({ guards, evidence }: TextNearWanted): Guards | false {
  if (guards === false) return false
  if (evidence === 'text') return readGuards(guards, 'near')
  if (guards === undefined) return false
  throw refusal(`guards: read texts, and evidence is '${evidence}'. Give evidence: 'text'.`)
}

/** Guards as they were recorded: those of later versions are off. */
export function recordedGuards({ guards }: Pick<TextNearSettings, 'guards'>): Guards | false {
  return guards ? { ...readGuards(false), ...guards } : false
}

function bandingOf({ bands, rows }: TextNearWanted): Banding | undefined {
  if (bands === undefined && rows === undefined) return undefined
  if (bands !== undefined && rows !== undefined) return { bands, rows }
  throw refusal('Give both bands and rows, or neither: they are chosen by threshold then.')
}

function roundUp(slots: number): number {
  return Math.ceil(slots / SLOTS_STEP) * SLOTS_STEP
}

function refusal(why: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', why)
}

const PARTITION_KEYS_MAX = 10_000
const partitionKeys = new Map<string, Buffer>()

/**
 * Sixteen bytes of everything that must be the same for two signatures to meet. Those asked for lately are
 * remembered: hashing a name again for every text costs as much as looking it up.
 */
export function partitionKey(...parts: readonly string[]): Buffer {
  let name = ''
  for (const part of parts) name += `${part.length}:${part}`
  const known = partitionKeys.get(name)
  if (known) return known
  const hash = createHash('sha256')
  for (const part of parts) {
    hash.update(`${Buffer.byteLength(part)}:`)
    hash.update(part)
  }
  const key = hash.digest().subarray(0, 16)
  if (partitionKeys.size >= PARTITION_KEYS_MAX) partitionKeys.clear()
  partitionKeys.set(name, key)
  return key
}
