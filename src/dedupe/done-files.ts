/** Which input files finished runs have processed: those are not read again while they are as they were. */

import { createHash } from 'node:crypto'

import { endOfPrefix } from '../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../backends/index.ts'
import { resolve } from '../platform/paths.ts'
import type { InputFile, Shard } from '../input/index.ts'
import { states } from './rows.ts'
import type { RunHead, RunRow } from './runs.ts'

const FILES = 'file/'
const PAGE = 1024

/** So many rows, read and written, are one transaction. */
function pageOf({ limits }: Backend): number {
  return Math.min(PAGE, Math.floor(limits.cellsMax / 2))
}

/**
 * Notes which files a run has done. They count as done when the run is finished, not before. `isRejected`: most of the
 * shard was no document, so its file is read again when it is given again.
 */
export async function keepFiles(
  backend: Backend,
  { id, shards }: RunRow,
  isRejected: (shard: Shard) => boolean = () => false,
): Promise<void> {
  const rejected = new Set(shards.filter(isRejected).map(({ file }) => file))
  const done = shards.filter(({ file }) => !rejected.has(file))
  const files = done.flatMap((shard) => shard.files ?? [shard])
  const page = pageOf(backend)
  for (let from = 0; from < files.length; from += page) {
    await backend.run(keepFilePage, id, files.slice(from, from + page))
  }
}

// oxlint-disable-next-line require-yield -- it only writes
function* keepFilePage(scope: Scope, run: string, files: readonly InputFile[]): Transaction<void> {
  for (const { file, path, fileBytes, modifiedMs, etag } of files) {
    const row: FileRow = { path, bytes: fileBytes, modifiedMs, ...(etag && { etag }), run }
    scope.write(fileCell(file), row)
  }
}

export async function dropFiles(backend: Backend, { id, shards }: RunRow): Promise<void> {
  const files = shards.flatMap((shard) => shard.files ?? [shard])
  const page = pageOf(backend)
  for (let from = 0; from < files.length; from += page) {
    await backend.run(dropFilePage, id, files.slice(from, from + page))
  }
}

/** Files that are read again when they are given again, although they are as they were. */
export async function reopenFiles(backend: Backend, files: readonly InputFile[]): Promise<void> {
  const page = pageOf(backend)
  for (let from = 0; from < files.length; from += page) {
    await backend.run(reopenFilePage, files.slice(from, from + page))
  }
}

// oxlint-disable-next-line require-yield -- it only writes
function* reopenFilePage(scope: Scope, files: readonly InputFile[]): Transaction<void> {
  for (const { file } of files) scope.remove(fileCell(file))
}

function* dropFilePage(scope: Scope, run: string, files: readonly InputFile[]): Transaction<void> {
  const rows = yield* read(...files.map(({ file }) => fileCell(file)))
  for (const [at, row] of rows.entries()) {
    const file = files[at]
    if (file && Reflect.get(Object(row), 'run') === run) scope.remove(fileCell(file.file))
  }
}

/** By its whole path: the name below the inputs' root changes with what else is given. */
function fileCell(file: string) {
  return cell(states, Buffer.from(FILES + fileHash(file)))
}

function fileHash(file: string): string {
  return createHash('sha256').update(resolve(file)).digest('hex').slice(0, 32)
}

interface FileRow {
  readonly path: string
  readonly bytes: number
  readonly modifiedMs: number
  /** Of an object on S3. */
  readonly etag?: string
  readonly run: string
}

/** Names the finished run that has done a file, if the file is as it was. */
export async function doneFiles(
  backend: Backend,
  runs: readonly RunHead[],
): Promise<(file: InputFile) => string | undefined> {
  const done = new Map<string, FileRow>()
  const finished = new Set(runs.filter((run) => run.status === 'finished').map(({ id }) => id))
  const start = Buffer.from(FILES)
  for await (const { key, value } of backend.scan(states, { start, end: endOfPrefix(start) })) {
    const row = value as FileRow // safe: only keepFilePage writes these
    if (finished.has(row.run)) done.set(key.toString().slice(FILES.length), row)
  }
  return (file) => {
    const row = done.size === 0 ? undefined : done.get(fileHash(file.file))
    if (row?.bytes !== file.fileBytes || row.etag !== (file.etag || undefined)) return undefined
    // Copying an object to its own key changes its time, and nothing else.
    const isSame = row.etag !== undefined || row.modifiedMs === file.modifiedMs
    return isSame ? row.run : undefined
  }
}

export interface NotDone {
  readonly todo: Shard[]
  /** Names of the files that finished runs have done, and those runs. */
  readonly skipped: string[]
  readonly doneBy: ReadonlySet<string>
}

/** Shards of files that no finished run has done, and the names of the others. */
export async function notDone(
  backend: Backend,
  shards: readonly Shard[],
  runs: readonly RunHead[],
): Promise<NotDone> {
  const runOf = await doneFiles(backend, runs)
  const skipped: string[] = []
  const doneBy = new Set<string>()
  const isDone = (file: InputFile) => {
    const run = runOf(file)
    if (run === undefined) return false
    skipped.push(file.path)
    doneBy.add(run)
    return true
  }
  const todo: Shard[] = []
  for (const shard of shards) {
    const files = shard.files?.filter((file) => !isDone(file))
    if (files ? files.length === 0 : isDone(shard)) continue
    todo.push({ ...shard, ...(files && { files }), index: todo.length })
  }
  return { todo, skipped: [...new Set(skipped)], doneBy }
}
