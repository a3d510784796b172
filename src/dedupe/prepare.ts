/**
 * From a document to all that decisions are made by. Pure, so it runs in any thread; what goes from one thread to
 * another is plain data.
 */

import { createHash } from 'node:crypto'

import { asBuffer, type Bytes } from '../bytes.ts'
import { canonicalProfile, type CanonicalProfile } from '../canonical/index.ts'
import { PrestigeError } from '../errors.ts'
import {
  chunkEnds,
  profilesOf,
  type ShingleProfile,
  simHashOf,
  sketchOf,
} from '../fingerprint/index.ts'
import { evidenceOf } from '../near/evidence.ts'
import { type TextNearSettings, textNearSettings } from '../near/settings.ts'
import type { DedupeConfig } from './config.ts'
import type { PreparedMeaning } from './meaning.ts'

export interface PreparedLook {
  readonly profile: ShingleProfile
  readonly slots: Uint16Array
  /** Of the canonical text, by this profile. */
  readonly evidence: Uint8Array
}

export interface PreparedChunk {
  readonly start: number
  readonly end: number
  /** The first bytes of its SHA-256. */
  readonly hash: Uint8Array
}

export interface PreparedDocument {
  readonly id: string
  /** The file it is of; absent where it was given by itself. */
  readonly place: string | undefined
  readonly source: string
  readonly time: number | undefined
  readonly quality: number | undefined
  readonly type: string | undefined
  /** Bytes of the text. */
  readonly bytes: number
  /** The first sixteen bytes of the SHA-256 of the text, and of its canonical form. */
  readonly digest: Uint8Array
  readonly form: Uint8Array
  /** Its own look first. */
  readonly looks: readonly PreparedLook[]
  readonly simhash: { readonly bits: Uint8Array; readonly profile: string } | undefined
  readonly chunks: readonly PreparedChunk[]
  /** Bytes of the canonical text. */
  readonly formBytes: number
  /** Where meanings are compared, and it is not too long for that. */
  readonly text?: string | undefined
  /** What it means, found out before its transaction. */
  readonly meaning?: PreparedMeaning | undefined
}

/** What of a document is looked at. */
export interface DocumentLike {
  readonly id: string
  readonly source?: string | undefined
  readonly text: string
  readonly time?: number | undefined
  readonly quality?: number | undefined
  readonly type?: string | undefined
}

export const DIGEST_BYTES = 16
const CHUNK_HASH_BYTES = 16
/**
 * Very long texts are measured by a sketch of theirs: a row of an engine has a limit. Of two texts on either side of
 * it, similar as they are, neither is found by the other.
 */
const EVIDENCE_BYTES_MAX = 1.5 * 1024 * 1024
const DEFAULT_SOURCE = 'default'

export function nearSettingsOf({ near }: DedupeConfig): TextNearSettings {
  const { similarityMin, profile, slots, bands, rows, evidence } = near
  return textNearSettings({ similarityMin, profile, slots, bands, rows, evidence })
}

export class Preparer {
  readonly #config: DedupeConfig
  readonly #near: TextNearSettings
  readonly #canonical: CanonicalProfile

  constructor(config: DedupeConfig) {
    this.#config = config
    this.#near = nearSettingsOf(config)
    this.#canonical = canonicalProfile(config.canonical.profile)
  }

  prepare(document: DocumentLike, place?: string): PreparedDocument {
    const { id, source = DEFAULT_SOURCE, time, quality, type } = document
    requireNames(document, source)
    const text = Buffer.from(document.text)
    const form = asBuffer(this.#canonical.canonicalise(text))
    const looks = this.#looks(form)
    const { simhash, semantic } = this.#config
    const isCompared = semantic.enabled && text.byteLength <= semantic.textBytesMax
    return {
      id,
      place,
      source,
      time,
      quality,
      type,
      bytes: text.byteLength,
      digest: shortDigest(text),
      form: shortDigest(form),
      looks,
      simhash: simhash.enabled ? simHashBits(form, simhash.profile) : undefined,
      chunks: this.#chunks(form),
      formBytes: form.byteLength,
      ...(isCompared && { text: document.text }),
    }
  }

  #looks(form: Bytes): PreparedLook[] {
    const { profile, similarityMin, slots, evidence } = this.#near
    const looks: PreparedLook[] = []
    if (!this.#config.near.enabled) return looks
    for (const one of profilesOf(form, profile, similarityMin)) {
      const sketch = sketchOf(form, { profile: one, slots })
      if (sketch.isEmpty) continue
      const whole = evidenceOf(evidence, form, one)
      const fits = whole.byteLength <= EVIDENCE_BYTES_MAX
      const kept = fits ? whole : evidenceOf('sketch', form, one)
      looks.push({ profile: one, slots: sketch.slots, evidence: kept })
    }
    return looks
  }

  #chunks(form: Buffer): PreparedChunk[] {
    const { enabled, bytes } = this.#config.chunks
    const chunks: PreparedChunk[] = []
    if (!enabled) return chunks
    let start = 0
    for (const end of chunkEnds(form, { averageBytes: bytes })) {
      const hash = createHash('sha256').update(form.subarray(start, end)).digest()
      chunks.push({ start, end, hash: hash.subarray(0, CHUNK_HASH_BYTES) })
      start = end
    }
    return chunks
  }
}

function shortDigest(bytes: Bytes): Uint8Array {
  return createHash('sha256').update(bytes).digest().subarray(0, DIGEST_BYTES)
}

function simHashBits(
  form: Bytes,
  profile: ShingleProfile,
): { bits: Uint8Array; profile: string } | undefined {
  const print = simHashOf(form, profile)
  if (print.isEmpty) return undefined
  const bits = Buffer.allocUnsafe(8)
  bits.writeUInt32LE(print.low >>> 0, 0)
  bits.writeUInt32LE(print.high >>> 0, 4)
  return { bits, profile: print.profile }
}

function requireNames({ id, text }: DocumentLike, source: string): void {
  const isId = typeof id === 'string' && id.length > 0 && Buffer.byteLength(id) <= 900
  if (!isId) throw refusal('A document has an id of 1 to 900 bytes.')
  if (typeof text !== 'string') throw refusal(`The text of document ${id} is no string.`)
  if (typeof source === 'string' && Buffer.byteLength(source) <= 900) return
  throw refusal(`The source of document ${id} is no text of at most 900 bytes.`)
}

function refusal(message: string): PrestigeError {
  return new PrestigeError('INVALID_VALUE', message)
}
