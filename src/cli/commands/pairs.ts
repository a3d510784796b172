/** `pairs`: the pairs nearest to the threshold on both sides, in the form that `label` and `tune` read. */

import type { CloseCall, CloseCalls } from '../../dedupe/index.ts'
import type { Invocation } from '../call/invocation.ts'
import { countGiven } from '../call/count-given.ts'
import { withState } from '../inspect/with-state.ts'
import { jsonOf, print, tell } from '../print/output.ts'
import { count, countOf } from '../print/units.ts'

const COLUMNS = ['a', 'b', 'label', 'decision', 'similarity', 'aId', 'bId'] as const

/** `label` is empty: a person decides. */
interface PairLine extends Readonly<Record<(typeof COLUMNS)[number], string | number | null>> {
  readonly label: null
}

export function run(invocation: Invocation): Promise<number> {
  return withState(invocation, async (deduper) => {
    const found = await deduper.closeCalls({
      count: countGiven(invocation, 'near-threshold', 1, 1000),
      searchedMax: invocation.wholeNumber('limit'),
      signal: invocation.signal,
    })
    const lines = found.calls.flatMap((call) => lineOf(call) ?? [])
    const isCsv = invocation.flag('csv')
    if (isCsv) await print(`${COLUMNS.join(',')}\n`)
    for (const line of lines) await print(isCsv ? csvOf(line) : `${jsonOf(line)}\n`)
    if (!invocation.flag('quiet')) tell(summaryOf(found, found.calls.length - lines.length))
    return 0
  })
}

/** `undefined` if a text cannot be read any more. */
function lineOf({ a, b, decision, similarity, vetoes }: CloseCall): PairLine | undefined {
  if (a.text === undefined || b.text === undefined) return undefined
  const why = { decision, similarity, ...(vetoes && { vetoes }) }
  return { a: a.text, b: b.text, label: null, ...why, aId: a.id, bId: b.id }
}

function csvOf(line: PairLine): string {
  return `${COLUMNS.map((name) => fieldOf(line[name])).join(',')}\n`
}

function fieldOf(value: string | number | null): string {
  const text = String(value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function summaryOf({ calls, threshold, representatives, searched }: CloseCalls, lost: number) {
  const of = (decision: CloseCall['decision']) =>
    count(calls.filter((call) => call.decision === decision).length)
  const sampled =
    searched < representatives
      ? `; searched around ${count(searched)} of ${countOf(representatives, 'document')} (--limit)`
      : ''
  const unread =
    lost > 0 ? `${countOf(lost, 'pair')} left out: their inputs are gone or have changed.\n` : ''
  return [
    `Nearest to the threshold of ${threshold}: ${of('duplicate')} duplicate, ${of('different')} different, ${of('refused')} refused by guards${sampled}.\n`,
    'Below the threshold most pairs are found, and not all.\n',
    unread,
    'Label them: prestige label pairs.jsonl -o labels.jsonl\n',
  ].join('')
}
