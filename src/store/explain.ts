/** Why a key points where it points: the receipt's answer, given again later. */

import { type Bytes, endOfPrefix, equalBytes } from '../bytes.ts'
import type { Backend } from '../backends/contract.ts'
import { findStory, type Story } from './get.ts'
import { refuseUnknown } from './prepare.ts'
import { hex, type Method, type Origin, originOf } from './receipt.ts'
import { type ContentOutcome, refs } from './rows.ts'

export interface Explanation {
  readonly key: Buffer
  readonly content: ContentOutcome
  /** Of which content; absent when it was new. */
  readonly of?: Origin
  readonly method?: Method
  /** The content the key points at. */
  readonly points: Origin
  /** What identifies that content: the SHA-256, in hex, of its bytes (or of its form, where forms are shared). */
  readonly digest: string
  readonly bytes: number
  readonly putAt: number
  readonly expiresAt?: number
  /** Other keys that point at the same content, in byte order, up to the limit asked for. */
  readonly sharedWith: readonly Buffer[]
}

export interface ExplainOptions {
  /** How many other keys to name (default 10). */
  readonly sharedWithMax?: number
}

export async function explain(
  backend: Backend,
  key: Bytes,
  sharesForms: boolean,
  options: ExplainOptions,
): Promise<Explanation | undefined> {
  refuseUnknown(options, ['sharedWithMax'])
  const sharedWithMax = Math.max(0, Math.floor(options.sharedWithMax ?? 10)) || 0
  const story = await backend.read(findStory, key)
  if (story === undefined) return undefined
  const { entry, known } = story
  const { expiresAt } = entry
  return {
    key: Buffer.from(key),
    ...cause(story, sharesForms),
    points: originOf(known),
    digest: hex(entry.digest),
    bytes: entry.bytes,
    putAt: entry.putAt,
    ...(expiresAt !== undefined && { expiresAt }),
    sharedWith: await otherKeys(backend, entry.id, key, sharedWithMax),
  }
}

function cause(
  { entry, known, form }: Story,
  sharesForms: boolean,
): Pick<Explanation, 'content' | 'of' | 'method'> {
  const { outcome } = entry
  if (outcome === 'duplicate') {
    return { content: outcome, of: originOf(known), method: sharesForms ? 'canonical' : 'digest' }
  }
  // When the content it was linked to is gone, it may stand for the form itself by now.
  if (outcome === 'linked' && form && !equalBytes(form.id, entry.id)) {
    return { content: outcome, of: originOf(form), method: 'canonical' }
  }
  return { content: 'new' }
}

async function otherKeys(
  backend: Backend,
  id: Bytes,
  key: Bytes,
  limit: number,
): Promise<Buffer[]> {
  const others: Buffer[] = []
  const range = { start: id, end: endOfPrefix(id), limit: limit + 1 }
  for await (const row of backend.scan(refs, range)) {
    const other = row.key.subarray(id.byteLength)
    if (!equalBytes(other, key)) others.push(other)
  }
  return others.slice(0, limit)
}
