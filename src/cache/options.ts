/** What a cache can be opened with. */

import * as v from 'valibot'

import { type GuardOptions, guardsOption } from '../compare/index.ts'
import {
  flag,
  given,
  locationOptions,
  oneOf,
  readOptions,
  share,
  sinkOption,
  type WithDefaults,
} from '../platform/options.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import type { Embedder } from '../semantic/index.ts'
import type { Judge, Rerank } from '../store/index.ts'
import type { CacheLookup } from './types.ts'

/** What a cache is opened with. Embedder and guards are remembered; the rest may differ each time. */
export interface CacheOptions {
  /** An embedder of one's own, the name of a model, or the directory of one. `false`: only equal wording is found. Default: `all-MiniLM-L6-v2`. */
  readonly model?: Embedder | string | false | undefined
  /** Minimum cosine of prompts that get one answer: above 0, up to 1. No default with a model: try 0.9 in shadow mode, then `tune`. */
  readonly threshold?: number | undefined
  /**
   * By what share the distance (1 less the cosine) of the nearest prompt must be less than that of any other whose answer
   * differs, else none is served: 0 to 1. Default: 0.3.
   */
  readonly margin?: number | undefined
  /** What keeps two prompts apart however alike they are; `false`: nothing does. Default: as in stores that compare meanings. */
  readonly guards?: GuardOptions | false | undefined
  /** How much alike two prompts are, read together; given with `rerankMin`. Default: none. */
  readonly rerank?: Rerank | undefined
  /** A lower answer of `rerank` keeps two prompts apart. */
  readonly rerankMin?: number | undefined
  /** Says whether two prompts ask the same. What it throws means no. Default: none. */
  readonly judge?: Judge | undefined
  /** Milliseconds until an answer expires, counted from when it was set. Default: answers do not expire. */
  readonly ttlMs?: number | undefined
  /** The most answers, about; the least recently used go. Default: no limit. */
  readonly maxEntries?: number | undefined
  /** The most bytes of prompts and answers; the least recently used go. Default: no limit. */
  readonly maxBytes?: number | undefined
  /** Serve nothing, and count and report what would have been served. Default: `false`. */
  readonly shadow?: boolean | undefined
  /** A read that fails: `throw`, or `miss`, so that the answer is asked for again. Default: `throw`. */
  readonly onError?: 'throw' | 'miss' | undefined
  /** Called with every lookup. */
  readonly onLookup?: ((lookup: CacheLookup) => void) | undefined
  /** Caches of different namespaces in one location never see each other. Default: the unnamed one. */
  readonly namespace?: string | undefined
  /** `fsync`: acknowledged writes survive a power failure. `os`: they survive a crash of the process. Default of a directory: `fsync`. */
  readonly durability?: 'fsync' | 'os' | undefined
  /** Milliseconds that one operation waits for other processes before it fails with `CONTENDED`. Default: 30,000. */
  readonly timeoutMs?: number | undefined
  /** Create the cache if it is missing; `false` makes that an error. Default: `true`. */
  readonly create?: boolean | undefined
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: (() => number) | undefined
  /** So many random bytes. Default: the system's. */
  readonly random?: ((count: number) => Uint8Array) | undefined
  /** Where counters, histograms and gauges go. Default: nowhere. */
  readonly metrics?: MetricsSink | undefined
}

export type CheckedCacheOptions = WithDefaults<CacheOptions, 'margin' | 'onError' | 'shadow'>

const isObject = (value: unknown) => typeof value === 'object' && value !== null
const isFunction = (value: unknown) => typeof value === 'function'

function whole(help: string): v.GenericSchema<number> {
  const rule = 'must be a whole number from 1'
  return v.pipe(v.number(rule), v.safeInteger(rule), v.minValue(1, rule), v.description(help))
}

const MARGIN = 'must be a number from 0 to 1'

const cacheOptions = v.strictObject({
  ...locationOptions,
  model: v.optional(
    given<Embedder | string | false>(
      (value) => value === false || typeof value === 'string' || isObject(value),
      'an embedder, the name of a model, the directory of one, or false',
    ),
  ),
  threshold: v.optional(share('Prompts of at least this cosine get one answer, unless vetoed.')),
  margin: v.optional(
    v.pipe(
      v.number(MARGIN),
      v.minValue(0, MARGIN),
      v.maxValue(1, MARGIN),
      v.description('By what share the nearest prompt must be nearer than any other (0.3).'),
    ),
    0.3,
  ),
  guards: guardsOption,
  rerank: v.optional(given<Rerank>(isFunction, 'a function of two texts that returns a number')),
  rerankMin: v.optional(v.number('must be a number')),
  judge: v.optional(given<Judge>(isFunction, 'a function of two texts that returns true or false')),
  ttlMs: v.optional(whole('Milliseconds until an answer expires.')),
  maxEntries: v.optional(whole('The most answers; the least recently used go.')),
  maxBytes: v.optional(whole('The most bytes; the least recently used go.')),
  shadow: v.optional(flag('Serve nothing, and report what would have been served (false).'), false),
  onError: v.optional(oneOf(['throw', 'miss'], 'What a read that fails is (throw).'), 'throw'),
  onLookup: v.optional(given<(lookup: CacheLookup) => void>(isFunction, 'a function')),
  metrics: v.optional(sinkOption),
}) satisfies v.GenericSchema<CacheOptions>

export function readCacheOptions(input: CacheOptions): CheckedCacheOptions {
  const options = readOptions(cacheOptions, input, 'Cache options')
  if (options.model !== false && options.threshold === undefined) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      'threshold is missing, and no value fits all models and prompts. Give one: 0.9 with shadow: true, and tune() once there is feedback. Or model: false to find equal wording only.',
    )
  }
  return options
}
