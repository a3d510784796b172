/** `prune`: keys that were put, or last used, too long ago. */

import type { Invocation } from '../call/invocation.ts'
import { usageFailure } from '../call/failure.ts'
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
  return goneFrom(invocation, 'pruned', (store, how) => store.prune({ ...wanted, ...how }))
}
