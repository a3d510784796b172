/**
 * What is known of a metric beside its name: its unit, which its name ends with; suitable buckets; and a description.
 * A name that is not listed here is sent all the same.
 */

export interface MetricInfo {
  /** As UCUM spells it. */
  readonly unit: string
  readonly description: string
  /** Upper bounds of buckets, ascending; what is larger than all of them counts too. */
  readonly buckets: readonly number[]
}

const OPERATION: Readonly<Record<string, string>> = {
  calls: 'Calls that have ended.',
  ok_total: 'Calls that succeeded and found what they were asked for.',
  not_found_total: 'Calls whose key was not there.',
  expired_total: 'Of the keys that were not there, those that had expired.',
  error_total: 'Calls that failed, other than by contention.',
  timed_out_total: 'Calls that failed because others wrote the same rows all the time.',
  retry_total: 'Transactions that were run again because of conflicts.',
  dedup_hit_total: 'Puts of a content that was there already.',
  dedup_miss_total: 'Puts of a content that was not there.',
  object_created_total: 'Contents stored.',
  noop_overwrite_total: 'Puts that left their key as it was.',
  embed_error_total: 'Texts that could not be embedded.',
  latency_us: 'Time from call to answer.',
  attempts: 'Transactions run for one call.',
  sha256_us: 'Time to hash a value.',
  normalize_us: 'Time to bring a value into its canonical form, and to hash that.',
  embed_us: 'Time to embed a text.',
  commit_us: 'Time in transactions, without embedding.',
  value_bytes: 'Length of a value.',
  user_lookup_us: 'Time to find the entry of a key.',
  object_lookup_us: 'Time to read and check its content.',
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  'prestige.txn.wait_us': 'Time until the engine began a transaction it was asked for.',
  'prestige.gc.deleted_objects_total': 'Contents freed by puts and deletes.',
  'prestige.sweep.deleted_total': 'Contents freed by collect.',
  'prestige.sweep.expired_total': 'Expired keys removed by collect.',
  'prestige.evict.deleted_total': 'Keys removed by eviction.',
  'prestige.prune.deleted_total': 'Keys removed by prune.',
  'prestige.lru.update_total': 'Uses of keys that were recorded.',
  'prestige.lru.skip_total': 'Uses of keys that were recent enough to be left out.',
  'prestige.answer_cache.hit_total': 'Lookups of a cache that found an answer.',
  'prestige.answer_cache.miss_total': 'Lookups of a cache without an answer to serve.',
  'prestige.answer_cache.error_total':
    'Lookups that failed and were misses, and answers that could not be kept.',
  'prestige.answer_cache.calls_saved_total': 'Calls that a cache made unnecessary.',
  'prestige.answer_cache.tokens_saved_total': 'Tokens of answers that were served again.',
  'prestige.answer_cache.lookup_us': 'Time of a lookup in a cache.',
  'prestige.answer_cache.hit_ratio': 'Lookups with an answer, of all since the cache was opened.',
  'prestige.close.ok_total': 'Stores closed.',
  'prestige.close.flush_error_total': 'Stores that could not be brought to the disk when closed.',
  'prestige.close.vector_save_ok_total': 'Semantic indexes saved when closing.',
  'prestige.close.vector_save_error_total':
    'Semantic indexes that could not be saved when closing.',
  'prestige.store.total_keys': 'Keys stored.',
  'prestige.store.total_objects': 'Distinct contents stored.',
  'prestige.store.total_bytes': 'Bytes of all distinct contents.',
  'prestige.store.dedup_ratio': 'Bytes of all values divided by bytes of contents.',
  'prestige.semantic.hit_total': 'Texts found to mean the same as one that is stored.',
  'prestige.semantic.miss_total': 'Texts that mean the same as nothing stored.',
  'prestige.semantic.stale_match_total': 'Searches repeated because of concurrent writes.',
  'prestige.semantic.lookup_us': 'Time to search the index of vectors.',
  'prestige.semantic.candidates_checked': 'Candidates of a text, all measured exactly.',
  'prestige.semantic.rerank_us': 'Time a reranker took.',
  'prestige.semantic.reranker_hit': 'Pairs that a reranker accepted.',
  'prestige.semantic.reranker_score': 'Score a reranker gave.',
  'prestige.semantic.judge_us': 'Time a judge took.',
  'prestige.semantic.judge_accepted': 'Pairs that a judge accepted.',
  'prestige.semantic.judge_rejected': 'Pairs that a judge rejected.',
  'prestige.semantic.judge_error': 'Questions that a judge did not answer.',
  'prestige.semantic.index_save_ok_total': 'Semantic indexes saved.',
  'prestige.semantic.index_save_error_total': 'Semantic indexes that could not be saved.',
}

const DECADES = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]
const OF_TEN = [1, 2.5, 5]
const MICROSECONDS = [...DECADES.flatMap((ten) => OF_TEN.map((part) => part * ten)), 10_000_000]
const SECONDS = MICROSECONDS.map((us) => us / 1_000_000)
const BYTES = Array.from({ length: 13 }, (_, power) => 64 * 4 ** power)
const COUNTS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000]
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1]

const UNITS: readonly (readonly [end: RegExp, unit: string, buckets: readonly number[]])[] = [
  [/_us$/, 'us', MICROSECONDS],
  [/\.duration$/, 's', SECONDS],
  [/_bytes$/, 'By', BYTES],
  [/_pct$/, '%', SHARES.map((share) => share * 100)],
  [/_(?:rate|ratio|score)$|\.dominance$/, '1', SHARES],
]

export function infoOf(name: string): MetricInfo {
  const [, unit = '', buckets = COUNTS] = UNITS.find(([end]) => end.test(name)) ?? []
  return { unit, buckets, description: descriptionOf(name) }
}

function descriptionOf(name: string): string {
  const [, operation, measured = ''] = /^prestige\.(get|put|delete)\.(\w+)$/.exec(name) ?? []
  const listed = operation === undefined ? DESCRIPTIONS[name] : OPERATION[measured]
  return listed ?? `${name}, as docs/metrics.md describes it.`
}
