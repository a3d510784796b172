/** What is noted of a put for those who measure. */

import type { Notes } from './observe.ts'
import type { Prepared, PutEnd } from './transactions/put.ts'

/** When all is done. */
export function notePut(notes: Notes, prepared: Prepared, { receipt, swept }: PutEnd): void {
  // From the first transaction to the last.
  const commitMs = notes.finish() - notes.embeddingMs
  const isHit = receipt.content === 'duplicate'
  const isUnchanged = receipt.key === 'unchanged'
  notes.count(isHit ? 'dedup_hit_total' : 'dedup_miss_total')
  if (!isHit) notes.count('object_created_total')
  if (isUnchanged) notes.count('noop_overwrite_total')
  // A stream is hashed while it comes: how long that took by itself is not known.
  if (notes.sha256Us > 0) notes.measure('sha256_us', notes.sha256Us)
  if (prepared.form || prepared.sharesForms) notes.measure('normalize_us', notes.normalizeUs)
  notes.measure('commit_us', commitMs * 1000)
  notes.measure('value_bytes', prepared.bytes)
  notes.attribute('dedup_hit', isHit)
  notes.attribute('had_old', receipt.key !== 'created')
  notes.attribute('noop_overwrite', isUnchanged)
  if (swept) noteSwept(notes)
}

export function noteSwept(notes: Notes): void {
  notes.event('gc.delete_object')
  notes.count('prestige.gc.deleted_objects_total')
}
