/** Takes answers away by what they were set with. */

import { PrestigeError } from '../platform/errors.ts'
import { refuseUnknown, type Store } from '../store/index.ts'
import { ANSWERS, decodeEntry, idOf, removeEntry } from './entries.ts'

/** Which answers go: those for which all that is given holds. */
export interface InvalidateOptions {
  /** Answers with this tag. */
  readonly tag?: string | undefined
  /** Answers from this source. */
  readonly source?: string | undefined
  /** Answers that were set longer ago than this, in milliseconds. */
  readonly olderThanMs?: number | undefined
}

/** How many went. What is set meanwhile stays. */
export async function invalidate(
  store: Store,
  options: InvalidateOptions,
  now: number,
): Promise<number> {
  refuseUnknown(options, ['tag', 'source', 'olderThanMs'])
  const { tag, source, olderThanMs } = options
  if (tag === undefined && source === undefined && olderThanMs === undefined) {
    throw refused('invalidate needs tag, source or olderThanMs: which answers are to go.')
  }
  if (olderThanMs !== undefined && !(olderThanMs >= 0)) {
    throw refused(`olderThanMs: must be a number from 0, not ${olderThanMs}.`)
  }
  let count = 0
  for await (const [key, value] of store.entries({ prefix: ANSWERS })) {
    const entry = decodeEntry(value)
    if (tag !== undefined && !entry.tags.includes(tag)) continue
    if (source !== undefined && entry.source !== source) continue
    if (olderThanMs !== undefined && now - entry.setAt <= olderThanMs) continue
    if (await removeEntry(store, idOf(key), value)) count++
  }
  return count
}

function refused(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}
