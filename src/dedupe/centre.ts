/** A document that others are measured against: its rows in the indexes, written and taken out again. */

import { concat, equalBytes } from '../bytes.ts'
import { cell, glance, read, type Scope, type Transaction } from '../backends/contract.ts'
import type { Engine, NearLook } from './engine.ts'
import { fromHex, hex } from './names.ts'
import { DIGEST_BYTES, type PreparedDocument } from './prepare.ts'
import { type Centre, chunks, evidences, forms } from './rows.ts'

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
  let simhashRow: readonly [string, string] | undefined
  if (simhash.enabled && document.simhash) {
    const row = scope.id()
    const shelf = engine.simhashShelf(document.simhash.profile)
    yield* engine.simhash.insert(scope, shelf, row, document.simhash.bits, key)
    simhashRow = [hex(shelf), hex(row)]
  }
  const { meaning } = engine
  const semantic =
    standsForMeaning && meaning && document.meaning
      ? yield* meaning.keep(scope, document.meaning, key)
      : undefined
  const own: string[] = []
  if (passages.enabled) {
    const found = yield* glance(...document.chunks.map(({ hash }) => cell(chunks, hash)))
    for (const [at, chunk] of document.chunks.entries()) {
      if (found[at]) continue
      const place = cell(chunks, chunk.hash)
      scope.rely(place)
      scope.write(place, key)
      own.push(hex(chunk.hash))
    }
  }
  return {
    form: hex(document.form),
    ...(near && { near }),
    ...(simhashRow && { simhash: simhashRow }),
    ...(own.length > 0 && { chunks: own }),
    ...(semantic && { semantic }),
  }
}

function* keepNear(
  scope: Scope,
  engine: Engine,
  { group, signature, evidence }: NearLook,
  key: Buffer,
): Transaction<readonly [string, string]> {
  const row = scope.id()
  yield* engine.near.insert(scope, group, row, signature, key)
  scope.write(cell(evidences, concat(group, row)), evidence)
  return [hex(group), hex(row)]
}

/** Takes a document's fingerprints out of the indexes. */
export function* removeCentre(
  scope: Scope,
  engine: Engine,
  key: Buffer,
  centre: Centre,
): Transaction<void> {
  const form = cell(forms, fromHex(centre.form))
  const [same] = yield* read(form)
  if (same && equalBytes(same.subarray(DIGEST_BYTES), key)) scope.remove(form)
  if (centre.near) {
    const [shelf, row] = [fromHex(centre.near[0]), fromHex(centre.near[1])]
    yield* engine.near.remove(scope, shelf, row)
    scope.remove(cell(evidences, concat(shelf, row)))
  }
  if (centre.simhash) {
    const [shelf, row] = [fromHex(centre.simhash[0]), fromHex(centre.simhash[1])]
    yield* engine.simhash.remove(scope, shelf, row)
  }
  if (centre.semantic) {
    const [shelf, row] = [fromHex(centre.semantic[0]), fromHex(centre.semantic[1])]
    yield* engine.meanings.remove(scope, shelf, row)
    scope.remove(cell(evidences, concat(shelf, row)))
  }
  for (const hash of centre.chunks ?? []) scope.remove(cell(chunks, fromHex(hash)))
}
