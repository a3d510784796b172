/** How commands that explain decisions name documents, times and reasons. */

import type { DocumentInfo } from '../../dedupe/index.ts'
import type { RowVeto } from '../../ledger/index.ts'
import { shortened } from '../../platform/display-width.ts'
import { harmless } from '../../platform/harmless.ts'
import { time } from '../print/units.ts'

type Placed = Pick<DocumentInfo, 'file' | 'line'>

/** `crawl/a.jsonl, line 12`; empty of a document that was read from no file. */
export function placeText({ file, line }: Placed): string {
  if (file === undefined) return ''
  return line === undefined ? harmless(file) : `${harmless(file)}, line ${line}`
}

/** `"c00003" (crawl/a.jsonl, line 12)`. */
export function documentText(document: DocumentInfo): string {
  const place = placeText(document)
  return `"${harmless(document.id)}"${place === '' ? '' : ` (${place})`}`
}

/** One line of a text, or why there is none. */
export function beginningOf({ text, missing }: DocumentInfo, columns: number): string {
  if (text === undefined) return `(${missing ?? 'no text'})`
  return shortened(harmless(text.slice(0, columns * 8)).trim(), columns)
}

export function since({ at }: Pick<DocumentInfo, 'at'>): string {
  return at === undefined ? '' : ` since ${time(at)}`
}

/** `numbers (10 mg / 50 mg)`. */
export function guardsText(vetoes: readonly RowVeto[]): string {
  const sideOf = (words: readonly string[]) => words.map(harmless).join(', ') || 'nothing'
  return vetoes.map(({ guard, a, b }) => `${guard} (${sideOf(a)} / ${sideOf(b)})`).join('; ')
}

const TIMES = new Set(['at', 'runStartedAt'])

/** With times as everywhere in JSON. */
export function inJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inJson)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([name, part]: [string, unknown]) => [
    name,
    TIMES.has(name) && typeof part === 'number' ? time(part) : inJson(part),
  ])
  return Object.fromEntries(fields)
}
