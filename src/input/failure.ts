/** Turns failures of the file system into named errors that say what to do. */

import { codeOf, PrestigeError } from '../platform/errors.ts'

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
