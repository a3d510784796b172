/** Keys that a command takes away, or would: a list of them, and their sum. */

import type { Store } from '../../index.ts'
import { notationOf } from '../print/key-notation.ts'
import { jsonOf, print } from '../print/output.ts'
import { countOf, size } from '../print/units.ts'
import type { Invocation } from './invocation.ts'
import { withStore } from './with-store.ts'

type Gone = Awaited<ReturnType<Store['evict']>>
type How = Pick<Parameters<Store['evict']>[0], 'dryRun' | 'onKey' | 'signal'>

/** With `--dry-run`, every key is printed with the bytes that it frees. */
export async function goneFrom(
  invocation: Invocation,
  done: 'evicted' | 'pruned',
  work: (store: Store, how: How) => Promise<Gone>,
): Promise<number> {
  const { signal } = invocation
  const dryRun = invocation.flag('dry-run')
  const asJson = invocation.flag('json')
  const lines: string[] = []
  const line = (key: Buffer, bytes: number) =>
    asJson ? `${jsonOf({ key, freedBytes: bytes })}\n` : `${notationOf(key)}\t${size(bytes)}\n`
  const onKey = (key: Buffer, bytes: number) => void lines.push(line(key, bytes))
  const gone = await withStore(invocation, { create: false }, (store) =>
    work(store, { dryRun, signal, ...(dryRun && { onKey }) }),
  )
  if (!invocation.flag('quiet')) await print(lines.join(''))
  const { keys, contents, bytes } = gone
  const what = `${countOf(keys, 'key')} and ${countOf(contents, 'content')} (${size(bytes)})`
  if (asJson) await print(`${jsonOf({ ...gone, dryRun })}\n`)
  else if (!invocation.flag('quiet')) await print(`${dryRun ? 'would have ' : ''}${done} ${what}\n`)
  return 0
}
