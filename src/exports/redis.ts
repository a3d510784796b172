/** The subpath `redis`: an engine on Redis 7 or Valkey 8, alone or as a cluster. */

export {
  openRedis,
  RedisBackend,
  type RedisDurability,
  type RedisOptions,
} from '../backends/redis/index.ts'
