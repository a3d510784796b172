/** What a ledger can be opened with. */

import * as v from 'valibot'

import type { Bytes } from '../platform/bytes.ts'
import { flag, given, oneOf } from '../platform/options.ts'

const isFunction = (value: unknown) => typeof value === 'function'
const TIME = 'must be a number of milliseconds from 1'

export const ledgerOptions = v.strictObject({
  namespace: v.optional(
    v.pipe(
      v.string('must be a string'),
      v.description('Ledgers of different namespaces in one location never see each other.'),
    ),
  ),
  retentionMs: v.optional(
    v.pipe(
      v.number(TIME),
      v.minValue(1, TIME),
      v.description('Lines older than this count no more, and prune() takes them away.'),
    ),
  ),
  durability: v.optional(
    oneOf(
      ['fsync', 'os'],
      'fsync (the default of a directory): acknowledged lines survive a power failure. os: they survive a crash of the process.',
    ),
  ),
  create: v.optional(flag('Make the ledger if it is not there, as is done by default.')),
  clock: v.optional(given<() => number>(isFunction, 'a function that returns milliseconds')),
  random: v.optional(
    given<(count: number) => Bytes>(isFunction, 'a function that returns random bytes'),
  ),
})

export type LedgerInput = v.InferInput<typeof ledgerOptions>
export type LedgerOptions = v.InferOutput<typeof ledgerOptions>
