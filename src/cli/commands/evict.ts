/** `evict`: the least recently used keys, until the store is small enough. */

import type { Invocation } from '../call/invocation.ts'
import { usageFailure } from '../call/failure.ts'
import { goneFrom } from '../call/gone-keys.ts'
import { sizeGiven } from '../call/size-given.ts'

export async function run(invocation: Invocation): Promise<number> {
  const toBytes = sizeGiven(invocation, 'to-bytes')
  const toKeys = invocation.wholeNumber('to-keys')
  if (toBytes === undefined && toKeys === undefined) {
    throw usageFailure('evict needs --to-bytes 2GiB or --to-keys 1000: how small it is to be.')
  }
  return goneFrom(invocation, 'evicted', (store, how) => store.evict({ toBytes, toKeys, ...how }))
}
