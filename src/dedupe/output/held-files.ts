/** What is in the place of an output: its files, whether they are as they were written, and which records they hold. */

import type { Backend } from '../../backends/index.ts'
import { lstat } from '../../platform/files.ts'
import { join } from '../../platform/paths.ts'
import {
  contentOf,
  filesOf,
  type OutputFile,
  type OutputRow,
  type RecordId,
} from './output-rows.ts'

/** `none`: there is none, and none is meant to be. */
export type Presence = 'none' | 'intact' | 'changed' | 'missing'

export interface HeldFile extends OutputFile {
  readonly presence: Presence
  readonly ids: readonly RecordId[]
}

export interface Held {
  /** Of all files together. */
  readonly presence: Presence
  readonly files: readonly HeldFile[]
  /** Of the files that are as they were written. */
  readonly ids: readonly RecordId[]
}

export async function heldBy(backend: Backend, out: string, row: OutputRow): Promise<Held> {
  const recorded = await recordedFiles(backend, out, row)
  const ids = recorded.length > 0 ? await contentOf(backend, out, row) : []
  const files: HeldFile[] = []
  let from = 0
  for (const file of recorded) {
    const own = ids.slice(from, from + file.records)
    from += file.records
    files.push({ ...file, presence: await presenceOfFile(out, file), ids: own })
  }
  const held = files.flatMap((file) => (file.presence === 'intact' ? file.ids : []))
  return { presence: worstOf(files.map(({ presence }) => presence)), files, ids: held }
}

/** Whether all files of an output are in their place as they were written. */
export async function presenceOf(backend: Backend, out: string, row: OutputRow): Promise<Presence> {
  const found: Presence[] = []
  for (const file of await recordedFiles(backend, out, row)) {
    found.push(await presenceOfFile(out, file))
  }
  return worstOf(found)
}

async function recordedFiles(backend: Backend, out: string, row: OutputRow): Promise<OutputFile[]> {
  if (row.several) return filesOf(backend, out, row)
  return row.file ? [{ name: row.name, ...row.file, records: Infinity, recordBytes: 0 }] : []
}

async function presenceOfFile(out: string, file: OutputFile): Promise<Presence> {
  const found = await lstat(join(out, 'kept', file.name)).catch(() => undefined)
  if (!found) return 'missing'
  return found.size === file.bytes && found.mtimeMs === file.modifiedMs ? 'intact' : 'changed'
}

function worstOf(found: readonly Presence[]): Presence {
  if (found.length === 0) return 'none'
  if (found.includes('missing')) return 'missing'
  return found.includes('changed') ? 'changed' : 'intact'
}
