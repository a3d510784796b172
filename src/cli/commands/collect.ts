import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'
import { countOf, size } from '../print/units.ts'
import { withStore } from '../call/with-store.ts'
import { compactedText } from './compact.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { collected, compacted } = await withStore(
    invocation,
    { create: false },
    async (store) => ({
      collected: await store.collect(),
      compacted: invocation.flag('compact') ? await store.compact() : undefined,
    }),
  )
  const { expiredKeys, contents, contentBytes, abandonedParts } = collected
  const parts = abandonedParts > 0 ? `, ${countOf(abandonedParts, 'abandoned part')}` : ''
  const what = `${countOf(expiredKeys, 'expired key')}, ${countOf(contents, 'content')} (${size(contentBytes)})`
  const more = compacted ? `${compactedText(compacted)}\n` : ''
  if (invocation.flag('json')) await printJson({ ...collected, ...compacted })
  else if (!invocation.flag('quiet')) await print(`collected ${what}${parts}\n${more}`)
  return 0
}
