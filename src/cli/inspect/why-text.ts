/** What `why` prints for people: facts, both texts side by side, other settings, and the cluster. */

import type { DocumentExplanation } from '../../dedupe/index.ts'
import { alignedTexts } from '../../report/index.ts'
import { harmless } from '../../platform/harmless.ts'
import { paint } from '../print/output.ts'
import { table } from '../print/table.ts'
import { countOf, time } from '../print/units.ts'
import { colourOf, columnsOf } from '../texts/explain-texts.ts'
import { sideBySide } from '../texts/side-by-side.ts'
import { beginningOf, documentText, guardsText, placeText, since } from './words.ts'

type Canonical = Parameters<typeof alignedTexts>[2]

export function whyText(explained: DocumentExplanation, canonical: Canonical): string {
  return [
    table(factsOf(explained), ['left', 'left']),
    comparison(explained, canonical),
    changes(explained),
    nearest(explained),
    cluster(explained),
  ].join('')
}

function factsOf(explained: DocumentExplanation): string[][] {
  const { id, source, run, runStartedAt, status, isOrphaned, kept, supersedes = [] } = explained
  const begun = runStartedAt === undefined ? '' : `, begun ${time(runStartedAt)}`
  const rows: [string, string][] = [
    ['document', `"${harmless(id)}"`],
    ['status', `${paint('bold', isOrphaned ? 'orphaned' : status)}${since(explained)}`],
    ['reason', reasonOf(explained)],
    ['kept', kept ? `${documentText(kept)} is kept in its place` : ''],
    ['supersedes', supersedes.map(documentText).join(', ')],
    ['source', harmless(source)],
    ['read from', placeText(explained)],
    ['run', `${harmless(run)}${begun}`],
    ...notesOf(explained).map((note): [string, string] => ['note', note]),
  ]
  return rows.filter(([, value]) => value !== '')
}

const FOUND_BY = {
  exact: 'it has the same text as',
  canonical: 'it has the same canonical form as',
  simhash: 'its SimHash is close to that of',
  near: 'it shares most of its shingles with',
  containment: 'it is contained in, or contains,',
  chunk: 'it shares passages with',
  semantic: 'it means the same as',
} as const

function reasonOf({
  status,
  method,
  against,
  similarity,
  threshold,
  vetoes,
  shareOfOther,
  isOrphaned,
}: DocumentExplanation): string {
  if (!method)
    return status === 'kept' ? 'no document decided about before it is similar enough' : ''
  const other = against ? documentText(against) : 'a document that is gone'
  if (isOrphaned) {
    const now = against ? ', which has another text now' : ''
    return `${method}: it was dropped as a duplicate of ${other}${now}: no copy of it may be kept`
  }
  if (vetoes) {
    return `it is similar to ${other} (${numbersOf(similarity, threshold)}), but guards keep them apart: ${guardsText(vetoes)}`
  }
  const shares =
    shareOfOther === undefined ? '' : `; ${shareOfOther.toFixed(3)} of the other is in it`
  const numbers = similarity === undefined ? '' : ` (${numbersOf(similarity, threshold)}${shares})`
  const by = status === 'superseded' ? 'a better copy of it came, which was found because ' : ''
  return `${method}: ${by}${FOUND_BY[method]} ${other}${numbers}`
}

function numbersOf(similarity = 1, threshold: number | undefined): string {
  const limit = threshold === undefined ? '' : `, threshold ${threshold}`
  return `similarity ${similarity.toFixed(3)}${limit}`
}

function notesOf({ isOrphaned, file, isCut, possibleMiss }: DocumentExplanation): string[] {
  const again =
    file === undefined
      ? 'submit it again'
      : `run dedupe again with the inputs that ${harmless(file)} is of; if the file is not read again, change its modification time first (touch)`
  return [
    ...(isOrphaned ? [`to re-evaluate it, ${again}`] : []),
    ...(isCut ? ['it is written without the passages that other documents have'] : []),
    ...(possibleMiss ? ['full buckets were skipped: a duplicate may have been missed'] : []),
  ]
}

/** With what it was measured against, or with the nearest of those that it is no duplicate of. */
function comparison(explained: DocumentExplanation, canonical: Canonical): string {
  const other = explained.isOrphaned ? undefined : (explained.against ?? explained.nearest?.[0])
  const missing = [explained.missing, other?.missing].filter((one) => one !== undefined)
  if (missing.length > 0) return `\n${missing.map((one) => `${harmless(one)}\n`).join('')}`
  const { text } = explained
  if (text === undefined) return ''
  if (other?.text === undefined) return `\n${beginningOf(explained, columnsOf())}\n`
  if (text === other.text) {
    return `\nBoth texts are the same:\n${beginningOf(explained, columnsOf())}\n`
  }
  const { spans, notes } = alignedTexts(text, other.text, canonical)
  const names = [`A: ${explained.id}`, `B: ${other.id}`] as const
  const lines = sideBySide(spans, names, { columns: columnsOf(), colour: colourOf() })
  return `\n${[...lines, ...notes].join('\n')}\n`
}

const OUTCOMES = {
  kept: 'kept',
  dropped: 'dropped',
  duplicate: 'a duplicate (one of the two is dropped)',
} as const

function changes({ changes: all }: DocumentExplanation): string {
  if (all.length === 0) return ''
  const lines = all.map(({ outcome, setting, also, why }) => {
    const more = also === undefined ? '' : ` or ${also}`
    return `  ${OUTCOMES[outcome]} with ${paint('bold', harmless(setting))}${more}: ${harmless(why)}\n`
  })
  return `\nOther settings would change this. The document would be\n${lines.join('')}`
}

const SEARCH = 'The search is approximate: it finds most similar documents, and may miss some.'

function nearest({ nearest: found, nearestFrom }: DocumentExplanation): string {
  if (!found) return ''
  const from = nearestFrom?.toFixed(2) ?? ''
  if (found.length === 0)
    return `\nNo other document with a similarity of ${from} or more was found. ${SEARCH}\n`
  const rows = found.map((other) => [
    other.similarity.toFixed(3),
    `${documentText(other)}${other.vetoes ? `; guards: ${guardsText(other.vetoes)}` : ''}`,
  ])
  return `\nThe most similar other documents, down to ${from}:\n${table(rows, ['right', 'left'])}${SEARCH}\n`
}

function cluster({ cluster: found }: DocumentExplanation): string {
  if (!found) return ''
  const { size, survivor, centre, members } = found
  const rows = [
    ['', 'centre', centre.status, documentText(centre)],
    ...members.map((one) => [one.similarity.toFixed(3), one.method, one.status, documentText(one)]),
  ]
  const left = size - 1 - members.length
  const more = left > 0 ? `  and ${countOf(left, 'more document')}\n` : ''
  return `\nIts cluster has ${countOf(size, 'document')}, of which ${documentText(survivor)} is kept:\n${table(rows, ['right', 'left', 'left', 'left'])}${more}`
}
