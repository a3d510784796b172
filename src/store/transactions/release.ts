/**
 * What happens to a content when a reference to it is dropped, and how it is swept when nobody refers to
 * it any more.
 *
 * Where bodies run one after another, the last reference is noticed in the very transaction that drops it.
 * Elsewhere the collector does it in steps (collect.ts), by a rule whose weaker forms all lost data in
 * simulation: mark the digests cell with a nonce, scan the references, sweep only if the mark is still
 * one's own; whoever links to a marked content writes the cell live again.
 */

import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import { cell, first, read, type Scope, type Transaction } from '../../backends/index.ts'
import type { ChangeFeed } from '../changes/feed.ts'
import { dropShort } from '../contents/deltas.ts'
import type { Layout } from '../contents/layout.ts'
import {
  contents,
  digests,
  Form,
  forms,
  type Known,
  memberKey,
  members,
  partCount,
  partKey,
  refKey,
  refs,
  released,
  staged,
} from '../rows.ts'
import type { Tracking } from '../lifecycle/tracking.ts'
import type { StoreNear } from '../near/store-near.ts'
import type { StoreSemantic } from '../semantic/store-semantic.ts'
import { count, countStored } from '../tallies.ts'

export type Gc = 'immediate' | 'background' | 'manual' | 'never'

/** How contents are kept. */
export interface Keeping {
  readonly layout: Layout
  /** Where near duplicates are linked. */
  readonly near: StoreNear | undefined
  /** Where texts of like meaning are linked. */
  readonly semantic: StoreSemantic | undefined
  /** Which rows there are about the use of keys. */
  readonly tracking?: Tracking | undefined
  /** Where changes are recorded. */
  readonly changes?: ChangeFeed | undefined
}

/** What a sweep did, for those who asked for it. */
export interface Swept {
  readonly id: Buffer
  readonly bytes: number
  /** Rows that this transaction did not remove: they are staged for removal, and invisible. */
  readonly partsLeft: boolean
}

/** Where a key shares the bytes of what its text means, its reference is about to go, or to become another. */
export function* forgetReference(
  scope: Scope,
  id: Bytes,
  key: Bytes,
  semantic: StoreSemantic,
  text?: Bytes,
): Transaction<void> {
  const [reference] = yield* read(cell(refs, refKey(id, key)))
  yield* semantic.forget(scope, reference, text)
}

/**
 * To be called after a reference to the content was removed in this scope. Returns whether a collector
 * has to look at it after the commit.
 */
export function* release(
  scope: Scope,
  content: { readonly id: Bytes; readonly digest: Bytes },
  gc: Gc,
  keeping: Keeping,
): Transaction<Swept | 'kept' | 'released'> {
  if (gc !== 'immediate' || !scope.serial) {
    scope.write(cell(released, content.digest), scope.id())
    return 'released'
  }
  if ((yield* first(refs, content.id)) !== undefined) return 'kept'
  const [known] = yield* read(cell(digests, content.digest))
  // A damaged content may have been taken out, and its digest given to a sound one.
  if (!known || !equalBytes(known.id, content.id)) return 'kept'
  return yield* sweep(scope, content.digest, known, keeping)
}

/** Removes a content nobody refers to. The caller has made sure of that. */
export function* sweep(
  scope: Scope,
  digest: Bytes,
  known: Known,
  { layout, near, semantic }: Keeping,
  heir?: Form,
): Transaction<Swept> {
  const { id, bytes, form } = known
  scope.remove(cell(digests, digest))
  const partsLeft = layout.chunks
    ? yield* sweepRows(scope, known, layout)
    : sweepParts(scope, known, layout)
  count(scope, { contents: -1, contentBytes: -bytes })
  if (form) yield* leaveForm(scope, form, id, heir)
  if (near) yield* near.graph.leave(scope, id)
  if (semantic) yield* semantic.leave(scope, id)
  return { id, bytes, partsLeft }
}

/** Of a store without chunks: all rows, or they are buried, where there are too many for one transaction. */
function sweepParts(scope: Scope, { id, bytes }: Known, { rowBytes }: Layout): boolean {
  const parts = partCount(bytes, rowBytes)
  const partsLeft = parts > 1 && !scope.serial
  if (partsLeft) scope.write(cell(staged, id), { parts, buried: true })
  else for (let part = 0; part < parts; part++) scope.remove(cell(contents, partKey(id, part)))
  return partsLeft
}

/** A recipe is buried, however short: it is removed where its chunks are counted. */
function* sweepRows(scope: Scope, { id, bytes }: Known, layout: Layout): Transaction<boolean> {
  if (layout.isLong(bytes)) {
    scope.write(cell(staged, id), { parts: 0, buried: true, renewedAt: scope.now() })
    countStored(scope, { chunkedBytes: -bytes })
    return true
  }
  yield* dropShort(scope, { id, bytes }, layout)
  return false
}

/** A form lives as long as a content has it; when its representative goes, the oldest left stands for it. */
function* leaveForm(
  scope: Scope,
  form: Buffer,
  id: Bytes,
  heir: Form | undefined,
): Transaction<void> {
  scope.remove(cell(members, memberKey(form, id)))
  const [row] = yield* read(cell(forms, form))
  if (!row || !equalBytes(row.id, id)) return
  const next = scope.serial ? yield* oldestOf(form) : heir
  if (next) scope.write(cell(forms, form), next)
  else scope.remove(cell(forms, form))
}

function* oldestOf(form: Buffer): Transaction<Form | undefined> {
  const oldest = yield* first(members, form)
  return oldest && (yield* heirOf(form, oldest.subarray(form.byteLength)))
}

/** The row a form gets when this content becomes its representative; nothing if it has left the form. */
export function* heirOf(form: Bytes, id: Bytes): Transaction<Form | undefined> {
  const [digest] = yield* read(cell(members, memberKey(form, id)))
  if (digest === undefined) return undefined
  const [known] = yield* read(cell(digests, digest))
  return known && Form.of({ id, digest, storedAt: known.storedAt, firstKey: known.firstKey })
}
