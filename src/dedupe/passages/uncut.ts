/**
 * Documents of outputs as they were before `passages: cut`: from what was written and from `passages.jsonl`, so that the
 * inputs need not be there. What containment has cut is in no record and stays cut.
 */

import type { Backend } from '../../backends/index.ts'
import { isReject, OWN_READING, readShard, type Shard, wholeShard } from '../../input/index.ts'
import { codeOf, PrestigeError } from '../../platform/errors.ts'
import { readLines } from '../../platform/files.ts'
import { join } from '../../platform/paths.ts'
import { findRun, listRuns, type RunRow } from '../runs.ts'
import { type HeldFile, heldBy } from '../output/held-files.ts'
import { ownCut, recordIdOf, rowsAt } from '../output/kept-of-shard.ts'
import { entriesOf } from '../output/lines.ts'
import { shown } from '../output/name-outputs.ts'
import { type OutputRow, outputsIn, type RecordId } from '../output/output-rows.ts'
import { PASSAGES_FILE, recordPath } from '../output/records.ts'
import { filesShard } from '../output/write-kept.ts'
import { passageCutsOf } from './cuts.ts'
import type { PassageDocumentLine, PassageLine } from './find-passages.ts'
import { type CutSpan, restoreText } from './restore-text.ts'

export interface UncutDocument {
  readonly id: string
  readonly source: string
  /** Below the outputs: where it is written, cut or not. */
  readonly file: string
  readonly text: string
  /** Containment has cut it: this is what is left of it. */
  readonly cut?: true
}

/** What is known of a record of an output. */
interface Known {
  readonly id: string
  readonly source: string
  readonly run: string
  readonly cutBy?: 'passages' | 'containment'
}

/** Of all kept documents, or of those with an id, in the order of the outputs. */
export async function* uncutDocuments(
  backend: Backend,
  id?: string,
): AsyncGenerator<UncutDocument> {
  const listed = new ListedPassages()
  const outs = new Set((await listRuns(backend)).map(({ out }) => out).filter(Boolean))
  for (const out of outs) {
    for (const row of (await outputsIn(backend, out)).values()) {
      const { files } = await heldBy(backend, out, row)
      const last = row.versions.at(-1)
      if (!last || files.length === 0) continue
      const known = await knownOf(backend, row, id)
      if (known.size === 0) continue
      const run = await findRun(backend, last.run)
      for (const file of files) yield* uncutFile(out, row, run, file, known, listed)
    }
  }
}

async function* uncutFile(
  out: string,
  row: OutputRow,
  run: RunRow,
  file: HeldFile,
  known: ReadonlyMap<RecordId, Known>,
  listed: ListedPassages,
): AsyncGenerator<UncutDocument> {
  if (!file.ids.some((record) => known.has(record))) return
  const path = `kept/${file.name}`
  if (file.presence !== 'intact') throw notAsWritten(join(out, path))
  const reading = row.converted ? OWN_READING : run.reading
  for await (const items of readShard(await shardOf(out, row, run, file), reading)) {
    for (const item of items) {
      const one = known.get(file.ids[item.position] ?? '')
      if (!one || isReject(item)) continue
      const { id, source, cutBy } = one
      const isRestored = cutBy === 'passages'
      const text = isRestored ? await listed.restored(out, one, item.text) : item.text
      yield { id, source, file: path, text, ...(cutBy === 'containment' && { cut: true }) }
    }
  }
}

/** A file of an output, to be read as its input was. */
async function shardOf(
  out: string,
  { name, format, compression, converted, versions }: OutputRow,
  { shards }: RunRow,
  file: HeldFile,
): Promise<Shard> {
  const { bytes: fileBytes, modifiedMs } = file
  const place = join(out, 'kept', file.name)
  const kind = { format, compression }
  const shard = await wholeShard({ file: place, path: name, fileBytes, modifiedMs, ...kind })
  if (format !== 'files') return shard
  const isJson = !converted && shards[versions.at(-1)?.from ?? 0]?.isJson
  return { ...filesShard(shard), ...(isJson && { isJson }) }
}

/** What the records of an output are, of all runs that have read its input. */
async function knownOf(
  backend: Backend,
  { versions }: OutputRow,
  id: string | undefined,
): Promise<Map<RecordId, Known>> {
  const known = new Map<RecordId, Known>()
  for (const { run, from, to, at } of versions) {
    for (let shard = from; shard < to; shard++) {
      const passages = await passageCutsOf(backend, run, shard)
      for await (const { entries } of entriesOf(backend, run, shard)) {
        const rows = await backend.read(rowsAt, entries)
        for (const [place, { key, position }] of entries.entries()) {
          const row = rows[place]
          const isOther = at !== undefined && position !== at
          if (!row || isOther || (id !== undefined && row.id !== id)) continue
          const own = ownCut(row)
          const cut = own ?? passages.get(position)
          const cutBy = own ? ('containment' as const) : ('passages' as const)
          const one = { id: row.id, source: row.source, run, ...(cut && { cutBy }) }
          known.set(recordIdOf(key, row, cut), one)
        }
      }
    }
  }
  return known
}

interface RunPassages {
  readonly passages: Map<string, string>
  readonly spans: Map<string, readonly CutSpan[]>
}

/** What `passages.jsonl` of runs lists, each read once. */
class ListedPassages {
  readonly #runs = new Map<string, Promise<RunPassages>>()

  async restored(out: string, { id, source, run }: Known, text: string): Promise<string> {
    const path = recordPath(out, run, PASSAGES_FILE)
    const listed = this.#runs.get(path) ?? readPassages(path)
    this.#runs.set(path, listed)
    const { passages, spans } = await listed
    const own = spans.get(JSON.stringify([id, source]))
    if (own) return restoreText(text, own, passages)
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `${shown(path)} does not list what was cut from ${JSON.stringify(id)}. Put the file back as run ${run} wrote it.`,
    )
  }
}

async function readPassages(path: string): Promise<RunPassages> {
  const passages = new Map<string, string>()
  const spans = new Map<string, readonly CutSpan[]>()
  try {
    for await (const line of readLines(path)) {
      const found = JSON.parse(line) as PassageLine | PassageDocumentLine // safe: findPassages wrote it
      if ('passage' in found) passages.set(found.passage, found.text)
      else if (found.cut) spans.set(JSON.stringify([found.id, found.source]), found.spans)
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    throw new PrestigeError(
      'FILE_NOT_FOUND',
      `${shown(path)} is not there, and it lists what was cut. Put it back as the run wrote it.`,
      { cause: error },
    )
  }
  return { passages, spans }
}

function notAsWritten(path: string): PrestigeError {
  return new PrestigeError(
    'INPUT_CHANGED',
    `${shown(path)} is missing or was changed since a run wrote it, so it is not known which records it holds. Give the command of that run again, which writes missing files again.`,
  )
}
