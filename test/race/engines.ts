/** An engine that several processes can share, made for one race. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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
  throw new Error(`There is no engine ${name}: lmdb, redis or dynamodb.`)
}
