/** What a ledger was written with: so far, the number of its format. */

import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { readRecorded } from '../platform/settings.ts'
import { settings } from './rows.ts'

const FORMAT_VERSION = 1
const SETTINGS = cell(settings, Buffer.from('ledger'))

export async function openSettings(backend: Backend, create = true): Promise<void> {
  const found = await backend.read(findSettings)
  if (found !== undefined) return void readRecorded('ledger', found, [FORMAT_VERSION])
  if (!create)
    throw new PrestigeError(
      'STORE_NOT_FOUND',
      'There is no ledger of this namespace at this location.',
    )
  readRecorded('ledger', await backend.run(keepSettings), [FORMAT_VERSION])
}

function* findSettings(_scope: ReadScope): Transaction<string | undefined> {
  const [found] = yield* read(SETTINGS)
  return found
}

function* keepSettings(scope: Scope): Transaction<string> {
  const [found] = yield* read(SETTINGS)
  const wanted = JSON.stringify({ format: FORMAT_VERSION })
  if (found === undefined) scope.write(SETTINGS, wanted)
  return found ?? wanted
}
