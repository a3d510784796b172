/** Which store a backup is of: 16 random bytes beside the settings of a store, made by its first backup. */

import { randomBytes } from 'node:crypto'

import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { settings } from '../rows.ts'

const IDENTITY = cell(settings, Buffer.from('identity'))

function* findIdentity(): Transaction<string | undefined> {
  const [found] = yield* read(IDENTITY)
  return found && Buffer.from(found).toString('hex')
}

function* keepIdentity(scope: Scope, fresh: Buffer): Transaction<string> {
  const found = yield* findIdentity()
  if (found === undefined) scope.write(IDENTITY, fresh)
  return found ?? fresh.toString('hex')
}

/** Of a store that is only read and has none: `undefined`. */
export async function identityOf(backend: Backend): Promise<string | undefined> {
  const found = await backend.read(findIdentity)
  if (found !== undefined) return found
  try {
    return await backend.run(keepIdentity, randomBytes(16))
  } catch (error) {
    if (error instanceof PrestigeError && error.code === 'READ_ONLY') return undefined
    throw error
  }
}

/** A restored store goes on as the one it was, unless it is another one already. */
export async function restoreIdentity(backend: Backend, store: string | undefined): Promise<void> {
  if (store !== undefined) await backend.run(keepIdentity, Buffer.from(store, 'hex'))
}
