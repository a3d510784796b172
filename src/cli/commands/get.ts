/** `get KEY`: the very bytes, nothing added, as they are read. */

import { keyMissing } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { print } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { READING, withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const key = invocation.key(invocation.operand(0))
  const { signal } = invocation
  // On a terminal that shows the value itself, a line would be drawn into it.
  const progress = process.stdout.isTTY ? undefined : Progress.of(invocation, 'value')
  await withStore(invocation, READING, async (store) => {
    const value = await store.getStream(key, { signal })
    if (value === undefined) throw keyMissing(notationOf(Buffer.from(key)))
    if (progress?.isShown) progress.expect({ bytes: (await store.head(key))?.bytes ?? 0 })
    for await (const piece of value) {
      await print(Buffer.from(piece))
      progress?.advanceBytes(piece.byteLength)
    }
    progress?.advance(0)
  }).finally(() => progress?.end())
  return 0
}
