/**
 * What listing, archives and verification need to know of a kind of thing that a location can hold. Each module
 * describes its own (`stored.ts`); how they are read, written and checked is the same for all.
 */

import type { Backend, Cell, Space, Transaction } from '../backends/index.ts'
import type { PortableIndex } from '../match/index.ts'

export const KINDS = ['store', 'resolver', 'ledger', 'state', 'fingerprints'] as const
export type KindName = (typeof KINDS)[number]

/** Of settings, whatever the kind. */
export type StoredSettings = Readonly<Record<string, unknown>>

/** What must hold of every row of a space: says what is wrong, or nothing. Others may write meanwhile. */
export interface RowCheck {
  readonly space: Space<unknown>
  readonly check: (key: Buffer, value: never) => Transaction<string | undefined>
}

/** Tallies that follow from the rows of a space: how much each row adds to which. */
export interface TallyCheck {
  readonly space: Space<unknown>
  readonly tallies: Space<number>
  counts(key: Buffer, value: never): readonly (readonly [tally: Buffer, delta: number])[]
  /** Only these tallies are compared. */
  owns(tally: Buffer): boolean
}

export interface StoredKind {
  readonly kind: Exclude<KindName, 'store'>
  readonly spaces: readonly Space<unknown>[]
  /** The row that says what it was written with: where it is, there is one. */
  readonly settings: Cell<unknown>
  /** Whether these settings are of this kind, where another kind has such a row as well. */
  readonly isOwn?: (settings: StoredSettings) => boolean
  /** Settings as the codec of their space takes them. */
  readonly keptSettings: (settings: StoredSettings) => unknown
  /** Indexes that differ between engines. */
  indexes(backend: Backend, settings: StoredSettings): Promise<readonly PortableIndex[]>
  /** Numbers for `list`. */
  readonly counts: (backend: Backend) => Promise<Readonly<Record<string, number>>>
  readonly checks: readonly RowCheck[]
  readonly tallyChecks: readonly TallyCheck[]
}
