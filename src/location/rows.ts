/** Rows as the bytes they are, of whatever space. */

import type { Bytes } from '../platform/bytes.ts'
import type { Space } from '../backends/index.ts'
import { rawCodec } from '../match/index.ts'
import type { PortableIndex } from '../match/index.ts'
import type { StoredKind } from './stored-kind.ts'

export function rawOf(space: Space<unknown>): Space<Bytes> {
  return { ...space, codec: rawCodec }
}

/** Spaces whose rows are carried as they are. Indexes are rebuilt, tallies added up. */
export function plainSpaces(
  { spaces }: StoredKind,
  indexes: readonly PortableIndex[],
): Space<unknown>[] {
  const ofIndexes = new Set(indexes.flatMap((index) => Object.values(index.spaces)))
  return spaces.filter((space) => space.kind === 'rows' && !ofIndexes.has(space))
}

export function tallySpaces({ spaces }: StoredKind): Space<number>[] {
  // safe: tallies are numbers
  return spaces.filter(({ kind }) => kind === 'tallies') as Space<number>[]
}
