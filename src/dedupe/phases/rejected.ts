/** What stops a run that takes nothing but documents. */

import { PrestigeError } from '../../platform/errors.ts'
import type { Reject, Shard } from '../../input/index.ts'

export function refusedReject(
  shard: Shard,
  { path, line, reason, message }: Reject,
): PrestigeError {
  const file = path ?? shard.path
  return new PrestigeError(
    'INPUT_REJECTED',
    `${file}, line ${line} is no document (${reason}): ${message} Nothing was kept. Without strict it is listed in rejects.jsonl, and the rest is processed.`,
  )
}
