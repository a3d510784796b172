/** `clear`: deletes all keys, if that is confirmed. */

import { deleteKeys } from '../call/delete-keys.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'

export async function run(invocation: Invocation): Promise<number> {
  if (!invocation.flag('yes') && !invocation.flag('dry-run')) {
    throw usageFailure(
      'clear deletes all keys of the store. Add --yes to do it, or --dry-run to count them.',
    )
  }
  return deleteKeys(invocation, (store, options) => store.clear(options))
}
