/** The rows of near duplicates as verify reads them: as bytes first, as those of raw.ts are. */

import type { Bytes } from '../../../platform/bytes.ts'
import { ID_BYTES } from '../../../backends/index.ts'
import type { Head, JournalRow, Representative } from '../../../match/index.ts'
import { decodePayload, type Link, linked, links, orphaned, storeNear } from '../../near/rows.ts'
import { decoded, twin } from '../raw.ts'

export const rawNear = {
  links: twin(links),
  linked: twin(linked),
  orphaned: twin(orphaned),
  heads: twin(storeNear.heads),
  journal: twin(storeNear.journal),
  representatives: twin(storeNear.representatives),
  buckets: twin(storeNear.buckets),
  dead: twin(storeNear.dead),
} as const

const LINK_BYTES = 1 + ID_BYTES

// Each of these answers `undefined` for a row that is missing and for one that nobody can have written.

export function linkOf(bytes: Bytes | undefined): Link | undefined {
  const link = decoded(bytes, (row) => links.codec.decode(row))
  if (!link?.to) return bytes?.byteLength === LINK_BYTES ? link : undefined
  const { similarity, firstKey } = link.to
  return similarity > 0 && similarity <= 1 && firstKey.byteLength > 0 ? link : undefined
}

export function representativeOf(bytes: Bytes | undefined): Representative | undefined {
  return decoded(bytes, (row) => {
    const representative = storeNear.representatives.codec.decode(row)
    decodePayload(representative.payload)
    return representative
  })
}

export function journalRowOf(bytes: Bytes | undefined): JournalRow | undefined {
  return decoded(bytes, (row) => storeNear.journal.codec.decode(row))
}

export function headOf(bytes: Bytes | undefined): Head | undefined {
  return decoded(bytes, (row) => storeNear.heads.codec.decode(row))
}

export function isBucket(bytes: Bytes): boolean {
  const bucket = decoded(bytes, (row) => storeNear.buckets.codec.decode(row))
  return bucket !== undefined && bucket.ids.byteLength % ID_BYTES === 0
}
