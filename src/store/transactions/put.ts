/**
 * The transaction behind `put`: look up the key, the bytes and their canonical form; share, link or keep;
 * point the key at the content; release what it pointed at before. All of it, or none.
 */

import { type Bytes, EMPTY, equalBytes } from '../../platform/bytes.ts'
import { cell, type Scope, type Transaction } from '../../backends/index.ts'
import type { ContentCheck } from '../content-check.ts'
import type { ChangeFeed } from '../changes/feed.ts'
import { type Condition, digestOfEntry } from './condition.ts'
import type { DeltaCoding } from '../contents/delta-rows.ts'
import { keepDelta } from '../contents/deltas.ts'
import { type Layout, type PackedValue, rowOf } from '../contents/layout.ts'
import { type CheckPrerequisite, confirm, type Confirmed } from './heal.ts'
import { trackPut } from '../lifecycle/tracking.ts'
import { isSameMetadata } from '../metadata.ts'
import type { KeyOutcome, Receipt } from '../receipt.ts'
import type { NearInput, NotCompared } from '../near/store-near.ts'
import { encodeSimilarity } from '../near/rows.ts'
import { forgetReference, type Gc, type Keeping, release, type Swept } from './release.ts'
import {
  type ContentOutcome,
  contents,
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
} from '../rows.ts'
import type { Meaning } from '../semantic/store-semantic.ts'
import { encodeReference } from '../semantic/rows.ts'
import { receiptOf } from './put-receipt.ts'
import { recordRemoval } from './remove.ts'
import { look, type MeantScene, type NearScene, type Scene } from './scene.ts'
import { count, countStored } from '../tallies.ts'

/** A value made ready: everything that can be computed without looking at the store. */
export interface Prepared {
  readonly key: Buffer
  /** A copy of the caller's bytes that nobody else can change. */
  readonly value: Buffer
  /** Its length; of a stream, which is staged, the value itself is not at hand. */
  readonly bytes: number
  /** How it is kept, where compressing may pay. */
  readonly packed: PackedValue | undefined
  /** How it is kept, where it may be a delta of what it is like. */
  readonly coding: DeltaCoding | undefined
  /** What identifies the content: the digest of its bytes or, with shared representatives, of its form. */
  readonly digest: Buffer
  /** The digest of the canonical form, where links are wanted. */
  readonly form: Buffer | undefined
  /** The digest of the bytes, where `digest` is that of their form. */
  readonly exact: Buffer | undefined
  /** How a known content is made sure of, unless it is taken as it is. */
  readonly check: ContentCheck | undefined
  /** A known content that was made sure of already. */
  readonly confirmed: Confirmed | undefined
  readonly ttlMs: number | undefined
  /** In its place, or until a read extends it. */
  readonly expiresAt: number | undefined
  /** What the key has to be for the value to be put. */
  readonly condition: Condition | undefined
  /** Reads extend its expiry. */
  readonly sliding: boolean
  /** As bytes, if the key is to have some. */
  readonly metadata: Buffer | undefined
  /** The value is in parts already, under this id, and the transaction makes them visible. */
  readonly staged: Buffer | undefined
  /** Bytes of a staged value whose chunks were there before. */
  readonly sharedBytes: number
  readonly gc: Gc
  readonly layout: Layout
  readonly keeping: Keeping
  /** Content counts as the same by its canonical form, and the first bytes win. */
  readonly sharesForms: boolean
  /** What near duplicates are looked for by, or why they are not. */
  readonly near: NearInput | undefined
  /** A near duplicate is not kept: the key gets the bytes of what it is like. */
  readonly sharesNear: boolean
  /** What its text means, or why that was not asked: found out when a transaction has asked for it. */
  readonly meaning: Meaning | NotCompared | undefined
}

export interface PutEnd {
  readonly receipt: Receipt
  /** The digest of a content that lost a reference, for the collector to look at. */
  readonly released: Buffer | undefined
  /** The staged parts were not needed: the content was there. */
  readonly stagedUnused: boolean
  /** The content it pointed at before, where that is gone. */
  readonly swept: Swept | undefined
}

/** What has to be done before a transaction can end. */
export type PutPrerequisite =
  /** The value is long and new: make it ready to be compared. */
  | 'sketch'
  /** Representatives it may be like are long: measure them. */
  | 'measure'
  /** The value is large and not known: write its parts first, then come again. */
  | 'stage'
  /** The text is not known, or what was known of it does not stand any more: find out what it means. */
  | 'embed'
  /** The value is large and known: make sure of its content first. */
  | CheckPrerequisite

export function isEnd(end: PutEnd | PutPrerequisite): end is PutEnd {
  return typeof end === 'object' && 'receipt' in end
}

export function* putValue(scope: Scope, prepared: Prepared): Transaction<PutEnd | PutPrerequisite> {
  const scene = yield* look(scope, prepared)
  if (typeof scene === 'string') return scene
  const now = scope.now()
  const { entry, known } = scene
  const state = known ? yield* confirm(scope, prepared, scene.digest, known) : 'right'
  if (typeof state === 'object') return state
  const needsParts = !known && !prepared.staged && prepared.layout.isLong(prepared.bytes)
  if (needsParts) return 'stage'
  const { ttlMs } = prepared
  const expiresAt = prepared.expiresAt ?? (ttlMs === undefined ? undefined : now + ttlMs)
  const isSame = entry !== undefined && known !== undefined && entry.pointsAt(known)
  const isUnchanged = isSame && isSameMetadata(entry.metadata, prepared.metadata)
  const keyOutcome = keyOutcomeOf(entry, isUnchanged, now)
  const stagedUnused = prepared.staged !== undefined && known !== undefined
  const content = keepContent(scope, prepared, scene)
  if (scene.near && !known) yield* keepNear(scope, prepared, scene.near, content)
  if (prepared.meaning !== undefined) yield* keepMeaning(scope, prepared, scene, content)
  const { tracking } = prepared.keeping
  if (tracking?.isOn) yield* trackPut(scope, tracking, prepared, entry, expiresAt)
  const made = receiptOf(prepared, scene, content, keyOutcome, expiresAt)
  const receipt = state === 'healed' ? { ...made, healed: true as const } : made
  const isAsItWas = keyOutcome === 'unchanged' && !scene.near && !scene.meant
  if (isAsItWas && entry?.expiresAt === undefined && expiresAt === undefined) {
    return { receipt, released: undefined, stagedUnused, swept: undefined }
  }
  const { semantic } = prepared.keeping
  if (entry && semantic && prepared.sharesNear) {
    const text = scene.meant?.meaning.text
    yield* forgetReference(scope, entry.id, prepared.key, semantic, text)
  }
  pointKey(scope, prepared, scene, content, expiresAt)
  if (prepared.keeping.changes && keyOutcome !== 'unchanged')
    yield* recordPut(scope, prepared.keeping.changes, prepared.key, scene, content)
  if (!entry || isSame) return { receipt, released: undefined, stagedUnused, swept: undefined }
  scope.remove(cell(refs, refKey(entry.id, prepared.key)))
  const end = yield* release(scope, entry, prepared.gc, prepared.keeping)
  const old = end === 'released' ? entry.digest : undefined
  const swept = typeof end === 'object' ? end : undefined
  return { receipt, released: old, stagedUnused, swept }
}

/** What was there, and had expired, goes first. */
function* recordPut(
  scope: Scope,
  changes: ChangeFeed,
  key: Buffer,
  { entry, digest }: Scene,
  { bytes, exact, outcome }: KeptContent,
): Transaction<void> {
  const isLive = entry?.isLive(scope.now()) ?? false
  if (entry && !isLive) yield* recordRemoval(scope, changes, key, entry, 'expire')
  yield* changes.record(scope, {
    kind: outcome === 'linked' ? 'link' : `put-${outcome}`,
    key,
    digest: exact ?? digest,
    bytes,
    previous: entry && isLive ? digestOfEntry(entry) : undefined,
  })
}

/** A text that is kept is linked, or stands for those like it; of one that is not, the vectors are. */
function* keepMeaning(
  scope: Scope,
  { keeping: { semantic }, digest, meaning }: Prepared,
  { known: same, near, meant, notCompared }: Scene,
  { id, bytes }: KeptContent,
): Transaction<void> {
  if (!semantic || near?.hit) return
  if (same) {
    const { text, vectors } = meant?.meaning ?? {}
    if (text && vectors) semantic.vectors.write(scope, text, vectors)
    return
  }
  const content = { id, digest, bytes }
  const hit = meant?.known && meant.meaning.hit
  if (meant?.known && hit) semantic.link(scope, content, meant.meaning, hit, meant.known)
  else if (meaning && notCompared !== 'not-text') yield* semantic.begin(scope, content, meaning)
}

function* keepNear(
  scope: Scope,
  { keeping: { near }, digest }: Prepared,
  { value, hit, known, passedOver }: NearScene,
  { id, bytes }: KeptContent,
): Transaction<void> {
  if (!near) return
  if (hit && known) near.link(scope, value, { id, digest }, hit, known)
  else yield* near.begin(scope, value, id, { digest, bytes }, passedOver)
}

function keyOutcomeOf(entry: Entry | undefined, isUnchanged: boolean, now: number): KeyOutcome {
  if (!entry?.isLive(now)) return 'created'
  return isUnchanged ? 'unchanged' : 'replaced'
}

interface KeptContent {
  readonly id: Buffer
  readonly bytes: number
  readonly exact: Buffer | undefined
  readonly outcome: ContentOutcome
}

/** Makes sure the content is there and live. */
function keepContent(scope: Scope, prepared: Prepared, scene: Scene): KeptContent {
  const { known, digest } = scene
  if (known === undefined) return keepNew(scope, prepared, scene)
  // Linking to a marked content without taking the mark away would let the collector sweep it.
  if (known.mark) scope.write(cell(digests, digest), known.marked(undefined))
  return { id: known.id, bytes: known.bytes, exact: known.exact, outcome: 'duplicate' }
}

function keepNew(scope: Scope, prepared: Prepared, { form, near, meant }: Scene): KeptContent {
  const { key, bytes, digest } = prepared
  const id = prepared.staged ?? scope.id()
  if (prepared.staged) {
    scope.remove(cell(staged, id))
    countStaged(scope, prepared)
  } else if (near?.delta) keepDelta(scope, { id, bytes }, near.delta)
  else keepRow(scope, id, prepared)
  const storedAt = scope.now()
  const known = Known.of({
    id,
    bytes,
    storedAt,
    form: prepared.form,
    exact: prepared.exact,
    mark: undefined,
    firstKey: key,
  })
  scope.write(cell(digests, digest), known)
  count(scope, { contents: 1, contentBytes: bytes })
  if (prepared.form) joinForm(scope, prepared.form, form, { id, digest, storedAt, firstKey: key })
  return {
    id,
    bytes,
    exact: prepared.exact,
    outcome: form || near?.hit || meant?.known ? 'linked' : 'new',
  }
}

/** Most values are short, and kept as they are. */
function keepRow(scope: Scope, id: Buffer, prepared: Prepared): void {
  const row = rowOf(prepared)
  scope.write(cell(contents, id), row)
  if (prepared.packed) countSaved(scope, prepared, row)
}

function countStaged(scope: Scope, prepared: Prepared): void {
  const { layout, bytes } = prepared
  if (!layout.chunks) return
  if (layout.isLong(bytes)) countStored(scope, { chunkedBytes: bytes })
  else countSaved(scope, prepared, rowOf(prepared))
}

function countSaved(scope: Scope, { layout, bytes }: Prepared, row: Buffer): void {
  countStored(scope, { compressedBytes: layout.savedBy(row, bytes) })
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
  { key, sharesNear, metadata }: Prepared,
  { entry: old, digest, near, meant }: Scene,
  { id, bytes, exact, outcome }: KeptContent,
  expiresAt: number | undefined,
): void {
  const isSame = old !== undefined && equalBytes(old.id, id)
  // A key that is put again keeps its story: its content is no duplicate of itself.
  const recorded = isSame ? old.outcome : outcome
  const entry = Entry.of({
    id,
    digest,
    putAt: scope.now(),
    bytes,
    expiresAt,
    outcome: recorded,
    exact,
    metadata,
  })
  scope.write(cell(entries, key), entry)
  const reference = sharesNear ? referenceOf(near, meant) : EMPTY
  if (!isSame || reference.byteLength > 0) scope.write(cell(refs, refKey(id, key)), reference)
  const oldExpiry = old?.expiresAt
  if (oldExpiry !== undefined) scope.remove(cell(expiries, expiryKey(oldExpiry, key)))
  if (expiresAt !== undefined) scope.write(cell(expiries, expiryKey(expiresAt, key)), EMPTY)
  count(scope, {
    keys: old ? 0 : 1,
    keysWithExpiry: (expiresAt === undefined ? 0 : 1) - (oldExpiry === undefined ? 0 : 1),
    valueBytes: bytes - (old?.bytes ?? 0),
  })
}

/** What the reference of a key records if it shares the bytes of what its value is like. */
function referenceOf(near: NearScene | undefined, meant: MeantScene | undefined): Buffer {
  if (near?.hit) return encodeSimilarity(near.hit.similarity)
  if (!meant?.known || !meant.meaning.hit) return EMPTY
  const { hit, text } = meant.meaning
  return encodeReference({ similarity: hit.similarity, text })
}
