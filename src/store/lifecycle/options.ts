/** What of the store's options is about the use of keys. Help texts and docs are made from here. */

import * as v from 'valibot'

import { oneOf, share } from '../../platform/options.ts'

export interface LifecycleOptions {
  /**
   * The most bytes of contents. What exceeds it goes, the least recently used keys first, before the put resolves.
   * Not remembered; that uses of keys are recorded is. Default: no limit.
   */
  readonly maxBytes?: number | undefined
  /** The most keys. As `maxBytes`. */
  readonly maxKeys?: number | undefined
  /** The share of its bounds that a store is reduced to once it exceeds one: above 0, up to 1. Default: 0.9. */
  readonly evictTo?: number | undefined
  /**
   * How precisely uses of keys are recorded: a read is, if the last recorded use is at least so many milliseconds ago.
   * Given without a bound, uses are recorded and nothing is evicted. Default: 60,000.
   */
  readonly recencyMs?: number | undefined
  /** `ttlMs` of a put that gives none. Default: keys do not expire. */
  readonly defaultTtlMs?: number | undefined
  /** `absolute`: a key expires `ttlMs` after it was put. `sliding`: after its last read. Default: `absolute`. */
  readonly expiry?: 'absolute' | 'sliding' | undefined
}

export type CheckedLifecycleOptions = LifecycleOptions & { readonly readOnly?: boolean | undefined }

function whole(least: 0 | 1, help: string): v.GenericSchema<number> {
  const rule = `must be a whole number from ${least}`
  return v.pipe(v.number(rule), v.safeInteger(rule), v.minValue(least, rule), v.description(help))
}

export const lifecycleOptions = {
  maxBytes: v.optional(whole(1, 'The most bytes of contents; the least recently used keys go.')),
  maxKeys: v.optional(whole(1, 'The most keys; the least recently used go.')),
  evictTo: v.optional(share('The share of its bounds that a store is reduced to (0.9).')),
  recencyMs: v.optional(
    whole(0, 'Reads are recorded if the last use is so many milliseconds ago (60000).'),
  ),
  defaultTtlMs: v.optional(whole(1, 'Time to live of a put that gives none, in milliseconds.')),
  expiry: v.optional(
    oneOf(
      ['absolute', 'sliding'],
      'absolute: keys expire ttlMs after they were put. sliding: after they were last read.',
    ),
  ),
}
