/** What a ledger can be opened with. */

import * as v from 'valibot'

import type { Bytes } from '../platform/bytes.ts'
import { locationOptions, sinkOption } from '../platform/options.ts'
import type { MetricsSink } from '../platform/telemetry.ts'

const TIME = 'must be a number of milliseconds from 1'

/** What a ledger is opened with. */
export interface LedgerOptions {
  /** Ledgers of different namespaces in one location never see each other. Default: the unnamed one. */
  readonly namespace?: string | undefined
  /** Milliseconds after which lines no longer count and `prune()` removes them. Default: never. */
  readonly retentionMs?: number | undefined
  /** As for a store. Default of a directory: `fsync`. */
  readonly durability?: 'fsync' | 'os' | undefined
  /** Create the ledger if it is missing; `false` makes that an error. Default: `true`. */
  readonly create?: boolean | undefined
  /** Milliseconds that one operation waits for other processes or the server. Default: 30,000; on Redis 10,000. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: (() => number) | undefined
  /** So many random bytes. Default: the system's. */
  readonly random?: ((count: number) => Bytes) | undefined
  /** Where counters, histograms and gauges go. Default: nowhere. */
  readonly metrics?: MetricsSink | undefined
}

export const ledgerOptions = v.strictObject({
  ...locationOptions,
  retentionMs: v.optional(
    v.pipe(
      v.number(TIME),
      v.minValue(1, TIME),
      v.description('Lines older than this count no more, and prune() takes them away.'),
    ),
  ),
  metrics: v.optional(sinkOption),
})
