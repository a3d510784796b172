/** What a ledger can be opened with. */

import * as v from 'valibot'

import { locationOptions } from '../platform/options.ts'

const TIME = 'must be a number of milliseconds from 1'

export const ledgerOptions = v.strictObject({
  ...locationOptions,
  retentionMs: v.optional(
    v.pipe(
      v.number(TIME),
      v.minValue(1, TIME),
      v.description('Lines older than this count no more, and prune() takes them away.'),
    ),
  ),
})

export type LedgerInput = v.InferInput<typeof ledgerOptions>
export type LedgerOptions = v.InferOutput<typeof ledgerOptions>
