/** What the job decides about a document, and how it is reported. */

import type { Passage } from '../../compare/index.ts'
import type { RowVeto } from '../../ledger/index.ts'

export type Action = 'keep' | 'drop' | 'link'
/** In the order of the cascade. */
export const METHODS = [
  'exact',
  'canonical',
  'simhash',
  'near',
  'containment',
  'chunk',
  'semantic',
] as const
export type Method = (typeof METHODS)[number]

export function isMethod(name: string | undefined): name is Method {
  return METHODS.some((method) => method === name)
}

/** A document, as named in reports about others. */
export interface Named {
  readonly id: string
  readonly source: string
}

/** A passage that another document has too. Places are bytes: of the text with `containment`, else of its canonical form. */
export interface Span {
  readonly start: number
  readonly end: number
  readonly of: Named
}

export interface DecidedContainment {
  /** How much of the other document is in this one: from 0 to 1. */
  readonly shareOfOther: number
  /** Where in the other document: bytes of its text. */
  readonly spansOfOther: readonly Passage[]
}

export interface Decision {
  readonly id: string
  readonly source: string
  readonly action: Action
  /** How it was found to be a duplicate; absent where it is kept for its own sake. */
  readonly method?: Method
  /** Which document is kept in its place, or what it is linked to. */
  readonly of?: Named
  /** The document it was measured against: `of`, unless a better copy has come since. */
  readonly representative?: Named
  readonly similarity?: number
  readonly threshold?: number
  /** The two are similar, but not the same: what differs. Such a document is linked, never dropped. */
  readonly vetoes?: readonly RowVeto[]
  /** Names the cluster. */
  readonly cluster?: string
  /** Passages that other documents have too. */
  readonly spans?: readonly Span[]
  /** Found by containment: `similarity` is the share of this document that is in the other, and `spans` are where. */
  readonly containment?: DecidedContainment
  /** It is kept without its `spans`: what is left of its text is written. */
  readonly cut?: true
  /** Documents that were kept until this better copy came. */
  readonly supersedes?: readonly Named[]
  /** This very document was decided about before, and nothing has changed. */
  readonly isKnown?: true
  /** It was met before in this very stream or run, and is left out for that. */
  readonly isRepeated?: true
  /** So many were found to be like the text it had before, and have no kept copy now: give them again. */
  readonly orphaned?: number
  /** Full buckets were passed over: a duplicate may have been missed. */
  readonly possibleMiss?: true
}
