/**
 * The semantic cache: answers by prompt, found again by the same prompt, by the same wording, or by what means the same.
 *
 * Invariant: an answer is served only for a prompt of its own scope, that no guard, reranker, judge or label keeps apart from
 * the one it was given for, and that is clearly nearer to it than to any other.
 *
 * Not here: storing, expiry, eviction and the search by meaning, which are the store's.
 */

export { Cache, type WrapOptions } from './cache.ts'
export { openCache } from './open.ts'
export type { CacheCall, CacheHit, CacheKeep, CacheLookup, CacheStats } from './types.ts'
export type { CacheOptions } from './options.ts'
export type { InvalidateOptions } from './invalidate.ts'
