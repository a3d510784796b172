import type { Compacted } from '../../index.ts'
import type { Invocation } from '../call/invocation.ts'
import { withStore } from '../call/with-store.ts'
import { print, printJson } from '../print/output.ts'
import { size } from '../print/units.ts'

export async function run(invocation: Invocation): Promise<number> {
  const done = await withStore(invocation, { create: false }, (store) => store.compact())
  if (invocation.flag('json')) await printJson(done)
  else if (!invocation.flag('quiet')) await print(`${compactedText(done)}\n`)
  return 0
}

export function compactedText(done: Compacted): string {
  if (!done.compacted) return `not compacted: ${done.reason}`
  return `compacted the file from ${size(done.fileBytesBefore)} to ${size(done.fileBytes)}`
}
