/**
 * Everything about a put that needs no look at the store: checks, the caller's bytes copied, the digest,
 * the canonical form. Anything outside the limits is refused here, before anything is written.
 */

import { asBuffer, type Bytes, concat, copyOf, utf8 } from '../platform/bytes.ts'
import type { CanonicalProfile } from '../canonical/index.ts'
import { nearest } from '../platform/did-you-mean.ts'
import { PrestigeError } from '../platform/errors.ts'
import { digestOf, digestOfLarge } from '../fingerprint/index.ts'
import type { ContentCheck } from './content-check.ts'
import { NearInput } from './near/store-near.ts'
import type { Prepared } from './transactions/put.ts'
import type { Gc, Keeping } from './transactions/release.ts'

export type StoreKey = string | Bytes
export type StoreValue = string | Bytes

/** Every engine can order keys of this length. */
export const KEY_BYTES_MAX = 900
export const VALUE_BYTES_MAX = 1024 * 1024 * 1024
const TTL_MS_MAX = 2 ** 47
const LARGE_BYTES = 1024 * 1024

export interface PutOptions {
  /**
   * Milliseconds from now until the key expires; `Infinity`: it stays. Without it, it is the store's `defaultTtlMs` or,
   * if it has none, the key stays, whatever was said before.
   */
  readonly ttlMs?: number | undefined
  /** Reads extend the expiry, so that it is `ttlMs` after the last one. Default: the store's `expiry`. */
  readonly sliding?: boolean | undefined
}

/** One of many to put. */
export interface PutItem extends PutOptions {
  readonly key: StoreKey
  readonly value: StoreValue
}

const PUT_OPTIONS = ['ttlMs', 'sliding']

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
  readonly partBytes: number
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
  const bytes =
    typeof value === 'string' ? utf8(value, 'INVALID_VALUE', 'The value') : valueOf(value)
  if (bytes.byteLength <= VALUE_BYTES_MAX) return bytes
  throw tooLong(bytes.byteLength)
}

/** The caller may change the bytes while they wait to be written; what was hashed must be what is kept. */
function valueOf(value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) {
    throw new PrestigeError(
      'INVALID_VALUE',
      `A value is a string or bytes, not ${typeName(value)}.`,
    )
  }
  if (value.byteLength > VALUE_BYTES_MAX) throw tooLong(value.byteLength)
  return copyOf(value)
}

function tooLong(bytes: number): PrestigeError {
  return new PrestigeError(
    'INVALID_VALUE',
    `A value has at most ${VALUE_BYTES_MAX} bytes; this one has ${bytes}. Cut it into pieces.`,
  )
}

function typeName(value: unknown): string {
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

function slidingOf(
  given: boolean | undefined,
  ttlMs: number | undefined,
  isDefault: boolean | undefined,
): boolean {
  if (ttlMs !== undefined) return given ?? isDefault ?? false
  if (!given) return false
  throw new PrestigeError('INVALID_OPTIONS', 'sliding needs ttlMs: how long after its last read.')
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
  const ttlMs = ttlOf(options?.ttlMs ?? how.defaultTtlMs)
  const sliding = slidingOf(options?.sliding, ttlMs, how.slides)
  const bytes = valueBytes(value)
  notes?.attribute('value_bytes', bytes.byteLength)
  const started = notes && performance.now()
  const hashed = (exact: Buffer) => {
    if (notes && started !== undefined) notes.sha256Us = (performance.now() - started) * 1000
    return finish(how, checkedKey, bytes, exact, { ttlMs, sliding }, notes)
  }
  if (bytes.byteLength > LARGE_BYTES) return digestOfLarge(bytes).then(hashed)
  return hashed(digestOf(bytes))
}

function finish(
  how: Preparation,
  key: Buffer,
  value: Buffer,
  exact: Buffer,
  { ttlMs, sliding }: Pick<Prepared, 'ttlMs' | 'sliding'>,
  notes: PrepareNotes | undefined,
): Prepared {
  const { profile, gc, partBytes, keeping, sharesNear, check } = how
  if (profile === undefined) throw functionMissing()
  const isPlain = profile.name === 'none'
  const started = notes && performance.now()
  const form = isPlain ? undefined : formOf(profile, how.onUnreadable, value, exact)
  if (notes && started !== undefined) notes.normalizeUs = (performance.now() - started) * 1000
  const { sharesForms } = how
  return {
    key,
    value,
    digest: sharesForms && form ? form : exact,
    form: sharesForms ? undefined : form,
    exact: sharesForms && form ? exact : undefined,
    check,
    confirmed: undefined,
    ttlMs,
    sliding,
    staged: undefined,
    gc,
    partBytes,
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
): Buffer {
  try {
    const form = profile.canonicalise(value)
    const isBlank = form.byteLength === 0 && profile.keepsBlanksApart
    return digestOf(isBlank ? concat(AS_BYTES, asBuffer(exact)) : form)
  } catch (error) {
    const isUnreadable = error instanceof PrestigeError && error.code === 'UNREADABLE_VALUE'
    if (!isUnreadable || onUnreadable === 'error') throw error
    return digestOf(concat(AS_BYTES, asBuffer(exact)))
  }
}
