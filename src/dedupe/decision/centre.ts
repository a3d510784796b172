/** A document that others are measured against: its rows in the indexes, written and taken out again. */

import { concat, equalBytes } from '../../platform/bytes.ts'
import { cell, glance, read, type Scope, type Transaction } from '../../backends/index.ts'
import type { CutSpans } from '../../input/index.ts'
import type { Centre } from './centre-row.ts'
import { containmentProbe } from './containment.ts'
import type { Engine, NearProbe } from './engine.ts'
import { pointingTo } from './packs.ts'
import { DIGEST_BYTES, type PreparedDocument } from './prepare.ts'
import { chunks, evidences, forms } from '../rows.ts'

export function* keepCentre(
  scope: Scope,
  engine: Engine,
  document: PreparedDocument,
  key: Buffer,
  standsForMeaning: boolean,
  cut: CutSpans,
): Transaction<Centre> {
  const { simhash, chunks: passages } = engine.config
  scope.write(cell(forms, document.form), concat(document.digest, key))
  const [probe] = engine.probesOf(document)
  const near = probe && (yield* keepNear(scope, engine, probe, key, document.packed))
  const isContainable =
    near && (yield* keepContainable(scope, engine, document, { key, near, cut }))
  let simhashRow: readonly [Buffer, Buffer] | undefined
  if (simhash.enabled && document.simhash) {
    const row = scope.id()
    const print = engine.simhashProbe(document.simhash)
    yield* engine.simhash.insert(scope, print.partition, row, print, key)
    simhashRow = [print.partition, row]
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
  const places = { near, simhash: simhashRow, semantic, ...(isContainable && { isContainable }) }
  return { form: document.form, ...places, chunks: own }
}

/** Whether it is in the index of containment. */
function* keepContainable(
  scope: Scope,
  { containment }: Engine,
  document: PreparedDocument,
  {
    key,
    near: [partition, row],
    cut,
  }: { key: Buffer; near: readonly [Buffer, Buffer]; cut: CutSpans },
): Transaction<boolean> {
  const probe = containment && containmentProbe(containment, document, cut)
  if (!probe) return false
  yield* containment.insert(scope, row, probe, { key, partition, cut })
  return true
}

function* keepNear(
  scope: Scope,
  engine: Engine,
  probe: NearProbe,
  key: Buffer,
  packed: Uint8Array | undefined,
): Transaction<readonly [Buffer, Buffer]> {
  const row = scope.id()
  const { partition, evidence } = probe
  yield* engine.near.insert(scope, partition, row, probe, pointingTo(key, packed))
  if (!packed) scope.write(cell(evidences, concat(partition, row)), evidence)
  return [partition, row]
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
    const [partition, row] = centre.near
    yield* engine.near.index.remove(scope, partition, row)
    if (centre.isContainable) yield* engine.removeContainable(scope, row)
    scope.remove(cell(evidences, concat(partition, row)))
  }
  if (centre.simhash) yield* engine.simhash.index.remove(scope, ...centre.simhash)
  if (centre.semantic) {
    const [partition, row] = centre.semantic
    yield* engine.meanings.remove(scope, partition, row)
    scope.remove(cell(evidences, concat(partition, row)))
  }
  for (const hash of centre.chunks ?? []) scope.remove(cell(chunks, hash))
}
