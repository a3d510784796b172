/** What the tests of the corpus job share: corpora that are made from a seed, and what a run has written. */

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { randomWords } from '../src/fingerprint/mix.ts'
import { lettersOf } from './texts/near-texts.ts'

export interface Doc {
  readonly id: string
  readonly text: string
  readonly [field: string]: unknown
}

/** Texts that share nothing to speak of. */
export function textMaker(seed: number): (words?: number) => string {
  const next = randomWords(seed)
  return (words = 60) => Array.from({ length: words }, () => lettersOf(next() >>> 8)).join(' ')
}

/** Of ten documents, one is there twice, one nearly, and one in another case. */
export function corpus(count: number, seed = 1): Doc[] {
  const text = textMaker(seed)
  const docs: Doc[] = []
  for (let at = 0; docs.length < count; at++) {
    const one = text()
    docs.push({ id: `doc-${at}`, text: one })
    if (at % 7 === 0) docs.push({ id: `same-${at}`, text: one })
    if (at % 7 === 2) docs.push({ id: `near-${at}`, text: `${one} and more` })
    if (at % 7 === 4) docs.push({ id: `case-${at}`, text: one.toUpperCase() })
  }
  return docs.slice(0, count)
}

export function jsonl(docs: readonly unknown[]): string {
  return docs.map((doc) => `${JSON.stringify(doc)}\n`).join('')
}

export function writeFiles(directory: string, files: Record<string, string | Uint8Array>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), content)
  }
}

/** All that a run has published, by its name; the manifest without its times and its run. */
export function published(out: string): Record<string, string> {
  const files: Record<string, string> = {}
  const names = existsSync(out) ? readdirSync(out, { recursive: true, encoding: 'utf8' }) : []
  for (const name of names.toSorted()) {
    // Times and the name of the run are all over a report.
    if (name.startsWith('report.')) continue
    // The top has the same as the folder of the newest run.
    if (name.startsWith('runs')) continue
    if (name.startsWith('state') || statSync(join(out, name)).isDirectory()) continue
    const text = readFileSync(join(out, name), 'utf8')
    files[name] = name === 'manifest.json' ? timeless(text) : text
  }
  return files
}

function timeless(manifest: string): string {
  const { run: _run, startedAt: _from, finishedAt: _to, ...rest } = JSON.parse(manifest)
  return JSON.stringify(rest)
}

// oxlint-disable-next-line no-explicit-any -- tests look at whatever was written
export function linesOf(path: string): any[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
