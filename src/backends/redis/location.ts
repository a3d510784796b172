/**
 * Where a Redis is: `redis://[user:password@]host:port/db?prefix=…`, with `rediss:` for TLS, and
 * `redis+cluster://host:port,host:port/?prefix=…` (`rediss+cluster:`) for a cluster.
 *
 * Invariant: `shown` is what messages may say. It never holds the password.
 */

import { PrestigeError } from '../../platform/errors.ts'
import { withoutSecrets } from '../kit/secrets.ts'

export interface RedisNode {
  readonly host: string
  readonly port: number
}

export interface RedisLocation {
  /** One, or of a cluster those to begin with. */
  readonly nodes: readonly [RedisNode, ...RedisNode[]]
  readonly isCluster: boolean
  readonly tls: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  readonly db: number
  /** The beginning of every key of ours. */
  readonly prefix: string
  /** So many replicas have to confirm a write before it is acknowledged. */
  readonly waitReplicas: number
  /** How long a request may go without an answer, and how long one waits for a connection. */
  readonly timeoutMs: number
  readonly shown: string
}

const FORM = 'redis://[user:password@]host[:port][/db][?prefix=name]'
const CLUSTER_FORM = 'redis+cluster://host:port,host:port/[?prefix=name]'
const PORT = 6379
const SCHEME = /^(redis|rediss)(\+cluster)?:\/\//i

export const DEFAULT_PREFIX = 'prestige'
const TIMEOUT_MS = 10_000

export function parseLocation(location: string): RedisLocation {
  const shown = withoutSecrets(location)
  const scheme = SCHEME.exec(location)
  if (scheme === null) throw invalid(shown, 'it does not begin with redis:// or rediss://')
  const [begin, name = '', cluster] = scheme
  const url = split(location.slice(begin.length))
  // Parts of such a password would be taken for a host and for options, and named in messages.
  if (url.query.includes('@'))
    throw invalid(shown, 'an @ or a ? of a password is written %40 or %3F')
  const query = readQuery(url.query, shown)
  const isCluster = cluster !== undefined || query.cluster
  const db = databaseOf(url.path, shown)
  if (isCluster && db !== 0) throw invalid(shown, 'a cluster has database 0 only')
  const hosts = url.hosts.split(',')
  if (!isCluster && hosts.length > 1)
    throw invalid(shown, 'several hosts are for a cluster: say redis+cluster://')
  const [first, ...more] = hosts.map((host) => nodeOf(host, shown))
  if (first === undefined) throw invalid(shown, 'it names no host')
  return {
    nodes: [first, ...more],
    isCluster,
    tls: name.toLowerCase() === 'rediss',
    username: decoded(url.username, shown),
    password: decoded(url.password, shown),
    db,
    prefix: query.prefix,
    waitReplicas: query.waitReplicas,
    timeoutMs: query.timeoutMs,
    shown,
  }
}

interface Parts {
  readonly username: string | undefined
  readonly password: string | undefined
  readonly hosts: string
  readonly path: string
  readonly query: string
}

/** By hand: a URL cannot name several hosts. */
function split(rest: string): Parts {
  const [beforeQuery = '', ...queries] = rest.split('?')
  const at = beforeQuery.lastIndexOf('@')
  const login = at < 0 ? undefined : beforeQuery.slice(0, at)
  const [hosts = '', ...path] = beforeQuery.slice(at + 1).split('/')
  const colon = login?.indexOf(':') ?? -1
  const username = colon < 0 ? login : login?.slice(0, colon)
  return {
    username: username === '' ? undefined : username,
    password: colon < 0 ? undefined : login?.slice(colon + 1),
    hosts,
    path: path.join('/'),
    query: queries.join('?'),
  }
}

function decoded(part: string | undefined, shown: string): string | undefined {
  if (part === undefined) return undefined
  try {
    return decodeURIComponent(part)
  } catch {
    throw invalid(shown, 'user or password have a % that encodes nothing: write %25')
  }
}

function nodeOf(text: string, shown: string): RedisNode {
  const [, ip6, name, port] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(text.trim()) ?? []
  const host = ip6 ?? name
  const number = port === undefined ? PORT : Number(port)
  if (host === undefined || number < 1 || number > 65_535)
    throw invalid(shown, `${JSON.stringify(text)} is no host:port`)
  return { host, port: number }
}

function databaseOf(path: string, shown: string): number {
  if (path === '') return 0
  if (/^\d{1,5}$/.test(path)) return Number(path)
  throw invalid(shown, `${JSON.stringify(path)} is no number of a database`)
}

function readQuery(text: string, shown: string) {
  const query = {
    prefix: DEFAULT_PREFIX,
    cluster: false,
    waitReplicas: 0,
    timeoutMs: TIMEOUT_MS,
  }
  for (const [name, value] of new URLSearchParams(text)) {
    if (name === 'prefix') query.prefix = checkedPrefix(value, shown)
    else if (name === 'cluster') query.cluster = isTrue(value, shown)
    else if (name === 'waitReplicas') query.waitReplicas = count(name, value, 0, 100, shown)
    else if (name === 'timeoutMs') query.timeoutMs = count(name, value, 100, 600_000, shown)
    else {
      throw invalid(
        shown,
        `${JSON.stringify(name)} is not known behind the ?; known are prefix, cluster, waitReplicas, timeoutMs`,
      )
    }
  }
  return query
}

/** A colon ends the prefix within a key, and braces would choose the slot. */
function checkedPrefix(prefix: string, shown: string): string {
  if (/^[\w.-]{1,64}$/.test(prefix)) return prefix
  throw invalid(shown, 'a prefix has 1 to 64 letters, digits, dots, dashes and underscores')
}

function isTrue(value: string, shown: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true'
  throw invalid(shown, 'cluster is true or false')
}

function count(name: string, value: string, min: number, max: number, shown: string): number {
  const number = Number(value)
  if (/^\d+$/.test(value) && number >= min && number <= max) return number
  throw invalid(shown, `${name} is a whole number from ${min} to ${max}`)
}

function invalid(shown: string, why: string): PrestigeError {
  return new PrestigeError(
    'INVALID_LOCATION',
    `${JSON.stringify(shown)} is no location of a Redis: ${why}. Write ${FORM}, or ${CLUSTER_FORM}.`,
  )
}
