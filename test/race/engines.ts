/** An engine that several processes can share, made for one race. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createTables } from '../../src/backends/dynamodb/index.ts'
import { startDynamo } from '../servers/dynamodb.ts'
import { startRedis } from '../servers/redis.ts'

export interface SharedEngine {
  readonly location: string
  stop(): Promise<void>
}

export async function sharedEngine(name: string): Promise<SharedEngine> {
  if (name === 'lmdb') {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-race-'))
    const stop = () => rm(directory, { recursive: true })
    return { location: join(directory, 'store'), stop }
  }
  if (name === 'redis') {
    const server = await startRedis()
    return { location: server.url, stop: () => server.stop() }
  }
  if (name === 'dynamodb') {
    const server = await startDynamo()
    const location = server.location('race')
    await createTables(location)
    return { location, stop: () => server.stop() }
  }
  throw new Error(`There is no engine ${name}: lmdb, redis or dynamodb.`)
}
