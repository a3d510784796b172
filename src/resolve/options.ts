/**
 * What a resolver can be opened with: options, a named preset, or the environment variables of the resolver
 * this one grew from.
 */

import * as v from 'valibot'

import type { Bytes } from '../platform/bytes.ts'
import type { CanonicalInput } from '../canonical/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { type JudgementOptions, judgementOptions } from '../compare/index.ts'
import type { ShingleProfile } from '../fingerprint/index.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import { flag, given, locationOptions, oneOf, share, sinkOption } from '../platform/options.ts'

const isCanonical = (value: unknown) => typeof value === 'string' || typeof value === 'object'

/** Times are kept in six bytes: this long from any clock still fits. */
const TIME_MS_MAX = 2 ** 47

function whole(from: number, help: string): v.GenericSchema<number> {
  const rule = `must be a whole number from ${from}`
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(from, rule), v.description(help))
}

const COSINE = 'must be a number greater than -1 and at most 1'

function milliseconds(help: string): v.GenericSchema<number> {
  const rule = 'must be a number of milliseconds from 0 to 2^47'
  return v.pipe(
    v.number(rule),
    v.minValue(0, rule),
    v.maxValue(TIME_MS_MAX, rule),
    v.description(help),
  )
}

/** How vectors are found to be one thing. Remembered with the first opening that has it. */
export interface VectorOptions {
  /** Numbers in a vector. */
  readonly dimensions: number
  /** Minimum cosine of vectors that are one thing: above -1, up to 1. */
  readonly threshold: number
  /** Hyperplanes, a multiple of 8: more is slower and sharper. Default: 512. */
  readonly bits?: number | undefined
  /** Bands of bits, given with `rows`. Default: chosen by the threshold. */
  readonly bands?: number | undefined
  /** Bits in a band, given with `bands`. Default: chosen by the threshold. */
  readonly rows?: number | undefined
  /** How the planes are made. Default: `hadamard`. */
  readonly form?: 'hadamard' | 'dense' | undefined
  /** Where the planes come from. Default: 13,374,269. */
  readonly seed?: number | undefined
}

/** What a resolver is opened with. What was not said of an existing resolver is as it was written. */
export interface ResolverOptions extends JudgementOptions {
  /** Resolvers of different namespaces in one location never see each other. Default: the unnamed one. */
  readonly namespace?: string | undefined
  /** `lsh`: 40 bands of 5 rows over 3-character shingles, threshold 0.6. Default: none. */
  readonly preset?: 'lsh' | undefined
  /** Minimum Jaccard similarity of texts that are one thing: above 0, up to 1. Default: 0.8. */
  readonly threshold?: number | undefined
  /** How texts are cut into shingles: `adaptive`, `auto`, or `chars`, `words`, `codepoints` with a width (`words-5`). Default: `adaptive`. */
  readonly profile?: ShingleProfile | undefined
  /** The form in which texts are compared: the name of a profile, or a function with a version. Default: `unicode`. */
  readonly canonical?: CanonicalInput | undefined
  /** Slots of a sketch, a multiple of 16 from 64 to 512. Default: 128; 256 up to a threshold of 0.6. */
  readonly slots?: number | undefined
  /** Bands of a sketch, given with `rows`. Default: chosen by the threshold. */
  readonly bands?: number | undefined
  /** Slots in a band, given with `bands`. Default: chosen by the threshold. */
  readonly rows?: number | undefined
  /** What is kept of a representative to measure others by; with `sketch`, similarities are estimates. Default: `text`. */
  readonly evidence?: 'text' | 'hashes' | 'sketch' | undefined
  /**
   * List things whose text contains another, or is contained in it, in what `resolve` and `lookup` return. `min`: the
   * share of either text that is in the other. Needs a directory or memory, and the evidence `text`. Default: not
   * looked for; `min`: 0.8.
   */
  readonly containment?: { readonly min?: number | undefined } | undefined
  /** Needed to resolve vectors. Default: none. */
  readonly vector?: VectorOptions | undefined
  /** The most candidates that are ranked and measured. Default: 100. */
  readonly candidatesMax?: number | undefined
  /** Buckets of more representatives are passed over. Default: 1000; 200 on shared engines. */
  readonly bucketMax?: number | undefined
  /** Milliseconds after its last use at which a cluster is deleted. Default: never. */
  readonly ttlMs?: number | undefined
  /** The expiry of a cluster is moved at most this often, in milliseconds. Default: a tenth of `ttlMs`. */
  readonly renewMs?: number | undefined
  /** Answers kept in memory; 0: none. Default: 100,000. */
  readonly cacheMax?: number | undefined
  /** Milliseconds that an answer in memory may outlive its cluster, if others delete it. Default: 1000. */
  readonly cacheMs?: number | undefined
  /** Label metrics with the group, however many groups there are. Default: `false`. */
  readonly labelGroups?: boolean | undefined
  /** As for a store. Default of a directory: `fsync`. */
  readonly durability?: 'fsync' | 'os' | undefined
  /** Create the resolver if it is missing; `false` makes that an error. Default: `true`. */
  readonly create?: boolean | undefined
  /** Milliseconds that one operation waits for other processes or the server. Default: 30,000; on Redis 10,000. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: (() => number) | undefined
  /** So many random bytes. Default: the system's. */
  readonly random?: ((count: number) => Bytes) | undefined
  /** Where counters, histograms and gauges go. Default: nowhere. */
  readonly metrics?: MetricsSink | undefined
}

export const vectorOptions = v.strictObject({
  dimensions: whole(1, 'Numbers in a vector.'),
  threshold: v.pipe(
    v.number(COSINE),
    v.gtValue(-1, COSINE),
    v.maxValue(1, COSINE),
    v.description('Vectors of at least this cosine are one thing.'),
  ),
  bits: v.optional(whole(8, 'Hyperplanes, a multiple of 8. More is slower and sharper.')),
  bands: v.optional(whole(1, 'Bands of bits; chosen by threshold if not given.')),
  rows: v.optional(whole(1, 'Bits in a band.')),
  form: v.optional(oneOf(['hadamard', 'dense'], 'How the planes are made.')),
  seed: v.optional(whole(0, 'Where the planes come from.')),
})

export const resolverOptions = v.strictObject({
  ...locationOptions,
  preset: v.optional(
    oneOf(['lsh'], 'lsh: 40 bands of 5 rows over 3-character shingles, from similarity 0.6.'),
  ),
  threshold: v.optional(share('Texts of at least this Jaccard similarity are one thing (0.8).')),
  profile: v.optional(
    given<ShingleProfile>(
      (value) => typeof value === 'string',
      'adaptive, auto, or chars, words or codepoints with an optional -1 to -32',
    ),
  ),
  canonical: v.optional(
    given<CanonicalInput>(
      isCanonical,
      'the name of a canonical profile or { version, canonicalise }',
    ),
  ),
  slots: v.optional(whole(64, 'Slots of a sketch, a multiple of 16 up to 512.')),
  bands: v.optional(whole(1, 'Bands of a sketch; chosen by threshold if not given.')),
  rows: v.optional(whole(1, 'Slots in a band.')),
  evidence: v.optional(
    oneOf(
      ['text', 'hashes', 'sketch'],
      'What is kept of a representative to measure others by. With sketch, similarities are estimates.',
    ),
  ),
  ...judgementOptions,
  containment: v.optional(
    v.strictObject({
      min: v.optional(share('Minimum share of either text that is in the other (0.8).')),
    }),
  ),
  vector: v.optional(vectorOptions),
  candidatesMax: v.optional(whole(1, 'The most candidates that are ranked and measured (100).')),
  bucketMax: v.optional(
    whole(1, 'Buckets of more representatives are passed over (1000; 200 on shared engines).'),
  ),
  ttlMs: v.optional(milliseconds('A cluster is forgotten this long after its last use.')),
  renewMs: v.optional(milliseconds('Its end is moved at most this often (a tenth of ttlMs).')),
  cacheMax: v.optional(whole(0, 'Answers kept in memory (100,000). 0: none.')),
  cacheMs: v.optional(
    milliseconds(
      'How long an answer in memory may outlive its cluster, if others forget it (1000).',
    ),
  ),
  labelGroups: v.optional(flag('Metrics are labelled with the group, however many there are.')),
  metrics: v.optional(sinkOption),
}) satisfies v.GenericSchema<ResolverOptions>

const SEED = 13_374_269

/** What the resolver this one grew from has when nothing is configured. */
const LSH_VECTOR = {
  dimensions: 20,
  threshold: 0.5,
  bits: 200,
  bands: 40,
  rows: 5,
  form: 'dense',
  seed: SEED,
} as const

const PRESETS = {
  lsh: {
    threshold: 0.6,
    profile: 'chars-3',
    bands: 40,
    rows: 5,
    slots: 208,
    candidatesMax: 100,
    bucketMax: 200,
    cacheMax: 500_000,
    guards: false,
    vector: LSH_VECTOR,
  },
} as const satisfies Record<string, ResolverOptions>

/** What was not said is as the preset has it. */
export function withPreset(options: ResolverOptions): ResolverOptions {
  if (options.preset === undefined) return options
  const preset: ResolverOptions = PRESETS[options.preset]
  const said = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  )
  const vector = options.vector && { ...LSH_VECTOR, ...options.vector }
  return { ...preset, ...said, ...(vector && { vector }) }
}

type Environment = Readonly<Record<string, string | undefined>>

const NAMES = {
  LSH_BANDS: 'bands',
  LSH_ROWS: 'rows',
  LSH_JAC_THRESHOLD: 'threshold',
  LSH_MAX_TOTAL_CANDIDATES: 'candidatesMax',
  LSH_MAX_BUCKET_SIZE: 'bucketMax',
  LSH_RESOLVED_CACHE_SIZE: 'cacheMax',
} as const

const VECTOR_NAMES = {
  VLSH_BANDS: 'bands',
  VLSH_ROWS: 'rows',
  VLSH_VECTOR_DIMENSIONS: 'dimensions',
  VLSH_COS_THRESHOLD: 'threshold',
  VLSH_SEED: 'seed',
} as const

/** Limits that texts and vectors share; the variables of texts take precedence. */
const SHARED_NAMES = {
  VLSH_MAX_TOTAL_CANDIDATES: 'candidatesMax',
  VLSH_MAX_BUCKET_SIZE: 'bucketMax',
  VLSH_RESOLVED_CACHE_SIZE: 'cacheMax',
} as const

/**
 * Options from `LSH_BANDS`, `LSH_ROWS`, `LSH_SHINGLE_SIZE`, `LSH_JAC_THRESHOLD`, `LSH_MAX_TOTAL_CANDIDATES`,
 * `LSH_MAX_BUCKET_SIZE`, `LSH_RESOLVED_CACHE_SIZE` and their `VLSH_` counterparts. What is not set is as in the
 * preset `lsh`; nothing set gives no options at all.
 */
export function resolverOptionsFrom(environment: Environment): ResolverOptions {
  const options: Record<string, unknown> = numbersOf(environment, NAMES)
  const vector: Record<string, unknown> = numbersOf(environment, VECTOR_NAMES)
  const shingle = numberOf(environment, 'LSH_SHINGLE_SIZE')
  if (shingle !== undefined) options['profile'] = `chars-${shingle}`
  refuseSeed(environment)
  for (const [name, value] of Object.entries(numbersOf(environment, SHARED_NAMES)))
    options[name] ??= value
  sizeSketch(options, vector)
  if (Object.keys(vector).length > 0) options['vector'] = { ...LSH_VECTOR, ...vector }
  if (Object.keys(options).length === 0) return {}
  return { preset: 'lsh', ...options }
}

/** The sketch of a preset may be too small for other bands; then it has what they need. */
function sizeSketch(options: Record<string, unknown>, vector: Record<string, unknown>): void {
  const { bands, rows } = options
  if (bands !== undefined || rows !== undefined) {
    options['bands'] ??= PRESETS.lsh.bands
    options['rows'] ??= PRESETS.lsh.rows
    options['slots'] = slotsFor(Number(options['bands']) * Number(options['rows']), 16)
  }
  if (vector['bands'] !== undefined || vector['rows'] !== undefined) {
    const bits =
      Number(vector['bands'] ?? LSH_VECTOR.bands) * Number(vector['rows'] ?? LSH_VECTOR.rows)
    vector['bits'] = slotsFor(bits, 8)
  }
}

function slotsFor(count: number, step: number): number {
  return Math.max(64, Math.ceil(count / step) * step)
}

function numbersOf(
  environment: Environment,
  names: Readonly<Record<string, string>>,
): Record<string, number> {
  const numbers: Record<string, number> = {}
  for (const [variable, name] of Object.entries(names)) {
    const value = numberOf(environment, variable)
    if (value !== undefined) numbers[name] = value
  }
  return numbers
}

function numberOf(environment: Environment, name: string): number | undefined {
  const text = environment[name]
  if (text === undefined || text.trim() === '') return undefined
  const value = Number(text)
  if (Number.isFinite(value)) return value
  throw new PrestigeError('INVALID_OPTIONS', `${name} is a number, not ${JSON.stringify(text)}.`)
}

function refuseSeed(environment: Environment): void {
  const seed = numberOf(environment, 'LSH_SEED')
  if (seed === undefined || seed === SEED) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `LSH_SEED ${seed} cannot be used: sketches of texts have one seed, so that they are the same everywhere. Unset it, or set ${SEED}.`,
  )
}
