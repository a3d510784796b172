/** `explain KEY`: why a key points where it points. Two operands are texts: explain-texts.ts. */

import type { Explanation } from '../../index.ts'
import { keyMissing } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { print, printJson } from '../print/output.ts'
import { refusal } from '../print/refusal.ts'
import { sameness } from '../print/sameness.ts'
import { table } from '../print/table.ts'
import { percent, size, time } from '../print/units.ts'
import { READING, withStore } from '../call/with-store.ts'

export async function run(invocation: Invocation): Promise<number> {
  if (invocation.operands.length === 2) {
    const { explainTexts } = await import('../texts/explain-texts.ts')
    return explainTexts(invocation)
  }
  return explainKey(invocation)
}

async function explainKey(invocation: Invocation): Promise<number> {
  const key = invocation.key(invocation.operand(0))
  const sharedWithMax = invocation.wholeNumber('limit') ?? 10
  const explanation = await withStore(invocation, READING, (store) =>
    store.explain(key, { sharedWithMax }),
  )
  if (explanation === undefined) throw keyMissing(notationOf(Buffer.from(key)))
  if (invocation.flag('json')) await printJson(explanation)
  else await print(textOf(explanation))
  return 0
}

function textOf(explanation: Explanation): string {
  const { key, points, digest, bytes, putAt, expiresAt, sharedWith } = explanation
  const { refused, embedder } = explanation
  const rows = [
    ['key', notationOf(key)],
    ['outcome', cause(explanation)],
    ...(refused ? [['refused', refusal(refused).slice(2)]] : []),
    ...(embedder === undefined ? [] : [['embedder', embedder]]),
    ['bytes', size(bytes) + (bytes < 1024 ? '' : ` (${bytes})`)],
    ['put', time(putAt)],
    ...(expiresAt === undefined ? [] : [['expires', time(expiresAt)]]),
    ['content', `${points.content}, stored ${time(points.storedAt)}`],
    ['first key', notationOf(points.firstKey)],
    ['digest', digest],
    ...sharedWith.map((other, at) => [at === 0 ? 'shared with' : '', notationOf(other)]),
  ]
  return table(rows, ['left', 'left'])
}

function cause(explanation: Explanation): string {
  const { content, of, threshold } = explanation
  if (of === undefined) {
    return explanation.refused ? 'new' : 'new: nothing like it was known'
  }
  const verb = content === 'linked' ? 'linked to' : 'duplicate of'
  const asked = threshold === undefined ? '' : ` (${percent(threshold)} asked for)`
  return `${verb} "${notationOf(of.firstKey)}", ${sameness(explanation)}${asked}`
}
