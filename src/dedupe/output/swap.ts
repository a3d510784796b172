/**
 * Outputs that were written aside are moved into place together. The list of them is complete on the disk before the
 * state says that there is a swap; from then on it is only ever finished, by whoever comes next, however often it is
 * begun.
 */

import { readLines, removeNamed, rename, rm, rmdir } from '../../platform/files.ts'
import { dirname, join } from '../../platform/paths.ts'

import { cell, read, type Backend, type Scope, type Transaction } from '../../backends/index.ts'
import { makeDirectory, outputFailure, syncDirectory } from '../../platform/atomic-file.ts'
import { codeOf } from '../../platform/errors.ts'
import { states } from '../rows.ts'
import {
  dropSwap,
  type Guard,
  idsIn,
  keepOutput,
  keepSmallOutputs,
  type OutputRow,
  readSwap,
  type SwapRow,
} from './output-rows.ts'

export const LIST = 'list.jsonl'
const STAGED = '.staged-'
const MANY = 256

/** A line of the list of a swap. */
export type SwapLine = OutputChange | TouchedSeen | { readonly note: string }

export interface OutputChange {
  /** `keep`: only what is recorded of it has changed. `stay`: the same, and it is an output of the run. */
  readonly change: 'write' | 'remove' | 'keep' | 'stay'
  readonly row: Omit<OutputRow, 'pieces'>
  /** What the output holds then. */
  readonly ids: string
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
    if (!('change' in line) || line.change === 'keep') continue
    const { name, format } = line.row
    const target = join(out, 'kept', name)
    if (line.change !== 'remove') written.add(format === 'files' ? join(out, 'kept') : target)
    if (line.change === 'stay') continue
    folders.add(dirname(target))
    if (line.change === 'remove') await removeOutput(out, target)
    else await moveOutput(join(out, folder, 'kept', name), target)
  }
  for (const directory of folders) await syncDirectory(directory)
  await recordAll(backend, swap, guard)
  return { files: [...written], notes: [...notes] }
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
    if (ids.length > 1) await keepOutput(backend, out, line.row, ids, guard)
    else small.push({ row: line.row, ids })
    if (small.length >= MANY) await flush()
  }
  await flush()
  await dropTouched(backend, seen, guard)
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
