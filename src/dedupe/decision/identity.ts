/**
 * Which row a document is. One that was given by itself is known by its id: another text is its new version. One
 * of a file is known by file and id: ids of other files are others, and where an id stands twice in a file for two
 * texts, both are documents.
 */

import { createHash } from 'node:crypto'

import { equalBytes } from '../../platform/bytes.ts'
import { cell, read, type Transaction } from '../../backends/index.ts'
import { DOCUMENT_ID_BYTES_MAX } from '../../ledger/index.ts'
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

/** The key of the first document of this id in a file; `undefined` where there can be none. */
export function keyInFile(file: string, id: string): Buffer | undefined {
  const name = JSON.stringify([file, id, 0])
  return Buffer.byteLength(name) <= DOCUMENT_ID_BYTES_MAX ? documentKey(name) : undefined
}

export function* placeOf(document: PreparedDocument, session: string): Transaction<Place> {
  const { id, place } = document
  if (place === undefined) return yield* rowAt(documentKey(id))
  for (let number = 0; number < NUMBERED_MAX; number++) {
    const found = yield* rowAt(keyOf(place, id, String(number)))
    const isTaken = found.old?.session === session && !equalBytes(found.old.digest, document.digest)
    if (!isTaken) return found
  }
  return yield* rowAt(keyOf(place, id, `"${hex(document.digest)}"`))
}

/** The last place that was asked for, and its form in JSON: documents of one file come together. */
let lastPlace = ''
let lastPlaceJson = '""'

/** Of a JSON array. Path and id together may be longer than what an id by itself may be. */
function keyOf(place: string, id: string, which: string): Buffer {
  if (place !== lastPlace) [lastPlace, lastPlaceJson] = [place, JSON.stringify(place)]
  const told = `[${lastPlaceJson},${JSON.stringify(id)},${which}]`
  if (told.length * 3 <= DOCUMENT_ID_BYTES_MAX) return documentKey(told)
  const bytes = Buffer.from(told)
  if (bytes.byteLength <= DOCUMENT_ID_BYTES_MAX) return documentKey(told)
  return createHash('sha256').update(bytes).digest().subarray(0, KEY_BYTES)
}

function* rowAt(key: Buffer): Transaction<Place> {
  const [old] = yield* read(cell(documents, key))
  return { key, old }
}
