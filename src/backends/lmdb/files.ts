/** The files of an LMDB directory: where they are, whether they are LMDB's at all, and bringing them to the disk. */

import {
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  realpathSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { PrestigeError } from '../../platform/errors.ts'
import { makeDirectory } from '../../platform/atomic-file.ts'
import { engineError, fullError } from './errors.ts'

/** Only the owner reads what is stored. */
const FILE_MODE = 0o600
export const DIRECTORY_MODE = 0o700
/** 64 bytes for every process or thread that has the directory open, and some for LMDB itself. */
export const READERS_MAX = 4096
const LOCK_FILE_BYTES = (READERS_MAX + 8) * 64
/** A commit is refused when less is free: LMDB copies every page it changes before it frees the old one. */
const FREE_BYTES_MIN = 256 * 1024

export function dataFile(directory: string): string {
  return join(directory, 'data.mdb')
}

export function lockFile(directory: string): string {
  return join(directory, 'lock.mdb')
}

export function fileBytes(directory: string): number {
  return statSync(dataFile(directory), { throwIfNoEntry: false })?.size ?? 0
}

/** Says that the free list of data.mdb is of the kind that this version writes. */
function markerFile(directory: string): string {
  return join(directory, 'prestige-lmdb-2')
}

export function hasMarker(directory: string): boolean {
  return existsSync(markerFile(directory))
}

export function writeMarker(directory: string): void {
  if (!hasMarker(directory)) closeSync(openSync(markerFile(directory), 'a', FILE_MODE))
}

export function storeMissing(directory: string): PrestigeError {
  return new PrestigeError(
    'STORE_NOT_FOUND',
    `There is no store at ${directory}. Check the location, or put something there first.`,
  )
}

export async function directoryOf(path: string, create: boolean): Promise<string> {
  if (!create && !existsSync(dataFile(path))) throw storeMissing(path)
  try {
    await makeDirectory(path, DIRECTORY_MODE)
    return realpathSync(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new PrestigeError(
      'INVALID_LOCATION',
      `${path} cannot be used as a store directory: ${reason}`,
      { cause: error },
    )
  }
}

/**
 * Makes the files that LMDB would make, with the modes they should have. The lock file is written, not only made
 * longer: LMDB maps it, and where the disk is full a mapped file without its blocks ends the process.
 */
export function prepareFiles(directory: string): void {
  try {
    closeSync(openSync(dataFile(directory), 'a', FILE_MODE))
    const file = openSync(lockFile(directory), 'a', FILE_MODE)
    try {
      if (fstatSync(file).size === 0) writeWhole(file, Buffer.alloc(LOCK_FILE_BYTES))
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw engineError(error, directory)
  }
}

function writeWhole(file: number, bytes: Buffer): void {
  try {
    for (let at = 0; at < bytes.byteLength;) at += writeSync(file, bytes, at)
  } catch (error) {
    ftruncateSync(file)
    throw error
  }
}

/** Raises BACKEND_FULL where a commit could not fit. */
export function assertSpace(directory: string): void {
  if (freeBytes(directory) < FREE_BYTES_MIN) throw fullError(directory, 'no space left')
}

/** LMDB calls a write that was cut short an input/output error, whatever cut it. */
export function isOutOfSpace(directory: string): boolean {
  const left = fileBytesLimit() - fileBytes(directory)
  return Math.min(freeBytes(directory), left) < FREE_BYTES_MIN * 4
}

function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  } catch {
    return Infinity // the directory is gone: whoever writes next will learn it
  }
}

/** `ulimit -f` */
function fileBytesLimit(): number {
  try {
    const limit = /^Max file size\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))
    return limit?.[1] === undefined ? Infinity : Number(limit[1])
  } catch {
    return Infinity // no /proc: macOS and Windows
  }
}

/** What `os` leaves to the operating system while it runs is brought to the disk when it closes. */
export async function syncFile(file: number): Promise<void> {
  try {
    await promisify(fdatasync)(file)
  } catch (error) {
    throw engineError(error)
  }
}
