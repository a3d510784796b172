/** `forget-backups TARGET --keep-last N`: removes the others, and what only they needed. */

import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { countGiven } from '../call/count-given.ts'
import { print, printJson } from '../print/output.ts'
import { countOf, size } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const keepLast = countGiven(invocation, 'keep-last', 1)
  if (keepLast === undefined) throw usageFailure('Say how many backups stay: --keep-last N.')
  const { forgetBackups } = await import('../../store/index.ts')
  const { signal } = invocation
  const forgotten = await forgetBackups(invocation.operand(0), { keepLast, signal })
  const { removed, kept, packs, packBytes, isBackupRunning } = forgotten
  const what = `removed ${countOf(removed.length, 'backup')}, ${countOf(packs, 'pack')} (${size(packBytes)}); ${kept} kept`
  if (invocation.flag('json')) await printJson(forgotten)
  else if (!invocation.flag('quiet')) {
    await print(`${what}\n`)
    if (isBackupRunning)
      await print('A backup is being made: packs stay until you run this again.\n')
  }
  return 0
}
