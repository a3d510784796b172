/** `undo RUN`: takes the documents of a run of dedupe out of its state and out of the outputs. */

import { rm } from '../../platform/files.ts'
import { harmless } from '../../platform/harmless.ts'
import { join } from '../../platform/paths.ts'
import type { Undone } from '../../dedupe/index.ts'
import { fileFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { unsaidDurability } from '../call/location.ts'
import { inspectedState } from '../inspect/with-state.ts'
import { print, printJson, tell } from '../print/output.ts'
import { countOf } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const state = inspectedState(invocation)
  const { openDedupe, recordPath } = await import('../../dedupe/index.ts')
  const deduper = await openDedupe(state, {
    create: false,
    durability: unsaidDurability(state, 'os'),
    asBefore: true,
  })
  try {
    const id = invocation.operand(0)
    const undone = await deduper.undo(id, { cascade: invocation.flag('cascade') })
    const { out = '' } = (await deduper.runs()).findLast((one) => one.id === id) ?? {}
    const runs = undone.length > 0 ? undone : [{ run: id, out }]
    const folders = runs.filter((one) => one.out).map((one) => recordPath(one.out, one.run, ''))
    const isDeleted = invocation.flag('delete-outputs')
    if (isDeleted) for (const folder of folders) await deleteFolder(folder)
    for (const note of undone.flatMap(({ notes }) => notes)) tell(`${harmless(note)}\n`)
    if (invocation.flag('json')) await printJson(undone)
    else if (!invocation.flag('quiet')) {
      const before = undone.length > 0 ? '' : `${id} was undone before\n`
      await print(before + undone.map((one) => textOf(one, isDeleted)).join(''))
    }
    return 0
  } finally {
    await deduper.close()
  }
}

async function deleteFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true }).catch((error: unknown) => {
    throw fileFailure(folder, error)
  })
}

function textOf({ run: id, documents, out }: Undone, isDeleted: boolean): string {
  const places = out === '' ? 'the state' : `the state and from ${harmless(join(out, 'kept'))}`
  const records = `Its records ${isDeleted ? 'were deleted' : `are in ${harmless(join(out, 'runs', id))}`}.`
  return `undone ${id}: ${countOf(documents, 'document')} removed from ${places}\n${out === '' ? '' : `${records}\n`}`
}
