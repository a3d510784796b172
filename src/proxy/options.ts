/** What a proxy can be made with. */

import * as v from 'valibot'

import { readOptions, type WithDefaults } from '../platform/options.ts'
import type { MetricsSink } from '../platform/telemetry.ts'

export interface ProxyOptions {
  /** Where requests go: `http://` or `https://`, a host, and perhaps a path that all paths are below. */
  readonly upstream: string
  /** The path below which the proxy is called, such as `/proxy`; it is taken off. Default: none. */
  readonly mount?: string | undefined
  /** Beginning of the keys in the store. Default: `proxy:`. */
  readonly prefix?: string | undefined
  /** Longest body that is kept; longer ones are passed on. Default: 64 MiB. */
  readonly cacheBytesMax?: number | undefined
  /** Milliseconds for the upstream to answer, and the longest pause within an answer. Default: 30,000. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds for which an answer that is no longer fresh is kept to be validated. Default: a day. */
  readonly keepStaleMs?: number | undefined
  /** Where measurements go. Default: nowhere. */
  readonly metrics?: MetricsSink | undefined
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: (() => number) | undefined
}

export type CheckedOptions = WithDefaults<
  ProxyOptions,
  'mount' | 'prefix' | 'cacheBytesMax' | 'timeoutMs' | 'keepStaleMs' | 'clock'
>

const DAY_MS = 24 * 60 * 60 * 1000
const PREFIX_MAX = 200
const CACHE_BYTES_MAX = 1024 ** 3

function isUpstream(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password, search, hash } = new URL(text)
  return /^https?:$/.test(protocol) && !username && !password && !search && !hash
}

function whole(least: number, most: number) {
  const rule = `must be a whole number from ${least} to ${most}`
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(least, rule), v.maxValue(most, rule))
}

const UPSTREAM = 'must be an http or https URL without user, query and fragment'
const MOUNT = 'must begin with / and not end with it'
const PREFIX = `must be text of at most ${PREFIX_MAX} characters`

const proxyOptions = v.strictObject({
  upstream: v.pipe(v.string(UPSTREAM), v.check(isUpstream, UPSTREAM)),
  mount: v.optional(v.pipe(v.string(MOUNT), v.regex(/^(?:\/[\w.~-]+)*$/, MOUNT)), ''),
  prefix: v.optional(v.pipe(v.string(PREFIX), v.maxLength(PREFIX_MAX, PREFIX)), 'proxy:'),
  cacheBytesMax: v.optional(whole(0, CACHE_BYTES_MAX), 64 * 1024 ** 2),
  timeoutMs: v.optional(whole(1, DAY_MS), 30_000),
  keepStaleMs: v.optional(whole(0, 365 * DAY_MS), DAY_MS),
  metrics: v.optional(
    v.custom<MetricsSink>((value) => typeof value === 'object' && value !== null),
  ),
  clock: v.optional(
    v.custom<() => number>((value) => typeof value === 'function', 'must be a function'),
    () => Date.now,
  ),
})

/** Refuses what `createProxy` would refuse. */
export function requireProxyOptions(options: ProxyOptions): void {
  checkedOptions(options)
}

export function checkedOptions(options: ProxyOptions): CheckedOptions {
  return readOptions(proxyOptions, options, 'Proxy options')
}
