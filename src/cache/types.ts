/** What goes into a cache and comes out of it. Types only. */

import type { JsonValue, SemanticVeto } from '../store/index.ts'

/** Of one call. */
export interface CacheCall {
  /**
   * All that an answer depends on besides the prompt: tenant, model, temperature, system prompt, tools. Any JSON; the order
   * of members does not matter. Prompts of different scopes never get each other's answers. Default: one scope.
   */
  readonly scope?: JsonValue | undefined
}

/** How an answer is kept. */
export interface CacheKeep extends CacheCall {
  /** What `invalidate` finds it by. */
  readonly tags?: readonly string[] | undefined
  /** Where the answer comes from: a document, a table. `invalidate` finds it by this. */
  readonly source?: string | undefined
  /** Milliseconds from now until the answer expires. Default: the cache's `ttlMs`. */
  readonly ttlMs?: number | undefined
  /** Tokens that the answer took, which `stats` counts as saved with every hit. Default: 0. */
  readonly tokens?: number | undefined
}

/** `exact`: the same prompt. `near`: the same wording, but for case and white space. `semantic`: the same meaning. */
export type CacheMethod = 'exact' | 'near' | 'semantic'

/** An answer, and why it is one to this prompt. */
export interface CacheHit<T extends JsonValue = JsonValue> {
  readonly answer: T
  readonly method: CacheMethod
  /** Cosine; 1 unless by meaning. */
  readonly similarity: number
  /** The prompt that the answer was given to. */
  readonly prompt: string
  /** Milliseconds since 1970. */
  readonly setAt: number
  readonly tags: readonly string[]
  readonly source: string | undefined
  /** For `feedback`. */
  readonly lookup: string
}

/** What one look into the cache found. */
export interface CacheLookup {
  /** For `feedback`. */
  readonly lookup: string
  readonly prompt: string
  /**
   * `vetoed`: all that is similar enough is kept apart. `ambiguous`: another prompt with another answer is about as similar.
   */
  readonly outcome: 'hit' | 'miss' | 'vetoed' | 'ambiguous'
  readonly method?: CacheMethod
  readonly similarity?: number
  /** The prompt whose answer is served, or would be but for the outcome. */
  readonly nearest?: string
  readonly vetoes?: readonly SemanticVeto[]
  /** Nothing was served because of `shadow`. */
  readonly isShadow: boolean
}

/** Counted since the cache was opened. */
export interface CacheStats {
  readonly lookups: number
  /** In shadow mode: those that would have been. */
  readonly hits: Readonly<Record<CacheMethod, number>>
  readonly misses: number
  /** Of the misses, those with something similar that is kept apart. */
  readonly vetoed: number
  readonly ambiguous: number
  /** Lookups that failed and counted as misses, with `onError: 'miss'`; also answers that could not be kept. */
  readonly errors: number
  /** Hits of all lookups; 0 without lookups. */
  readonly hitRatio: number
  /** Calls of wrapped functions that were not made: hits that were served, and calls that others were waiting for. */
  readonly callsSaved: number
  readonly tokensSaved: number
  /** Keys and bytes of the store, of all processes. */
  readonly keys: number
  readonly bytes: number
}
