/** Results of a run of `dedupe`, for the terminal. */

import { resolve } from 'node:path'

import { withoutSecrets } from '../../backends/index.ts'
import { harmless } from '../../platform/harmless.ts'
import type { JobResult, Summary } from '../../index.ts'
import type { Redo } from '../../dedupe/index.ts'
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
const RUNS_SHOWN = 3

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
      'kept by earlier runs, and no longer in kept/: see superseded.jsonl',
    ],
    ['repeated', repeated, 'of those dropped: same id and text again'],
    ['unchanged', unchanged, 'documents of changed files that are the same as before'],
    ['orphaned', orphaned, 'dropped earlier for texts that have changed now; see below'],
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

/** Where there is nothing to do: where the results are, and what was typed for them. */
export function nothingText(
  { skipped, files, earlier = [] }: Pick<JobResult, 'skipped' | 'files' | 'earlier'>,
  out: string,
): string {
  const places = [...new Set(earlier.map((run) => run.out))]
  const here = places.includes(resolve(out))
  const where = here || places.length === 0 ? out : `${places.join(' and ')}, and none in ${out}`
  const restored = countOf(files.length, 'missing or outdated output')
  const what = files.length > 0 ? `No new documents: ${restored} written again;` : 'Nothing to do:'
  const lines = [
    `${what} earlier runs processed ${countOf(skipped.length, 'file')}. Results are in ${where}.`,
    ...earlier
      .flatMap(({ run, command }) => (command ? [`Run ${run}: ${command}`] : []))
      .slice(-RUNS_SHOWN),
  ]
  if (!here && places.length > 0) {
    lines.push('To have results in both places, give -o a directory with a state of its own.')
  }
  return `${lines.map(harmless).join('\n')}\n`
}

/** `Redoing 3 runs: 12,000 documents of 4 files, with --threshold 0.9 (before: 0.8). The inputs are read again.` */
export function redoText({ runs, documents, files, changes, collected }: Redo): string {
  const settings = changes.map(({ now, before }) => `${now} (before: ${before})`).join('; ')
  const how = settings ? `with ${settings}` : 'with the same settings'
  return harmless(
    `Redoing ${countOf(runs.length, 'run')}: ${countOf(documents, 'document')} of ${countOf(files, 'file')}, ${how}. ${collectedText(collected)}`,
  )
}

function collectedText({ files, read }: Redo['collected']): string {
  if (read.length === 0) return 'Texts are taken from the state: inputs are not read to decide.'
  const reasons = [...new Set(read.map(({ why }) => why))].map((why) => {
    const [first, ...others] = read.filter((one) => one.why === why)
    const more = others.length > 0 ? ` and ${countOf(others.length, 'other file')}` : ''
    return `${first?.file ?? ''}${more} (${why})`
  })
  const all = reasons.join('; ')
  if (files === 0) return `The inputs are read again: ${all}.`
  return `Texts of ${countOf(files, 'file')} are taken from the state. Read again: ${all}.`
}

/** Of a plan. */
export function wouldChangeText({ kept: before }: Redo, { kept, linked }: Summary): string {
  return `Kept now: ${countOf(before, 'document')}. Kept after --again: ${count(kept + linked)}.\n`
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
