/** Reads a location: `dynamodb://region/table-prefix`, with `?endpoint=` where it is not the region's own. */

import { PrestigeError } from '../../errors.ts'

export interface DynamoLocation {
  readonly region: string
  readonly prefix: string
  /** The one table there is: all spaces of all namespaces of all stores below this prefix. */
  readonly table: string
  readonly endpoint: string | undefined
  /** As it was given, for messages that say what to type. */
  readonly text: string
}

const SCHEME = 'dynamodb:'
const PREFIX = /^[A-Za-z0-9_.-]{1,200}$/
const REGION = /^[a-z0-9-]{2,40}$/

export function isDynamoLocation(location: string): boolean {
  return location.toLowerCase().startsWith(SCHEME)
}

export function readLocation(text: string): DynamoLocation {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== SCHEME) throw invalid(text, 'it is not of that form')
  const prefix = url.pathname.slice(1)
  if (!REGION.test(url.hostname)) throw invalid(text, 'the region is missing, or is none')
  if (!PREFIX.test(prefix)) {
    throw invalid(text, 'a table prefix has 1 to 200 letters, digits, dots, dashes and underscores')
  }
  if (url.username || url.password || url.port || url.hash) {
    throw invalid(text, 'credentials come from the environment, and a port belongs to the endpoint')
  }
  for (const name of url.searchParams.keys()) {
    if (name !== 'endpoint') throw invalid(text, `there is no setting ${JSON.stringify(name)}`)
  }
  const endpoint = url.searchParams.get('endpoint') ?? undefined
  if (endpoint !== undefined && !/^https?:\/\/[^/]+\/?$/.test(endpoint)) {
    throw invalid(text, 'an endpoint is http://HOST:PORT or https://HOST')
  }
  return { region: url.hostname, prefix, table: `${prefix}-rows`, endpoint, text }
}

function invalid(text: string, why: string): PrestigeError {
  return new PrestigeError(
    'INVALID_LOCATION',
    `${JSON.stringify(text)} cannot be used: ${why}. Give dynamodb://REGION/TABLE-PREFIX, with ?endpoint=http://HOST:PORT for another endpoint.`,
  )
}
