import { EXIT_MISSING } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'
import { READING, withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const key = invocation.key(invocation.operand(0))
  const has = await withStore(invocation, READING, (store) => store.has(key))
  if (invocation.flag('json')) await printJson({ has })
  else if (!invocation.flag('quiet')) await print(has ? 'yes\n' : 'no\n')
  return has ? 0 : EXIT_MISSING
}
