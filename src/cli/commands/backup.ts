/** `backup TARGET`: the store as it is now, beside earlier backups. */

import type { Invocation } from '../call/invocation.ts'
import { withStore } from '../call/with-store.ts'
import { print, printJson } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { countOf, size } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { signal } = invocation
  const progress = Progress.of(invocation, 'key')
  try {
    // Not for reading only: who holds a moment has to be known to the engine.
    const report = await withStore(invocation, { create: false }, async (store) => {
      if (progress.isShown) progress.expect({ items: (await store.stats()).keys })
      const onProgress = (done: { readonly keys: number; readonly valueBytes: number }) =>
        progress.reach(done.keys, done.valueBytes)
      return store.backup(invocation.operand(0), { signal, onProgress })
    })
    progress.end()
    const { id, keys, valueBytes, newBytes, storedBytes, isOneMoment } = report
    const what = `${countOf(keys, 'key')}, ${size(valueBytes)}; ${size(newBytes)} new, ${size(storedBytes)} written`
    const moment = isOneMoment ? '' : '\neach key as it was at some moment of the backup'
    if (invocation.flag('json')) await printJson(report)
    else if (!invocation.flag('quiet')) await print(`backup ${id}: ${what}${moment}\n`)
    return 0
  } finally {
    progress.end()
  }
}
