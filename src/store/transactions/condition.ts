/** What a key has to be for a put or a delete to be done. Decided inside its transaction. */

import { asBuffer, type Bytes, equalBytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Entry } from '../rows.ts'

export interface MatchOptions {
  /** Only if the key has the value of this SHA-256, in hex, as `head` reports it; `*`: any value. */
  readonly ifMatch?: string
}

export interface ConditionOptions extends MatchOptions {
  /** Only if the key is not there. An expired key is not. */
  readonly ifAbsent?: boolean | undefined
}

/** A buffer: the digest of the value that the key must have. */
export type Condition = 'absent' | 'present' | Buffer

export function conditionOf(options: ConditionOptions): Condition | undefined {
  const { ifAbsent, ifMatch } = options
  // As `head(key)?.digest` is of a key that is not there: to write whatever it has is not what was meant.
  if (ifMatch === undefined && Object.hasOwn(options, 'ifMatch'))
    throw refused(
      'ifMatch is undefined: the key was not there. To write it if it still is not, say ifAbsent: true.',
    )
  if (ifAbsent !== undefined && typeof ifAbsent !== 'boolean') {
    throw refused(`ifAbsent is true or false, not ${String(ifAbsent)}.`)
  }
  if (ifMatch === undefined) return ifAbsent ? 'absent' : undefined
  if (ifAbsent) throw refused('ifAbsent and ifMatch cannot both be met. Give one of them.')
  if (ifMatch === '*') return 'present'
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

function isMet(condition: Condition, current: Buffer | undefined): boolean {
  if (condition === 'absent') return current === undefined
  return current !== undefined && (condition === 'present' || equalBytes(current, condition))
}

export function requireMet(
  condition: Condition,
  key: Bytes,
  entry: Entry | undefined,
  now: number,
): void {
  const current = entry?.isLive(now) ? digestOfEntry(entry) : undefined
  if (isMet(condition, current)) return
  const has = current ? `it has the value of SHA-256 ${current.toString('hex')}` : 'it is not there'
  const wanted = condition === 'absent' ? 'ifAbsent' : 'ifMatch'
  throw new PrestigeError(
    'PRECONDITION_FAILED',
    `Nothing was written: key ${JSON.stringify(asBuffer(key).toString('utf8'))} does not meet ${wanted}, ${has}. Read it again, and decide again.`,
  )
}
