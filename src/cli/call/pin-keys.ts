/** Pins keys, or takes their pins away. A key that is not there is no success: the exit code is 3. */

import type { Store } from '../../index.ts'
import { notationOf } from '../print/key-notation.ts'
import { print, printJson } from '../print/output.ts'
import type { Invocation } from './invocation.ts'
import { withStore } from './with-store.ts'

export async function pinKeys(
  invocation: Invocation,
  done: 'pinned' | 'unpinned',
  work: (store: Store, key: Buffer) => Promise<boolean>,
): Promise<number> {
  const keys = invocation.operands.map((typed) => Buffer.from(invocation.key(typed)))
  const dryRun = invocation.flag('dry-run')
  const changed: Buffer[] = []
  const missing: Buffer[] = []
  await withStore(invocation, { create: false }, async (store) => {
    for (const key of keys) {
      const isDone = dryRun ? await store.has(key) : await work(store, key)
      ;(isDone ? changed : missing).push(key)
    }
  })
  const verb = dryRun ? `would have ${done}` : done
  const none = done === 'pinned' || dryRun ? 'was not there' : 'was not pinned'
  const lines = [
    ...changed.map((key) => `${verb} "${notationOf(key)}"\n`),
    ...missing.map((key) => `"${notationOf(key)}" ${none}\n`),
  ]
  if (invocation.flag('json')) await printJson({ [done]: changed, missing, dryRun })
  else if (!invocation.flag('quiet')) await print(lines.join(''))
  return missing.length === 0 ? 0 : 3
}
