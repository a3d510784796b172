/** `If-Match` and `If-None-Match`: the tag of a value is its SHA-256. */

import type { PutOptions } from '../../store/index.ts'
import { HttpProblem } from './problem.ts'

export function tagOf(digest: string): string {
  return `"${digest}"`
}

/** Of a put or a delete. */
export function conditionOf({ headers }: Request): Pick<PutOptions, 'ifAbsent' | 'ifMatch'> {
  const match = headers.get('if-match')
  const noneMatch = headers.get('if-none-match')
  if (match !== null && noneMatch !== null)
    throw new HttpProblem(
      'INVALID_REQUEST',
      'If-Match and If-None-Match cannot both be met. Send one of them.',
    )
  if (noneMatch !== null) {
    if (noneMatch === '*') return { ifAbsent: true }
    throw new HttpProblem('INVALID_REQUEST', 'If-None-Match of a put is *.')
  }
  return match === null ? {} : { ifMatch: match.trim() === '*' ? '*' : digestOf(match) }
}

function digestOf(tag: string): string {
  const [, digest] = /^"?([0-9a-f]{64})"?$/i.exec(tag.trim()) ?? []
  if (digest) return digest
  throw new HttpProblem(
    'INVALID_REQUEST',
    'If-Match is the SHA-256 of the value in quotes, as ETag has it, or * for any value.',
  )
}

/** Whether the client has this value already. */
export function isKnown({ headers }: Request, digest: string): boolean {
  const tags = headers.get('if-none-match')
  if (tags === null) return false
  return (
    tags.trim() === '*' ||
    tags.split(',').some((tag) => tag.trim().replace(/^W\//, '') === tagOf(digest))
  )
}
