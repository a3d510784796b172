/** LMDB's failures under our own codes, with their reason. */

import { PrestigeError } from '../../platform/errors.ts'

/** lmdb rejects with an error that promises its reason. */
export async function reasonOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    await error.commitError
    return error
  } catch (reason) {
    return reason
  }
}

const FULL = /MAP_FULL|ENOSPC|No space left|EFBIG|File too large|EDQUOT|quota/i
const FAILING = /EIO|Input\/output error/i
/** A page of the wrong kind, one that is not there, a file that is none: the bytes on the disk are damaged. */
const CORRUPT = /MDB_(?:CORRUPTED|PAGE_NOTFOUND|INVALID|VERSION_MISMATCH)/

export function engineError(error: unknown, directory = 'the store'): PrestigeError {
  if (error instanceof PrestigeError) return error
  const text = textOf(error)
  if (FULL.test(text)) return fullError(directory, text, error)
  if (CORRUPT.test(text)) return corruptError(text, error)
  return new PrestigeError(
    'BACKEND_UNAVAILABLE',
    FAILING.test(text)
      ? `The disk of ${directory} reported an input/output error (EIO): ${text}. This transaction wrote nothing; check the disk.`
      : `LMDB failed: ${text}. This transaction wrote nothing.`,
    { cause: error },
  )
}

export function fullError(directory: string, reason: string, cause?: unknown): PrestigeError {
  return new PrestigeError(
    'BACKEND_FULL',
    `The disk of ${directory} is full (${reason}). This transaction wrote nothing; make room and try again.`,
    { cause },
  )
}

function corruptError(reason: string, cause: unknown): PrestigeError {
  return new PrestigeError(
    'CONTENT_CORRUPT',
    `The store's file is damaged (${reason}). Run prestige verify; prestige verify --salvage DIRECTORY copies what is readable.`,
    { cause },
  )
}

export function openingError(directory: string, error: unknown): PrestigeError {
  if (error instanceof PrestigeError) return error
  const text = textOf(error)
  if (FULL.test(text)) return fullError(directory, text, error)
  if (CORRUPT.test(text)) return corruptError(text, error)
  return new PrestigeError('BACKEND_UNAVAILABLE', `LMDB cannot open ${directory}: ${text}`, {
    cause: error,
  })
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function openElsewhere(directory: string): PrestigeError {
  return new PrestigeError(
    'CONTENDED',
    process.platform === 'linux'
      ? `${directory} is open in another process or thread, which would go on with the old file. Nothing was changed. Close it there, then compact again.`
      : `Whether another process has ${directory} open can only be found out on Linux. Nothing was changed. Export it and import it into a new directory instead.`,
  )
}

export function momentHeld(directory: string): PrestigeError {
  return new PrestigeError(
    'CONTENDED',
    `${directory} is being backed up, from the file that would be replaced. Nothing was changed. Compact it when the backup has ended.`,
  )
}

export function beingCompacted(directory: string): PrestigeError {
  return new PrestigeError(
    'CONTENDED',
    `${directory} is being compacted, or a feed of changes turned on in it. Try again when that has ended.`,
  )
}

export function momentLost(directory: string): PrestigeError {
  return new PrestigeError(
    'BACKEND_UNAVAILABLE',
    `A commit in ${directory} failed, and what was being read of an earlier moment is no longer held. Start again.`,
  )
}
