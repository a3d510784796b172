/** Opens a cache: its embedder, and the store it keeps everything in. */

import type { Location } from '../backends/index.ts'
import { type Embedder, openEmbedder } from '../semantic/index.ts'
import { type Judge, openStore, type Rerank, type StoreOptions } from '../store/index.ts'
import { Cache } from './cache.ts'
import { type CacheOptions, type CheckedCacheOptions, readCacheOptions } from './options.ts'
import { promptOf, scopedEmbedder } from './scope.ts'

/**
 * Opens the cache at a location: a directory, `memory:`, `redis://…`, `dynamodb://…`, or a backend of one's own. It is a store
 * of its own, in a namespace where nothing else is.
 */
export async function openCache(location: Location, input: CacheOptions = {}): Promise<Cache> {
  const options = readCacheOptions(input)
  const { model } = options
  const opened =
    model === false || typeof model === 'object' ? undefined : await openEmbedder(model)
  const inner = typeof model === 'object' ? model : opened
  const embedder = inner && scopedEmbedder(inner)
  try {
    const store = await openStore(location, storeOptionsOf(options, embedder))
    return new Cache({ store, options, embedder, closeModel: async () => opened?.close() })
  } catch (error) {
    await opened?.close()
    throw error
  }
}

/** Only texts with the very same vector are linked: every other prompt is found by its own. */
const LINKED = 1

function storeOptionsOf(
  options: CheckedCacheOptions,
  embedder: Embedder | undefined,
): StoreOptions {
  const { namespace, durability, timeoutMs, create, clock, random, metrics } = options
  const { guards, judge, rerank, rerankMin, ttlMs, maxEntries, maxBytes } = options
  return {
    namespace,
    durability,
    timeoutMs,
    create,
    clock,
    random,
    metrics,
    maxBytes,
    defaultTtlMs: ttlMs,
    maxKeys: maxEntries && maxEntries * (embedder ? 2 : 1),
    dedup: embedder ? 'semantic' : 'exact',
    ...(embedder && {
      semantic: {
        embedder,
        threshold: LINKED,
        guards,
        ...(judge && { judge: judgePrompts(judge) }),
        ...(rerank && { rerank: rerankPrompts(rerank) }),
        ...(rerankMin !== undefined && { rerankMin }),
      },
    }),
  }
}

/** Callbacks of the user's see prompts, not texts with scopes. */
function judgePrompts(judge: Judge): Judge {
  return (a, b, similarity, options) => judge(promptOf(a), promptOf(b), similarity, options)
}

function rerankPrompts(rerank: Rerank): Rerank {
  return (a, b, options) => rerank(promptOf(a), promptOf(b), options)
}
