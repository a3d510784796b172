/** What a store can be opened with. Help texts and docs are made from here. */

import * as v from 'valibot'

import type { CanonicalInput } from '../canonical/index.ts'
import type { ShingleProfile } from '../fingerprint/index.ts'
import type { MetricsSink, Tracer } from '../platform/telemetry.ts'
import { flag, given, locationOptions, oneOf, share } from '../platform/options.ts'
import type { SemanticInput } from './semantic/options.ts'

function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false
  return names.every((name) => typeof Reflect.get(value, name) === 'function')
}

const isCanonical = (value: unknown) => typeof value === 'string' || typeof value === 'object'

function count(help: string): v.GenericSchema<number> {
  const rule = 'must be a whole number from 1'
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(1, rule), v.description(help))
}

export const storeOptions = v.strictObject({
  ...locationOptions,
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
          'auto, or chars, words or codepoints with an optional -1 to -32',
        ),
      ),
      slots: v.optional(count('Slots of a sketch, a multiple of 16 from 64 to 512.')),
      bands: v.optional(count('Bands of a sketch; chosen by threshold if not given.')),
      rows: v.optional(count('Slots in a band.')),
      candidatesMax: v.optional(count('The most candidates that are measured (100).')),
      bucketMax: v.optional(count('Buckets of more representatives are passed over (1000).')),
    }),
  ),
  semantic: v.optional(
    given<SemanticInput>(
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
  gc: v.optional(
    oneOf(
      ['immediate', 'manual'],
      'immediate: content nobody refers to is gone when delete resolves. manual: it stays until collect().',
    ),
    'immediate',
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
})

export type StoreInput = v.InferInput<typeof storeOptions>
export type StoreOptions = v.InferOutput<typeof storeOptions>
