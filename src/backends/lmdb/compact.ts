/**
 * Writing data.mdb again without its free pages. lmdb's own compacting copy cannot be used: lmdb 2.8 ignores the option,
 * and LMDB leaves the old page numbers in the headers of large values. So rows are copied, table by table, in the
 * order of their keys, into a new file beside the old one.
 *
 * Rows are read without LMDB, which checks every page: a damaged file raises an error, and no row is left out silently.
 *
 * Invariant: the caller holds the write lock of the directory, so nothing is committed and nobody opens it meanwhile. Until
 * the new file is complete, on the disk and renamed, the old one is the store; what a process that dies leaves behind is
 * removed by the next one that opens the directory.
 */

import { renameSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { syncDirectory } from '../../platform/atomic-file.ts'
import { EMPTY } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { treeNamed } from './file/backend.ts'
import { Cursor } from './file/cursor.ts'
import { DataFile } from './file/data-file.ts'
import type { TreeRecord } from './file/format.ts'
import { dataFile, DIRECTORY_MODE, prepareFiles } from './files.ts'

/** Of one transaction of the copy, and between two turns of the event loop. */
const BATCH_BYTES = 1024 * 1024
const BATCH_ROWS = 4096

/** Where rows are copied to: an LMDB environment without anything in it. */
export interface CopyTarget {
  /** Writes rows into a table, in a transaction that need not reach the disk. */
  write(table: string, rows: readonly CopiedRow[]): void
  /** Everything written is on the disk. */
  close(): Promise<void>
}

export interface CopiedRow {
  readonly key: Buffer
  readonly value: Buffer
}

function copyDirectory(directory: string): string {
  return join(directory, 'prestige-compact')
}

/** To be called while holding the write lock. */
export function removeUnfinishedCopy(directory: string): void {
  rmSync(copyDirectory(directory), { recursive: true, force: true })
}

/** Copies all tables of a directory into a new file, which `useCopy` puts in the place of the old one. */
export async function makeCopy(
  directory: string,
  openTarget: (path: string) => CopyTarget,
): Promise<void> {
  removeUnfinishedCopy(directory)
  const path = copyDirectory(directory)
  await mkdir(path, { mode: DIRECTORY_MODE })
  prepareFiles(path)
  const source = new DataFile(directory)
  try {
    source.refresh()
    const target = openTarget(path)
    try {
      for (const table of tableNames(source)) await copyTable(source, table, target)
    } finally {
      await target.close()
    }
  } catch (error) {
    removeUnfinishedCopy(directory)
    throw error
  } finally {
    source.close()
  }
}

/** From one moment to the next the directory has the new file. Nobody may have the old one open in LMDB. */
export function useCopy(directory: string): void {
  renameSync(dataFile(copyDirectory(directory)), dataFile(directory))
}

export async function syncCopy(directory: string): Promise<void> {
  await syncDirectory(directory)
  removeUnfinishedCopy(directory)
}

function tableNames(file: DataFile): string[] {
  const names: string[] = []
  const cursor = new Cursor(file, file.meta.main)
  for (let isThere = cursor.seek(EMPTY); isThere; isThere = cursor.next()) {
    names.push(cursor.key.toString('utf8').replace(/\0$/, ''))
  }
  return names
}

async function copyTable(file: DataFile, table: string, target: CopyTarget): Promise<void> {
  const tree = treeNamed(file, table)
  if (tree === undefined) throw incomplete(table, 0, 1)
  let copied = 0
  for (const rows of batchesOf(file, tree)) {
    target.write(table, rows)
    copied += rows.length
    await nextTurn()
  }
  if (copied !== tree.entries) throw incomplete(table, copied, tree.entries)
}

/** An empty table is written too: as it is, its first batch has no rows. */
function* batchesOf(file: DataFile, tree: TreeRecord): Generator<CopiedRow[]> {
  const cursor = new Cursor(file, tree)
  let rows: CopiedRow[] = []
  let bytes = 0
  for (let isThere = cursor.seek(EMPTY); isThere; isThere = cursor.next()) {
    const { value } = cursor
    rows.push({ key: Buffer.from(cursor.key), value })
    bytes += value.byteLength
    if (bytes < BATCH_BYTES && rows.length < BATCH_ROWS) continue
    yield rows
    rows = []
    bytes = 0
  }
  yield rows
}

function incomplete(table: string, copied: number, entries: number): PrestigeError {
  return new PrestigeError(
    'CONTENT_CORRUPT',
    `The store's file is damaged: its table ${table} should have ${entries} rows, and ${copied} were found. It was not ` +
      'compacted. Run prestige verify.',
  )
}
