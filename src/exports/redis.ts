/** The subpath `redis`: an engine on Redis 7 or Valkey 8, alone or as a cluster, and the spaces it is opened with. */

export {
  openRedis,
  RedisBackend,
  type RedisDurability,
  type RedisOptions,
} from '../backends/redis/index.ts'
export { dedupeSpaces } from '../dedupe/index.ts'
export { ledgerSpaces } from '../ledger/index.ts'
export { fingerprintSpaces } from '../fingerprint-store/index.ts'
export { resolverSpaces } from '../resolve/index.ts'
export { storeSpaces } from '../store/index.ts'
