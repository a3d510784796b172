/** Texts by similarity sketches; measured by the Jaccard similarity of their shingles. */

import { asBuffer, type Bytes, IS_LITTLE_ENDIAN } from '../../platform/bytes.ts'
import {
  type Banding,
  computeBands,
  equalSlots,
  type GroupedTables,
  NearTables,
  profilesOf,
  type ShingleProfile,
  sketchOf,
  sketchWithHashes,
} from '../../fingerprint/index.ts'
import { type Canonicalise, Measured } from '../evidence.ts'
import type { TextNearSettings } from '../settings.ts'
import { ERRORS, type Probe, shapeOf, type SignatureScheme, standardError } from './scheme.ts'

export interface TextProbe extends Probe<Uint16Array, Measured> {
  readonly profile: ShingleProfile
}

/** A text made ready for a search. */
export interface ProbedText {
  /** Its own profile: by that it is kept if it is new. */
  readonly profile: ShingleProfile
  readonly own: Measured
  /** That of its own profile first; none for a text without a word or a letter. */
  readonly probes: readonly TextProbe[]
}

/** Of texts up to this length, sketch and hashes together cost no more than a sketch. */
const HASHED_BYTES_MAX = 2 * 1024

/** A text as it was given, and in canonical form. */
export interface TextToProbe {
  readonly original: Bytes
  readonly form: Bytes
  readonly canonicalise: Canonicalise
}

export function probeText(
  { original, form, canonicalise }: TextToProbe,
  {
    profile: asked,
    similarityMin,
    slots,
  }: Pick<TextNearSettings, 'profile' | 'similarityMin' | 'slots'>,
  partitionOf: (profile: ShingleProfile) => Buffer,
): ProbedText {
  const profiles = profilesOf(form, asked, similarityMin)
  const probes: TextProbe[] = []
  let first: Measured | undefined
  for (const one of profiles) {
    const options = { profile: one, slots }
    const { sketch, hashes } =
      form.byteLength > HASHED_BYTES_MAX
        ? { sketch: sketchOf(form, options), hashes: undefined }
        : sketchWithHashes(form, options)
    const own = Measured.ofText(original, canonicalise, one, { form, hashes })
    first ??= own
    if (sketch.isEmpty) continue
    probes.push({ partition: partitionOf(one), signature: sketch.slots, own, profile: one })
  }
  const [profile] = profiles
  const own = first ?? Measured.ofText(original, canonicalise, profile, { form })
  return { profile, own, probes }
}

export class TextScheme implements SignatureScheme<Uint16Array, Measured> {
  readonly banding: Banding
  readonly shape: string
  readonly #slots: number
  readonly #lent: Uint16Array
  readonly #lentBytes: Uint8Array

  constructor(slots: number, banding: Banding) {
    this.#slots = slots
    this.#lent = new Uint16Array(slots)
    this.#lentBytes = new Uint8Array(this.#lent.buffer)
    this.banding = banding
    this.shape = `slots ${slots} ${shapeOf(banding)}`
  }

  tables(): GroupedTables<Uint16Array> {
    return new NearTables({ slots: this.#slots, ...this.banding })
  }

  toBytes(signature: Uint16Array): Bytes {
    if (IS_LITTLE_ENDIAN)
      return asBuffer(new Uint8Array(signature.buffer, signature.byteOffset, signature.byteLength))
    const bytes = Buffer.allocUnsafe(signature.length * 2)
    signature.forEach((slot, at) => bytes.writeUInt16LE(slot, at * 2))
    return bytes
  }

  fromBytes(bytes: Bytes): Uint16Array {
    return littleEndian16(bytes)
  }

  borrowed(bytes: Bytes): Uint16Array {
    const { byteLength } = this.#lentBytes
    if (!IS_LITTLE_ENDIAN || bytes.byteLength !== byteLength) return this.fromBytes(bytes)
    this.#lentBytes.set(bytes)
    return this.#lent
  }

  bandKeys(signature: Uint16Array): Uint32Array {
    return computeBands(signature, this.banding.bands, this.banding.rows)
  }

  estimate(first: Uint16Array, second: Uint16Array): number {
    return equalSlots(first, second) / this.#slots
  }

  similarity(first: Measured, second: Measured, least: number): number {
    return first.similarityTo(second, least)
  }

  weight({ weight }: Measured): number {
    return weight
  }

  estimateMin(similarity: number): number {
    return Math.max(0, similarity - ERRORS * standardError(similarity, this.#slots))
  }

  similarityMax(estimate: number): number {
    // Where the estimate is 1, or close to it, its own error would be taken for none.
    const error = standardError(Math.min(estimate, 1 - 2 / this.#slots), this.#slots)
    return Math.min(1, estimate + ERRORS * error)
  }
}

function littleEndian16(bytes: Bytes): Uint16Array {
  if (IS_LITTLE_ENDIAN && bytes.byteOffset % 2 === 0) {
    return new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 1)
  }
  const buffer = asBuffer(bytes)
  const slots = new Uint16Array(bytes.byteLength >>> 1)
  if (IS_LITTLE_ENDIAN) new Uint8Array(slots.buffer).set(buffer.subarray(0, slots.byteLength))
  else slots.forEach((_, at) => (slots[at] = buffer.readUInt16LE(at * 2)))
  return slots
}
