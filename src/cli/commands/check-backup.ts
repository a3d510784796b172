/** `check-backup TARGET`: what is wrong, and an exit code that says whether backups can be restored. */

import { EXIT_CORRUPT } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { paint, print, printJson } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { countOf, size } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { checkBackup } = await import('../../store/index.ts')
  const progress = Progress.of(invocation, 'pack')
  try {
    const report = await checkBackup(invocation.operand(0), {
      backup: invocation.text('backup'),
      readData: invocation.flag('read-data'),
      signal: invocation.signal,
      onProgress: ({ packs, bytes }) => progress.reach(packs, bytes),
    })
    progress.end()
    const { isSound, backups, keys, packs, packBytes, problems, problemCount } = report
    const lines = problems.map(
      ({ backup, message }) => `${backup ? `${backup}: ` : ''}${message}\n`,
    )
    const verdict = isSound ? paint('green', 'sound') : paint('red', 'damaged')
    const found = isSound ? '' : `, ${countOf(problemCount, 'problem')}`
    const sum = `${countOf(backups, 'backup')}, ${countOf(keys, 'key')}, ${countOf(packs, 'pack')}, ${size(packBytes)}`
    if (invocation.flag('json')) await printJson(report)
    else if (!isSound || !invocation.flag('quiet'))
      await print(`${lines.join('')}${verdict}: ${sum}${found}\n`)
    return isSound ? 0 : EXIT_CORRUPT
  } finally {
    progress.end()
  }
}
