/** `get KEY`: the very bytes, nothing added. The store is closed before a slow reader is waited for. */

import { keyMissing } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { print } from '../print/output.ts'
import { READING, withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const key = invocation.key(invocation.operand(0))
  const value = await withStore(invocation, READING, (store) => store.get(key))
  if (value === undefined) throw keyMissing(notationOf(Buffer.from(key)))
  await print(value)
  return 0
}
