/** What a key has to be for a put or a delete to be done. Decided inside its transaction. */

import { asBuffer, type Bytes, equalBytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Entry } from '../rows.ts'

export interface MatchOptions {
  /** Only if the key has the value of this SHA-256, in hex, as `head` reports it. */
  readonly ifMatch?: string | undefined
}

export interface ConditionOptions extends MatchOptions {
  /** Only if the key is not there. An expired key is not. */
  readonly ifAbsent?: boolean | undefined
}

/** The digest of the value that the key must have. */
export type Condition = 'absent' | Buffer

export function conditionOf({ ifAbsent, ifMatch }: ConditionOptions): Condition | undefined {
  if (ifAbsent !== undefined && typeof ifAbsent !== 'boolean') {
    throw refused(`ifAbsent is true or false, not ${String(ifAbsent)}.`)
  }
  if (ifMatch === undefined) return ifAbsent ? 'absent' : undefined
  if (ifAbsent) throw refused('ifAbsent and ifMatch cannot both be met. Give one of them.')
  if (typeof ifMatch === 'string' && /^[0-9a-f]{64}$/i.test(ifMatch)) {
    return Buffer.from(ifMatch, 'hex')
  }
  throw refused(`ifMatch is a SHA-256 in hex, as head() reports it, not ${ifMatch}.`)
}

function refused(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}

/** The SHA-256 of the bytes that `get` returns; of rows that older versions wrote, that of their canonical form. */
export function digestOfEntry(entry: Entry): Buffer {
  return entry.exact ?? entry.digest
}

export function requireMet(
  condition: Condition,
  key: Bytes,
  entry: Entry | undefined,
  now: number,
): void {
  const current = entry?.isLive(now) ? digestOfEntry(entry) : undefined
  if (condition === 'absent' ? !current : current && equalBytes(current, condition)) return
  const has = current ? `it has the value of SHA-256 ${current.toString('hex')}` : 'it is not there'
  const wanted = condition === 'absent' ? 'ifAbsent' : 'ifMatch'
  throw new PrestigeError(
    'PRECONDITION_FAILED',
    `Nothing was written: key ${JSON.stringify(asBuffer(key).toString('utf8'))} does not meet ${wanted}, ${has}. Read it again, and decide again.`,
  )
}
