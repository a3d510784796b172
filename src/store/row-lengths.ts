/** How long the rows of a store are, which depends on their flags: a row that is shorter is damaged. */

import { hasFormat } from '../backends/index.ts'
import { asBuffer, type Bytes } from '../platform/bytes.ts'
import type { PrestigeError } from '../platform/errors.ts'
import { unreadable } from '../platform/rows.ts'

/** For every combination of flags, how long a row is, without what may follow its last field. */
export type Lengths = readonly number[]

/** `byFlag`: how many bytes each of the flags, the lowest first, adds to the fixed part. */
export function lengthsOf(fixed: number, byFlag: readonly number[]): Lengths {
  return Array.from({ length: 16 }, (_, flags) =>
    byFlag.reduce((length, bytes, flag) => length + (flags & (1 << flag) ? bytes : 0), fixed),
  )
}

export function lengthOf(head: number, lengths: Lengths): number {
  return lengths[head & 0x0f] ?? 0
}

export function checked(what: string, bytes: Bytes, lengths: Lengths): Buffer {
  const row = asBuffer(bytes)
  if (row.byteLength >= lengthOf(row[0] ?? 0, lengths) && hasFormat(row)) return row
  throw unreadableRow(what)
}

export function unreadableRow(what: string): PrestigeError {
  return unreadable(what, 'Run prestige verify --repair on this store.')
}
