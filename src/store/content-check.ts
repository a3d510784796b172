/**
 * Whether bytes are the content that a row names, by the SHA-256 the row has.
 *
 * Where contents are known by the digest of their canonical form, rows have the digest of the bytes beside it. Rows of
 * older versions do not; then the form is computed again, if the canonical function is there.
 */

import { hash } from 'node:crypto'

import { asBuffer, type Bytes, equalBytes } from '../platform/bytes.ts'
import type { CanonicalProfile } from '../canonical/index.ts'
import { digestOfLarge } from '../fingerprint/index.ts'
import { formOf } from './prepare.ts'

/** What a row records about a content. */
export interface Named {
  readonly digest: Buffer
  /** The digest of the bytes, where `digest` is that of their canonical form. */
  readonly exact: Buffer | undefined
}

const DIGEST_BYTES = 32
/** Up to here hashing takes a few milliseconds at most, and is done at once. */
const AT_ONCE_BYTES_MAX = 4 * 1024 * 1024

export class ContentCheck {
  readonly #profile: CanonicalProfile | undefined
  readonly #sharesForms: boolean

  constructor(how: {
    readonly profile: CanonicalProfile | undefined
    readonly sharesForms: boolean
  }) {
    this.#profile = how.profile
    this.#sharesForms = how.sharesForms
  }

  /** Compares texts of the digests: that costs less than making a Buffer of one. */
  isRight(bytes: Bytes, { digest, exact }: Named): boolean {
    const wanted = exact ?? digest
    const found = hash('sha256', bytes, 'binary')
    if (found === wanted.toString('latin1', 0, DIGEST_BYTES)) return true
    return this.#sharesForms && !exact && this.#hasForm(bytes, Buffer.from(found, 'latin1'), digest)
  }

  /** The same for a value of any length; the event loop turns in between. */
  async isLargeRight(bytes: Bytes, named: Named): Promise<boolean> {
    if (bytes.byteLength <= AT_ONCE_BYTES_MAX) return this.isRight(bytes, named)
    const found = await digestOfLarge(bytes)
    const { digest, exact } = named
    if (equalBytes(found, exact ?? digest)) return true
    return this.#sharesForms && !exact && this.#hasForm(bytes, found, digest)
  }

  #hasForm(bytes: Bytes, found: Buffer, form: Buffer): boolean {
    // Without the function this cannot be checked. Whoever put the value had it.
    if (!this.#profile) return true
    return equalBytes(formOf(this.#profile, 'bytes', asBuffer(bytes), found), form)
  }
}
