/** `undo RUN`: removes a run of dedupe from its state and lists the files it wrote, or deletes them if asked to. */

import { rm, rmdir } from '../../platform/files.ts'
import { harmless } from '../../platform/harmless.ts'
import { dirname } from '../../platform/paths.ts'
import { stateOf } from '../dedupe/dedupe-settings.ts'
import type { Undone } from '../../dedupe/index.ts'
import type { Deduper } from '../../index.ts'
import { fileFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { unsaidDurability } from '../call/location.ts'
import { print, printJson } from '../print/output.ts'
import { countOf } from '../print/units.ts'

interface UndoneRun extends Undone {
  readonly out: string
  /** Files and folders of the run that exist. */
  readonly outputs: readonly string[]
}

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
    const cascade = invocation.flag('cascade')
    const removed = await deduper.undo(id, { cascade })
    const all = await withOutputs(
      deduper,
      removed.length > 0 ? removed : [{ run: id, documents: 0 }],
    )
    const isDeleted = invocation.flag('delete-outputs')
    if (isDeleted) for (const one of all) await deleteAll(one)
    if (invocation.flag('json')) await printJson(removed.length > 0 ? all : [])
    else if (!invocation.flag('quiet')) {
      const done = removed.length > 0 ? '' : `${id} was undone before\n`
      await print(done + all.map((one) => textOf(one, done === '', isDeleted)).join(''))
    }
    return 0
  } finally {
    await deduper.close()
  }
}

async function withOutputs(deduper: Deduper, undone: readonly Undone[]): Promise<UndoneRun[]> {
  const { filesOfRun } = await import('../../dedupe/index.ts')
  const runs = await deduper.runs()
  const isGone = (id: string) => runs.some((one) => one.id === id && one.status === 'undone')
  return Promise.all(
    undone.map(async (one) => {
      const { out = '' } = runs.findLast(({ id }) => id === one.run) ?? {}
      return Object.assign(one, { out, outputs: out ? await filesOfRun(out, one.run, isGone) : [] })
    }),
  )
}

/** Directories that are empty then are removed too, up to that of the outputs. */
async function deleteAll({ out, outputs }: UndoneRun): Promise<void> {
  for (const path of outputs) {
    await rm(path, { recursive: true, force: true }).catch((error: unknown) => {
      throw fileFailure(path, error)
    })
    for (let above = dirname(path); above.length > out.length; above = dirname(above)) {
      const isEmpty = await rmdir(above).then(
        () => true,
        () => false,
      )
      if (!isEmpty) break
    }
  }
}

function textOf({ run: id, documents, outputs }: UndoneRun, isNew: boolean, isDeleted: boolean) {
  const head = isNew
    ? `undone ${id}: ${countOf(documents, 'document')} removed from the state\n`
    : ''
  if (outputs.length === 0) return head
  const what = isDeleted
    ? 'Deleted its outputs:'
    : 'Its outputs were not deleted (undo --delete-outputs does that):'
  return `${head}${what}\n${outputs.map((path) => `  ${harmless(path)}\n`).join('')}`
}
