/** Options of the client's calls: what they are in a request, and what a server cannot do. */

import { PrestigeError } from '../platform/errors.ts'
import type { DeleteOptions } from '../store/index.ts'

export function refuseOthers(rest: object): void {
  const given = Object.entries(rest).filter(([, value]) => value !== undefined)
  if (given.length === 0) return
  const names = given.map(([name]) => name).join(', ')
  throw new PrestigeError('INVALID_OPTIONS', `${names} cannot be used with a server.`)
}

/** As a store does: whoever read of a key that it is not there must not replace what it has by now. */
export function refuseNoDigest(options: DeleteOptions): void {
  if (options.ifMatch !== undefined || !Object.hasOwn(options, 'ifMatch')) return
  const message =
    'ifMatch is undefined: the key was not there. To write it then, say ifAbsent: true.'
  throw new PrestigeError('INVALID_OPTIONS', message)
}

export function requireLimit(limit: number): void {
  if (limit === Infinity || (Number.isInteger(limit) && limit >= 0)) return
  throw new PrestigeError('INVALID_OPTIONS', `limit is a whole number from 0 on, not ${limit}.`)
}

/** A time at which a key expires is one in this machine's clock, and the server counts from now on. */
export function ttlSeconds(ttlMs?: number, expiresAt?: number): number | undefined {
  if (expiresAt === undefined) return ttlMs === undefined ? undefined : ttlMs / 1000
  if (ttlMs !== undefined)
    throw new PrestigeError('INVALID_OPTIONS', 'Give ttlMs or expiresAt, not both.')
  const leftMs = expiresAt - Date.now()
  if (leftMs > 0) return leftMs / 1000
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `expiresAt is a time in the future, in milliseconds since 1970, not ${expiresAt}.`,
  )
}
