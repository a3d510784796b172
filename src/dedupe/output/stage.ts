/**
 * Writes outputs aside as the ledger has them, those that differ from what is in place. Records come from the input
 * where it is as its newest run has read it; else from the output that is in place, and from those that were saved
 * when they left it. Nothing in place is changed here.
 */

import { link, stat } from '../../platform/files.ts'
import { join } from '../../platform/paths.ts'

import { AtomicFile } from '../../platform/atomic-file.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { countOf } from '../../platform/units.ts'
import type { Backend } from '../../backends/index.ts'
import { type InputFile, requireOther, type Shard, wholeShard } from '../../input/index.ts'
import type { Named } from '../decision/decision.ts'
import type { RunRow } from '../runs.ts'
import type { KeptOfShard } from './kept-of-shard.ts'
import { shown } from './name-outputs.ts'
import { type Held, heldBy, type HeldFile } from './held-files.ts'
import {
  contentOf,
  isOfDocuments,
  type OutputFile,
  type OutputRow,
  type OutputVersion,
  type RecordId,
  textOf,
} from './output-rows.ts'
import type { PublishedRuns } from './published-runs.ts'
import { recordPath } from './records.ts'
import { type Part, type SavedFile, SavedRecords } from './saved-records.ts'
import { LIST, type OutputChange, type SwapLine } from './swap.ts'
import { writeSeveral } from './several-files.ts'
import { ofInput, type Wanted, wantedOf } from './wanted.ts'
import { convertParts, copyParts, type CutPart, filesShard, writingOf } from './write-kept.ts'

/** An output that may have to change. */
export interface Affected {
  /** As it will be recorded. */
  readonly row: OutputRow
  /** Documents in it whose status has changed, and their records. */
  readonly touched: readonly (Named & { readonly record: RecordId })[]
  /** What is recorded of it changes, whatever becomes of its file. */
  readonly isChanged: boolean
}

export interface StageOptions {
  readonly backend: Backend
  readonly out: string
  /** In whose folder records are saved. */
  readonly run: string
  /** Below the outputs. */
  readonly folder: string
  /** Below the folder of the run; `undefined`: what leaves is not saved. */
  readonly savedFolder: string | undefined
  /** What cannot be carried out is an error; else it is noted. */
  readonly isStrict: boolean
  readonly runs: PublishedRuns
  /** Is asked before every output: whether it is still ours to write. */
  readonly before: () => Promise<void>
}

export class Stage {
  readonly notes: string[] = []
  readonly saved: SavedFile[] = []
  readonly #options: StageOptions
  readonly #records: SavedRecords
  readonly #list: AtomicFile
  #several = 0

  private constructor(options: StageOptions, list: AtomicFile) {
    this.#options = options
    this.#records = new SavedRecords(options.out)
    this.#list = list
  }

  static async open(options: StageOptions): Promise<Stage> {
    const path = join(options.out, options.folder, LIST)
    return new Stage(options, await AtomicFile.open(path, { makesDirectory: true }))
  }

  /** The list is complete, and on the disk. */
  async close(): Promise<void> {
    await this.#list.close()
  }

  async abort(): Promise<void> {
    await this.#list.abort()
  }

  async add(line: SwapLine): Promise<void> {
    await this.#list.write(`${JSON.stringify(line)}\n`)
  }

  /** An output of one input file, with any number of documents. */
  async addFile({ row, touched, isChanged }: Affected): Promise<void> {
    await this.#options.before()
    const { out, backend, runs } = this.#options
    const last = row.versions.at(-1)
    const run = last && (await runs.find(last.run))
    const held = await heldBy(backend, out, row)
    if (!last || !run) return this.#remove(row, held)
    const maybe = new Set([...held.ids, ...touched.map(recordOf)])
    const target = await wantedOf(runs, row, run, maybe)
    const wanted = [...target.shards.flatMap(({ ids }) => ids), ...target.others]
    const isOwn = runs.isOwn(last.run)
    // One document a file, converted: what is not kept has no output.
    if (last.at !== undefined && wanted.length === 0) {
      await this.#save(row, run, held, target.superseded)
      return this.#remove(row, held)
    }
    if (held.presence === 'intact' && isSame(held.ids, wanted)) {
      const { ids, files } = held
      if (isOwn && (await this.#isAsItWas(row, last, target)))
        return this.#change('stay', row, ids, files)
      if (!isOwn) return isChanged ? this.#change('keep', row, ids, files) : undefined
    }
    const isRead = isOwn || (await isUnchanged(target.shards[0]?.shard))
    if (!isRead && held.presence !== 'intact') return this.#leave(row, held, touched, isChanged)
    await this.#save(row, run, held, target.superseded)
    if (isRead) await requireOther(row.input, join(out, 'kept', row.name))
    const input = isRead ? target.shards.map(ofInput) : []
    const left = isRead ? target.others : new Set(wanted)
    const parts = [...input, ...(await this.#partsOf(row, held, left))]
    const ids = parts.flatMap((part) => part.ids)
    this.#noteMissing(row, wanted.length - ids.length)
    if (row.several) await this.#writeSeveral(row, run, parts, held, isOwn)
    else await this.#write(row, run, parts, ids)
  }

  /** Outputs of one document each, of one shard of a run. */
  async addFiles(affected: readonly Affected[], index: number, run: RunRow): Promise<void> {
    await this.#options.before()
    const { out, runs } = this.#options
    const shard = run.shards[index]
    if (!shard) return
    const kept = await runs.keptOf(run.id, index)
    const idAt = new Map(kept.positions.map((position, at) => [position, kept.ids[at] ?? '']))
    const isOwn = runs.isOwn(run.id)
    const isAsItWas = await runs.isReplayed({ run: run.id, from: index, to: index + 1 })
    const positions: number[] = []
    const rows: OutputRow[] = []
    for (const one of affected) {
      const { row } = one
      const at = row.versions.at(-1)?.at ?? 0
      const file = shard.files?.[at]
      const id = idAt.get(at)
      if (!file) continue
      await requireOther(file.file, join(out, 'kept', row.name))
      const isWanted = id !== undefined && ((isOwn && !isAsItWas) || (await this.#lacks(one, id)))
      if (isWanted && (isOwn || (await isUnchanged(file)))) {
        positions.push(at)
        rows.push(row)
      } else if (isWanted) await this.#restoreFile(one, run, id)
      else if (id === undefined) await this.#dropFile(one, run, kept)
      else if (isOwn || one.isChanged) await this.#change(isOwn ? 'stay' : 'keep', row, [id])
    }
    const part = { shard, positions: positions.toSorted((a, b) => a - b), ids: [], cuts: kept.cuts }
    await copyParts(this.#folder(), [part], writingOf(run))
    for (const row of rows) await this.#written(row, [idAt.get(row.versions.at(-1)?.at ?? 0) ?? ''])
  }

  /** The same records of the same input, in place: writing them again would give the same bytes. */
  async #isAsItWas(
    { converted, compression }: OutputRow,
    last: OutputVersion,
    { shards }: Wanted,
  ): Promise<boolean> {
    const isNoted = !converted && shards.some(({ shard }) => shard.compression !== compression)
    return !isNoted && this.#options.runs.isReplayed(last)
  }

  async #lacks({ row }: Affected, id: RecordId): Promise<boolean> {
    const { presence, ids } = await this.#held(row)
    return presence !== 'intact' || !isSame(ids, [id])
  }

  async #restoreFile({ row, touched, isChanged }: Affected, run: RunRow, id: RecordId) {
    const [part] = await this.#records.find(row.name, new Set([id]))
    if (!part) return this.#leave(row, await this.#held(row), touched, isChanged)
    const shard = filesShard({ ...part.shard, path: row.name })
    await copyParts(this.#folder(), [{ shard, positions: [0], ids: [] }], writingOf(run))
    await this.#written(row, [id])
  }

  async #dropFile({ row, isChanged }: Affected, run: RunRow, kept: KeptOfShard): Promise<void> {
    const held = await this.#held(row)
    if (held.presence === 'none') {
      if (isChanged) await this.#change('keep', row, [])
      return
    }
    await this.#save(row, run, held, kept.superseded)
    await this.#remove(row, held)
  }

  #held(row: OutputRow): Promise<Held> {
    return heldBy(this.#options.backend, this.#options.out, row)
  }

  /** Records from the output in place, and from those that were saved. */
  async #partsOf(row: OutputRow, held: Held, wanted: ReadonlySet<RecordId>): Promise<Part[]> {
    const inPlace = await this.#heldParts(row, held, (id) => wanted.has(id))
    const found = new Set(inPlace.flatMap(({ ids }) => ids))
    const left = new Set([...wanted].filter((id) => !found.has(id)))
    return [...inPlace, ...(await this.#records.find(row.name, left))]
  }

  async #heldParts(
    row: OutputRow,
    { files }: Held,
    isAsked: (id: RecordId) => boolean,
  ): Promise<(Part & { readonly file: HeldFile })[]> {
    const parts: (Part & { readonly file: HeldFile })[] = []
    for (const file of files) {
      const positions = [...file.ids.keys()].filter((at) => isAsked(file.ids[at] ?? ''))
      if (file.presence !== 'intact' || positions.length === 0) continue
      const ids = positions.map((at) => file.ids[at] ?? '')
      parts.push({ shard: await this.#inPlace(row, file), positions, ids, isOutput: true, file })
    }
    return parts
  }

  #inPlace({ name, format, compression }: OutputRow, file: OutputFile | undefined): Promise<Shard> {
    const place = join(this.#options.out, 'kept', file?.name ?? name)
    const { bytes: fileBytes = 0, modifiedMs = 0 } = file ?? {}
    return wholeShard({ file: place, path: name, fileBytes, modifiedMs, format, compression })
  }

  async #save(
    row: OutputRow,
    { reading }: RunRow,
    held: Held,
    superseded: ReadonlySet<RecordId>,
  ): Promise<void> {
    const { out, run, savedFolder } = this.#options
    const parts = await this.#heldParts(row, held, (id) => superseded.has(id))
    if (savedFolder === undefined || parts.length === 0) return
    const { name, format, compression } = row
    const folder = recordPath(out, run, savedFolder)
    const add = async (saved: Pick<SavedFile, 'name' | 'output'>, ids: readonly RecordId[]) => {
      const { size: bytes } = await stat(join(folder, saved.name))
      const kind = { folder: savedFolder, format, compression }
      this.saved.push({ ...saved, ...kind, bytes, ids: textOf(ids) })
    }
    if (isOfDocuments(row)) {
      for (const { file, ids } of parts) {
        await link(join(out, 'kept', file.name), join(folder, file.name))
        await add({ name: file.name, output: name }, ids)
      }
      return
    }
    const copied = parts.map((part) =>
      format === 'files' ? { ...part, shard: filesShard(part.shard) } : part,
    )
    await copyParts(folder, copied, writingOf({ reading }))
    const ids = parts.flatMap((part) => part.ids)
    await add({ name }, ids)
  }

  async #writeSeveral(
    row: OutputRow,
    run: RunRow,
    parts: readonly CutPart[],
    held: Held,
    isOwn: boolean,
  ): Promise<void> {
    const { out, folder } = this.#options
    const place = `several/${this.#several++}`
    const empty = parts[0]?.shard ?? (await this.#inPlace(row, held.files[0]))
    const options = { out, folder, place, row, run, parts, held: held.files, isOwn, empty }
    const { files, lines, notes, ids } = await writeSeveral(options)
    for (const line of lines) await this.add(line)
    this.notes.push(...notes)
    await this.#change('keep', row, ids, files)
  }

  async #write(
    row: OutputRow,
    run: RunRow,
    parts: readonly CutPart[],
    ids: readonly RecordId[],
  ): Promise<void> {
    const first = parts[0]?.shard ?? (await this.#inPlace(row, undefined))
    const empty = { shard: first, positions: [], ids: [], isOutput: true } as const
    const copied = parts.length > 0 ? parts : [empty]
    const { name, converted } = row
    const { notes } = converted
      ? await convertParts(this.#folder(), { name, converted }, copied, run.reading)
      : await copyParts(this.#folder(), copied, writingOf(run))
    this.notes.push(...notes)
    await this.#written(row, ids)
  }

  /** Of an input that cannot be read at all, nothing is written. */
  async #written(row: OutputRow, ids: readonly RecordId[]): Promise<void> {
    const found = await stat(join(this.#folder(), row.name)).catch(() => undefined)
    if (!found) return this.#change('keep', withoutFile(row), [])
    const file = { bytes: found.size, modifiedMs: found.mtimeMs }
    await this.#change('write', { ...row, file }, ids)
  }

  async #remove(row: OutputRow, { presence, files }: Held): Promise<void> {
    for (const { name } of files.filter((file) => file.presence === 'changed')) {
      this.notes.push(
        `${shown(join(this.#options.out, 'kept', name))} was removed, although it had been changed since a run wrote it.`,
      )
    }
    if (row.several) {
      for (const { name } of files) await this.add({ gone: name })
      return this.#change('keep', row, [], [])
    }
    await this.#change(presence === 'none' ? 'keep' : 'remove', withoutFile(row), [])
  }

  /** It cannot be brought up to date. */
  async #leave(
    row: OutputRow,
    { presence, files }: Held,
    touched: Affected['touched'],
    isChanged: boolean,
  ): Promise<void> {
    const { out, isStrict, backend } = this.#options
    const { name } = files.find((one) => one.presence === presence) ?? row
    const file = shown(join(out, 'kept', name))
    const input = `its input ${shown(row.input)} is gone or has changed`
    const [first] = touched
    if (presence === 'changed' && isStrict && first) {
      throw new PrestigeError(
        'INPUT_CHANGED',
        `${file} cannot be brought up to date: ${JSON.stringify(first.id)} in it has changed its status (${countOf(touched.length, 'document')} in all), but the file was changed since a run wrote it, and ${input}. Nothing in ${shown(join(out, 'kept'))} was changed. Put back the file or its input, or remove ${file}, and give the same command again.`,
      )
    }
    const why = presence === 'changed' ? 'was changed since a run wrote it' : 'is missing'
    this.notes.push(`${file} ${why}, and ${input}: it was left as it is.`)
    if (isChanged) await this.#change('keep', row, await contentOf(backend, out, row), files)
  }

  #noteMissing({ name, input }: OutputRow, count: number): void {
    if (count <= 0) return
    const file = shown(join(this.#options.out, 'kept', name))
    this.notes.push(
      `${countOf(count, 'document')} could not be brought back to ${file}: ${shown(input)} is gone or has changed. Put it back and run the same command again.`,
    )
  }

  async #change(
    change: OutputChange['change'],
    { pieces: _pieces, ...row }: OutputRow,
    ids: readonly RecordId[],
    files: readonly OutputFile[] = [],
  ): Promise<void> {
    const several = row.several && { files: files.map(recordedOf) }
    await this.add({ change, row, ids: textOf(ids), ...several })
  }

  #folder(): string {
    return join(this.#options.out, this.#options.folder, 'kept')
  }
}

function withoutFile({ file: _file, ...row }: OutputRow): OutputRow {
  return row
}

function recordOf({ record }: { readonly record: RecordId }): RecordId {
  return record
}

/** Of what is held, what is recorded. */
function recordedOf(file: OutputFile): OutputFile {
  const { name, bytes, modifiedMs, records, recordBytes } = file
  return { name, bytes, modifiedMs, records, recordBytes }
}

function isSame(one: readonly RecordId[], other: readonly RecordId[]): boolean {
  return one.length === other.length && one.every((id, at) => id === other[at])
}

async function isUnchanged(file: InputFile | undefined): Promise<boolean> {
  if (!file) return false
  const found = await stat(file.file).catch(() => undefined)
  return found?.size === file.fileBytes && found.mtimeMs === file.modifiedMs
}
