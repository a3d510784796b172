/** Documents of a state by their ids or keys. It only reads. */

import { endOfPrefix } from '../../platform/bytes.ts'
import { nearest } from '../../platform/did-you-mean.ts'
import {
  type Backend,
  cell,
  glance,
  type Range,
  read,
  type Transaction,
} from '../../backends/index.ts'
import { ID_BYTES } from '../../ledger/index.ts'
import { fromHex } from '../names.ts'
import { documentKey, type DocumentRow, documents } from '../rows.ts'
import { SETTINGS } from '../state-settings.ts'

/** A row, and the key it is under. */
export interface StoredDocument {
  readonly key: Buffer
  readonly row: DocumentRow
}

/** So many ids are compared with one that is not there. */
const IDS_COMPARED_MAX = 20_000
/** So many rows are read in one transaction. */
const PAGE = 256

/** All documents with one of these ids, of whatever file and source, in the order of their keys. */
export async function documentsOfIds(
  backend: Backend,
  ids: ReadonlySet<string>,
): Promise<StoredDocument[]> {
  const found: StoredDocument[] = []
  for (const range of await rangesOf(backend, ids)) {
    for await (const { key, value: row } of backend.scan(documents, range)) {
      if (ids.has(row.id)) found.push({ key: Buffer.from(key), row })
    }
  }
  return found
}

/** The first half of a key is made of the id, except in states that were begun with format 1. */
async function rangesOf(backend: Backend, ids: ReadonlySet<string>): Promise<Range[]> {
  const [settings] = await backend.read(function* () {
    return yield* read(SETTINGS)
  })
  if (Reflect.get(Object(settings), 'firstFormat') === 1) return [{}]
  return Array.from(ids, (id) => {
    const start = documentKey(id).subarray(0, ID_BYTES)
    return { start, end: endOfPrefix(start) }
  })
}

/** By key in hex. What is not there is left out. */
export async function documentsOfKeys(
  backend: Backend,
  keys: Iterable<string>,
): Promise<Map<string, StoredDocument>> {
  const all = [...new Set(keys)]
  const found = new Map<string, StoredDocument>()
  for (let from = 0; from < all.length; from += PAGE) {
    const page = all.slice(from, from + PAGE)
    const rows = await backend.read(rowsAt, page)
    for (const [at, row] of rows.entries()) {
      const name = page[at]
      if (row && name !== undefined) found.set(name, { key: fromHex(name), row })
    }
  }
  return found
}

function* rowsAt(
  _scope: unknown,
  keys: readonly string[],
): Transaction<readonly (DocumentRow | undefined)[]> {
  return yield* glance(...keys.map((key) => cell(documents, fromHex(key))))
}

/** The id of a document that may have been meant; of a large state, only some ids are compared. */
export async function similarId(backend: Backend, id: string): Promise<string | undefined> {
  const ids = new Set<string>()
  const lengthsApart = Math.max(1, Math.floor(id.length / 3))
  for await (const { value } of backend.scan(documents, { limit: IDS_COMPARED_MAX })) {
    if (Math.abs(value.id.length - id.length) <= lengthsApart) ids.add(value.id)
  }
  return nearest(id, [...ids].toSorted())
}
