/**
 * The mark of a store that is being restored: `restore` in the space of its settings, with the id of the backup. While
 * it is there, not all keys are, and nobody else opens the store.
 */

import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { settings } from '../rows.ts'

const MARK = cell(settings, Buffer.from('restore'))

function* markOf(): Transaction<string | undefined> {
  const [found] = yield* read(MARK)
  return found && Buffer.from(found).toString()
}

export async function startRestore(backend: Backend, id: string): Promise<void> {
  await backend.run(function* (scope: Scope): Transaction<void> {
    scope.write(MARK, Buffer.from(id))
    yield* read()
  })
}

export async function finishRestore(backend: Backend): Promise<void> {
  await backend.run(function* (scope: Scope): Transaction<void> {
    scope.remove(MARK)
    yield* read()
  })
}

/** Whether the restore of this backup was begun, and has not ended. */
export async function isRestoring(backend: Backend, id: string): Promise<boolean> {
  return (await backend.read(markOf)) === id
}

/** `restoring`: of whoever goes on with it. */
export async function requireRestored(backend: Backend, restoring?: string): Promise<void> {
  const found = await backend.read(markOf)
  if (found === undefined || found === restoring) return
  throw new PrestigeError(
    'RESTORE_UNFINISHED',
    `This store is being restored from backup ${found}, and not all of its keys are there. Restore that backup again to complete it (prestige restore TARGET --backup ${found}).`,
  )
}
