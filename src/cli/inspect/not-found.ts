/** What to say of an id that no document has. */

import type { Deduper } from '../../index.ts'
import { harmless } from '../../platform/harmless.ts'
import { Failure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'

export async function documentMissing(deduper: Deduper, invocation: Invocation): Promise<Failure> {
  const id = invocation.operand(0)
  const file = invocation.text('file')
  const missing = (message: string) => new Failure('missing', 'KEY_NOT_FOUND', message)
  const { similarId } = await import('../../dedupe/index.ts')
  const named = `There is no document "${harmless(id)}"`
  if (file !== undefined && (await deduper.documents(id)).length > 0) {
    return missing(`${named} of ${file}. Without --file, those of all files are listed.`)
  }
  const similar = await similarId(deduper.backend, id)
  const hint = similar === undefined ? '' : ` Did you mean "${harmless(similar)}"?`
  return missing(`${named} in this state.${hint}`)
}
