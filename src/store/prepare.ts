/**
 * Everything about a put that needs no look at the store: checks, the caller's bytes copied, the digest,
 * the canonical form. Anything outside the limits is refused here, before anything is written.
 */

import type { ReadableStream } from 'node:stream/web'

import { asBuffer, type Bytes, concat, copyOf, EMPTY, utf8 } from '../platform/bytes.ts'
import type { CanonicalProfile } from '../canonical/index.ts'
import { nearest } from '../platform/did-you-mean.ts'
import { PrestigeError } from '../platform/errors.ts'
import { digestOf, digestOfLarge } from '../fingerprint/index.ts'
import { CALL_OPTIONS, type CallOptions } from './call-options.ts'
import type { ContentCheck } from './content-check.ts'
import { DeltaCoding } from './contents/delta-rows.ts'
import { encodeMetadata, type Metadata } from './metadata.ts'
import { type Layout, PackedValue, roomFor, rowOf } from './contents/layout.ts'
import { NEAR_BYTES_MAX, NearInput } from './near/store-near.ts'
import { conditionOf, type ConditionOptions } from './transactions/condition.ts'
import type { Prepared } from './transactions/put.ts'
import type { Gc, Keeping } from './transactions/release.ts'

export type StoreKey = string | Bytes
export type StoreValue = string | Bytes
/** A value that comes bit by bit. */
export type StoreStream = ReadableStream<Bytes> | Blob | AsyncIterable<Bytes>

/** Every engine can order keys of this length. */
export const KEY_BYTES_MAX = 900
export const VALUE_BYTES_MAX = 1024 * 1024 * 1024
/** Of a stream. */
export const STREAM_BYTES_MAX = 100 * 1024 * 1024 * 1024
const TTL_MS_MAX = 2 ** 47
/** Times are kept in six bytes. */
const TIME_MS_MAX = 2 ** 48 - 1
const LARGE_BYTES = 1024 * 1024

/** How a value is kept, whether it is put alone or with others. */
export interface KeepOptions extends ConditionOptions {
  /**
   * Milliseconds from now until the key expires; `Infinity`: it stays. Without it, it is the store's `defaultTtlMs` or,
   * if it has none, the key stays, whatever was said before.
   */
  readonly ttlMs?: number | undefined
  /**
   * When the key expires, in milliseconds since 1970, in place of `ttlMs`; a moment that has passed leaves no key. With
   * `sliding`, until the first read: that extends it to `ttlMs` later.
   */
  readonly expiresAt?: number | undefined
  /** Reads extend the expiry, so that it is `ttlMs` after the last one. Default: the store's `expiry`. */
  readonly sliding?: boolean | undefined
  /**
   * Short texts that are kept with the key, such as `{ 'content-type': 'image/png' }`; `head` returns them. They replace those
   * that the key had: a put without any leaves none. At most 2,048 bytes, names and texts together.
   */
  readonly metadata?: Metadata | undefined
}

export interface PutOptions extends KeepOptions, CallOptions {}

/** One of many to put. */
export interface PutItem extends KeepOptions {
  readonly key: StoreKey
  readonly value: StoreValue
}

export const KEEP_OPTIONS = [
  'ttlMs',
  'expiresAt',
  'sliding',
  'metadata',
  'ifAbsent',
  'ifMatch',
] as const
const PUT_OPTIONS = [...KEEP_OPTIONS, ...CALL_OPTIONS]

/** A misspelt option must not be one that was never given. */
export function refuseUnknown(options: object, names: readonly string[]): void {
  for (const name in options) {
    if (names.includes(name)) continue
    const meant = nearest(name, names)
    const hint = meant ? `Did you mean ${meant}?` : `There is: ${names.join(', ')}.`
    const message = `${name} is not an option here. ${hint}`
    throw new PrestigeError('INVALID_OPTIONS', message)
  }
}

/** What of the store's options a preparation needs. */
export interface Preparation {
  readonly profile: CanonicalProfile | undefined
  readonly onUnreadable: 'error' | 'bytes'
  readonly sharesForms: boolean
  readonly gc: Gc
  /** Absent: known contents are taken as they are. */
  readonly check: ContentCheck | undefined
  readonly layout: Layout
  readonly keeping: Keeping
  /** Of a put that gives no `ttlMs`. */
  readonly defaultTtlMs?: number | undefined
  /** Reads extend expiries, unless a put says otherwise. */
  readonly slides?: boolean | undefined
  /** Near duplicates are not kept: their keys get the bytes of what they are like. */
  readonly sharesNear: boolean
}

/** Times of the steps, for those who measure. */
export interface PrepareNotes {
  sha256Us: number
  normalizeUs: number
  attribute(name: string, value: number): void
}

export function keyBytes(key: StoreKey): Buffer {
  const bytes = typeof key === 'string' ? utf8(key, 'INVALID_KEY', 'The key') : keyOf(key)
  if (bytes.byteLength > 0 && bytes.byteLength <= KEY_BYTES_MAX) return bytes
  throw new PrestigeError(
    'INVALID_KEY',
    `A key has 1 to ${KEY_BYTES_MAX} bytes; this one has ${bytes.byteLength}. Hash long keys, or shorten them.`,
  )
}

function keyOf(key: unknown): Buffer {
  if (key instanceof Uint8Array) return copyOf(key)
  throw new PrestigeError('INVALID_KEY', `A key is a string or bytes, not ${typeName(key)}.`)
}

export function valueBytes(value: StoreValue): Buffer {
  const bytes = typeof value === 'string' ? textOf(value) : valueOf(value)
  if (bytes.byteLength <= VALUE_BYTES_MAX) return bytes
  throw tooLong(bytes.byteLength)
}

/** With room in front, as all values have it. */
function textOf(text: string): Buffer {
  if (!text.isWellFormed()) return utf8(text, 'INVALID_VALUE', 'The value')
  const bytes = roomFor(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}

/** The caller may change the bytes while they wait to be written; what was hashed must be what is kept. */
function valueOf(value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) {
    throw new PrestigeError(
      'INVALID_VALUE',
      `A value is a string, bytes or a stream of bytes, not ${typeName(value)}.`,
    )
  }
  if (value.byteLength > VALUE_BYTES_MAX) throw tooLong(value.byteLength)
  const copy = roomFor(value.byteLength)
  copy.set(value)
  return copy
}

export function tooLong(bytes: number): PrestigeError {
  return new PrestigeError(
    'INVALID_VALUE',
    `A value has at most ${VALUE_BYTES_MAX} bytes; this one has ${bytes}. Put it as a stream.`,
  )
}

export function typeName(value: unknown): string {
  return value === null ? 'null' : typeof value
}

export function ttlOf(ttlMs: number | undefined): number | undefined {
  if (ttlMs === undefined || ttlMs === Infinity) return undefined
  if (Number.isFinite(ttlMs) && ttlMs > 0 && ttlMs <= TTL_MS_MAX) return Math.ceil(ttlMs)
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `ttlMs is a number of milliseconds greater than 0, not ${String(ttlMs)}.`,
  )
}

/** Longer streams are not gathered: canonical forms need all bytes, and comparing needs those of a text. */
export function gatheredBytesMax({ profile, layout, keeping }: Preparation): number {
  if (!layout.chunks || profile?.name !== 'none') return Infinity
  const { near, semantic } = keeping
  const textBytesMax = Math.max(near ? NEAR_BYTES_MAX : 0, semantic?.settings.textBytesMax ?? 0)
  return Math.max(layout.rowBytes, textBytesMax)
}

/** A stream that was staged, and is known by the digest of its bytes from now on. */
export function prepareStaged(
  how: Preparation,
  key: Buffer,
  options: PutOptions | undefined,
  staged: { readonly id: Buffer; readonly bytes: number; readonly sharedBytes: number },
  digest: Buffer,
): Prepared {
  const made = finish(how, key, EMPTY, digest, keptAs(how, options), undefined)
  const { id, bytes, sharedBytes } = staged
  const { near, semantic } = how.keeping
  return {
    ...made,
    bytes,
    sharedBytes,
    staged: id,
    near: near && new NearInput(near, EMPTY, 'too-large'),
    meaning: semantic && 'too-large',
  }
}

/** Before anything of a stream is read. */
export function checkPutOptions(options: PutOptions): void {
  refuseUnknown(options, PUT_OPTIONS)
  keptAs({}, options)
}

type KeptAs = Pick<Prepared, 'ttlMs' | 'expiresAt' | 'sliding' | 'metadata' | 'condition'>

/** How the options of a put, and of its store, say that the value is kept. */
function keptAs(
  { defaultTtlMs, slides }: Pick<Preparation, 'defaultTtlMs' | 'slides'>,
  options: PutOptions | undefined,
): KeptAs {
  const expiresAt = options && expiresAtOf(options)
  const ttlMs = ttlOf(options?.ttlMs ?? (expiresAt === undefined ? defaultTtlMs : undefined))
  const sliding = slidingOf(options?.sliding, ttlMs, slides)
  const metadata = options && encodeMetadata(options.metadata)
  return { ttlMs, expiresAt, sliding, metadata, condition: options && conditionOf(options) }
}

function expiresAtOf({ ttlMs, expiresAt, sliding }: PutOptions): number | undefined {
  if (expiresAt === undefined) return undefined
  if (ttlMs !== undefined && !sliding)
    throw refusedExpiry('Give ttlMs or expiresAt; both only with sliding: true.')
  if (Number.isSafeInteger(expiresAt) && expiresAt >= 0 && expiresAt <= TIME_MS_MAX)
    return expiresAt
  const wanted = 'expiresAt is a whole number of milliseconds since 1970'
  throw refusedExpiry(`${wanted}, not ${String(expiresAt)}.`)
}

function refusedExpiry(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}

function slidingOf(
  given: boolean | undefined,
  ttlMs: number | undefined,
  isDefault: boolean | undefined,
): boolean {
  if (ttlMs !== undefined) return given ?? isDefault ?? false
  if (!given) return false
  throw refusedExpiry('sliding needs ttlMs: how long after its last read.')
}

/** A promise only for values too large to be hashed at once. */
export function prepare(
  how: Preparation,
  key: StoreKey,
  value: StoreValue,
  options: PutOptions | undefined,
  notes?: PrepareNotes,
): Prepared | Promise<Prepared> {
  const checkedKey = keyBytes(key)
  notes?.attribute('key_bytes', checkedKey.byteLength)
  if (options) refuseUnknown(options, PUT_OPTIONS)
  const kept = keptAs(how, options)
  const bytes = valueBytes(value)
  notes?.attribute('value_bytes', bytes.byteLength)
  const started = notes && performance.now()
  const hashed = (exact: Buffer) => {
    if (notes && started !== undefined) notes.sha256Us = (performance.now() - started) * 1000
    return finish(how, checkedKey, bytes, exact, kept, notes)
  }
  if (bytes.byteLength > LARGE_BYTES) return digestOfLarge(bytes).then(hashed)
  return hashed(digestOf(bytes))
}

function finish(
  how: Preparation,
  key: Buffer,
  value: Buffer,
  exact: Buffer,
  { ttlMs, expiresAt, sliding, metadata, condition }: KeptAs,
  notes: PrepareNotes | undefined,
): Prepared {
  const { profile, gc, layout, keeping, sharesNear, check } = how
  if (profile === undefined) throw functionMissing()
  const isPlain = profile.name === 'none'
  const started = notes && !isPlain ? performance.now() : undefined
  const form = isPlain ? undefined : formOf(profile, how.onUnreadable, value, exact, notes)
  if (notes && started !== undefined) notes.normalizeUs = (performance.now() - started) * 1000
  const { sharesForms } = how
  const packed = layout.compresses(value.byteLength) ? new PackedValue(layout, value) : undefined
  return {
    key,
    value,
    bytes: value.byteLength,
    packed,
    coding: layout.mayBeDelta(value.byteLength)
      ? new DeltaCoding(value, () => rowOf({ value, layout, packed }))
      : undefined,
    digest: sharesForms && form ? form : exact,
    form: sharesForms ? undefined : form,
    exact: sharesForms && form ? exact : undefined,
    check,
    confirmed: undefined,
    ttlMs,
    expiresAt,
    condition,
    sliding,
    metadata,
    staged: undefined,
    sharedBytes: 0,
    gc,
    layout,
    keeping,
    sharesForms,
    near: keeping.near && new NearInput(keeping.near, value),
    sharesNear,
    meaning: undefined,
  }
}

function functionMissing(): PrestigeError {
  return new PrestigeError(
    'SETTINGS_MISMATCH',
    'This store was written with a canonical function. Give the same function when opening it to put values.',
  )
}

/** No UTF-8 begins so: what counts as bytes never has the form of a text. */
const AS_BYTES = Buffer.of(0xff)

/** The digest of the canonical form. Texts with nothing to see in them count as bytes, as what is unreadable does. */
export function formOf(
  profile: CanonicalProfile,
  onUnreadable: 'error' | 'bytes',
  value: Bytes,
  exact: Bytes,
  notes?: PrepareNotes,
): Buffer {
  try {
    const form = profile.canonicalise(value)
    notes?.attribute('normalized_bytes', form.byteLength)
    const isBlank = form.byteLength === 0 && profile.keepsBlanksApart
    return digestOf(isBlank ? concat(AS_BYTES, asBuffer(exact)) : form)
  } catch (error) {
    const isUnreadable = error instanceof PrestigeError && error.code === 'UNREADABLE_VALUE'
    if (!isUnreadable || onUnreadable === 'error') throw error
    return digestOf(concat(AS_BYTES, asBuffer(exact)))
  }
}
