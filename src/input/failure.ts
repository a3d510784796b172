/** Turns failures of the file system into named errors that say what to do. */

import { PrestigeError } from '../platform/errors.ts'

export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return ''
  return typeof error.code === 'string' ? error.code : ''
}

export function inputFailure(file: string, error: unknown): PrestigeError {
  if (error instanceof PrestigeError) return error
  const code = codeOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new PrestigeError('FILE_NOT_FOUND', `${file} is not there. Check the path.`, {
      cause: error,
    })
  }
  const hint = code === 'EACCES' || code === 'EPERM' ? 'Check its permissions' : 'Look at the cause'
  return new PrestigeError(
    'INPUT_UNREADABLE',
    `${file} cannot be read (${code || String(error)}). ${hint}, and start again.`,
    { cause: error },
  )
}

export function inputChanged(file: string, what: string): PrestigeError {
  return new PrestigeError(
    'INPUT_CHANGED',
    `${file} ${what} since it was listed. Leave inputs alone while they are read, and start again.`,
  )
}

export function outputFailure(file: string, error: unknown): PrestigeError {
  if (error instanceof PrestigeError) return error
  const code = codeOf(error)
  // A file that may grow no more (`ulimit -f`) is as full as its disk.
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') {
    const message = `The disk of ${file} is full. Nothing of it was kept: make room, and write again.`
    return new PrestigeError('BACKEND_FULL', message, { cause: error })
  }
  return new PrestigeError(
    'OUTPUT_FAILED',
    `${file} cannot be written (${code || String(error)}). Nothing of it was kept.`,
    { cause: error },
  )
}
