/**
 * Which row a document is. One that was given by itself is known by its id: another text is its new version. One
 * of a file is known by file and id: ids of other files are others, and where an id stands twice in a file for two
 * texts, both are documents.
 *
 * A key begins with eight bytes of the SHA-256 of the id, so that all documents of an id are found by it. The other
 * eight are of file, id and number. In states of format 1 all sixteen were; documents that such a state has are
 * found under those keys.
 */

import { hash } from 'node:crypto'

import { equalBytes } from '../../platform/bytes.ts'
import { cell, read, type Transaction } from '../../backends/index.ts'
import { ID_BYTES } from '../../ledger/index.ts'
import { hex } from '../names.ts'
import type { PreparedDocument } from './prepare.ts'
import { documentKey, type DocumentRow, documents } from '../rows.ts'

/** Up to this many texts of one id are distinguished by their number; more are by their text. */
const NUMBERED_MAX = 8
const KEY_BYTES = 16

export interface Place {
  readonly key: Buffer
  readonly old: DocumentRow | undefined
}

/** The keys that the first document of this id in a file may have. */
export function keysInFile(file: string, id: string): readonly Buffer[] {
  const { key, oldKey } = keysOf(file, id, '0')
  return [key, oldKey]
}

export function* placeOf(
  document: PreparedDocument,
  session: string,
  hasOldKeys: boolean,
): Transaction<Place> {
  const { id, place } = document
  if (place === undefined) return yield* rowAt(documentKey(id))
  for (let number = 0; number < NUMBERED_MAX; number++) {
    const found = yield* rowOf(keysOf(place, id, String(number)), hasOldKeys)
    const isTaken = found.old?.session === session && !equalBytes(found.old.digest, document.digest)
    if (!isTaken) return found
  }
  return yield* rowOf(keysOf(place, id, `"${hex(document.digest)}"`), hasOldKeys)
}

interface Keys {
  readonly key: Buffer
  readonly oldKey: Buffer
}

/** The last place that was asked for, and its form in JSON: documents of one file come together. */
let lastPlace = ''
let lastPlaceJson = '""'

function keysOf(place: string, id: string, which: string): Keys {
  if (place !== lastPlace) [lastPlace, lastPlaceJson] = [place, JSON.stringify(place)]
  const name = hash('sha256', `[${lastPlaceJson},${JSON.stringify(id)},${which}]`, 'binary')
  const ofId = hash('sha256', id, 'binary')
  const key = Buffer.from(ofId.slice(0, ID_BYTES) + name.slice(0, KEY_BYTES - ID_BYTES), 'latin1')
  return { key, oldKey: Buffer.from(name.slice(0, KEY_BYTES), 'latin1') }
}

function* rowOf({ key, oldKey }: Keys, hasOldKeys: boolean): Transaction<Place> {
  const found = yield* rowAt(key)
  if (found.old || !hasOldKeys) return found
  const old = yield* rowAt(oldKey)
  return old.old ? old : found
}

function* rowAt(key: Buffer): Transaction<Place> {
  const [old] = yield* read(cell(documents, key))
  return { key, old }
}
