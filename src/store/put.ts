/**
 * The transaction behind `put`: look up the key, the bytes and their canonical form; share, link or keep;
 * point the key at the content; release what it pointed at before. All of it, or none.
 */

import { type Bytes, EMPTY, equalBytes } from '../bytes.ts'
import { cell, read, type Scope, type Transaction } from '../backends/contract.ts'
import { hex, type KeyOutcome, type Receipt } from './receipt.ts'
import { type Gc, release } from './release.ts'
import {
  contents,
  type ContentOutcome,
  digests,
  entries,
  Entry,
  expiries,
  expiryKey,
  Form,
  forms,
  Known,
  memberKey,
  members,
  refKey,
  refs,
  staged,
} from './rows.ts'
import { requireStaged } from './staging.ts'
import { count } from './tallies.ts'

/** A value made ready: everything that can be computed without looking at the store. */
export interface Prepared {
  readonly key: Buffer
  /** A copy of the caller's bytes that nobody else can change. */
  readonly value: Buffer
  /** What identifies the content: the digest of its bytes or, with shared representatives, of its form. */
  readonly digest: Buffer
  /** The digest of the canonical form, where links are wanted. */
  readonly form: Buffer | undefined
  readonly ttlMs: number | undefined
  /** The value is in parts already, under this id, and the transaction makes them visible. */
  readonly staged: Buffer | undefined
  readonly gc: Gc
  readonly partBytes: number
  /** Content counts as the same by its canonical form, and the first bytes win. */
  readonly sharesForms: boolean
}

export interface PutEnd {
  readonly receipt: Receipt
  /** The digest of a content that lost a reference, for the collector to look at. */
  readonly released: Buffer | undefined
  /** The staged parts were not needed: the content was there. */
  readonly stagedInVain: boolean
  readonly swept: boolean
}

interface Scene {
  readonly entry: Entry | undefined
  readonly known: Known | undefined
  readonly form: Form | undefined
}

/** `stage`: the value is large and not known; write its parts first, then come again. */
export function* putValue(scope: Scope, prepared: Prepared): Transaction<PutEnd | 'stage'> {
  const scene = yield* look(prepared)
  const now = scope.now()
  const { entry, known } = scene
  const needsParts = !known && !prepared.staged && prepared.value.byteLength > prepared.partBytes
  if (needsParts) return 'stage'
  const expiresAt = prepared.ttlMs === undefined ? undefined : now + prepared.ttlMs
  const isSame = entry !== undefined && known !== undefined && entry.pointsAt(known)
  const keyOutcome = keyOutcomeOf(entry, isSame, now)
  const stagedInVain = prepared.staged !== undefined && known !== undefined
  const content = keepContent(scope, prepared, scene)
  const receipt = receiptOf(prepared, scene, content, keyOutcome, expiresAt)
  if (keyOutcome === 'unchanged' && entry?.expiresAt === undefined && expiresAt === undefined) {
    return { receipt, released: undefined, stagedInVain, swept: false }
  }
  pointKey(scope, prepared, entry, content, expiresAt)
  if (!entry || isSame) return { receipt, released: undefined, stagedInVain, swept: false }
  scope.remove(cell(refs, refKey(entry.id, prepared.key)))
  const end = yield* release(scope, entry, prepared.gc, prepared.partBytes)
  const old = end === 'released' ? entry.digest : undefined
  return { receipt, released: old, stagedInVain, swept: end === 'swept' }
}

function* look({ key, digest, form, staged: id }: Prepared): Transaction<Scene> {
  const [entry, known] = yield* read(cell(entries, key), cell(digests, digest))
  const formRow = form && (yield* read(cell(forms, form)))[0]
  if (id !== undefined && known === undefined) yield* requireStaged(id)
  return { entry, known, form: formRow }
}

function keyOutcomeOf(entry: Entry | undefined, isSame: boolean, now: number): KeyOutcome {
  if (!entry?.isLive(now)) return 'created'
  return isSame ? 'unchanged' : 'replaced'
}

interface KeptContent {
  readonly id: Bytes
  readonly bytes: number
  readonly outcome: ContentOutcome
}

/** Makes sure the content is there and live. */
function keepContent(scope: Scope, prepared: Prepared, { known, form }: Scene): KeptContent {
  if (known === undefined) return keepNew(scope, prepared, form)
  // Linking to a marked content without taking the mark away would let the collector sweep it.
  if (known.mark) scope.write(cell(digests, prepared.digest), known.marked(undefined))
  return { id: known.id, bytes: known.bytes, outcome: 'duplicate' }
}

function keepNew(scope: Scope, prepared: Prepared, form: Form | undefined): KeptContent {
  const { key, value, digest } = prepared
  const id = prepared.staged ?? scope.id()
  if (prepared.staged) scope.remove(cell(staged, id))
  else scope.write(cell(contents, id), value)
  const bytes = value.byteLength
  const storedAt = scope.now()
  const known = Known.of({
    id,
    bytes,
    storedAt,
    form: prepared.form,
    mark: undefined,
    firstKey: key,
  })
  scope.write(cell(digests, digest), known)
  count(scope, { contents: 1, contentBytes: bytes })
  if (prepared.form) joinForm(scope, prepared.form, form, { id, digest, storedAt, firstKey: key })
  return { id, bytes, outcome: form ? 'linked' : 'new' }
}

function joinForm(
  scope: Scope,
  canonical: Bytes,
  form: Form | undefined,
  content: { id: Bytes; digest: Bytes; storedAt: number; firstKey: Bytes },
): void {
  scope.write(cell(members, memberKey(canonical, content.id)), content.digest)
  if (!form) scope.write(cell(forms, canonical), Form.of(content))
  else if (form.mark) scope.write(cell(forms, canonical), form.marked(undefined))
}

function pointKey(
  scope: Scope,
  { key, digest }: Prepared,
  old: Entry | undefined,
  { id, bytes, outcome }: KeptContent,
  expiresAt: number | undefined,
): void {
  const isSame = old !== undefined && equalBytes(old.id, id)
  // A key that is put again keeps its story: its content is no duplicate of itself.
  const told = isSame ? old.outcome : outcome
  const entry = Entry.of({ id, digest, putAt: scope.now(), bytes, expiresAt, outcome: told })
  scope.write(cell(entries, key), entry)
  if (!isSame) scope.write(cell(refs, refKey(id, key)), EMPTY)
  const oldExpiry = old?.expiresAt
  if (oldExpiry !== undefined) scope.remove(cell(expiries, expiryKey(oldExpiry, key)))
  if (expiresAt !== undefined) scope.write(cell(expiries, expiryKey(expiresAt, key)), EMPTY)
  count(scope, {
    keys: old ? 0 : 1,
    keysWithExpiry: (expiresAt === undefined ? 0 : 1) - (oldExpiry === undefined ? 0 : 1),
    valueBytes: bytes - (old?.bytes ?? 0),
  })
}

function receiptOf(
  { value, sharesForms }: Prepared,
  { known, form }: Scene,
  { id, outcome }: KeptContent,
  key: KeyOutcome,
  expiresAt: number | undefined,
): Receipt {
  const contentId = hex(id)
  const bytes = value.byteLength
  const of = known ?? form
  const receipt: Receipt =
    outcome === 'new' || of === undefined
      ? { key, content: 'new', contentId, bytes, bytesSaved: 0 }
      : {
          key,
          content: outcome,
          contentId,
          of: {
            content: known ? contentId : hex(of.id),
            firstKey: of.firstKey,
            storedAt: of.storedAt,
          },
          method: outcome === 'linked' || sharesForms ? 'canonical' : 'digest',
          bytes,
          bytesSaved: known ? bytes : 0,
        }
  return expiresAt === undefined ? receipt : { ...receipt, expiresAt }
}
