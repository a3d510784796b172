import { afterAll, beforeAll, describe, it } from 'vitest'

import {
  type RedisCluster,
  redisIsHere,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../../test/servers/redis.ts'
import { redis } from '../../../test/subjects.ts'
import { describeBackend } from '../conformance/index.ts'

let server: RedisServer
let cluster: RedisCluster

describe.runIf(redisIsHere())('on real servers', () => {
  beforeAll(async () => {
    ;[server, cluster] = await Promise.all([startRedis(), startRedisCluster()])
  }, 60_000)
  afterAll(async () => {
    await Promise.all([server?.stop(), cluster?.stop()])
  })

  describeBackend(
    { describe, it },
    redis('redis', () => server.url),
  )
  describeBackend(
    { describe, it },
    redis('redis cluster', () => cluster.url),
  )
})
