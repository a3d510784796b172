/** What a put reports, at once and, by `explain`, later. */

import { asBuffer, type Bytes } from '../platform/bytes.ts'
import type { ContentOutcome } from './rows.ts'
import type { Refused } from './semantic/store-semantic.ts'

export type KeyOutcome = 'created' | 'unchanged' | 'replaced'

/** Where a content comes from. */
export interface Origin {
  /** The content's id, in hex. Ids ascend with time. */
  readonly content: string
  /** The key under which it was first stored; that key may be gone by now. */
  readonly firstKey: Buffer
  /** Milliseconds since 1970. */
  readonly storedAt: number
}

/** Which rule found two values to be the same. */
export type Method = 'digest' | 'canonical' | 'near' | 'semantic'

export interface Receipt {
  readonly key: KeyOutcome
  /**
   * `new`: never seen. `duplicate`: these very bytes were there (or, with `fidelity: 'representative'`, their
   * canonical form, or something near). `linked`: the same after canonicalisation, or near; own bytes are kept,
   * and linked to `of`.
   */
  readonly content: ContentOutcome
  /** The id, in hex, of the content this key points at. */
  readonly contentId: string
  /** Of which content; absent when new. */
  readonly of?: Origin
  readonly method?: Method
  /** By method `near` or `semantic`: how similar, measured exactly, and what was asked for at least. */
  readonly similarity?: number
  readonly threshold?: number
  /** By method `semantic`: what the vectors are of. */
  readonly embedder?: string
  /** The nearest in meaning that something spoke against, and what. */
  readonly refused?: Refused
  /** Near duplicates were not looked for, and why. */
  readonly notCompared?: 'not-text' | 'too-large'
  /** The stored bytes of this content were damaged, and were written again: all of its keys can be read again. */
  readonly healed?: true
  readonly bytes: number
  readonly bytesSaved: number
  readonly expiresAt?: number
}

export function originOf(row: { id: Bytes; firstKey: Buffer; storedAt: number }): Origin {
  return { content: hex(row.id), firstKey: row.firstKey, storedAt: row.storedAt }
}

export function hex(id: Bytes): string {
  return asBuffer(id).toString('hex')
}
