/** Which outputs of a directory may differ from what the ledger says, and why. */

import { resolve } from '../../platform/paths.ts'

import { endOfPrefix } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Transaction } from '../../backends/index.ts'
import {
  canCompress,
  type ConvertedFormat,
  type Cuts,
  type InputFile,
  type InputFormat,
  kindOfConverted,
  outputName,
  type Shard,
} from '../../input/index.ts'
import { fromHex, hex, named } from '../names.ts'
import { type DocumentRow, documents, states, TOUCHED } from '../rows.ts'
import type { RunRow } from '../runs.ts'
import { ownCut, recordIdOf } from './kept-of-shard.ts'
import { passageCutsOf } from '../passages/cuts.ts'
import { entriesOf } from './lines.ts'
import { rootOf } from './name-outputs.ts'
import {
  keepSettings,
  keepSmallOutputs,
  type OutputRow,
  type OutputSettings,
  type OutputVersion,
  readSettings,
  type SeveralFiles,
} from './output-rows.ts'
import { PublishedRuns } from './published-runs.ts'
import { presenceOf } from './held-files.ts'
import type { Affected } from './stage.ts'
import { type TouchedSeen, unguarded } from './swap.ts'
import { groupsOf } from './write-kept.ts'

/** By their inputs. */
export type AffectedOutputs = Map<string, Affected>

/** A document whose status has changed, and the input it is in. */
export interface TouchedDocument {
  readonly seen: TouchedSeen
  /** `undefined`: it is in no output of a file. */
  readonly input: string | undefined
  readonly document: Affected['touched'][number] | undefined
}

/** Outputs of the run that is being published: it is the newest version of its inputs. */
export function addOwn(
  affected: AffectedOutputs,
  outputs: ReadonlyMap<string, OutputRow>,
  run: RunRow,
  { format = 'same', shardBytes }: Partial<OutputSettings> = {},
): void {
  const converted = format === 'same' ? undefined : format
  // What it redoes was taken back before it began.
  const gone = new Set([run.id, ...(run.redoes ?? [])])
  const add = (shard: Shard, file: InputFile, version: OutputVersion) => {
    const { path, output } = file
    const input = resolve(file.file)
    const name = output ?? outputName({ ...shard, path })
    const compression = canCompress(shard.compression) ? shard.compression : 'none'
    const known = outputs.get(input)
    const older = (known?.versions ?? []).filter((one) => !gone.has(one.run))
    const versions = [...older, version]
    const kind = converted
      ? { ...kindOfConverted(converted), converted }
      : { format: shard.format, compression }
    const several = severalOf(kind, shardBytes, version)
    const row = {
      ...(known ?? { input, path, name, pieces: 0, ...(several && { several }) }),
      ...kind,
      versions,
    }
    affected.set(input, { row, touched: [], isChanged: true })
  }
  for (const group of groupsOf(run.shards)) {
    const [first] = group
    if (!first) continue
    const version = { run: run.id, from: first.index, to: first.index + group.length }
    for (const [at, file] of (first.files ?? []).entries()) add(first, file, { ...version, at })
    if (!first.files) add(first, first, version)
  }
}

/** A document that is a file of its own stays one. */
function severalOf(
  { format, converted }: { readonly format: InputFormat; readonly converted?: ConvertedFormat },
  bytesMax: number | undefined,
  { at }: OutputVersion,
): SeveralFiles | undefined {
  if (at !== undefined) return undefined
  if (converted === 'files') return { format: 1, pieces: 0 }
  const isSplit = bytesMax !== undefined && format !== 'files'
  return isSplit ? { format: 1, bytesMax, pieces: 0 } : undefined
}

/** Outputs of runs that are taken back. */
export function addUndone(
  affected: AffectedOutputs,
  outputs: ReadonlyMap<string, OutputRow>,
  runs: ReadonlySet<string>,
): void {
  for (const [input, row] of outputs) {
    if (!row.versions.some((version) => runs.has(version.run))) continue
    const versions = row.versions.filter((version) => !runs.has(version.run))
    affected.set(input, { row: { ...row, versions }, touched: [], isChanged: true })
  }
}

/** Outputs of these inputs that are no longer there. */
export async function addMissing(
  affected: AffectedOutputs,
  backend: Backend,
  outputs: ReadonlyMap<string, OutputRow>,
  out: string,
  shards: readonly Shard[],
): Promise<void> {
  for (const shard of shards) {
    for (const { file } of shard.files ?? [shard]) {
      const row = outputs.get(resolve(file))
      if (!row || affected.has(row.input) || (await presenceOf(backend, out, row)) !== 'missing')
        continue
      affected.set(row.input, { row, touched: [], isChanged: false })
    }
  }
}

/** Outputs of runs from before outputs were recorded. */
export function addAdopted(
  affected: AffectedOutputs,
  outputs: ReadonlyMap<string, OutputRow>,
): void {
  for (const row of outputs.values()) {
    if (row.file?.bytes !== ADOPTED.bytes || affected.has(row.input)) continue
    affected.set(row.input, { row, touched: [], isChanged: false })
  }
}

/** Of a file that no state has recorded: whatever is there is not that. */
const ADOPTED = { bytes: -1, modifiedMs: -1 }

/**
 * Records the outputs of runs from before outputs were recorded. What they hold is not known: they are written again as
 * soon as a run publishes, where their inputs are as they were.
 */
export async function adoptOutputs(backend: Backend, out: string): Promise<void> {
  if ((await backend.read(readSettings, out)) !== undefined) return
  const runs = new PublishedRuns(backend, undefined)
  const outputs = new Map<string, OutputRow>()
  let root: string | undefined
  for (const { id, status, out: to } of await runs.heads()) {
    const run = to === out && status === 'finished' ? await runs.find(id) : undefined
    if (!run) continue
    root ??= rootOf(run.shards)
    const affected: AffectedOutputs = new Map()
    addOwn(affected, outputs, run)
    for (const [input, { row }] of affected) outputs.set(input, { ...row, file: ADOPTED })
  }
  if (root === undefined) return
  const rows = [...outputs.values()].map((row) => ({ row, ids: [] }))
  await keepSmallOutputs(backend, out, rows, unguarded)
  await backend.run(keepSettings, out, { root, format: 'same' })
}

/** Outputs that hold documents whose status has changed. Returns the notes that are taken care of. */
export function addTouched(
  affected: AffectedOutputs,
  outputs: ReadonlyMap<string, OutputRow>,
  touched: readonly TouchedDocument[],
): TouchedSeen[] {
  const seen: TouchedSeen[] = []
  for (const { seen: note, input, document } of touched) {
    const row = input === undefined ? undefined : outputs.get(input)
    if (row && document) {
      const known = affected.get(row.input) ?? { row, touched: [], isChanged: false }
      affected.set(row.input, { ...known, touched: [...known.touched, document] })
    }
    if (row || !document) seen.push(note)
  }
  return seen
}

/** Documents whose status has changed since outputs were brought up to date. */
export async function touchedDocuments(
  backend: Backend,
  runs: PublishedRuns,
): Promise<TouchedDocument[]> {
  const start = Buffer.from(TOUCHED)
  const notes = new Map<string, TouchedSeen>()
  for await (const { key, value } of backend.scan(states, { start, end: endOfPrefix(start) })) {
    const touched = key.toString()
    notes.set(touched.slice(TOUCHED.length), { touched, value })
  }
  const byRun = new Map<string, Map<string, DocumentRow>>()
  const found: TouchedDocument[] = []
  for (const [key, seen] of notes) {
    const row = await backend.read(rowAt, fromHex(key))
    const run = row && (await runs.head(row.run))
    if (!row || !run?.out) found.push({ seen, input: undefined, document: undefined })
    else byRun.set(run.id, (byRun.get(run.id) ?? new Map<string, DocumentRow>()).set(key, row))
  }
  for (const [run, rows] of byRun) found.push(...(await located(backend, runs, run, rows, notes)))
  return found
}

/** Rows of documents do not hold their file: it follows from their place in the run that decided about them. */
async function located(
  backend: Backend,
  runs: PublishedRuns,
  run: string,
  rows: Map<string, DocumentRow>,
  notes: ReadonlyMap<string, TouchedSeen>,
): Promise<TouchedDocument[]> {
  const { shards = [] } = (await runs.find(run)) ?? {}
  const found: TouchedDocument[] = []
  for await (const { shard: index, entries } of entriesOf(backend, run)) {
    const shard = shards[index]
    let passages: Cuts | undefined
    for (const { key, position } of entries) {
      const [row, seen] = [rows.get(hex(key)), notes.get(hex(key))]
      if (!shard || !row || !seen) continue
      rows.delete(hex(key))
      const input = resolve(shard.files?.[position]?.file ?? shard.file)
      passages ??= await passageCutsOf(backend, run, index)
      const record = recordIdOf(key, row, ownCut(row) ?? passages.get(position))
      found.push({ seen, input, document: { ...named(row), record } })
    }
    if (rows.size === 0) break
  }
  const lost = [...rows.keys()].flatMap((key) => notes.get(key) ?? [])
  return [...found, ...lost.map((seen) => ({ seen, input: undefined, document: undefined }))]
}

function* rowAt(_scope: unknown, key: Buffer): Transaction<DocumentRow | undefined> {
  return (yield* read(cell(documents, key)))[0]
}
