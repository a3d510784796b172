/**
 * What a server is and what it promises, asked once at open. A server that may throw rows away, is too old, or
 * cannot be written to is refused by name: a store that silently loses digests stores duplicates.
 *
 * What the server does not report (managed ones often forbid CONFIG) is said to be unknown, never guessed.
 */

import type { Redis } from 'ioredis'

import { PrestigeError } from '../../platform/errors.ts'
import { replyCode } from './failures.ts'
import type { RedisLocation } from './location.ts'

/** What becomes of acknowledged writes, as far as the server reports it. Of a cluster: of its weakest master. */
export interface RedisDurability {
  /** The server logs every write. */
  readonly appendOnly: boolean | undefined
  readonly appendFsync: 'always' | 'everysec' | 'no' | undefined
  /** When it writes snapshots: `3600 1 300 100`; empty: never. */
  readonly snapshots: string | undefined
  /** Replicas of the server (of a cluster: of the master that has fewest). */
  readonly replicas: number
  /** So many of them confirm before a write is acknowledged. */
  readonly waitReplicas: number
  /** Acknowledged writes are on the disk of the server. */
  readonly survivesPowerFailure: boolean
  /** All of it as a sentence. */
  readonly text: string
}

interface Facts {
  readonly info: ReadonlyMap<string, string>
  readonly config: ReadonlyMap<string, string>
}

const VERSION_MIN = 7

export async function examine(
  servers: readonly Redis[],
  location: RedisLocation,
): Promise<RedisDurability> {
  const all: RedisDurability[] = []
  for (const server of servers) {
    const facts = await factsOf(server)
    refuseUnfit(facts, location)
    all.push(durabilityOf(facts, location.waitReplicas))
  }
  const [weakest] = all.toSorted((one, other) => strength(one) - strength(other))
  if (weakest === undefined) throw unfit(location.shown, 'has no master', 'Mend the cluster')
  return weakest
}

/** An explicit wish for `fsync` is met or refused, never ignored. */
export function requireFsync(found: RedisDurability, shown: string): void {
  if (found.survivesPowerFailure) return
  throw unfit(
    shown,
    `does not bring acknowledged writes to the disk, as durability 'fsync' asks (${found.text})`,
    'Set appendonly yes and appendfsync always on the server, or open without this durability',
  )
}

async function factsOf(server: Redis): Promise<Facts> {
  const info = pairsOf((await server.info()).split('\r\n').map((line) => line.split(/:(.*)/s)))
  const wanted = ['appendonly', 'appendfsync', 'save', 'no-appendfsync-on-rewrite']
  try {
    const answer = await server.config('GET', ...wanted)
    return { info, config: pairsOf(inTwos(answer)) }
  } catch (error) {
    // Forbidden, renamed or unknown: then INFO has to do. Everything else is a failure.
    if (!['NOPERM', 'ERR'].includes(replyCode(error))) throw error
    return { info, config: new Map() }
  }
}

function pairsOf(pairs: readonly (readonly string[])[]): Map<string, string> {
  return new Map(pairs.map(([name = '', value = '']) => [name, value]))
}

function inTwos(answer: unknown): string[][] {
  if (!Array.isArray(answer)) return Object.entries(Object(answer)).map((pair) => pair.map(String))
  return Array.from({ length: answer.length / 2 }, (_, at) =>
    answer.slice(2 * at, 2 * at + 2).map(String),
  )
}

function refuseUnfit({ info }: Facts, { shown, isCluster }: RedisLocation): void {
  const version = info.get('redis_version') ?? ''
  if (Number.parseInt(version, 10) < VERSION_MIN || version === '') {
    throw unfit(shown, `is Redis ${version || 'of an unknown version'}`, 'Use Redis 7.0 or Valkey')
  }
  // Valkey has another name for it.
  const mode = info.get('redis_mode') ?? info.get('server_mode')
  if (mode === 'cluster' && !isCluster) {
    throw unfit(shown, 'is a node of a cluster', 'Open it as redis+cluster://host:port')
  }
  if (mode === 'sentinel')
    throw unfit(shown, 'is a sentinel, which keeps nothing', 'Name the server')
  if (info.get('role') === 'slave') {
    const master = `${info.get('master_host')}:${info.get('master_port')}`
    throw unfit(shown, 'is a replica, where nothing can be written', `Open its primary, ${master}`)
  }
  const policy = info.get('maxmemory_policy') ?? 'unknown'
  if (info.get('maxmemory') !== '0' && policy !== 'noeviction') {
    throw unfit(
      shown,
      `may throw rows away when its memory is full (maxmemory-policy ${policy})`,
      'Set maxmemory-policy noeviction, or use a server of its own',
    )
  }
}

function durabilityOf({ info, config }: Facts, waitReplicas: number): RedisDurability {
  const aof = info.get('aof_enabled')
  const appendOnly = aof === undefined ? undefined : aof === '1'
  const appendFsync = fsyncOf(config.get('appendfsync'))
  const snapshots = config.get('save')
  const replicas = Number(info.get('connected_slaves') ?? 0)
  const pauses = config.get('no-appendfsync-on-rewrite') === 'yes'
  const survivesPowerFailure = appendOnly === true && appendFsync === 'always' && !pauses
  const found = { appendOnly, appendFsync, snapshots, replicas, waitReplicas, survivesPowerFailure }
  return { ...found, text: textOf(found) }
}

function fsyncOf(value: string | undefined): RedisDurability['appendFsync'] {
  return value === 'always' || value === 'everysec' || value === 'no' ? value : undefined
}

function textOf(found: Omit<RedisDurability, 'text'>): string {
  const { replicas, waitReplicas } = found
  const confirmed = waitReplicas > 0 ? `, of which ${waitReplicas} confirm every write` : ''
  return `${diskText(found)}; replicas: ${replicas}${confirmed}`
}

function diskText(found: Omit<RedisDurability, 'text'>): string {
  const { appendOnly, appendFsync, snapshots, survivesPowerFailure } = found
  if (survivesPowerFailure)
    return 'every write is on the disk of the server when it is acknowledged'
  if (appendOnly && appendFsync === undefined) {
    return 'the server logs writes; how often it syncs the log could not be read (CONFIG is forbidden)'
  }
  if (appendOnly && appendFsync === 'no') {
    return 'the server logs writes and leaves it to its system when they reach the disk'
  }
  if (appendOnly) return 'the server syncs its log about every second: a crash can lose that second'
  if (snapshots === undefined) {
    return 'the server logs no writes; whether it takes snapshots could not be read (CONFIG is forbidden)'
  }
  if (snapshots === '') return 'the server keeps all of it in memory: a restart loses everything'
  return `the server takes snapshots (save ${snapshots}): a restart loses what came after the last`
}

function strength({ survivesPowerFailure, appendOnly, replicas }: RedisDurability): number {
  return (survivesPowerFailure ? 1e6 : 0) + (appendOnly ? 1e3 : 0) + replicas
}

function unfit(shown: string, what: string, instead: string): PrestigeError {
  return new PrestigeError('SERVER_UNFIT', `${shown} ${what}. ${instead}.`)
}
