/** What a server can be made with. */

import type { ProxyOptions } from '../proxy/index.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import type { ResolverOptions } from '../resolve/index.ts'
import type { StoreOptions } from '../store/index.ts'
import type { ApiKey } from './security/api-keys.ts'

/** Whatever exceeds one of them is answered by name, and costs no memory. */
export interface ServerLimits {
  /** Bytes of one value. Default: 1 GiB. */
  readonly valueBytes?: number | undefined
  /** Bytes of a body of JSON. Default: 4 MiB. */
  readonly jsonBytes?: number | undefined
  /** Bytes of one line of a batch. Default: 8 MiB. */
  readonly lineBytes?: number | undefined
  /** Lines of a batch. Default: 100,000. */
  readonly batchLines?: number | undefined
  /** Requests that are worked on at once; others are refused (503). Default: 256. */
  readonly concurrency?: number | undefined
  /** Namespaces that are open at once. Default: 100. */
  readonly namespaces?: number | undefined
  /** Bytes of documents that are sent for one run, and of all that runs have. Default: 1 GiB, and 16 GiB. */
  readonly uploadBytes?: number | undefined
  readonly uploadsBytes?: number | undefined
  /** Runs that wait while one goes on; others are refused (503). Default: 8. */
  readonly waitingRuns?: number | undefined
}

export interface ServerOptions {
  /** How stores are opened. */
  readonly store?: Omit<StoreOptions, 'namespace' | 'create' | 'metrics'> | undefined
  /** How resolvers are opened. */
  readonly resolver?: Omit<ResolverOptions, 'namespace' | 'create' | 'metrics'> | undefined
  /** Those who may call. Absent: anybody, which is for a loopback address alone. */
  readonly keys?: readonly ApiKey[] | undefined
  /** Origins whose pages may call from a browser. Default: none. */
  readonly origins?: readonly string[] | undefined
  /** Host names under which the server is called. Default: any; `listen` allows those of a loopback address alone. */
  readonly hosts?: readonly string[] | undefined
  /** What exceeds them is refused. Default: those of each field. */
  readonly limits?: ServerLimits | undefined
  /** Directories below which a run may read its inputs. Default: none. */
  readonly roots?: readonly string[] | undefined
  /** The directory for outputs of runs, as that of `prestige dedupe -o DIR`; absent: there are no runs. */
  readonly jobs?: string | undefined
  /** Everything below /proxy/ goes to this upstream, and answers are kept in the namespace `proxy`. Default: none. */
  readonly proxy?: Omit<ProxyOptions, 'mount' | 'metrics' | 'clock'> | undefined
  /** Measurements go here as well as to /metrics. */
  readonly metrics?: MetricsSink | undefined
  /** One line for each request. Default: nothing is logged. */
  readonly log?: ((line: AccessLine) => void) | undefined
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: (() => number) | undefined
}

/** No value, no key of a store and no secret is in it: the path is that of the route. */
export interface AccessLine {
  readonly at: string
  readonly requestId: string
  readonly method: string
  readonly route: string
  readonly status: number
  readonly ms: number
  readonly caller: string
  readonly code?: string
  /** Of what is no error of ours. */
  readonly failure?: string
}

export type CheckedLimits = { readonly [N in keyof ServerLimits]-?: number }

const LIMITS: CheckedLimits = {
  valueBytes: 1024 ** 3,
  jsonBytes: 4 * 1024 ** 2,
  lineBytes: 8 * 1024 ** 2,
  batchLines: 100_000,
  concurrency: 256,
  namespaces: 100,
  uploadBytes: 1024 ** 3,
  uploadsBytes: 16 * 1024 ** 3,
  waitingRuns: 8,
}

export function limitsOf(given: ServerLimits = {}): CheckedLimits {
  const said = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...LIMITS, ...Object.fromEntries(said) }
}
