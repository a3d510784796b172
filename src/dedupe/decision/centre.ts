/** A document that others are measured against: its rows in the indexes, written and taken out again. */

import { concat, equalBytes } from '../../platform/bytes.ts'
import { cell, glance, read, type Scope, type Transaction } from '../../backends/index.ts'
import type { Centre } from './centre-row.ts'
import type { Engine, NearLook } from './engine.ts'
import { DIGEST_BYTES, type PreparedDocument } from './prepare.ts'
import { chunks, evidences, forms } from '../rows.ts'

export function* keepCentre(
  scope: Scope,
  engine: Engine,
  document: PreparedDocument,
  key: Buffer,
  standsForMeaning: boolean,
): Transaction<Centre> {
  const { simhash, chunks: passages } = engine.config
  scope.write(cell(forms, document.form), concat(document.digest, key))
  const [look] = engine.looksOf(document)
  const near = look && (yield* keepNear(scope, engine, look, key))
  let simhashRow: readonly [Buffer, Buffer] | undefined
  if (simhash.enabled && document.simhash) {
    const row = scope.id()
    const shelf = engine.simhashShelf(document.simhash.profile)
    yield* engine.simhash.insert(scope, shelf, row, document.simhash.bits, key)
    simhashRow = [shelf, row]
  }
  const { meaning } = engine
  const semantic =
    standsForMeaning && meaning && document.meaning
      ? yield* meaning.keep(scope, document.meaning, key)
      : undefined
  const own: Uint8Array[] = []
  if (passages.enabled) {
    const found = yield* glance(...document.chunks.map(({ hash }) => cell(chunks, hash)))
    for (const [at, chunk] of document.chunks.entries()) {
      if (found[at]) continue
      const place = cell(chunks, chunk.hash)
      scope.rely(place)
      scope.write(place, key)
      own.push(chunk.hash)
    }
  }
  return { form: document.form, near, simhash: simhashRow, semantic, chunks: own }
}

function* keepNear(
  scope: Scope,
  engine: Engine,
  { group, signature, evidence }: NearLook,
  key: Buffer,
): Transaction<readonly [Buffer, Buffer]> {
  const row = scope.id()
  yield* engine.near.insert(scope, group, row, signature, key)
  scope.write(cell(evidences, concat(group, row)), evidence)
  return [group, row]
}

/** Takes a document's fingerprints out of the indexes. */
export function* removeCentre(
  scope: Scope,
  engine: Engine,
  key: Buffer,
  centre: Centre,
): Transaction<void> {
  const form = cell(forms, centre.form)
  const [same] = yield* read(form)
  if (same && equalBytes(same.subarray(DIGEST_BYTES), key)) scope.remove(form)
  if (centre.near) {
    const [shelf, row] = centre.near
    yield* engine.near.remove(scope, shelf, row)
    scope.remove(cell(evidences, concat(shelf, row)))
  }
  if (centre.simhash) yield* engine.simhash.remove(scope, ...centre.simhash)
  if (centre.semantic) {
    const [shelf, row] = centre.semantic
    yield* engine.meanings.remove(scope, shelf, row)
    scope.remove(cell(evidences, concat(shelf, row)))
  }
  for (const hash of centre.chunks ?? []) scope.remove(cell(chunks, hash))
}
