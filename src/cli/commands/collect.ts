import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'
import { countOf, size } from '../print/units.ts'
import { withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const collected = await withStore(invocation, { create: false }, (store) => store.collect())
  const { expiredKeys, contents, contentBytes, abandonedParts } = collected
  const parts = abandonedParts > 0 ? `, ${countOf(abandonedParts, 'abandoned part')}` : ''
  const what = `${countOf(expiredKeys, 'expired key')}, ${countOf(contents, 'content')} (${size(contentBytes)})`
  if (invocation.flag('json')) await printJson(collected)
  else if (!invocation.flag('quiet')) await print(`collected ${what}${parts}\n`)
  return 0
}
