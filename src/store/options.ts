/** What a store can be opened with. Help texts and docs are made from here. */

import * as v from 'valibot'

import type { Bytes } from '../platform/bytes.ts'
import type { CanonicalInput } from '../canonical/index.ts'
import { type JudgementOptions, judgementOptions } from '../compare/index.ts'
import type { ShingleProfile } from '../fingerprint/index.ts'
import type { MetricsSink, Tracer } from '../platform/telemetry.ts'
import {
  flag,
  given,
  locationOptions,
  oneOf,
  share,
  type WithDefaults,
} from '../platform/options.ts'
import { type ChangeFeedOptions, changesOption } from './changes/settings.ts'
import type { Compression } from './contents/compression.ts'
import { type LifecycleOptions, lifecycleOptions } from './lifecycle/options.ts'
import type { SemanticOptions } from './semantic/options.ts'

function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false
  return names.every((name) => typeof Reflect.get(value, name) === 'function')
}

const isCanonical = (value: unknown) => typeof value === 'string' || typeof value === 'object'

function count(help: string): v.GenericSchema<number> {
  const rule = 'must be a whole number from 1'
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(1, rule), v.description(help))
}

function milliseconds(least: number, most: number, help: string): v.GenericSchema<number> {
  const rule = `must be a number from ${least} to ${most}`
  return v.pipe(
    v.number(rule),
    v.minValue(least, rule),
    v.maxValue(most, rule),
    v.description(help),
  )
}

/** How near duplicates are found, with `dedup: 'near'` or `'hybrid'`. All but the last two are remembered. */
export interface NearOptions extends JudgementOptions {
  /** Minimum Jaccard similarity of texts that are linked: above 0, up to 1. Default: 0.8. */
  readonly threshold?: number | undefined
  /** How texts are cut into shingles: `adaptive`, `auto`, or `chars`, `words`, `codepoints` with a width (`words-5`). Default: `adaptive`. */
  readonly profile?: ShingleProfile | undefined
  /** Slots of a sketch, a multiple of 16 from 64 to 512. Default: 128; 256 up to a threshold of 0.6. */
  readonly slots?: number | undefined
  /** Bands of a sketch, given with `rows`. Default: chosen by the threshold. */
  readonly bands?: number | undefined
  /** Slots in a band, given with `bands`. Default: chosen by the threshold. */
  readonly rows?: number | undefined
  /**
   * Find texts that contain another, or are contained in it, with `similar` and `explain`. `min`: the share of either
   * text that is in the other. Needs a directory or memory. Default: not looked for; `min`: 0.8.
   */
  readonly containment?: { readonly min?: number | undefined } | undefined
  /** The most candidates that are measured for one text. Default: 100. */
  readonly candidatesMax?: number | undefined
  /** Buckets of more representatives are passed over. Default: 1000. */
  readonly bucketMax?: number | undefined
}

/** How long values are cut into chunks. */
export interface ChunkOptions {
  /** Longer values are cut: a number of bytes from 64. Default: 65,536. */
  readonly fromBytes?: number | undefined
  /** The length of a chunk, on average: a power of two from 256. Default: 8,192. */
  readonly averageBytes?: number | undefined
}

/** What a store is opened with. What was not said of an existing store is as the store has it. */
export interface StoreOptions extends LifecycleOptions {
  /** Stores of different namespaces in one location never see each other. Default: the unnamed one. */
  readonly namespace?: string | undefined
  /**
   * `exact`: identical bytes are kept once. `near`: similar texts are linked as well. `semantic`: texts that mean the
   * same are. `hybrid`: both. Default: `exact`.
   */
  readonly dedup?: 'exact' | 'near' | 'semantic' | 'hybrid' | undefined
  /** How near duplicates are found, with `dedup: 'near'` or `'hybrid'`. */
  readonly near?: NearOptions | undefined
  /** How texts that mean the same are found, with `dedup: 'semantic'` or `'hybrid'`. */
  readonly semantic?: SemanticOptions | undefined
  /** The form in which values are compared: the name of a profile, or a function with a version. Default: `none`. */
  readonly canonical?: CanonicalInput | undefined
  /** A value that the canonical profile cannot read: `error` refuses it, `bytes` keeps it as it is. Default: `error`. */
  readonly onUnreadable?: 'error' | 'bytes' | undefined
  /**
   * `own`: every key gets its own bytes back. `representative`: values that are the same in canonical form, or near,
   * share the bytes of the first one. Default: `own`.
   */
  readonly fidelity?: 'own' | 'representative' | undefined
  /**
   * Values longer than `fromBytes` (64 KiB) are cut into chunks of about `averageBytes` (8 KiB, a power of two from
   * 256), each kept once in a namespace. `false`: only what does not fit into a row of the engine. Remembered.
   */
  readonly chunks?: ChunkOptions | false | undefined
  /**
   * Values that are linked to a similar one are kept as what differs from it, where that takes less than half. Every key
   * still gets its own bytes. Remembered. Default: `true` with `dedup: 'near'` or `'hybrid'` and `fidelity: 'own'`.
   */
  readonly deltas?: boolean | undefined
  /** How contents of 4 KiB and more are compressed; may differ each time a store is opened. Default: `fast`. */
  readonly compression?: Compression | undefined
  /**
   * When content without a key goes. `immediate`: before `delete` resolves. `background`: after `gcGraceMs`, a little at a
   * time while the store is open. `manual`: at `collect()`. `never`: it stays, and `collect()` is refused. Default:
   * `immediate`.
   */
  readonly gc?: 'immediate' | 'background' | 'manual' | 'never' | undefined
  /**
   * With `gc: 'background'`: milliseconds that content stays after its last key is gone. A put of the same bytes within
   * them writes nothing but the key. Default: 60,000.
   */
  readonly gcGraceMs?: number | undefined
  /**
   * With `gc: 'background'`: milliseconds of collecting in a second, from 1 to 1000. Where more is released than that
   * can collect, up to 500 are used. Default: 100.
   */
  readonly gcBudgetMs?: number | undefined
  /**
   * Record every change of a key for `changes()`, and keep it for a week, up to 1,000,000 changes, or as long as this says.
   * Remembered. Can be turned on for a store that exists only in a directory that nobody else has open. Default: `false`.
   */
  readonly changes?: boolean | ChangeFeedOptions | undefined
  /** Check every value against its SHA-256 before it is returned or relied on. Default: `true`. */
  readonly verifyReads?: boolean | undefined
  /**
   * `fsync`: acknowledged writes survive a power failure. `os`: they survive a crash of the process. Default of a
   * directory: `fsync`.
   */
  readonly durability?: 'fsync' | 'os' | undefined
  /** Of a directory: only read it, also on media that cannot be written. Default: `false`. */
  readonly readOnly?: boolean | undefined
  /** Milliseconds that one operation waits for other processes before it fails with `CONTENDED`. Default: 30,000. */
  readonly timeoutMs?: number | undefined
  /**
   * On Redis and DynamoDB: how often a transaction is run again because others changed the same rows, before it fails
   * with `CONTENDED`. Default: 999 on Redis, 199 on DynamoDB.
   */
  readonly retriesMax?: number | undefined
  /** Create the store if it is missing; `false` makes that an error. Default: `true`. */
  readonly create?: boolean | undefined
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: (() => number) | undefined
  /** So many random bytes. Default: the system's. */
  readonly random?: ((count: number) => Bytes) | undefined
  /** Where counters, histograms and gauges go. Default: nowhere. */
  readonly metrics?: MetricsSink | undefined
  /** Where spans go. Default: nowhere. */
  readonly tracer?: Tracer | undefined
}

/** Defaults filled in. */
export type CheckedStoreOptions = WithDefaults<StoreOptions, 'onUnreadable' | 'gc' | 'verifyReads'>

const RETRIES = 'must be a whole number from 0'

export const storeOptions = v.strictObject({
  ...locationOptions,
  retriesMax: v.optional(
    v.pipe(
      v.number(RETRIES),
      v.integer(RETRIES),
      v.minValue(0, RETRIES),
      v.description(
        'On Redis and DynamoDB: how often a transaction is run again because others changed the same rows. Then it fails with CONTENDED.',
      ),
    ),
  ),
  dedup: v.optional(
    oneOf(
      ['exact', 'near', 'semantic', 'hybrid'],
      'exact: identical bytes are kept once. near: texts that are alike are linked as well. semantic: texts that mean the same are. hybrid: both.',
    ),
  ),
  near: v.optional(
    v.strictObject({
      threshold: v.optional(share('Texts of at least this Jaccard similarity are linked (0.8).')),
      profile: v.optional(
        given<ShingleProfile>(
          (value) => typeof value === 'string',
          'adaptive, auto, or chars, words or codepoints with an optional -1 to -32',
        ),
      ),
      slots: v.optional(count('Slots of a sketch, a multiple of 16 from 64 to 512.')),
      bands: v.optional(count('Bands of a sketch; chosen by threshold if not given.')),
      rows: v.optional(count('Slots in a band.')),
      ...judgementOptions,
      containment: v.optional(
        v.strictObject({
          min: v.optional(share('Minimum share of either text that is in the other (0.8).')),
        }),
      ),
      candidatesMax: v.optional(count('The most candidates that are measured (100).')),
      bucketMax: v.optional(count('Buckets of more representatives are passed over (1000).')),
    }),
  ),
  semantic: v.optional(
    given<SemanticOptions>(
      (value) => typeof value === 'object' && value !== null,
      'how texts of like meaning are found',
    ),
  ),
  canonical: v.optional(
    given<CanonicalInput>(isCanonical, 'the name of a profile or { version, canonicalise }'),
  ),
  onUnreadable: v.optional(
    oneOf(['error', 'bytes'], 'What to do with a value the canonical profile cannot read.'),
    'error',
  ),
  fidelity: v.optional(
    oneOf(
      ['own', 'representative'],
      'own: every key gets its own bytes back. representative: values that are the same after canonicalisation share the first one.',
    ),
  ),
  chunks: v.optional(
    v.union(
      [
        v.literal(false),
        v.strictObject({
          fromBytes: v.optional(count('Longer values are cut into chunks (65536).')),
          averageBytes: v.optional(count('Bytes of a chunk, a power of two from 256 (8192).')),
        }),
      ],
      'must be false or { fromBytes, averageBytes }',
    ),
  ),
  deltas: v.optional(
    flag('Keep values that are linked to a similar one as what differs from it (true).'),
  ),
  compression: v.optional(
    oneOf(
      ['none', 'fast', 'small'],
      'How contents of 4 KiB and more are compressed: not, in little time, or in few bytes.',
    ),
  ),
  gc: v.optional(
    oneOf(
      ['immediate', 'background', 'manual', 'never'],
      'immediate: content nobody refers to is gone when delete resolves. background: some time later. manual: it stays until collect(). never: it stays.',
    ),
    'immediate',
  ),
  ...lifecycleOptions,
  changes: v.optional(changesOption),
  gcGraceMs: v.optional(
    milliseconds(
      0,
      2 ** 47,
      'With gc background: how long content nobody refers to stays (60000).',
    ),
  ),
  gcBudgetMs: v.optional(
    milliseconds(1, 1000, 'With gc background: milliseconds of collecting in a second (100).'),
  ),
  verifyReads: v.optional(
    flag(
      'Check every value against its SHA-256 before it is returned, and a known content before a put relies on it (true).',
    ),
    true,
  ),
  readOnly: v.optional(
    flag(
      'Of a directory: only read it, also on media that cannot be written. put and delete are refused.',
    ),
  ),
  metrics: v.optional(
    given<MetricsSink>(
      (value) => hasMethods(value, 'counter', 'histogram', 'gauge'),
      'an object with counter, histogram and gauge',
    ),
  ),
  tracer: v.optional(
    given<Tracer>((value) => hasMethods(value, 'startSpan'), 'an object with startSpan'),
  ),
}) satisfies v.GenericSchema<StoreOptions>
