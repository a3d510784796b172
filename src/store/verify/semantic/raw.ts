/** The rows of meanings as verify reads them: as bytes first, as those of raw.ts are. */

import type { Bytes } from '../../../platform/bytes.ts'
import {
  meant,
  type Meant,
  type MeantHead,
  meantHeads,
  meantJournal,
  meantLinked,
  meantOrphaned,
  meantPending,
  meantVectors,
} from '../../semantic/rows.ts'
import { decoded, twin } from '../raw.ts'

export const rawMeant = {
  links: twin(meant),
  linked: twin(meantLinked),
  orphaned: twin(meantOrphaned),
  pending: twin(meantPending),
  vectors: twin(meantVectors),
  heads: twin(meantHeads),
  journal: twin(meantJournal),
} as const

// Each of these answers `undefined` for a row that is missing and for one that nobody can have written.

export function meantOf(bytes: Bytes | undefined): Meant | undefined {
  const row = decoded(bytes, (one) => meant.codec.decode(one))
  if (!row?.to) return row && bytes?.byteLength === 39 ? row : undefined
  const { similarity, firstKey } = row.to
  return similarity <= 1 && similarity >= -1 && firstKey.byteLength > 0 ? row : undefined
}

export function meantHeadOf(bytes: Bytes | undefined): MeantHead | undefined {
  return decoded(bytes, (row) => meantHeads.codec.decode(row))
}

export function isChange(bytes: Bytes): boolean {
  return decoded(bytes, (row) => meantJournal.codec.decode(row)) !== undefined
}

export function isVectors(bytes: Bytes): boolean {
  return decoded(bytes, (row) => meantVectors.codec.decode(row)) !== undefined
}
