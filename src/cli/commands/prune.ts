/** `prune`: keys that were put, or last used, too long ago. */

import type { Invocation } from '../call/invocation.ts'
import { Failure, systemCode, usageFailure } from '../call/failure.ts'
import { goneFrom } from '../call/gone-keys.ts'
import { timeGiven } from '../call/time-given.ts'
import { readDuration } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const now = Date.now()
  const olderThan = timeGiven(invocation, 'older-than', now)
  const idleFor = invocation.text('idle-for')
  if (olderThan === undefined && idleFor === undefined) {
    throw usageFailure('prune needs --older-than 90d or --idle-for 7d: which keys are to go.')
  }
  const wanted = {
    prefix: invocation.keyOption('prefix'),
    ...(olderThan !== undefined && { olderThanMs: Math.max(0, now - olderThan) }),
    ...(idleFor !== undefined && { idleForMs: readDuration(idleFor, 'idle-for') }),
  }
  const pruned = goneFrom(invocation, 'pruned', (store, how) => store.prune({ ...wanted, ...how }))
  return pruned.catch((error: unknown) => {
    throw idleFor !== undefined && systemCode(error) === 'INVALID_OPTIONS' ? noUses() : error
  })
}

/** Everything else that options can be refused for was refused before. */
function noUses(): Failure {
  return new Failure(
    'invalid',
    'INVALID_OPTIONS',
    '--idle-for needs a store that records when keys are used, and this one does not. It does from the first put with --max-keys or --max-bytes on; or prune by --older-than.',
  )
}
