/** Options of comparing and tuning. Read once, at the edge; unknown names are refused. */

import * as v from 'valibot'

import type { CanonicalInput } from '../canonical/index.ts'
import type { ShingleProfile } from '../fingerprint/index.ts'
import { given } from '../platform/options.ts'
import type { GuardOptions } from './guards/veto.ts'
import type { JudgeModel } from './judge/model.ts'

const isShare = (value: unknown) => typeof value === 'number' && value > 0 && value <= 1
const isCount = (value: unknown) => typeof value === 'number' && Number.isSafeInteger(value)
const isCanonical = (value: unknown) =>
  typeof value === 'string' || (typeof value === 'object' && value !== null)
const isProfile = (value: unknown) => typeof value === 'string'

const share = () => given<number>(isShare, 'a number above 0 and at most 1')
const whole = (min: number) =>
  given<number>((value) => isCount(value) && Number(value) >= min, `a whole number from ${min} on`)

const profile = v.optional(
  given<ShingleProfile>(
    isProfile,
    'adaptive, auto, or chars, words or codepoints with an optional width',
  ),
  'adaptive',
)
const canonical = v.optional(
  given<CanonicalInput>(isCanonical, 'the name of a profile or { version, canonicalise }'),
  'unicode',
)
const slots = v.optional(given<number>(isCount, 'a whole number'), 128)

/** What decides whether similar texts are the same. Store, resolver and corpus job take the same. */
export interface JudgementOptions {
  /**
   * What keeps similar texts apart: other numbers, names, a denial. `false`: nothing does. Guards need the text as
   * evidence. Default: all guards; none with other evidence or with a preset.
   */
  readonly guards?: GuardOptions | false | undefined
  /**
   * A judge decides, so that of the texts it calls the same, this share is: above 0, up to 1. `threshold` is then the
   * least similarity that a judge is asked about (default 0.5). Default: similarity decides.
   */
  readonly precision?: number | undefined
  /** The judge, as `prestige tune --judge` writes it. Default, with `precision`: the one that ships with the package. */
  readonly judge?: JudgeModel | undefined
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null

/** Which guards are asked is read by `readGuards`, which refuses unknown ones by name. */
export const guardsOption = v.optional(
  v.pipe(
    given<GuardOptions | false>((value) => value === false || isObject(value), 'guards, or false'),
    v.description('Which guards keep similar texts apart: all by default, none if false.'),
  ),
)

export const judgementOptions = {
  guards: guardsOption,
  precision: v.optional(
    v.pipe(
      share(),
      v.description('A judge decides, so that of the texts it calls the same, this share is.'),
    ),
  ),
  judge: v.optional(
    v.pipe(
      given<JudgeModel>(isObject, 'a judge'),
      v.description('The judge, as tune --judge writes it; with precision, one is built in.'),
    ),
  ),
}

/** How two texts are compared. */
export interface CompareOptions {
  /** How texts are cut into shingles: `adaptive`, `auto`, or `chars`, `words`, `codepoints` with a width (`words-5`). Default: `adaptive`. */
  readonly profile?: ShingleProfile | undefined
  /** The form in which texts are compared. Default: `unicode`. */
  readonly canonical?: CanonicalInput | undefined
  /** Slots of a sketch, a multiple of 16 from 64 to 512. Default: 128. */
  readonly slots?: number | undefined
  /** Bands of a sketch, given with `rows`. Default: chosen by the threshold. */
  readonly bands?: number | undefined
  /** Slots in a band, given with `bands`. Default: chosen by the threshold. */
  readonly rows?: number | undefined
  /** Minimum Jaccard similarity of duplicates: above 0, up to 1. Default: 0.8. */
  readonly threshold?: number | undefined
  /** What keeps similar texts apart. `false`: nothing does. Default: all guards. */
  readonly guards?: GuardOptions | false | undefined
  /** The most shingles of a kind that are listed. Default: 10. */
  readonly shinglesMax?: number | undefined
  /** The most passages of each text that are listed; 0: they are not looked for. Default: 10. */
  readonly passagesMax?: number | undefined
}

/** How two texts are laid side by side. */
export interface AlignOptions {
  /** The form in which words are compared. Default: `unicode`. */
  readonly canonical?: CanonicalInput | undefined
  /** Texts that differ by more words are not aligned in full. Default: 1000. */
  readonly editsMax?: number | undefined
}

/** What a threshold is chosen for. */
export interface TuneOptions {
  /** How texts are cut into shingles. Default: `adaptive`. */
  readonly profile?: ShingleProfile | undefined
  /** The form in which texts are compared. Default: `unicode`. */
  readonly canonical?: CanonicalInput | undefined
  /** Slots of a sketch, a multiple of 16 from 64 to 512. Default: 128. */
  readonly slots?: number | undefined
  /** The lowest threshold that is proven to have this precision is chosen: above 0, up to 1. Default: the best F1. */
  readonly precision?: number | undefined
  /** The highest threshold with at least this recall is chosen: above 0, up to 1. Default: the best F1. */
  readonly recallMin?: number | undefined
}

export const compareOptions = v.strictObject({
  profile,
  canonical,
  slots,
  bands: v.optional(whole(1)),
  rows: v.optional(whole(1)),
  threshold: v.optional(share(), 0.8),
  guards: guardsOption,
  shinglesMax: v.optional(whole(0), 10),
  passagesMax: v.optional(whole(0), 10),
}) satisfies v.GenericSchema<CompareOptions>

export const alignOptions = v.strictObject({
  canonical,
  editsMax: v.optional(whole(0), 1000),
}) satisfies v.GenericSchema<AlignOptions>

export const tuneOptions = v.strictObject({
  profile,
  canonical,
  slots,
  precision: v.optional(share()),
  recallMin: v.optional(share()),
}) satisfies v.GenericSchema<TuneOptions>
