/**
 * What Redis and its client say when something fails, in our words. Whether a request may be sent again is
 * decided here: by the code that the server's answer begins with, never by the rest of a message.
 */

import { PrestigeError } from '../../platform/errors.ts'

const LOGIN = new Set(['WRONGPASS', 'NOAUTH', 'NOPERM'])
/** The server is there, and will take it later. */
const LATER = new Set([
  'LOADING',
  'BUSY',
  'TRYAGAIN',
  'CLUSTERDOWN',
  'MASTERDOWN',
  'READONLY',
  'NOREPLICAS',
  'MISCONF',
  'UNKILLABLE',
  'MOVED',
  'ASK',
])

/** `OOM` of `OOM command not allowed when used memory > 'maxmemory'.` */
export function replyCode(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  return /^([A-Z]{2,})(?: |$)/.exec(message)?.[1] ?? ''
}

/** The client hangs the whole command on its errors, and a login is a command: only what was said is passed on. */
export function plain(error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const plainError = new Error(message)
  return typeof code === 'string' ? Object.assign(plainError, { code }) : plainError
}

export function engineError(error: unknown, shown: string): PrestigeError {
  if (error instanceof PrestigeError) return error
  const cause = plain(error)
  const code = replyCode(error)
  const said = cause.message
  if (LOGIN.has(code) || said.startsWith('ERR invalid password')) return denied(shown, cause)
  if (code === 'OOM') {
    return new PrestigeError(
      'BACKEND_FULL',
      `The memory of ${shown} is full, and nothing was written. Raise its maxmemory or remove something.`,
      { cause },
    )
  }
  if (code === 'CROSSSLOT' || /cluster support disabled/i.test(said)) {
    return new PrestigeError('SERVER_UNFIT', `${shown} cannot be used: ${said}`, { cause })
  }
  if (LATER.has(code)) {
    return new PrestigeError('BACKEND_UNAVAILABLE', `${shown} cannot take this now: ${said}`, {
      cause,
    })
  }
  if (isReply(error)) {
    return new PrestigeError(
      'SERVER_UNFIT',
      `${shown} refused a command that prestige needs: ${said}`,
      { cause },
    )
  }
  return new PrestigeError(
    'BACKEND_UNAVAILABLE',
    `${shown} did not answer: ${reason(cause)}. Whether the last writes were applied is not known.`,
    { cause },
  )
}

export function denied(shown: string, cause: Error): PrestigeError {
  return new PrestigeError(
    'ACCESS_DENIED',
    `${shown} does not let us in: ${cause.message} Check user and password of the location, and what the user may do.`,
    { cause },
  )
}

/** The server has answered, and with an error. */
export function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError'
}

/** What was thrown by a socket has its reason in `code` when its message is empty, as of several addresses. */
export function reason(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return (error.message || code || 'the connection was closed').replace(/\.$/, '')
}
