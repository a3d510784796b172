/**
 * Outputs that were written aside are moved into place together. The list of them is complete on the disk before the
 * state says that there is a swap; from then on it is only ever finished, by whoever comes next, however often it is
 * begun.
 */

import { readLines, removeNamed, rename, rm, rmdir, stat } from '../../platform/files.ts'
import { dirname, join } from '../../platform/paths.ts'
import { isS3 } from '../../platform/s3/address.ts'

import { cell, read, type Backend, type Scope, type Transaction } from '../../backends/index.ts'
import { makeDirectory, outputFailure, syncDirectory } from '../../platform/atomic-file.ts'
import { codeOf } from '../../platform/errors.ts'
import { states } from '../rows.ts'
import {
  dropSwap,
  type Guard,
  idsIn,
  isOfDocuments,
  keepOutput,
  keepSmallOutputs,
  type OutputFile,
  type OutputRow,
  readSwap,
  type SwapRow,
} from './output-rows.ts'

export const LIST = 'list.jsonl'
const STAGED = '.staged-'
const MANY = 256

/** A line of the list of a swap. */
export type SwapLine =
  | OutputChange
  | FileMove
  | FileRemoval
  | TouchedSeen
  | { readonly note: string }

/** One of several files of an output. All of these come before its `OutputChange`. */
export interface FileMove {
  /** Where it was written aside, below the folder of the swap. */
  readonly move: string
  /** Below `kept/`. */
  readonly to: string
  /** What to report as written. */
  readonly shown: string
}

/** One of several files of an output is there no more; after the moves, none of which has this name. */
export interface FileRemoval {
  readonly gone: string
}

export interface OutputChange {
  /** `keep`: only what is recorded of it has changed. `stay`: the same, and it is an output of the run. */
  readonly change: 'write' | 'remove' | 'keep' | 'stay'
  readonly row: Omit<OutputRow, 'pieces'>
  /** What the output holds then. */
  readonly ids: string
  /** Of an output that has several. */
  readonly files?: readonly OutputFile[]
}

/** A note of a changed document (rows.ts) that the swap takes care of. */
export interface TouchedSeen {
  readonly touched: string
  readonly value: unknown
}

/** Where nobody else writes. */
// oxlint-disable-next-line require-yield -- it has nothing to check
export function* unguarded(): Transaction<void> {}

export function stagedFolder(run: string, token: string): string {
  return `${STAGED}${run}-${token}`
}

export interface Swapped {
  /** Outputs that were written; of one document a file, their directory. */
  readonly files: readonly string[]
  readonly notes: readonly string[]
}

/** Finishes the swap of a directory that was begun, if there is one. */
export async function finishPendingSwap(
  backend: Backend,
  out: string,
  guard: Guard = unguarded,
): Promise<(SwapRow & Swapped) | undefined> {
  const swap = await backend.read(readSwap, out)
  return swap && { ...swap, ...(await finishSwap(backend, swap, guard)) }
}

export async function finishSwap(backend: Backend, swap: SwapRow, guard: Guard): Promise<Swapped> {
  const { out, folder } = swap
  const written = new Set<string>()
  const notes = new Set<string>()
  const folders = new Set<string>()
  for await (const line of linesOf(join(out, folder, LIST))) {
    if ('note' in line) notes.add(line.note)
    for (const name of stayingOf(line)) written.add(join(out, 'kept', name))
    const one = changeOf(line)
    if (!one) continue
    const target = join(out, 'kept', one.name)
    folders.add(dirname(target))
    if (one.from === undefined) await removeOutput(out, target)
    else {
      await moveOutput(join(out, folder, one.from), target)
      written.add(one.shown === '' ? join(out, 'kept') : join(out, 'kept', one.shown))
    }
  }
  for (const directory of folders) await syncDirectory(directory)
  await recordAll(backend, swap, guard)
  return { files: [...written], notes: [...notes] }
}

/** Outputs that are as the run would write them. */
function stayingOf(line: SwapLine): readonly string[] {
  if (!('change' in line) || line.change !== 'stay') return []
  const { name, format } = line.row
  if (line.files && isOfDocuments(line.row)) return line.files.map((file) => file.name)
  return [format === 'files' ? '' : name]
}

/** What becomes of a file; without `from`, which is below the folder, it is removed. `undefined`: of none. */
function changeOf(
  line: SwapLine,
): { readonly name: string; readonly from?: string; readonly shown: string } | undefined {
  if ('move' in line) return { name: line.to, from: line.move, shown: line.shown }
  if ('gone' in line) return { name: line.gone, shown: line.gone }
  if (!('change' in line) || line.change === 'keep' || line.change === 'stay') return undefined
  const { name, format } = line.row
  if (line.change === 'remove') return { name, shown: name }
  return { name, from: `kept/${name}`, shown: format === 'files' ? '' : name }
}

async function recordAll(backend: Backend, { out, folder }: SwapRow, guard: Guard): Promise<void> {
  let small: { row: Omit<OutputRow, 'pieces'>; ids: string[] }[] = []
  const flush = async () => {
    await keepSmallOutputs(backend, out, small, guard)
    small = []
  }
  const seen: TouchedSeen[] = []
  for await (const line of linesOf(join(out, folder, LIST))) {
    if ('touched' in line) seen.push(line)
    if (!('change' in line)) continue
    const ids = idsIn(line.ids)
    const { row, files } = isS3(out) ? await asMoved(out, line) : line
    if (ids.length > 1 || row.several) await keepOutput(backend, out, row, ids, guard, files)
    else small.push({ row, ids })
    if (small.length >= MANY) await flush()
  }
  await flush()
  await dropTouched(backend, seen, guard)
}

/** On S3 a file that is moved is written again: its time is another one. */
async function asMoved(out: string, line: OutputChange): Promise<OutputChange> {
  const timed = async <F extends { readonly modifiedMs: number }>(name: string, file: F) => {
    const found = await stat(join(out, 'kept', name)).catch(() => undefined)
    return { ...file, modifiedMs: found?.mtimeMs ?? file.modifiedMs }
  }
  const { row, files } = line
  if (files) {
    const moved = await Promise.all(files.map((file) => timed(file.name, file)))
    return { ...line, files: moved }
  }
  if (line.change !== 'write' || !row.file) return line
  return { ...line, row: { ...row, file: await timed(row.name, row.file) } }
}

export async function dropTouched(
  backend: Backend,
  seen: readonly TouchedSeen[],
  guard: Guard,
): Promise<void> {
  for (const one of seen) await backend.run(dropNote, one, guard)
}

/** One that was touched again meanwhile stays. */
function* dropNote(scope: Scope, { touched, value }: TouchedSeen, guard: Guard): Transaction<void> {
  yield* guard(scope)
  const place = cell(states, Buffer.from(touched))
  const [found] = yield* read(place)
  if (found === value) scope.remove(place)
}

/** Ends a swap that no run ends with its own transaction. */
export async function endSwap(backend: Backend, out: string): Promise<void> {
  await backend.run(dropSwap, out)
  await removeStaged(out)
}

/** Removes what was written aside. Only for whoever knows that nobody writes there. */
export async function removeStaged(out: string): Promise<void> {
  await removeNamed(out, STAGED).catch((error: unknown) => {
    throw outputFailure(out, error)
  })
}

async function moveOutput(from: string, to: string): Promise<void> {
  try {
    await rename(from, to).catch(async (error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error
      await makeDirectory(dirname(to))
      await rename(from, to)
    })
  } catch (error) {
    // It was moved before, by this process or another.
    if (codeOf(error) !== 'ENOENT') throw outputFailure(to, error)
  }
}

/** Directories that are empty then are removed too, up to that of the outputs. */
async function removeOutput(out: string, target: string): Promise<void> {
  await rm(target, { force: true }).catch((error: unknown) => {
    throw outputFailure(target, error)
  })
  for (let above = dirname(target); above.length > out.length; above = dirname(above)) {
    const isEmpty = await rmdir(above).then(
      () => true,
      () => false,
    )
    if (!isEmpty) return
  }
}

/** Of a swap that has been finished, and whose folder is gone, there is nothing left to do. */
async function* linesOf(path: string): AsyncGenerator<SwapLine> {
  const lines: string[] = []
  try {
    for await (const line of readLines(path)) lines.push(line)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw outputFailure(path, error)
  }
  // safe: only Stage writes these lines
  for (const line of lines) yield JSON.parse(line) as SwapLine
}
