/** What a put reports: what the key was, what the content was, of what, and by which method. */

import { type Evidence, hex, type KeyOutcome, PutOrigin, type Receipt } from '../receipt.ts'
import type { ContentOutcome } from '../rows.ts'
import type { Prepared } from './put.ts'
import type { Scene } from './scene.ts'

export function receiptOf(
  prepared: Prepared,
  scene: Scene,
  { id, outcome }: { readonly id: Buffer; readonly outcome: ContentOutcome },
  key: KeyOutcome,
  expiresAt: number | undefined,
): Receipt {
  const { known, form, near, meant, notCompared } = scene
  const refused = meant?.meaning.refused ?? near?.refused
  const contentId = hex(id)
  const { bytes } = prepared
  const of = known ?? form ?? near?.known ?? meant?.known
  const receipt: Receipt =
    outcome === 'new' || of === undefined
      ? { key, content: 'new', contentId, bytes, bytesSaved: prepared.sharedBytes }
      : {
          key,
          content: outcome,
          contentId,
          of: new PutOrigin(known ? contentId : hex(of.id), of.firstKey, of.storedAt),
          ...methodOf(prepared, scene, outcome),
          bytes,
          bytesSaved: savedBytes(prepared, scene),
        }
  if (expiresAt === undefined && notCompared === undefined && !refused) return receipt
  return {
    ...receipt,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(notCompared !== undefined && { notCompared }),
    ...(refused && { refused }),
  }
}

function savedBytes({ bytes, sharedBytes }: Prepared, { known, near }: Scene): number {
  if (known) return bytes
  return near?.delta ? bytes - near.delta.byteLength : sharedBytes
}

function methodOf(
  { sharesForms, keeping: { near: comparing, semantic } }: Prepared,
  { form, near, meant }: Scene,
  outcome: ContentOutcome,
): Evidence {
  if (near?.hit && !form) {
    const { similarity, verdict } = near.hit
    const threshold = comparing?.settings.similarityMin ?? 0
    const judged = verdict?.probability !== undefined && { probability: verdict.probability }
    return { method: 'near', similarity, threshold, ...judged }
  }
  const hit = meant?.known && meant.meaning.hit
  if (hit && semantic && !form) {
    const { similarityMin: threshold, embedder } = semantic.settings
    return { method: 'semantic', similarity: hit.similarity, threshold, embedder }
  }
  return { method: outcome === 'linked' || sharesForms ? 'canonical' : 'digest' }
}
