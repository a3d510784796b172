/** `undo RUN`: a run of dedupe is taken back out of its state. Its outputs are left alone. */

import { stateOf } from '../dedupe-settings.ts'
import type { Invocation } from '../invocation.ts'
import { unsaidDurability } from '../location.ts'
import { print, printJson } from '../output.ts'
import { countOf } from '../units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const state = stateOf(invocation)
  const { openDedupe } = await import('../../dedupe/index.ts')
  const deduper = await openDedupe(state, {
    create: false,
    durability: unsaidDurability(state, 'os'),
    asBefore: true,
  })
  try {
    const id = invocation.operand(0)
    const undone = await deduper.undo(id, { cascade: invocation.flag('cascade') })
    if (invocation.flag('json')) await printJson(undone)
    else if (!invocation.flag('quiet')) {
      const lines = undone.map(
        ({ run: name, documents }) =>
          `undone ${name}: ${countOf(documents, 'document')} forgotten; what it wrote is where it was\n`,
      )
      await print(lines.join('') || `${id} was undone before\n`)
    }
    return 0
  } finally {
    await deduper.close()
  }
}
