/** `why ID`: why dedupe kept, dropped, linked or rejected a document. It only reads. */

import type { Deduper, DocumentInfo, RejectedPiece } from '../../dedupe/index.ts'
import { harmless } from '../../platform/harmless.ts'
import type { Invocation } from '../call/invocation.ts'
import { documentMissing, filterOf } from '../inspect/not-found.ts'
import { withState } from '../inspect/with-state.ts'
import { choiceText, inJson, inOrder, placeText } from '../inspect/words.ts'
import { print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { countOf } from '../print/units.ts'

export function run(invocation: Invocation): Promise<number> {
  return withState(invocation, async (deduper) => {
    const id = invocation.operand(0)
    const found = await deduper.documents(id, filterOf(invocation))
    if (found.length === 0) await rejected(deduper, invocation)
    else if (isAmbiguous(found) && !invocation.flag('json')) await print(listed(id, found))
    else await explained(deduper, invocation)
    return 0
  })
}

/** Several files have the id, and none was named. */
function isAmbiguous(found: readonly DocumentInfo[]): boolean {
  return new Set(found.map(({ file }) => file)).size > 1
}

async function explained(deduper: Deduper, invocation: Invocation): Promise<void> {
  const all = await deduper.why(invocation.operand(0), filterOf(invocation))
  if (invocation.flag('json')) {
    for (const one of all) await printJson(inJson(one))
    return
  }
  const { whyText } = await import('../inspect/why-text.ts')
  const { profile } = deduper.config.canonical
  await print(
    inOrder(all)
      .map((one) => whyText(one, profile))
      .join('\n'),
  )
}

function listed(id: string, found: readonly DocumentInfo[]): string {
  const rows = inOrder(found).map((one) => [
    one.status,
    placeText(one) || 'no file',
    `run ${one.run}`,
  ])
  return [
    `${countOf(found.length, 'document')} with the id "${harmless(id)}":\n`,
    table(
      rows.map((row) => row.map(harmless)),
      ['left', 'left', 'left'],
    ),
    `${choiceText(found)}\n`,
  ].join('')
}

/** Input that is no document has no id of its own. */
async function rejected(deduper: Deduper, invocation: Invocation): Promise<void> {
  const { rejectsOf } = await import('../../dedupe/index.ts')
  const found = await rejectsOf(deduper.backend, invocation.operand(0), filterOf(invocation))
  if (found.length === 0) throw await documentMissing(deduper, invocation)
  if (invocation.flag('json')) {
    for (const one of found) await printJson({ status: 'rejected', ...one })
  } else await print(found.map(rejectText).join('\n'))
}

function rejectText(reject: RejectedPiece): string {
  const { reason, message, sample, run: ofRun } = reject
  return table(
    [
      ['status', 'rejected: it is not a document'],
      ['reason', `${reason}: ${harmless(message)}`],
      ['read from', placeText(reject)],
      ['begins', harmless(sample)],
      ['run', harmless(ofRun)],
    ],
    ['left', 'left'],
  )
}
