/**
 * What a state keeps of its outputs: which output an input has, for ever; which runs have read the input; what the
 * output holds, record by record; and a swap of outputs that was begun.
 *
 * Rows of the space `states`:
 *   `output-root/OUT`           the root that names the outputs of a directory
 *   `output/OUT/INPUT`          an output
 *   `output-content/OUT/INPUT/N` the records that it holds, in their order
 *   `output-files/OUT/INPUT/N`  the files that it has, where they are several
 *   `output-swap/OUT`           outputs that are written aside and wait to be moved into place
 *   `touched/KEY`               a document whose status another run has changed, see rows.ts
 * OUT and INPUT are hashes of whole paths.
 */

import { createHash } from 'node:crypto'

import { endOfPrefix } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Compression, ConvertedFormat, InputFormat, OutputFormat } from '../../input/index.ts'
import { states } from '../rows.ts'

/** A run that has read the input. */
export interface OutputVersion {
  readonly run: string
  /** Shards of the run, half open. */
  readonly from: number
  readonly to: number
  /** Which of the files of its shard it is, of one document a file. */
  readonly at?: number
}

export interface OutputRow {
  readonly input: string
  /** Names the input in ids and records. */
  readonly path: string
  /** Below `kept/`. */
  readonly name: string
  readonly format: InputFormat
  readonly compression: Compression
  /** Set where the output has another format than the input: which. */
  readonly converted?: ConvertedFormat
  /** The newest is last. None: all were undone, and only the name is reserved. */
  readonly versions: readonly OutputVersion[]
  /** Of the file as it was written; absent where there is none. */
  readonly file?: { readonly bytes: number; readonly modifiedMs: number }
  /** Set where the output is several files, which rows of their own list. */
  readonly several?: SeveralFiles
  /** Rows that its content is kept in. */
  readonly pieces: number
}

/** An output of several files: `name` is theirs without their numbers, or their directory. */
export interface SeveralFiles {
  /** Of these rows: a state with another one is refused. */
  readonly format: 1
  /** Of records in a file, before compression. Absent: each document has a file. */
  readonly bytesMax?: number
  /** Rows that list the files. */
  readonly pieces: number
}

/** One of several files of an output, as it was written. */
export interface OutputFile {
  /** Below `kept/`. */
  readonly name: string
  readonly bytes: number
  readonly modifiedMs: number
  /** How many of the records are in it. */
  readonly records: number
  /** Of these records, before compression. */
  readonly recordBytes: number
}

/** Outputs written aside, complete: from here on the swap is finished, by whoever comes next. */
export interface SwapRow {
  readonly run: string
  readonly kind: 'publish' | 'undo' | 'restore'
  readonly out: string
  /** Below the folder of the run. */
  readonly folder: string
}

/** Identifies a record: sixteen bytes of one document in one text, as Latin-1. */
export type RecordId = string

const ID_LENGTH = 16
const PIECE_IDS = 8192
const FILES_BYTES = 256 * 1024

/** Checks in the transaction that writes whether it may still write. */
export type Guard = (scope: Scope) => Transaction<void>

function hashOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 32)
}

function stateCell(name: string) {
  return cell(states, Buffer.from(name))
}

const rootCell = (out: string) => stateCell(`output-root/${hashOf(out)}`)
const swapCell = (out: string) => stateCell(`output-swap/${hashOf(out)}`)
const outputPrefix = (out: string) => `output/${hashOf(out)}/`
const outputCell = (out: string, input: string) => stateCell(`${outputPrefix(out)}${hashOf(input)}`)
const contentCell = (out: string, input: string, piece: number) =>
  stateCell(`output-content/${hashOf(out)}/${hashOf(input)}/${piece}`)

const filesCell = (out: string, input: string, piece: number) =>
  stateCell(`output-files/${hashOf(out)}/${hashOf(input)}/${piece}`)

/** Of all outputs of a directory: what is set by its first run. */
export interface OutputSettings {
  /** The directory that names are below. */
  readonly root: string
  readonly format: OutputFormat
  /** Of records in a file, before compression. Absent: an output is one file. */
  readonly shardBytes?: number
}

// oxlint-disable-next-line require-yield -- it only writes
export function* keepSettings(
  scope: Scope,
  out: string,
  settings: OutputSettings,
): Transaction<void> {
  scope.write(rootCell(out), settings)
}

export function* readSettings(
  _scope: unknown,
  out: string,
): Transaction<OutputSettings | undefined> {
  return (yield* read(rootCell(out)))[0] as OutputSettings | undefined // safe: only keepSettings writes it
}

/** All outputs of a directory, by their inputs. */
export async function outputsIn(backend: Backend, out: string): Promise<Map<string, OutputRow>> {
  const outputs = new Map<string, OutputRow>()
  const start = Buffer.from(outputPrefix(out))
  for await (const { value } of backend.scan(states, { start, end: endOfPrefix(start) })) {
    const row = value as OutputRow // safe: only keepOutput writes these
    if (row.several && row.several.format !== 1) throw newerOutput(row)
    outputs.set(row.input, row)
  }
  return outputs
}

/** The records that an output holds, in their order. */
export async function contentOf(
  backend: Backend,
  out: string,
  { input, pieces }: OutputRow,
): Promise<RecordId[]> {
  const ids: RecordId[] = []
  for (let piece = 0; piece < pieces; piece++) {
    const [text] = await backend.read(readCell, contentCell(out, input, piece))
    ids.push(...idsIn(String(text)))
  }
  return ids
}

/** Those of an output that has several. */
export async function filesOf(
  backend: Backend,
  out: string,
  { input, several }: OutputRow,
): Promise<OutputFile[]> {
  const files: OutputFile[] = []
  for (let piece = 0; piece < (several?.pieces ?? 0); piece++) {
    const [found] = await backend.read(readCell, filesCell(out, input, piece))
    // safe: only keepOutput writes these
    for (const [name, bytes, modifiedMs, records, recordBytes] of found as FileRow[]) {
      files.push({ name, bytes, modifiedMs, records, recordBytes })
    }
  }
  return files
}

type FileRow = readonly [
  name: string,
  bytes: number,
  modifiedMs: number,
  records: number,
  recordBytes: number,
]

/** Rows of files, as many in each as a value can hold. */
function pagesOf(files: readonly OutputFile[], bytesMax: number): FileRow[][] {
  const pages: FileRow[][] = []
  let length = Infinity
  for (const { name, bytes, modifiedMs, records, recordBytes } of files) {
    const row: FileRow = [name, bytes, modifiedMs, records, recordBytes]
    const own = Buffer.byteLength(JSON.stringify(row)) + 16
    if (length + own > bytesMax) [length] = [0, pages.push([])]
    pages.at(-1)?.push(row)
    length += own
  }
  return pages
}

function newerOutput({ name }: OutputRow): PrestigeError {
  return new PrestigeError(
    'FORMAT_UNSUPPORTED',
    `The state lists the files of kept/${name} in a format of a newer version. Use that version.`,
  )
}

function* readCell(_scope: unknown, place: ReturnType<typeof stateCell>): Transaction<[unknown]> {
  const [value] = yield* read(place)
  return [value]
}

export function textOf(ids: readonly RecordId[]): string {
  return Buffer.from(ids.join(''), 'latin1').toString('base64')
}

export function idsIn(text: string): RecordId[] {
  const all = Buffer.from(text, 'base64').toString('latin1')
  return Array.from({ length: all.length / ID_LENGTH }, (_, at) =>
    all.slice(at * ID_LENGTH, (at + 1) * ID_LENGTH),
  )
}

/** Records an output as it is in its place now. Its content before the row that says how much of it there is. */
export async function keepOutput(
  backend: Backend,
  out: string,
  row: Omit<OutputRow, 'pieces'>,
  ids: readonly RecordId[],
  guard: Guard,
  files: readonly OutputFile[] = [],
): Promise<void> {
  const each = Math.min(PIECE_IDS, Math.floor(backend.limits.valueBytesMax / 32))
  const pieces = Math.ceil(ids.length / each)
  for (let piece = 0; piece < pieces; piece++) {
    const text = textOf(ids.slice(piece * each, (piece + 1) * each))
    await backend.run(writeCell, contentCell(out, row.input, piece), text, guard)
  }
  const pages = pagesOf(files, Math.min(FILES_BYTES, Math.floor(backend.limits.valueBytesMax / 2)))
  for (const [piece, page] of pages.entries()) {
    await backend.run(writeCell, filesCell(out, row.input, piece), page, guard)
  }
  const several = row.several && { ...row.several, pieces: pages.length }
  const whole = { ...row, ...(several && { several }), pieces }
  await backend.run(writeCell, outputCell(out, row.input), whole, guard)
}

/** Records many outputs of one record or none each, in few transactions. */
export async function keepSmallOutputs(
  backend: Backend,
  out: string,
  outputs: readonly {
    readonly row: Omit<OutputRow, 'pieces'>
    readonly ids: readonly RecordId[]
  }[],
  guard: Guard,
): Promise<void> {
  const page = Math.max(1, Math.min(256, Math.floor(backend.limits.cellsMax / 4)))
  for (let from = 0; from < outputs.length; from += page) {
    await backend.run(writeSmall, out, outputs.slice(from, from + page), guard)
  }
}

function* writeSmall(
  scope: Scope,
  out: string,
  outputs: Parameters<typeof keepSmallOutputs>[2],
  guard: Guard,
): Transaction<void> {
  yield* guard(scope)
  for (const { row, ids } of outputs) {
    if (ids.length > 0) scope.write(contentCell(out, row.input, 0), textOf(ids))
    scope.write(outputCell(out, row.input), { ...row, pieces: ids.length > 0 ? 1 : 0 })
  }
}

function* writeCell(
  scope: Scope,
  place: ReturnType<typeof stateCell>,
  value: unknown,
  guard: Guard,
): Transaction<void> {
  yield* guard(scope)
  scope.write(place, value)
}

export function* readSwap(_scope: unknown, out: string): Transaction<SwapRow | undefined> {
  return (yield* read(swapCell(out)))[0] as SwapRow | undefined // safe: only keepSwap writes it
}

export function* keepSwap(scope: Scope, swap: SwapRow, guard: Guard): Transaction<void> {
  yield* guard(scope)
  scope.write(swapCell(swap.out), swap)
}

/** In the transaction that ends the run, or by itself. */
export function* dropSwap(scope: Scope, out: string): Transaction<void> {
  yield* read(swapCell(out))
  scope.remove(swapCell(out))
}

/** Whether each document of the output has a file. */
export function isOfDocuments({ several }: Pick<OutputRow, 'several'>): boolean {
  return several !== undefined && several.bytesMax === undefined
}
