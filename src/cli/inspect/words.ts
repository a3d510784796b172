/** How commands that explain decisions name documents, times and reasons. */

import type { DocumentInfo } from '../../dedupe/index.ts'
import type { RowVeto } from '../../ledger/index.ts'
import { shortened } from '../../platform/display-width.ts'
import { harmless } from '../../platform/harmless.ts'
import { time } from '../print/units.ts'

type Placed = Pick<DocumentInfo, 'file' | 'line' | 'unit'>

/** `crawl/a.jsonl, line 12`; empty of a document that was read from no file. */
export function placeText({ file, line, unit }: Placed): string {
  if (file === undefined) return ''
  return line === undefined ? harmless(file) : `${harmless(file)}, ${unit ?? 'line'} ${line}`
}

/** `"c00003" (crawl/a.jsonl, line 12)`. */
export function documentText(document: DocumentInfo): string {
  const place = placeText(document)
  return `"${harmless(document.id)}"${place === '' ? '' : ` (${place})`}`
}

/** By file and line. */
export function inOrder<T extends Placed>(found: readonly T[]): T[] {
  return found.toSorted((one, other) => {
    const [file, otherFile] = [one.file ?? '', other.file ?? '']
    if (file !== otherFile) return file < otherFile ? -1 : 1
    return (one.line ?? 0) - (other.line ?? 0)
  })
}

/** How to name one of several documents: `Choose one with --line, as in --line 2; or print all with --json.` */
export function choiceText(found: readonly Placed[]): string {
  const last = inOrder(found).at(-1)
  const isOneFile = new Set(found.map(({ file }) => file)).size === 1
  const [option, example] = isOneFile ? ['--line', last?.line] : ['--file', last?.file]
  if (example === undefined) return 'Print all with --json.'
  return `Choose one with ${option}, as in ${option} ${harmless(String(example))}; or print all with --json.`
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
