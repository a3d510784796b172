/** What stops a run that takes nothing but documents. */

import { PrestigeError } from '../../platform/errors.ts'
import { placeOfReject, type Reject, type Shard } from '../../input/index.ts'

export function refusedReject(shard: Shard, reject: Reject): PrestigeError {
  const { reason, message } = reject
  return new PrestigeError(
    'INPUT_REJECTED',
    `${placeOfReject(shard, reject)} is no document (${reason}): ${message} Nothing was kept. Without strict it is listed in rejects.jsonl, and the rest is processed.`,
  )
}
