/**
 * Writes outputs aside as the ledger has them, those that differ from what is in place. Records come from the input
 * where it is as its newest run has read it; else from the output that is in place, and from those that were saved
 * when they left it. Nothing in place is changed here.
 */

import { lstat, stat } from '../../platform/files.ts'
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
import {
  contentOf,
  type OutputRow,
  type OutputVersion,
  type RecordId,
  textOf,
} from './output-rows.ts'
import type { PublishedRuns } from './published-runs.ts'
import { recordPath } from './records.ts'
import { type Part, type SavedFile, SavedRecords } from './saved-records.ts'
import { LIST, type OutputChange, type SwapLine } from './swap.ts'
import { convertParts, copyParts, type CutPart, writingOf } from './write-kept.ts'

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

type Presence = 'none' | 'intact' | 'changed' | 'missing'

/** What an output should hold: records of its newest version, and others that are still kept. */
interface Target {
  readonly shards: readonly (KeptOfShard & { readonly shard: Shard })[]
  readonly others: ReadonlySet<RecordId>
  readonly superseded: ReadonlySet<RecordId>
}

export class Stage {
  readonly notes: string[] = []
  readonly saved: SavedFile[] = []
  readonly #options: StageOptions
  readonly #records: SavedRecords
  readonly #list: AtomicFile

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
    const presence = await presenceOf(out, row)
    const held = presence === 'intact' ? await contentOf(backend, out, row) : []
    if (!last || !run) return this.#remove(row, presence)
    const target = await this.#targetOf(row, run, new Set([...held, ...touched.map(recordOf)]))
    const wanted = [...target.shards.flatMap(({ ids }) => ids), ...target.others]
    const isOwn = runs.isOwn(last.run)
    // One document a file, converted: what is not kept has no output.
    if (last.at !== undefined && wanted.length === 0) {
      await this.#save(row, run, held, target.superseded)
      return this.#remove(row, presence)
    }
    if (presence === 'intact' && isSame(held, wanted)) {
      if (isOwn && (await this.#isAsItWas(row, last, target)))
        return this.#change('stay', row, held)
      if (!isOwn) return isChanged ? this.#change('keep', row, held) : undefined
    }
    const isRead = isOwn || (await isUnchanged(target.shards[0]?.shard))
    if (!isRead && presence !== 'intact') return this.#leave(row, presence, touched, isChanged)
    await this.#save(row, run, held, target.superseded)
    if (isRead) await requireOther(row.input, join(out, 'kept', row.name))
    const input = isRead ? target.shards.map(ofInput) : []
    const left = isRead ? target.others : new Set(wanted)
    const other = await this.#partsOf(row, held, left)
    const parts = [...input, ...other]
    const ids = parts.flatMap((part) => part.ids)
    this.#noteMissing(row, wanted.length - ids.length)
    await this.#write(row, run, parts, ids)
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
    { shards }: Target,
  ): Promise<boolean> {
    const isNoted = !converted && shards.some(({ shard }) => shard.compression !== compression)
    return !isNoted && this.#options.runs.isReplayed(last)
  }

  async #lacks({ row }: Affected, id: RecordId): Promise<boolean> {
    const { backend, out } = this.#options
    if ((await presenceOf(out, row)) !== 'intact') return true
    return !isSame(await contentOf(backend, out, row), [id])
  }

  async #restoreFile({ row, touched, isChanged }: Affected, run: RunRow, id: RecordId) {
    const presence = await presenceOf(this.#options.out, row)
    const [part] = await this.#records.find(row.name, new Set([id]))
    if (!part) return this.#leave(row, presence, touched, isChanged)
    const files = [{ ...part.shard, path: row.name }]
    const shard = { ...part.shard, start: 0, end: 1, files }
    await copyParts(this.#folder(), [{ shard, positions: [0], ids: [] }], writingOf(run))
    await this.#written(row, [id])
  }

  async #dropFile({ row, isChanged }: Affected, run: RunRow, kept: KeptOfShard): Promise<void> {
    const { backend, out } = this.#options
    const presence = await presenceOf(out, row)
    if (presence === 'none') {
      if (isChanged) await this.#change('keep', row, [])
      return
    }
    const held = presence === 'intact' ? await contentOf(backend, out, row) : []
    await this.#save(row, run, held, kept.superseded)
    await this.#remove(row, presence)
  }

  async #targetOf(row: OutputRow, run: RunRow, maybe: ReadonlySet<RecordId>): Promise<Target> {
    const { runs } = this.#options
    const { from = 0, to = 0, at } = row.versions.at(-1) ?? {}
    const shards: (KeptOfShard & { readonly shard: Shard })[] = []
    for (let index = from; index < to; index++) {
      const shard = run.shards[index]
      const kept = await runs.keptOf(run.id, index)
      if (shard) shards.push(at === undefined ? { ...kept, shard } : oneFileOf(kept, shard, at))
    }
    const newest = new Set(shards.flatMap(({ ids }) => ids))
    // Of one document, less may be cut in one version than in another.
    const inNewest = new Set(shards.flatMap((one) => one.ids.map((id) => one.whole.get(id) ?? id)))
    const superseded = new Set(shards.flatMap((one) => [...one.superseded]))
    const left = new Set([...maybe].filter((id) => !newest.has(id) && !superseded.has(id)))
    const others = new Set<RecordId>()
    // What the newest version of an input has no more is kept as long as its run stands.
    for (const version of row.versions.slice(0, -1).toReversed()) {
      for (let index = version.from; index < version.to && left.size > 0; index++) {
        const kept = await runs.keptOf(version.run, index)
        for (const id of kept.ids) {
          if (left.delete(id) && !inNewest.has(kept.whole.get(id) ?? id)) others.add(id)
        }
        for (const id of kept.superseded) if (left.delete(id)) superseded.add(id)
      }
    }
    return { shards, others, superseded }
  }

  /** Records from the output in place, and from those that were saved. */
  async #partsOf(
    row: OutputRow,
    held: readonly RecordId[],
    wanted: ReadonlySet<RecordId>,
  ): Promise<Part[]> {
    const positions = [...held.keys()].filter((at) => wanted.has(held[at] ?? ''))
    const ids = positions.map((at) => held[at] ?? '')
    const found = new Set(ids)
    const left = new Set([...wanted].filter((id) => !found.has(id)))
    const saved = await this.#records.find(row.name, left)
    if (ids.length === 0) return saved
    return [{ shard: await this.#inPlace(row), positions, ids, isOutput: true }, ...saved]
  }

  async #inPlace({ name, format, compression, file }: OutputRow): Promise<Shard> {
    const place = join(this.#options.out, 'kept', name)
    const { bytes = 0, modifiedMs = 0 } = file ?? {}
    return wholeShard({
      file: place,
      path: name,
      fileBytes: bytes,
      modifiedMs,
      format,
      compression,
    })
  }

  async #save(
    row: OutputRow,
    { reading }: RunRow,
    held: readonly RecordId[],
    superseded: ReadonlySet<RecordId>,
  ): Promise<void> {
    const { out, run, savedFolder } = this.#options
    const positions = [...held.keys()].filter((at) => superseded.has(held[at] ?? ''))
    if (savedFolder === undefined || positions.length === 0) return
    const { name, format, compression } = row
    const place = await this.#inPlace(row)
    const isOne = format === 'files'
    const shard = isOne ? { ...place, start: 0, end: 1, files: [place] } : place
    const folder = recordPath(out, run, savedFolder)
    await copyParts(folder, [{ shard, positions, ids: [] }], writingOf({ reading }))
    const { size: bytes } = await stat(join(folder, name))
    const ids = textOf(positions.map((at) => held[at] ?? ''))
    this.saved.push({ name, folder: savedFolder, format, compression, bytes, ids })
  }

  async #write(
    row: OutputRow,
    run: RunRow,
    parts: readonly CutPart[],
    ids: readonly RecordId[],
  ): Promise<void> {
    const first = parts[0]?.shard ?? (await this.#inPlace(row))
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

  async #remove(row: OutputRow, presence: Presence): Promise<void> {
    if (presence === 'changed') {
      this.notes.push(
        `${shown(join(this.#options.out, 'kept', row.name))} was removed, although it had been changed since a run wrote it.`,
      )
    }
    await this.#change(presence === 'none' ? 'keep' : 'remove', withoutFile(row), [])
  }

  /** It cannot be brought up to date. */
  async #leave(
    row: OutputRow,
    presence: Presence,
    touched: Affected['touched'],
    isChanged: boolean,
  ): Promise<void> {
    const { out, isStrict, backend } = this.#options
    const file = shown(join(out, 'kept', row.name))
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
    if (isChanged) await this.#change('keep', row, await contentOf(backend, out, row))
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
  ): Promise<void> {
    await this.add({ change, row, ids: textOf(ids) })
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

function ofInput({ shard, positions, ids, cuts }: Target['shards'][number]): CutPart {
  return { shard, positions, ids, cuts }
}

/** Of a shard of many files, one file as a shard of its own. */
function oneFileOf(kept: KeptOfShard, shard: Shard, at: number): Target['shards'][number] {
  const file = shard.files?.[at]
  const found = kept.positions.indexOf(at)
  const isKept = found >= 0
  const cut = kept.cuts.get(at)
  return {
    shard: { ...shard, ...file, start: 0, end: 1, files: file ? [file] : [] },
    positions: isKept ? [0] : [],
    ids: isKept ? [kept.ids[found] ?? ''] : [],
    cuts: cut ? new Map([[0, cut]]) : new Map(),
    whole: kept.whole,
    superseded: kept.superseded,
  }
}

function isSame(one: readonly RecordId[], other: readonly RecordId[]): boolean {
  return one.length === other.length && one.every((id, at) => id === other[at])
}

async function isUnchanged(file: InputFile | undefined): Promise<boolean> {
  if (!file) return false
  const found = await stat(file.file).catch(() => undefined)
  return found?.size === file.fileBytes && found.mtimeMs === file.modifiedMs
}

/** Whether the output is in its place as it was written. */
export async function presenceOf(out: string, { name, file }: OutputRow): Promise<Presence> {
  if (!file) return 'none'
  const found = await lstat(join(out, 'kept', name)).catch(() => undefined)
  if (!found) return 'missing'
  return found.size === file.bytes && found.mtimeMs === file.modifiedMs ? 'intact' : 'changed'
}
