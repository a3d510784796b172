/** `count`: at once from the tallies where they are exact; keys that can have expired are looked at. */

import type { Store } from '../../index.ts'
import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'
import { READING, withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const keys = await withStore(invocation, READING, (store) => countKeys(store, invocation))
  if (invocation.flag('json')) await printJson({ keys })
  else await print(`${keys}\n`)
  return 0
}

async function countKeys(store: Store, invocation: Invocation): Promise<number> {
  const prefix = invocation.keyOption('prefix')
  const stats = await store.stats()
  if (prefix === undefined && stats.keysWithExpiry === 0) return stats.keys
  let keys = 0
  for await (const _key of store.keys({ prefix })) {
    invocation.signal.throwIfAborted()
    keys++
  }
  return keys
}
