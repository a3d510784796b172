/** The ids in buckets, where buckets are cells. */

import { latin1 } from '../platform/bytes.ts'
import { type Bucket, ID_BYTES } from './rows.ts'

export function idsOf(bucket: Bucket | undefined): Buffer[] {
  const ids: Buffer[] = []
  if (!bucket) return ids
  for (let at = 0; at < bucket.ids.byteLength; at += ID_BYTES) {
    ids.push(bucket.ids.subarray(at, at + ID_BYTES))
  }
  return ids
}

/** Signatures are read of so many; those that share most bands, of equals the oldest. */
export function mostShared(
  buckets: readonly (Bucket | undefined)[],
  max: number,
): { readonly ids: readonly Buffer[]; readonly passedOver: number } {
  const shared = new Map<string, { readonly id: Buffer; count: number }>()
  let passedOver = 0
  for (const bucket of buckets) {
    if (bucket?.isFull) passedOver++
    for (const id of idsOf(bucket)) {
      const known = shared.get(latin1(id))
      if (known) known.count++
      else shared.set(latin1(id), { id, count: 1 })
    }
  }
  const ranked = [...shared.values()].toSorted(
    (one, other) => other.count - one.count || one.id.compare(other.id),
  )
  return {
    ids: ranked.slice(0, max).map(({ id }) => id),
    passedOver: passedOver + Math.max(0, ranked.length - max),
  }
}
