/**
 * What is kept of a representative to measure others by: its text, the sorted hashes of its shingles, or a
 * sketch of 512 slots. The first two measure exactly; with the last, similarities are estimates, and say so. Only
 * by a text can guards and judges say why two texts that are similar are not the same.
 *
 * `10` canonical text (only read: version 1 kept it); `11` shingle hashes (4 each, little endian); `12` slots (2 each,
 * little endian); `13` the text as it was given.
 */

import { asBuffer, type Bytes, concat, IS_LITTLE_ENDIAN, type Slab } from '../platform/bytes.ts'
import { judged, type Judged, type Reading, readingOf } from '../compare/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  equalSlots,
  jaccard,
  jaccardFrom,
  shingleHashes,
  type ShingleProfile,
  sketchOf,
} from '../fingerprint/index.ts'

export type EvidenceKind = 'text' | 'hashes' | 'sketch'

const TEXT = 0x10
const HASHES = 0x11
const SKETCH = 0x12
const ORIGINAL = 0x13
const SKETCH_SLOTS = 512
/** Bytes of memory that the reading of a text takes for each byte of it, about. */
const READING_WEIGHT = 20
/** Sets of fewer shingles are the same only if they are equal: one shingle more or less would be most of it. */
const SMALL_SET = 4

/** The canonical form of a text, where it is needed: most texts are compared with nothing. */
export type Canonicalise = (text: Bytes) => Bytes

/** The same for texts in canonical form. */
export const alreadyCanonical: Canonicalise = (text) => text

/** A sketch of a text in canonical form. */
export function sketchEvidence(text: Bytes, profile: ShingleProfile): Buffer {
  return Measured.ofText(text, alreadyCanonical, profile).evidence('sketch')
}

/** In memory of its own, or of a slab. */
export function textEvidence(original: Bytes, slab?: Slab): Buffer {
  const bytes = 1 + original.byteLength
  const evidence = slab?.take(bytes) ?? Buffer.allocUnsafe(bytes)
  evidence[0] = ORIGINAL
  evidence.set(original, 1)
  return evidence
}

/** The text as it was given, where that is what is kept. */
export function originalOf(evidence: Bytes): Bytes | undefined {
  return evidence[0] === ORIGINAL ? evidence.subarray(1) : undefined
}

/** Where the hashes of the shingles are known already. In memory of its own, or of a slab. */
export function evidenceOfHashes(hashes: Uint32Array, slab?: Slab): Buffer {
  const bytes = 1 + hashes.byteLength
  const evidence = slab?.take(bytes) ?? Buffer.allocUnsafe(bytes)
  evidence[0] = HASHES
  evidence.set(littleEndian(hashes, 4), 1)
  return evidence
}

/** One side of a comparison, made of a text or of evidence. What it needs is computed once. */
export class Measured {
  readonly #profile: ShingleProfile
  readonly #kind: number
  readonly #body: Bytes
  readonly #canonicalise: Canonicalise
  #form: Bytes | undefined
  #hashes: Uint32Array | undefined
  #slots: Uint16Array | undefined
  #reading: Reading | undefined
  #judged: Judged | undefined

  private constructor(
    kind: number,
    body: Bytes,
    canonicalise: Canonicalise,
    profile: ShingleProfile,
  ) {
    this.#kind = kind
    this.#body = body
    this.#canonicalise = canonicalise
    this.#profile = profile
  }

  /** Of a text as it was given. What is known of it already need not be computed again. */
  static ofText(
    original: Bytes,
    canonicalise: Canonicalise,
    profile: ShingleProfile,
    known: { readonly form?: Bytes; readonly hashes?: Uint32Array | undefined } = {},
  ): Measured {
    const measured = new Measured(ORIGINAL, original, canonicalise, profile)
    measured.#form = known.form
    measured.#hashes = known.hashes
    return measured
  }

  static ofEvidence(
    evidence: Bytes,
    canonicalise: Canonicalise,
    profile: ShingleProfile,
  ): Measured {
    const kind = evidence[0] ?? 0
    if (kind === TEXT || kind === HASHES || kind === SKETCH || kind === ORIGINAL) {
      const how = kind === TEXT ? alreadyCanonical : canonicalise
      return new Measured(kind, evidence.subarray(1), how, profile)
    }
    throw new PrestigeError('CONTENT_CORRUPT', 'The evidence of a representative cannot be read.')
  }

  /** The text as it was given, or, where that is all there is, in canonical form. */
  get text(): Bytes | undefined {
    return this.#kind === ORIGINAL || this.#kind === TEXT ? this.#body : undefined
  }

  /** Its canonical form, where its text is kept. */
  get form(): Bytes | undefined {
    if (this.text === undefined) return undefined
    return (this.#form ??= this.#canonicalise(this.#body))
  }

  /** What guards compare, where its text is kept. */
  get reading(): Reading | undefined {
    if (this.text === undefined) return undefined
    return (this.#reading ??= readingOf(asBuffer(this.#body).toString()))
  }

  /** What a judge compares, where its text is kept. */
  get judged(): Judged | undefined {
    if (this.text === undefined) return undefined
    return (this.#judged ??= judged(this.#body))
  }

  /** What is kept of a text. */
  evidence(kind: EvidenceKind): Buffer {
    if (kind === 'text') return textEvidence(this.#body)
    if (kind === 'hashes') return evidenceOfHashes(this.hashes())
    return concat(Buffer.of(SKETCH), littleEndian(this.#sketch(), 2))
  }

  /** Similarities with it are estimates. */
  get isSketch(): boolean {
    return this.#kind === SKETCH
  }

  /** Bytes it holds on to. */
  get weight(): number {
    const isRead = this.#reading !== undefined || this.#judged !== undefined
    const reading = isRead ? READING_WEIGHT * this.#body.byteLength : 0
    const form = this.#form?.byteLength ?? 0
    const hashes = (this.#hashes?.byteLength ?? 0) + (this.#slots?.byteLength ?? 0)
    return this.#body.byteLength + form + hashes + reading
  }

  /** Exactly, where it is at least `least`; below that, any smaller value may be returned. */
  similarityTo(other: Measured, least = 0): number {
    if (this.isSketch || other.isSketch) {
      return equalSlots(this.#sketch(), other.#sketch()) / SKETCH_SLOTS
    }
    const own = this.hashes()
    const others = other.hashes()
    const similarity = least > 0 ? jaccardFrom(least, own, others) : jaccard(own, others)
    const isSmall = Math.min(own.length, others.length) < SMALL_SET
    return isSmall && similarity < 1 ? 0 : similarity
  }

  hashes(): Uint32Array {
    if (this.#hashes === undefined) {
      const { form } = this
      this.#hashes = form ? shingleHashes(form, this.#profile) : uint32s(this.#body)
    }
    return this.#hashes
  }

  #sketch(): Uint16Array {
    this.#slots ??=
      this.#kind === SKETCH
        ? uint16s(this.#body)
        : sketchOf(this.form ?? this.#body, { profile: this.#profile, slots: SKETCH_SLOTS }).slots
    return this.#slots
  }
}

function littleEndian(numbers: Uint32Array | Uint16Array, size: 2 | 4): Buffer {
  const bytes = Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength)
  if (IS_LITTLE_ENDIAN) return bytes
  return size === 4 ? Buffer.from(bytes).swap32() : Buffer.from(bytes).swap16()
}

function uint32s(bytes: Bytes): Uint32Array {
  const numbers = new Uint32Array(bytes.byteLength >>> 2)
  copyInto(numbers, bytes)
  if (!IS_LITTLE_ENDIAN) Buffer.from(numbers.buffer).swap32()
  return numbers
}

function uint16s(bytes: Bytes): Uint16Array {
  const numbers = new Uint16Array(bytes.byteLength >>> 1)
  copyInto(numbers, bytes)
  if (!IS_LITTLE_ENDIAN) Buffer.from(numbers.buffer).swap16()
  return numbers
}

/** Evidence begins at an odd place, so its numbers cannot be used where they are. */
function copyInto(numbers: Uint32Array | Uint16Array, bytes: Bytes): void {
  new Uint8Array(numbers.buffer).set(bytes.subarray(0, numbers.byteLength))
}
