/** What a run of the corpus job has written, by the ids of documents. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import { linesOf } from '../corpus-kit.ts'

export function keptIn(out: string): string[] {
  const names = readdirSync(join(out, 'kept'), { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => name.endsWith('.jsonl'))
  return files.flatMap((name) => linesOf(join(out, 'kept', name)).map(({ id }) => String(id)))
}

export function documentsIn(out: string): string[] {
  const dropped = linesOf(join(out, 'duplicates.jsonl')).map(({ id }) => String(id))
  return [...keptIn(out), ...dropped]
}

/** Documents of one group are alike. */
export function groupOf(id: string): string {
  return id.split('-')[0] ?? ''
}
