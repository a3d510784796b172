/** What a put reports, at once and, by `explain`, later. */

import { isUtf8 } from 'node:buffer'

import { asBuffer, type Bytes } from '../platform/bytes.ts'
import type { SemanticVeto } from './semantic/arbiter.ts'

export type KeyOutcome = 'created' | 'unchanged' | 'replaced'

/** Where a content comes from. */
export interface ContentOrigin {
  /** The content's id, in hex. Ids ascend with time. */
  readonly content: string
  /**
   * The key under which it was first stored; that key may be gone by now. `JSON.stringify` writes it as text, or as
   * `{ "base64": "…" }` where it is not UTF-8.
   */
  readonly firstKey: Buffer
  /** Milliseconds since 1970. */
  readonly storedAt: number
}

/** The most similar content that a text is not the same as, although it is similar enough. */
export interface Refused {
  readonly of: ContentOrigin
  readonly similarity: number
  /** What speaks against it. None: a judge finds it too unlikely. */
  readonly vetoes: readonly SemanticVeto[]
  /** That the two are the same, as a judge has it. */
  readonly probability?: number
}

/** Which rule found two values to be the same, and how similar they are where that is measured. */
export type Evidence =
  | {
      /** `digest`: the same bytes. `canonical`: the same in canonical form. */
      readonly method: 'digest' | 'canonical'
      readonly similarity?: undefined
      readonly threshold?: undefined
      readonly embedder?: undefined
    }
  | {
      readonly method: 'near'
      /** Jaccard similarity, measured exactly. */
      readonly similarity: number
      /** That the two are the same, where a judge was asked. Only in a receipt. */
      readonly probability?: number
      /** The least that was asked for. */
      readonly threshold: number
      readonly embedder?: undefined
    }
  | {
      readonly method: 'semantic'
      /** Cosine of the vectors. */
      readonly similarity: number
      /** The least that was asked for. */
      readonly threshold: number
      /** What the vectors are of. */
      readonly embedder: string
    }

export type Method = Evidence['method']

/** Whether a content was seen before, and of what it is a copy. */
export type ContentStory =
  | {
      /** Never seen before. */
      readonly content: 'new'
      readonly of?: undefined
      readonly method?: undefined
      readonly similarity?: undefined
      readonly threshold?: undefined
      readonly embedder?: undefined
    }
  | ({
      /**
       * `duplicate`: these very bytes were there (or, with `fidelity: 'representative'`, their canonical form, or
       * something near). `linked`: the same in canonical form, or near; own bytes are kept, and linked to `of`.
       */
      readonly content: 'duplicate' | 'linked'
      /** The content it is a duplicate of, or linked to. */
      readonly of: ContentOrigin
    } & Evidence)

/** What became of a put: `content` says whether the value was seen before, and if it was, `of` what. */
export type Receipt = ContentStory & {
  /** Whether the key was there before, and with the same value and metadata. */
  readonly key: KeyOutcome
  /** The id, in hex, of the content this key points at. */
  readonly contentId: string
  /** The most similar that is not the same, and what speaks against it: the two are alike, but not the same. */
  readonly refused?: Refused
  /** Near duplicates were not looked for, and why. */
  readonly notCompared?: 'not-text' | 'too-large'
  /** The stored bytes of this content were damaged, and were written again: all of its keys can be read again. */
  readonly healed?: true
  /** Length of the value. */
  readonly bytes: number
  /** Bytes that did not have to be stored. */
  readonly bytesSaved: number
  /** Milliseconds since 1970. */
  readonly expiresAt?: number
}

export function originOf(row: { id: Bytes; firstKey: Buffer; storedAt: number }): ContentOrigin {
  return { content: hex(row.id), firstKey: readableKey(row.firstKey), storedAt: row.storedAt }
}

/** The same for every put of known bytes: its method costs nothing until it is turned into JSON. */
export class PutOrigin implements ContentOrigin {
  readonly content: string
  readonly firstKey: Buffer
  readonly storedAt: number

  constructor(content: string, firstKey: Buffer, storedAt: number) {
    this.content = content
    this.firstKey = firstKey
    this.storedAt = storedAt
  }

  toJSON(): object {
    const { content, firstKey, storedAt } = this
    return { content, firstKey: keyInJson.call(firstKey), storedAt }
  }
}

export function hex(id: Bytes): string {
  return asBuffer(id).toString('hex')
}

/** The key, which `JSON.stringify` writes as text, or in base64 where it is not UTF-8. */
export function readableKey(key: Buffer): Buffer {
  return Object.defineProperty(key, 'toJSON', { value: keyInJson })
}

function keyInJson(this: Buffer): string | { readonly base64: string } {
  return isUtf8(this) ? this.toString() : { base64: this.toString('base64') }
}
