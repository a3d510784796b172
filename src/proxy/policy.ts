/** The rules of RFC 9111 for a shared cache: what may be kept, how long it is fresh, and when it may be used. Pure. */

import { isOneOf } from './headers.ts'

export type Directives = ReadonlyMap<string, string>

/** What was received, and when. Names of headers are in lower case. */
export interface Received {
  readonly status: number
  readonly headers: Headers
  /** When the request was sent and its answer received, in milliseconds since 1970. */
  readonly requestedAt: number
  readonly receivedAt: number
}

/** Final codes whose meaning is known. Of these, answers with a term or a validator are kept. */
const KEPT = new Set([200, 203, 204, 300, 301, 302, 307, 308, 404, 405, 410, 414, 501])
const SECONDS_MAX = 2 ** 31

/** `Cache-Control` as its directives. One that is there twice has the stricter value: the shorter term. */
export function directivesOf(headers: Headers): Directives {
  const found = new Map<string, string>()
  const text = headers.get('cache-control') ?? ''
  const parts = text.matchAll(/([\w-]+)(?:\s*=\s*("(?:[^"\\]|\\.)*"|[^\s,;]*))?/g)
  for (const [, name = '', raw = ''] of parts) {
    const key = name.toLowerCase()
    const value = raw.replaceAll('"', '')
    const before = found.get(key)
    const isLonger = before !== undefined && (secondsOf(value) ?? 0) >= (secondsOf(before) ?? 0)
    if (!isLonger) found.set(key, value)
  }
  return found
}

/** Of a directive with seconds: what is no number is a term that is over, as RFC 9111 section 4.2.1 advises. */
export function secondsOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  return /^\d+$/.test(value) ? Math.min(Number(value), SECONDS_MAX) : 0
}

export interface Asking {
  readonly headers: Headers
  readonly directives: Directives
}

export function askingOf(headers: Headers): Asking {
  const directives = directivesOf(headers)
  // What HTTP/1.0 had in its place.
  const isOld = !headers.has('cache-control') && isOneOf(headers.get('pragma'), 'no-cache')
  return { headers, directives: isOld ? new Map([['no-cache', '']]) : directives }
}

/** Whether an answer to a GET may be kept for others. */
export function isStorable(asking: Asking, received: Received): boolean {
  const { headers, status } = received
  const said = directivesOf(headers)
  if (!KEPT.has(status) || asking.directives.has('no-store')) return false
  if (said.has('no-store') || said.has('private') || headers.has('set-cookie')) return false
  if (isOneOf(headers.get('vary'), '*')) return false
  const isForAll = said.has('public') || said.has('s-maxage') || said.has('must-revalidate')
  if (asking.headers.has('authorization') && !isForAll) return false
  return freshMs(received) > 0 || hasValidator(headers)
}

export function hasValidator(headers: Headers): boolean {
  return headers.has('etag') || dateOf(headers.get('last-modified')) !== undefined
}

function dateOf(text: string | null): number | undefined {
  // The three forms of an HTTP date begin with the name of a day; Date would read much else.
  const ms = text !== null && /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** How long it is fresh from when it was made. Nothing is guessed: without a term, it is validated each time. */
export function freshMs(received: Received): number {
  const { headers, receivedAt } = received
  const said = directivesOf(headers)
  if (said.has('no-cache')) return 0
  const seconds = secondsOf(said.get('s-maxage')) ?? secondsOf(said.get('max-age'))
  if (seconds !== undefined) return seconds * 1000
  if (!headers.has('expires')) return 0
  const expires = dateOf(headers.get('expires'))
  if (expires === undefined) return 0
  return Math.max(0, expires - (dateOf(headers.get('date')) ?? receivedAt))
}

/** RFC 9111 section 4.2.3. */
export function ageMs(received: Received, now: number): number {
  const { headers, requestedAt, receivedAt } = received
  const [ageText = ''] = (headers.get('age') ?? '').split(',')
  const apparent = Math.max(0, receivedAt - (dateOf(headers.get('date')) ?? receivedAt))
  const corrected = (secondsOf(ageText.trim() || '0') ?? 0) * 1000 + (receivedAt - requestedAt)
  return Math.max(apparent, corrected) + Math.max(0, now - receivedAt)
}

/** `refresh`: it may be used, and is to be asked for again meanwhile. `validate`: the upstream is asked first. */
export type Use = 'fresh' | 'refresh' | 'stale' | 'validate'

export function useOf(asking: Asking, received: Received, now: number): Use {
  const age = ageMs(received, now)
  const wanted = asking.directives
  const said = directivesOf(received.headers)
  if (wanted.has('no-cache') || said.has('no-cache')) return 'validate'
  const ageMax = secondsOf(wanted.get('max-age'))
  if (ageMax !== undefined && age > ageMax * 1000) return 'validate'
  const left = freshMs(received) - age
  if (left > 0) {
    const isFreshEnough = left >= (secondsOf(wanted.get('min-fresh')) ?? 0) * 1000
    return isFreshEnough ? 'fresh' : 'validate'
  }
  if (wanted.has('min-fresh') || !mayBeStale(said)) return 'validate'
  const over = -left
  const accepted = wanted.get('max-stale')
  const staleMax = accepted === '' ? Infinity : (secondsOf(accepted) ?? -1) * 1000
  if (over <= staleMax) return 'stale'
  const whileAsking = secondsOf(said.get('stale-while-revalidate'))
  return whileAsking !== undefined && over <= whileAsking * 1000 ? 'refresh' : 'validate'
}

/** Whether it may be used in place of a failure of the upstream. */
export function isForErrors(asking: Asking, received: Received, now: number): boolean {
  const said = directivesOf(received.headers)
  if (!mayBeStale(said) || asking.directives.has('no-cache')) return false
  const seconds = secondsOf(asking.directives.get('stale-if-error') ?? said.get('stale-if-error'))
  return seconds !== undefined && ageMs(received, now) - freshMs(received) <= seconds * 1000
}

function mayBeStale(said: Directives): boolean {
  return !['must-revalidate', 'proxy-revalidate', 's-maxage', 'no-cache'].some((one) =>
    said.has(one),
  )
}

/** How long it can be of use, from now on. */
export function usefulMs(received: Received, now: number, keepStaleMs: number): number {
  const said = directivesOf(received.headers)
  const extra = ['stale-while-revalidate', 'stale-if-error'].map(
    (name) => (secondsOf(said.get(name)) ?? 0) * 1000,
  )
  const left = Math.max(0, freshMs(received) - ageMs(received, now))
  return left + Math.max(hasValidator(received.headers) ? keepStaleMs : 0, ...extra)
}

/** Whether what the client has is what would be sent: it gets 304. RFC 9110 section 13.2.2. */
export function isKnownTo(client: Headers, headers: Headers): boolean {
  const known = client.get('if-none-match')
  if (known !== null) {
    const tag = headers.get('etag')
    return known.trim() === '*' || (tag !== null && tagsIn(known).includes(opaque(tag)))
  }
  const since = dateOf(client.get('if-modified-since'))
  const modified = dateOf(headers.get('last-modified'))
  return since !== undefined && modified !== undefined && modified <= since
}

function tagsIn(text: string): string[] {
  return [...text.matchAll(/(?:W\/)?("[^"]*")/g)].map(([, tag = '']) => tag)
}

export function opaque(tag: string): string {
  return tag.trim().replace(/^W\//, '')
}
