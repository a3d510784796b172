/** What a store can be opened with. Help texts and docs are made from here. */

import * as v from 'valibot'

import type { CanonicalInput } from '../canonical/index.ts'
import type { Bytes } from '../platform/bytes.ts'
import type { ShingleProfile } from '../fingerprint/index.ts'
import type { MetricsSink, Tracer } from '../platform/telemetry.ts'
import { flag, given, oneOf, share } from '../platform/options.ts'
import type { SemanticInput } from './semantic/options.ts'

function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false
  return names.every((name) => typeof Reflect.get(value, name) === 'function')
}

const isFunction = (value: unknown) => typeof value === 'function'
const isCanonical = (value: unknown) => typeof value === 'string' || typeof value === 'object'

function count(help: string): v.GenericSchema<number> {
  const rule = 'must be a whole number from 1'
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(1, rule), v.description(help))
}

export const storeOptions = v.strictObject({
  namespace: v.optional(
    v.pipe(
      v.string('must be a string'),
      v.description('Stores of different namespaces in one location never see each other.'),
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
  durability: v.optional(
    oneOf(
      ['fsync', 'os'],
      'fsync (the default of a directory): acknowledged writes survive a power failure. os: they survive a crash of the process.',
    ),
  ),
  readOnly: v.optional(
    flag(
      'Of a directory: only read it, also on media that cannot be written. put and delete are refused.',
    ),
  ),
  timeoutMs: v.optional(
    count(
      'How long one operation waits for other processes, in milliseconds (30000). Then it fails with CONTENDED.',
    ),
  ),
  create: v.optional(flag('Make the store if it is not there, as is done by default.')),
  clock: v.optional(given<() => number>(isFunction, 'a function that returns milliseconds')),
  random: v.optional(
    given<(count: number) => Bytes>(isFunction, 'a function that returns random bytes'),
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
