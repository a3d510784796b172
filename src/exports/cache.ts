/** The subpath `cache`: answers by prompt, also by one that asks the same in other words. */

export { openCache } from '../cache/index.ts'
export type {
  Cache,
  CacheCall,
  CacheHit,
  CacheKeep,
  CacheLookup,
  CacheOptions,
  CacheStats,
  InvalidateOptions,
  WrapOptions,
} from '../cache/index.ts'
