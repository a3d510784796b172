/** Results of a run of `dedupe`, for the terminal. */

import { withoutSecrets } from '../../backends/index.ts'
import { harmless } from '../../platform/harmless.ts'
import type { Summary } from '../../index.ts'
import { HIDDEN, LEADS_OUTSIDE, type Listing, UNKNOWN_EXTENSION } from '../../input/index.ts'
import { paint } from '../print/output.ts'
import { table } from '../print/table.ts'
import { count, countOf, size } from '../print/units.ts'

export interface Published {
  readonly run?: string | undefined
  readonly out?: string | undefined
  readonly state?: string | undefined
  readonly skipped?: readonly string[] | undefined
  readonly notes?: readonly string[] | undefined
  /** Of a plan. */
  readonly file?: string | undefined
}

const SOURCES_TOLD = 10

export function summaryText(summary: Summary, published: Published): string {
  const { documents, kept, linked, dropped, rejected, bytes, bytesDropped } = summary
  const { cut, bytesCut } = summary
  const rows = [
    ['documents', count(documents), size(bytes)],
    ['kept', paint('bold', count(kept + linked)), size(bytes - bytesDropped - bytesCut)],
    ...(linked > 0
      ? [['linked', count(linked), 'of those kept: similar to another document']]
      : []),
    ...(cut > 0
      ? [['cut', count(cut), `of those linked: ${size(bytesCut)} is in other documents`]]
      : []),
    ['dropped', count(dropped), `${percent(dropped, documents)}  ${methods(summary)}`.trimEnd()],
    ...extras(summary),
    ...(rejected > 0 ? [['rejected', count(rejected), reasons(summary)]] : []),
  ]
  return [
    table(rows, ['left', 'right', 'left']),
    ...sources(summary),
    ...places(summary, published),
  ].join('\n')
}

export function nothingText({ skipped }: { skipped?: readonly string[] }, where: string): string {
  return `Nothing to do: earlier runs processed ${countOf(skipped?.length ?? 0, 'file')}.${where}\n`
}

const NAMES_SHOWN = 3

/** What lay below the inputs and was not read, by reason; links that lead outside have a note of their own. */
export function passedOverText(skipped: Listing['skipped']): string {
  const byReason = new Map<string, { count: number; names: string[] }>()
  for (const { file, why } of skipped) {
    if (why === HIDDEN || why === LEADS_OUTSIDE) continue
    const reason = why === UNKNOWN_EXTENSION ? 'unknown extension; --format reads them' : why
    const found = byReason.get(reason) ?? { count: 0, names: [] }
    if (++found.count <= NAMES_SHOWN) found.names.push(file)
    byReason.set(reason, found)
  }
  const lines = [...byReason].map(([reason, { count: files, names }]) => {
    const more = files > names.length ? ', …' : ''
    const shown = harmless(names.join(', '))
    return `${countOf(files, 'file')} passed over: ${shown}${more} (${reason})\n`
  })
  return lines.join('')
}

function extras({
  superseded,
  repeated,
  supersededEarlier,
  unchanged,
  orphaned,
  possibleMisses,
}: Summary): string[][] {
  const rows: [string, number, string][] = [
    ['superseded', superseded, 'of those dropped: replaced by a better copy later'],
    [
      'superseded before',
      supersededEarlier,
      'kept by earlier runs, and still in kept/: see superseded.jsonl',
    ],
    ['repeated', repeated, 'of those dropped: same id and text again'],
    ['unchanged', unchanged, 'documents of changed files that are the same as before'],
    ['orphaned', orphaned, 'of earlier runs: duplicates of texts that have changed now'],
    [
      'possible misses',
      possibleMisses,
      'not compared with all candidates: full buckets were skipped',
    ],
  ]
  return rows.flatMap(([name, number, text]) => (number > 0 ? [[name, count(number), text]] : []))
}

function methods({ droppedByMethod }: Summary): string {
  const ordered = Object.entries(droppedByMethod).toSorted(([, one], [, other]) => other - one)
  return ordered.map(([method, number]) => `${method} ${count(number)}`).join(', ')
}

function reasons({ rejected, rejectsByReason, rejectsUnrecorded }: Summary): string {
  const ordered = Object.entries(rejectsByReason).toSorted(([, one], [, other]) => other - one)
  const all = ordered.map(([reason, number]) => `${reason} ${count(number)}`).join(', ')
  if (rejectsUnrecorded === 0) return all
  return `${all}; rejects.jsonl has the first ${count(rejected - rejectsUnrecorded)}`
}

function sources({ bySource }: Summary): string[] {
  const all = Object.entries(bySource).toSorted(
    ([, one], [, other]) => other.documents - one.documents,
  )
  if (all.length < 2) return []
  const rows = all
    .slice(0, SOURCES_TOLD)
    .map(([name, { documents, dropped }]) => [
      count(documents),
      count(dropped),
      percent(dropped, documents),
      harmless(name),
    ])
  const more = all.length - rows.length
  const heading = [['documents', 'dropped', '', 'source']]
  const text = table([...heading, ...rows], ['right', 'right', 'right', 'left'])
  return [more > 0 ? `${text}  and ${countOf(more, 'other source')}\n` : text]
}

function places(
  { rejected }: Summary,
  { run, out, state, skipped, notes, file }: Published,
): string[] {
  const lines: string[] = []
  if (out !== undefined) {
    const rejects = rejected > 0 ? ', rejects.jsonl' : ''
    lines.push(`Written to ${out}: kept/, duplicates.jsonl${rejects}, manifest.json, report.html`)
  }
  if (file !== undefined)
    lines.push(`Documents that would be dropped or linked are listed in ${file}`)
  if (run && state !== undefined) {
    lines.push(`Run ${run}; to undo it: ${undoCommand(run, state)}`)
  }
  if (skipped && skipped.length > 0) {
    lines.push(`${countOf(skipped.length, 'file')} not read again: done by earlier runs`)
  }
  lines.push(...(notes ?? []))
  return lines.length > 0 ? [`${lines.map(harmless).join('\n')}\n`] : []
}

/** To be pasted, so it says where a password has to be filled in. */
export function undoCommand(run: string, state: string): string {
  const shown = withoutSecrets(state)
  const hint = shown === state ? '' : ' (put the password in place of ***)'
  return `prestige undo ${run} --state ${shown}${hint}`
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${((part / whole) * 100).toFixed(1)} %`
}
