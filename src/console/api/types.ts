/** What the API answers: the library's types as JSON has them. */

import type { Alignment, Comparison, TextTuning } from '../../compare/index.ts'
import type {
  CloseCalls,
  DocumentCluster,
  DocumentExplanation,
  RejectedPiece,
} from '../../dedupe/index.ts'
import type { LedgerLine, LineStatus } from '../../ledger/index.ts'
import type { Stored } from '../../location/index.ts'
import type { Report, RunLine } from '../../report/index.ts'
import type { Explanation, StoreHealth, StoreStats } from '../../store/index.ts'

/** Text, or bytes that are not UTF-8. */
export type Key = string | { readonly base64: string }

type Wire<T> = T extends Uint8Array
  ? Key
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Name in keyof T]: Wire<T[Name]> }
      : T

export type { Alignment, DocumentCluster, LedgerLine, LineStatus, Report, RunLine, Stored }
export type KeyExplanation = Wire<Explanation>

export interface Counts {
  readonly keys: number
  readonly unique_values: number
  readonly bytes?: number
}

export interface AdminStats {
  readonly version: string
  readonly location: string
  readonly uptimeMs: number
  readonly kinds: readonly Stored[]
  readonly store?: { readonly stats: StoreStats; readonly health: StoreHealth }
  readonly operations: Readonly<
    Record<string, { readonly calls: number; readonly p50Us: number; readonly p99Us: number }>
  >
}

export interface Compared {
  readonly comparison: Comparison
  readonly alignment: Alignment
  readonly methods: readonly { readonly method: string; readonly similarity: number }[]
  /** How likely bands are to meet, by similarity. */
  readonly curve: readonly { readonly similarity: number; readonly probability: number }[]
  readonly vetoes: Comparison['vetoes']
}

export interface Job {
  readonly job: string
  readonly status: 'waiting' | 'running' | 'done' | 'failed' | 'stopped'
  readonly run?: string
  readonly phase?: string
  readonly documents: number
  readonly bytes: number
  /** Of all inputs, which may be more than their texts. */
  readonly bytesAll: number
  readonly error?: { readonly code: string; readonly message: string }
}

export interface Runs {
  readonly runs: readonly RunLine[]
  readonly jobs: readonly Job[]
}

export type Why = DocumentExplanation & {
  /** With what it was measured against, or with the nearest other one: `with` is its key. */
  readonly alignment?: Alignment & { readonly with: string }
}

export interface Explained {
  readonly documents: readonly Why[]
  /** Pieces of input that are no documents. */
  readonly rejected?: readonly RejectedPiece[]
}

export interface UndonePlan {
  readonly undone: readonly { readonly run: string; readonly documents: number }[]
}

export type Pairs = CloseCalls
export type Tuned = TextTuning

export interface LedgerPage {
  readonly lines: readonly LedgerLine[]
  readonly next?: string
}
