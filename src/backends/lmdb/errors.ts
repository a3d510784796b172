/** LMDB's failures under our own codes, with their reason. */

import { PrestigeError } from '../../errors.ts'

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

/** LMDB calls a write that the disk cut short an input/output error. */
const FULL = /MAP_FULL|ENOSPC|No space left|EFBIG|File too large|EIO|Input\/output error/i

export function engineError(error: unknown): PrestigeError {
  if (error instanceof PrestigeError) return error
  const text = error instanceof Error ? error.message : String(error)
  const isFull = FULL.test(text)
  return new PrestigeError(
    isFull ? 'BACKEND_FULL' : 'BACKEND_UNAVAILABLE',
    isFull
      ? `The disk of the store is full or failing (${text}). This transaction wrote nothing; make room and try again.`
      : `LMDB failed: ${text}. This transaction wrote nothing.`,
    { cause: error },
  )
}
