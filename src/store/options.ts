/** What a store can be opened with. Help texts and docs are made from here. */

import * as v from 'valibot'

import type { CanonicalInput } from '../canonical/index.ts'
import type { Bytes } from '../bytes.ts'
import type { MetricsSink, Tracer } from '../model.ts'
import { flag, given, oneOf } from '../options.ts'

function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false
  return names.every((name) => typeof Reflect.get(value, name) === 'function')
}

const isFunction = (value: unknown) => typeof value === 'function'
const isCanonical = (value: unknown) => typeof value === 'string' || typeof value === 'object'

export const storeOptions = v.strictObject({
  namespace: v.optional(
    v.pipe(
      v.string('must be a string'),
      v.description('Stores of different namespaces in one location never see each other.'),
    ),
  ),
  dedup: v.optional(oneOf(['exact'], 'How duplicates are found.')),
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
  durability: v.optional(
    oneOf(
      ['fsync', 'os'],
      'fsync (the default of a directory): acknowledged writes survive a power failure. os: they survive a crash of the process.',
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
