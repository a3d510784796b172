/** `similar [TEXT]`: what in the store is like a text. */

import type { Similar } from '../../index.ts'
import { Failure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { print, printJson } from '../print/output.ts'
import { vetoText } from '../print/refusal.ts'
import { table } from '../print/table.ts'
import { percent, size, time } from '../print/units.ts'
import { valueOf } from '../call/value-given.ts'
import { locationOf, withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  const limit = invocation.wholeNumber('limit')
  const threshold = invocation.share('threshold')
  const vetoed = invocation.flag('vetoed')
  locationOf(invocation)
  const value = await valueOf(invocation, 0)
  const found = await withStore(invocation, { create: false }, (store) => {
    if (store.settings.dedup === 'exact') throw exactOnly()
    return store.similar(value, { limit, threshold, vetoed })
  })
  if (invocation.flag('json')) await printJson(found)
  else if (found.length > 0) await print(tableOf(found))
  return 0
}

function exactOnly(): Failure {
  return new Failure(
    'invalid',
    'INVALID_OPTIONS',
    'This store finds identical bytes only. Put its values into a new store that finds similar ones: prestige put --dedup near --store OTHER, or prestige import --dedup near --store OTHER.',
  )
}

function tableOf(found: readonly Similar[]): string {
  const rows = found.map(({ similarity, bytes, storedAt, firstKey, vetoes = [] }) => [
    percent(similarity),
    size(bytes),
    time(storedAt),
    notationOf(firstKey) + (vetoes.length > 0 ? `  not the same: ${vetoText(vetoes)}` : ''),
  ])
  const head = ['similar', 'size', 'stored', 'first key']
  return table([head, ...rows], ['right', 'right', 'left', 'left'])
}
