/**
 * Reads a location: `dynamodb://region/table-prefix`, with `?endpoint=` where it is not the region's own, `cacheBytes=`
 * for a cache of what never changes, `cache=redis://…` for one that machines share, and `timeoutMs=` for how long an
 * answer is waited for.
 */

import { PrestigeError } from '../../platform/errors.ts'
import { isTimeout, TIMEOUT_RULE } from '../kit/request-span.ts'
import { withoutSecrets } from '../kit/secrets.ts'

export interface DynamoLocation {
  readonly region: string
  readonly prefix: string
  /** The one table there is: all spaces of all namespaces of all stores below this prefix. */
  readonly table: string
  readonly endpoint: string | undefined
  /** How much of what never changes is kept in this process; 0: nothing. */
  readonly cacheBytes: number
  /** A Redis with what never changes, before the table. */
  readonly cache: string | undefined
  /** How long an answer is waited for, however often it is asked for. */
  readonly timeoutMs: number
  /** As it was given but for its secrets, for messages that say what to type. */
  readonly shown: string
}

const SCHEME = 'dynamodb:'
const SETTINGS: ReadonlySet<string> = new Set(['endpoint', 'cacheBytes', 'cache', 'timeoutMs'])
const TIMEOUT_MS = 30_000
const PREFIX = /^[A-Za-z0-9_.-]{1,200}$/
const REGION = /^[a-z0-9-]{2,40}$/

export function readLocation(location: string): DynamoLocation {
  const shown = withoutSecrets(location)
  const url = URL.canParse(location) ? new URL(location) : undefined
  if (url?.protocol !== SCHEME) throw invalid(shown, 'it is not of that form')
  const prefix = url.pathname.slice(1)
  if (!REGION.test(url.hostname)) throw invalid(shown, 'the region is missing, or is none')
  if (!PREFIX.test(prefix)) {
    throw invalid(
      shown,
      'a table prefix has 1 to 200 letters, digits, dots, dashes and underscores',
    )
  }
  if (url.username || url.password || url.port || url.hash) {
    throw invalid(
      shown,
      'credentials come from the environment, and a port belongs to the endpoint',
    )
  }
  for (const name of url.searchParams.keys()) {
    if (!SETTINGS.has(name)) throw invalid(shown, `there is no setting ${JSON.stringify(name)}`)
  }
  const endpoint = url.searchParams.get('endpoint') ?? undefined
  if (endpoint !== undefined && !/^https?:\/\/[^/]+\/?$/.test(endpoint)) {
    throw invalid(shown, 'an endpoint is http://HOST:PORT or https://HOST')
  }
  const said = url.searchParams.get('cacheBytes') ?? '0'
  const cacheBytes = Number(said)
  if (!/^\d+$/.test(said) || !Number.isSafeInteger(cacheBytes)) {
    throw invalid(shown, 'cacheBytes is a whole number of bytes')
  }
  const cache = url.searchParams.get('cache') ?? undefined
  if (cache !== undefined && cacheBytes === 0) {
    throw invalid(shown, 'cache needs cacheBytes: what comes from it is kept here as well')
  }
  const timeout = url.searchParams.get('timeoutMs') ?? String(TIMEOUT_MS)
  const timeoutMs = /^\d+$/.test(timeout) ? Number(timeout) : 0
  if (!isTimeout(timeoutMs)) throw invalid(shown, `timeoutMs is ${TIMEOUT_RULE}`)
  const table = `${prefix}-rows`
  return { region: url.hostname, prefix, table, endpoint, cacheBytes, cache, timeoutMs, shown }
}

function invalid(shown: string, why: string): PrestigeError {
  return new PrestigeError(
    'INVALID_LOCATION',
    `${JSON.stringify(shown)} cannot be used: ${why}. Give dynamodb://REGION/TABLE-PREFIX, with ?endpoint=http://HOST:PORT for another endpoint.`,
  )
}
