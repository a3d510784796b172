/** Options of comparing and tuning. Read once, at the edge; unknown names are refused. */

import * as v from 'valibot'

import type { CanonicalInput } from '../canonical/index.ts'
import type { ShingleProfile } from '../fingerprint/index.ts'
import { given } from '../platform/options.ts'

const isShare = (value: unknown) => typeof value === 'number' && value > 0 && value <= 1
const isCount = (value: unknown) => typeof value === 'number' && Number.isSafeInteger(value)
const isCanonical = (value: unknown) =>
  typeof value === 'string' || (typeof value === 'object' && value !== null)
const isProfile = (value: unknown) => typeof value === 'string'

const share = () => given<number>(isShare, 'a number above 0 and at most 1')
const whole = (min: number) =>
  given<number>((value) => isCount(value) && Number(value) >= min, `a whole number from ${min} on`)

const profile = v.optional(
  given<ShingleProfile>(isProfile, 'auto, or chars, words or codepoints with an optional width'),
  'auto',
)
const canonical = v.optional(
  given<CanonicalInput>(isCanonical, 'the name of a profile or { version, canonicalise }'),
  'unicode',
)
const slots = v.optional(given<number>(isCount, 'a whole number'), 128)

export const compareOptions = v.strictObject({
  profile,
  canonical,
  slots,
  bands: v.optional(whole(1)),
  rows: v.optional(whole(1)),
  threshold: v.optional(share(), 0.8),
  shinglesMax: v.optional(whole(0), 10),
})

export const alignOptions = v.strictObject({
  canonical,
  editsMax: v.optional(whole(0), 1000),
})

export const tuneOptions = v.strictObject({
  profile,
  canonical,
  slots,
  precisionMin: v.optional(share()),
  recallMin: v.optional(share()),
})

/** How two texts are compared. */
export type CompareOptions = v.InferInput<typeof compareOptions>
/** How two texts are laid side by side. */
export type AlignOptions = v.InferInput<typeof alignOptions>
/** What a threshold is chosen for. */
export type TuneOptions = v.InferInput<typeof tuneOptions>
