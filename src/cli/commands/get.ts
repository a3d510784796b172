/** `get KEY`: the very bytes, nothing added, as they are read. */

import { keyMissing } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { print } from '../print/output.ts'
import { READING, withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const key = invocation.key(invocation.operand(0))
  const { signal } = invocation
  await withStore(invocation, READING, async (store) => {
    const value = await store.getStream(key, { signal })
    if (value === undefined) throw keyMissing(notationOf(Buffer.from(key)))
    for await (const piece of value) await print(Buffer.from(piece))
  })
  return 0
}
