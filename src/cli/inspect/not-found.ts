/** Which documents of an id are asked for, and what to say of an id that none has. */

import type { DocumentFilter } from '../../dedupe/index.ts'
import type { Deduper } from '../../index.ts'
import { harmless } from '../../platform/harmless.ts'
import { Failure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { countGiven } from '../call/count-given.ts'

export function filterOf(invocation: Invocation): DocumentFilter {
  return { file: invocation.text('file'), line: countGiven(invocation, 'line', 1) }
}

export async function documentMissing(deduper: Deduper, invocation: Invocation): Promise<Failure> {
  const id = invocation.operand(0)
  const { file, line } = filterOf(invocation)
  const missing = (message: string) => new Failure('missing', 'KEY_NOT_FOUND', message)
  const { similarId } = await import('../../dedupe/index.ts')
  const named = `There is no document "${harmless(id)}"`
  const asked = [
    ...(file === undefined ? [] : [['--file', harmless(file)]]),
    ...(line === undefined ? [] : [['--line', String(line)]]),
  ]
  if (asked.length > 0 && (await deduper.documents(id)).length > 0) {
    const typed = asked.map((words) => words.join(' ')).join(' ')
    const options = asked.map(([option]) => option).join(' and ')
    return missing(`${named} with ${typed}. Without ${options}, all with this id are listed.`)
  }
  const similar = await similarId(deduper.backend, id)
  const hint = similar === undefined ? '' : ` Did you mean "${harmless(similar)}"?`
  return missing(`${named} in this state.${hint}`)
}
