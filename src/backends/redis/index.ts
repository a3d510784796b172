/** An engine on Redis 7 or Valkey 8, alone or as a cluster. */

export { openRedis, RedisBackend, type RedisOptions } from './backend.ts'
export type { RedisDurability } from './server.ts'
export { RedisRows } from './shared-rows.ts'
