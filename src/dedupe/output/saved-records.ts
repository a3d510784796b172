/**
 * Records that left an output because a better copy was found: kept as they were, in `runs/RUN/superseded/`, so that
 * they can be brought back when the input is gone. `runs/RUN/superseded-files.jsonl` says what is in these files.
 */

import { readdir, readLines, stat } from '../../platform/files.ts'
import { join } from '../../platform/paths.ts'

import { outputFailure } from '../../platform/atomic-file.ts'
import { codeOf } from '../../platform/errors.ts'
import { type Compression, type InputFormat, type Shard, wholeShard } from '../../input/index.ts'
import { idsIn, type RecordId } from './output-rows.ts'
import { recordPath, RUNS_FOLDER } from './records.ts'

export const SAVED_FOLDER = 'superseded'
export const SAVED_FILES = 'superseded-files.jsonl'

/** A line of `superseded-files.jsonl`. */
export interface SavedFile {
  /** Below `kept/`, and below the folder. */
  readonly name: string
  /** Of an output that has a file for each document: its directory. */
  readonly output?: string
  /** Below the folder of the run. */
  readonly folder: string
  readonly format: InputFormat
  readonly compression: Compression
  readonly bytes: number
  readonly ids: string
}

/** Records that are copied from a file, in its order. */
export interface Part {
  readonly shard: Shard
  readonly positions: readonly number[]
  readonly ids: readonly RecordId[]
  /** They come from an output, and not from an input. */
  readonly isOutput: true
}

export class SavedRecords {
  readonly #out: string
  #files: Promise<Map<string, { run: string; file: SavedFile }[]>> | undefined

  constructor(out: string) {
    this.#out = out
  }

  /** Where those of the records are that were saved. */
  async find(name: string, wanted: ReadonlySet<RecordId>): Promise<Part[]> {
    if (wanted.size === 0) return []
    this.#files ??= this.#read()
    const left = new Set(wanted)
    const parts: Part[] = []
    for (const { run, file } of (await this.#files).get(name) ?? []) {
      const all = idsIn(file.ids)
      const positions = [...all.keys()].filter((at) => left.has(all[at] ?? ''))
      if (positions.length === 0) continue
      const place = join(recordPath(this.#out, run, file.folder), file.name)
      const found = await stat(place).catch(() => undefined)
      if (found?.size !== file.bytes) continue
      const { mtimeMs: modifiedMs } = found
      const ids = positions.map((at) => all[at] ?? '')
      for (const id of ids) left.delete(id)
      const { format, compression, bytes: fileBytes } = file
      const listed = { file: place, path: file.name, fileBytes, modifiedMs, format, compression }
      parts.push({ shard: await wholeShard(listed), positions, ids, isOutput: true })
    }
    return parts
  }

  async #read(): Promise<Map<string, { run: string; file: SavedFile }[]>> {
    const found = new Map<string, { run: string; file: SavedFile }[]>()
    const folder = join(this.#out, RUNS_FOLDER)
    for (const run of await readdir(folder).catch(() => [])) {
      for await (const file of savedOf(this.#out, run)) {
        const output = file.output ?? file.name
        const known = found.get(output)
        if (known) known.push({ run, file })
        else found.set(output, [{ run, file }])
      }
    }
    return found
  }
}

/** What a run has saved. */
export async function* savedOf(out: string, run: string): AsyncGenerator<SavedFile> {
  const path = recordPath(out, run, SAVED_FILES)
  try {
    // safe: only Stage writes these lines
    for await (const line of readLines(path)) yield JSON.parse(line) as SavedFile
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return
    throw outputFailure(path, error)
  }
}
