/** What a cache counts since it was opened, and sends to a sink of metrics. */

import { containedSinks } from '../platform/sinks.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import type { Found } from './find.ts'
import type { CacheStats } from './types.ts'

export class Tally {
  readonly #metrics: MetricsSink | undefined
  readonly #hits = { exact: 0, near: 0, semantic: 0 }
  readonly #counts = { misses: 0, vetoed: 0, ambiguous: 0, errors: 0 }
  #callsSaved = 0
  #tokensSaved = 0

  constructor(metrics: MetricsSink | undefined) {
    this.#metrics = containedSinks(metrics, undefined).metrics
  }

  found({ outcome, method, entry }: Found, isShadow: boolean, tookMs: number): void {
    this.#metrics?.histogram('prestige.answer_cache.lookup_us', tookMs * 1000)
    if (outcome === 'hit' && method) {
      this.#hits[method]++
      const labels = { method, shadow: String(isShadow) }
      this.#metrics?.counter('prestige.answer_cache.hit_total', 1, labels)
      if (!isShadow) this.saved(entry?.tokens ?? 0)
      return
    }
    this.#counts.misses++
    if (outcome === 'vetoed' || outcome === 'ambiguous') this.#counts[outcome]++
    this.#metrics?.counter('prestige.answer_cache.miss_total', 1, { reason: outcome })
  }

  /** A call that was not made. */
  saved(tokens: number): void {
    this.#callsSaved++
    this.#tokensSaved += tokens
    this.#metrics?.counter('prestige.answer_cache.calls_saved_total', 1)
    if (tokens > 0) this.#metrics?.counter('prestige.answer_cache.tokens_saved_total', tokens)
  }

  failed(): void {
    this.#counts.errors++
    this.#metrics?.counter('prestige.answer_cache.error_total', 1)
  }

  get stats(): Omit<CacheStats, 'keys' | 'bytes'> {
    const { exact, near, semantic } = this.#hits
    const hits = exact + near + semantic
    const lookups = hits + this.#counts.misses
    const hitRatio = lookups === 0 ? 0 : hits / lookups
    this.#metrics?.gauge('prestige.answer_cache.hit_ratio', hitRatio)
    return {
      lookups,
      hits: { ...this.#hits },
      ...this.#counts,
      hitRatio,
      callsSaved: this.#callsSaved,
      tokensSaved: this.#tokensSaved,
    }
  }
}
