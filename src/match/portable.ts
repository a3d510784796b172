/**
 * An index as it can be carried to another engine: its representatives with their signatures. Journal, buckets and
 * snapshots follow from these, and differ between engines, so they are rebuilt.
 */

import { equalBytes } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  type Backend,
  cell,
  glance,
  read,
  type Row,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { readChange } from './journal.ts'
import { type IndexOptions, MatchIndex } from './match-index.ts'
import {
  type Bucket,
  ID_BYTES,
  insertsIn,
  type JournalRow,
  type NearSpaces,
  type Representative,
  sequenceOf,
} from './rows.ts'
import type { SignatureLayout } from './scheme/scheme.ts'

export interface PortableIndex {
  readonly spaces: NearSpaces
  /** Inserts a representative, unless it is there. */
  restore(scope: Scope, key: Buffer, row: Representative): Transaction<void>
  /** What is wrong with a representative's place in the index; `undefined`: nothing. */
  readonly check: (key: Buffer, row: Representative) => Transaction<string | undefined>
  /** The same of a row of the journal, and of a bucket. */
  readonly checkJournal: (key: Buffer, row: JournalRow) => Transaction<string | undefined>
  readonly checkBucket: (key: Buffer, row: Bucket) => Transaction<string | undefined>
}

export function portableIndex<Signature>(
  spaces: NearSpaces,
  layout: SignatureLayout<Signature>,
  options: IndexOptions,
): PortableIndex {
  const index = new MatchIndex(spaces, layout, options)
  return {
    spaces,
    *restore(scope, key, row) {
      const [partition, id] = partsOf(key)
      const [there] = yield* read(index.representative(partition, id))
      if (there) return
      const { signature, payload } = row
      if (signature.byteLength === 0) index.keep(scope, partition, id, payload)
      else yield* index.insert(scope, partition, id, layout.fromBytes(signature), payload)
    },
    *check(key, row) {
      // It is like nothing but itself, or was merged: no search is to find it.
      if (row.sequence === 0 && row.signature.byteLength === 0) return undefined
      const [partition, id] = partsOf(key)
      const signature = yield* index.signatureOf(partition, id)
      const isFound = signature && (yield* index.isWhole(partition, id, signature, row.payload))
      return isFound ? undefined : 'searches would not find it'
    },
    *checkJournal(key, row) {
      const last = sequenceOf(key)
      for (const { sequence, partition, id } of insertsIn(row, last)) {
        const [there] = yield* read(index.representative(partition, id))
        if (there?.sequence !== sequence) return 'it inserts what is not there'
      }
      return undefined
    },
    *checkBucket(key, { ids }) {
      const partition = key.subarray(0, ID_BYTES)
      const cells = []
      for (let at = 0; at < ids.byteLength; at += ID_BYTES) {
        cells.push(index.representative(partition, ids.subarray(at, at + ID_BYTES)))
      }
      // Only glanced at: they may be more than a transaction can rely on.
      const found = yield* glance(...cells)
      return found.includes(undefined) ? 'it names a representative that is not there' : undefined
    },
  }
}

function partsOf(key: Buffer): readonly [partition: Buffer, id: Buffer] {
  return [key.subarray(0, ID_BYTES), key.subarray(ID_BYTES)]
}

/** All representatives, their signatures with them wherever the engine keeps them. */
export async function* portableRows(
  backend: Backend,
  spaces: NearSpaces,
): AsyncGenerator<Row<Representative>> {
  for await (const { key } of backend.scan(spaces.representatives)) {
    const value = await backend.read(withSignature, spaces, key)
    if (value) yield { key, value }
  }
}

function* withSignature(
  _scope: unknown,
  spaces: NearSpaces,
  key: Buffer,
): Transaction<Representative | undefined> {
  const [row] = yield* read(cell(spaces.representatives, key))
  if (!row || row.sequence === 0) return row
  const insert = yield* readChange(spaces, row.sequence)
  if (insert?.kind === 'insert' && equalBytes(insert.id, partsOf(key)[1])) {
    return { sequence: 0, signature: insert.signature, payload: row.payload }
  }
  throw new PrestigeError(
    'CONTENT_CORRUPT',
    'The index is damaged: the signature of a representative is missing. Run prestige verify.',
  )
}
