/** Deletes the keys of a range, or counts them, and prints how many. */

import type { Store } from '../../index.ts'
import { print, printJson } from '../print/output.ts'
import { countOf, size } from '../print/units.ts'
import type { Invocation } from './invocation.ts'
import { READING, withStore } from './with-store.ts'

type Deleted = Awaited<ReturnType<Store['clear']>>
type Options = NonNullable<Parameters<Store['clear']>[0]>

export async function deleteKeys(
  invocation: Invocation,
  work: (store: Store, options: Options) => Promise<Deleted>,
): Promise<number> {
  const { signal } = invocation
  const dryRun = invocation.flag('dry-run')
  const access = dryRun ? READING : { create: false }
  const deleted = await withStore(invocation, access, (store) =>
    work(store, { dryRun, signal }).catch((error: unknown) => {
      signal.throwIfAborted()
      throw error
    }),
  )
  const { keys, valueBytes } = deleted
  const what = `${countOf(keys, 'key')} with ${size(valueBytes)} of values`
  if (invocation.flag('json')) await printJson({ ...deleted, dryRun })
  else if (!invocation.flag('quiet')) {
    await print(dryRun ? `would delete ${what}\n` : `deleted ${what}\n`)
  }
  return 0
}
