/** `restore TARGET`: the keys and values of a backup, in a store with its settings. */

import type { Invocation } from '../call/invocation.ts'
import { unsaidDurability } from '../call/location.ts'
import { choice, locationOf } from '../call/with-store.ts'
import { print, printJson } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { countOf } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const location = locationOf(invocation)
  const { restoreBackup } = await import('../../store/index.ts')
  const progress = Progress.of(invocation, 'key')
  try {
    const restored = await restoreBackup(invocation.operand(0), location, {
      namespace: invocation.text('namespace'),
      durability: choice(invocation, 'durability') ?? unsaidDurability(location, 'os'),
      backup: invocation.text('backup'),
      overwrite: invocation.flag('overwrite'),
      signal: invocation.signal,
      onProgress: ({ keys, valueBytes }) => progress.reach(keys, valueBytes),
    })
    progress.end()
    const { backup, keys, expired } = restored
    const late = expired > 0 ? `, ${countOf(expired, 'key')} expired since` : ''
    if (invocation.flag('json')) await printJson(restored)
    else if (!invocation.flag('quiet'))
      await print(`restored ${countOf(keys, 'key')} of backup ${backup}${late}\n`)
    return 0
  } finally {
    progress.end()
  }
}
