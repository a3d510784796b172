/** What fingerprints can be opened with. */

import * as v from 'valibot'

import type { CanonicalInput } from '../canonical/index.ts'
import type { ShingleProfile } from '../fingerprint/index.ts'
import type { Bytes } from '../platform/bytes.ts'
import { given, locationOptions, share, sinkOption } from '../platform/options.ts'
import type { MetricsSink } from '../platform/telemetry.ts'

export const METHODS = ['simhash', 'minhash', 'chunks'] as const
export type FingerprintMethod = (typeof METHODS)[number]
/** Within so many bits, two hashes share one of four parts of sixteen bits. */
export const DISTANCE_MAX = 3

/** What fingerprints are opened with. What was not said of those that exist is as they were written. */
export interface FingerprintsOptions {
  /** Fingerprints of different namespaces in one location never see each other. Default: the unnamed one. */
  readonly namespace?: string | undefined
  /** What is made of a text. Default: `simhash`, `minhash` and `chunks`. */
  readonly methods?: readonly FingerprintMethod[] | undefined
  /** Minimum estimated Jaccard similarity of MinHash signatures that match: above 0, up to 1. Default: 0.8. */
  readonly threshold?: number | undefined
  /** The most bits in which SimHashes that match differ, 0 to 3. Default: 3. */
  readonly distanceMax?: number | undefined
  /** How texts are cut into shingles: `adaptive`, `auto`, or `chars`, `words`, `codepoints` with a width (`words-5`). Default: `adaptive`. */
  readonly profile?: ShingleProfile | undefined
  /** The form in which texts are compared: the name of a profile, or a function with a version. Default: `unicode`. */
  readonly canonical?: CanonicalInput | undefined
  /** Numbers in a MinHash signature, a multiple of 16 from 64 to 512. Default: 128; 256 up to a threshold of 0.6. */
  readonly slots?: number | undefined
  /** Bands of a signature, given with `rows`. Default: chosen by the threshold. */
  readonly bands?: number | undefined
  /** Numbers in a band, given with `bands`. Default: chosen by the threshold. */
  readonly rows?: number | undefined
  /** Average bytes of the chunks of a text, a power of two from 256 to 1 MiB. Default: 1024. */
  readonly chunkBytes?: number | undefined
  /** Milliseconds after which fingerprints no longer match and `prune()` removes them. Default: never. */
  readonly retentionMs?: number | undefined
  /** The most candidates that one search ranks. Default: 100. */
  readonly candidatesMax?: number | undefined
  /** Buckets of more documents are passed over. Default: 1000; 200 on shared engines. */
  readonly bucketMax?: number | undefined
  /** As for a store. Default of a directory: `fsync`. */
  readonly durability?: 'fsync' | 'os' | undefined
  /** Create them if they are missing; `false` makes that an error. Default: `true`. */
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

const isCanonical = (value: unknown) => typeof value === 'string' || typeof value === 'object'
const isText = (value: unknown) => typeof value === 'string'
const TIME = 'must be a number of milliseconds from 1'
const DISTANCE = `must be a whole number from 0 to ${DISTANCE_MAX}`

function areMethods(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false
  return value.every((one) => METHODS.some((method) => method === one))
}

function whole(help: string): v.GenericSchema<number> {
  const rule = 'must be a whole number from 1'
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(1, rule), v.description(help))
}

export const fingerprintsOptions = v.strictObject({
  ...locationOptions,
  methods: v.optional(
    given<readonly FingerprintMethod[]>(areMethods, `a list of ${METHODS.join(', ')}`),
  ),
  threshold: v.optional(share('Minimum estimated Jaccard similarity of MinHash signatures (0.8).')),
  distanceMax: v.optional(
    v.pipe(
      v.number(DISTANCE),
      v.integer(DISTANCE),
      v.minValue(0, DISTANCE),
      v.maxValue(DISTANCE_MAX, DISTANCE),
      v.description('The most bits in which SimHashes that match differ (3).'),
    ),
  ),
  profile: v.optional(
    given<ShingleProfile>(
      isText,
      'adaptive, auto, or chars, words or codepoints with an optional -1 to -32',
    ),
  ),
  canonical: v.optional(
    given<CanonicalInput>(
      isCanonical,
      'the name of a canonical profile or { version, canonicalise }',
    ),
  ),
  slots: v.optional(whole('Numbers in a MinHash signature, a multiple of 16 from 64 to 512.')),
  bands: v.optional(whole('Bands of a signature; chosen by threshold if not given.')),
  rows: v.optional(whole('Numbers in a band.')),
  chunkBytes: v.optional(whole('Average bytes of the chunks of a text, a power of two (1024).')),
  retentionMs: v.optional(
    v.pipe(
      v.number(TIME),
      v.minValue(1, TIME),
      v.description('Older fingerprints no longer match, and prune() removes them.'),
    ),
  ),
  candidatesMax: v.optional(whole('The most candidates that one search ranks (100).')),
  bucketMax: v.optional(
    whole('Buckets of more documents are passed over (1000; 200 on shared engines).'),
  ),
  metrics: v.optional(sinkOption),
})
