/**
 * From a document to all that decisions are made by. Pure, so it runs in any thread; what goes from one thread to
 * another is plain data.
 */

import { hash } from 'node:crypto'

import { asBuffer, type Bytes, copyOf, Slab } from '../../platform/bytes.ts'
import { type CanonicalProfile, canonicalProfile } from '../../canonical/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  chunkEnds,
  DEFAULT_PROFILE,
  type Fingerprints,
  fingerprintsOf,
  lentSketch,
  profilesOf,
  type ShingleProfile,
  simHashOf,
  type SimilaritySketch,
  sketchOf,
} from '../../fingerprint/index.ts'
import { utf8Of } from '../../input/index.ts'
import {
  evidenceOfHashes,
  sketchEvidence,
  textEvidence,
  textNearSettings,
  type TextNearSettings,
} from '../../match/index.ts'
import { NAME_BYTES_MAX } from '../../ledger/index.ts'
import type { DedupeConfig } from '../config/config.ts'
import type { PreparedMeaning } from './meaning.ts'

export interface PreparedProbe {
  readonly profile: ShingleProfile
  readonly slots: Uint16Array
  /** What others are measured against; of a text, one for all probes. */
  readonly evidence: Uint8Array
}

export interface PreparedChunk {
  readonly start: number
  readonly end: number
  /** The first sixteen bytes of its SHA-256. */
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
  readonly language: string | undefined
  /** Bytes of the text. */
  readonly bytes: number
  /** The first sixteen bytes of the SHA-256 of the text, and of its canonical form; twice the first where that is empty. */
  readonly digest: Uint8Array
  readonly form: Uint8Array
  /** Its own probe first. Named as in the rows of documents that wait. */
  readonly looks: readonly PreparedProbe[]
  readonly simhash: { readonly bits: Uint8Array; readonly profile: string } | undefined
  readonly chunks: readonly PreparedChunk[]
  /** Where containment is looked for. */
  readonly fingerprints?: Fingerprints | undefined
  /** Bytes of the canonical text. */
  readonly formBytes: number
  /** Where meanings are compared, and it is not too long for that. */
  readonly text?: string | undefined
  /** Its text, where that is kept and it has no probes: it is decided about again with other settings. */
  readonly unprobed?: Uint8Array | undefined
  /** Where its text is packed, with others of its batch (see packs.ts). */
  packed?: Uint8Array
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
  readonly language?: string | undefined
}

/** What a preparer is made of, for other threads. */
export interface Preparing {
  readonly config: DedupeConfig
  /** Of the canonical profile; absent: the latest. */
  readonly formVersion?: number | undefined
  /** The largest row that the engine keeps. */
  readonly valueBytesMax: number
  /** How many rows a transaction takes. */
  readonly cellsMax: number
}

export const DIGEST_BYTES = 16
/**
 * Very long texts are measured by a sketch of theirs: a row of an engine has a limit. Of two texts on either side of
 * it, similar as they are, neither is found by the other.
 */
export const EVIDENCE_BYTES_MAX = 1.5 * 1024 * 1024
/** Passages are looked for in so many chunks of a text, some 16 MB of it: what a transaction takes has a limit too. */
const CHUNKS_MAX = 65_536
/** Rows that a document takes besides those of its passages. */
const OTHER_ROWS = 64
const DEFAULT_SOURCE = 'default'

export function nearSettingsOf({ near }: DedupeConfig): TextNearSettings {
  const { threshold, evidence = 'text', ...others } = near
  return textNearSettings({ ...others, evidence, similarityMin: threshold })
}

/** The latest version, or that of a state. */
export function formProfile({ canonical }: DedupeConfig, version?: number): CanonicalProfile {
  const { profile: name } = canonical
  return canonicalProfile(name, version === undefined ? undefined : { name, version })
}

export class Preparer {
  readonly #config: DedupeConfig
  readonly #near: TextNearSettings
  readonly #canonical: CanonicalProfile
  readonly #chunksMax: number
  readonly #evidenceBytesMax: number

  constructor(
    config: DedupeConfig,
    valueBytesMax = Infinity,
    cellsMax = Infinity,
    formVersion?: number,
  ) {
    this.#chunksMax = Math.min(CHUNKS_MAX, Math.max(0, cellsMax - OTHER_ROWS))
    this.#evidenceBytesMax = Math.min(EVIDENCE_BYTES_MAX, valueBytesMax)
    this.#config = config
    this.#near = nearSettingsOf(config)
    this.#canonical = formProfile(config, formVersion)
  }

  prepare(document: DocumentLike, place?: string): PreparedDocument {
    const { id, source = DEFAULT_SOURCE, time, quality, type, language } = document
    const known = utf8Of(document)
    requireNames(document, source, known !== undefined)
    const text = known ?? Buffer.from(document.text)
    // Nothing that is kept lies in it.
    const form = asBuffer(this.#canonical.canonicalise(text, scratch))
    const looks = this.#probes(text, form)
    const digest = shortDigest(text)
    const isBlank = form.byteLength === 0 && this.#canonical.keepsBlanksApart
    const { simhash, semantic, containment } = this.#config
    const isCompared = semantic.enabled && text.byteLength <= semantic.textBytesMax
    return {
      id,
      place,
      source,
      time,
      quality,
      type,
      language,
      bytes: text.byteLength,
      digest,
      form: isBlank ? digest : shortDigest(form),
      looks,
      simhash: simhash.enabled ? simHashBits(form, simhash.profile ?? DEFAULT_PROFILE) : undefined,
      chunks: this.#chunks(form),
      formBytes: form.byteLength,
      ...(isCompared && { text: document.text }),
      ...(looks.length === 0 && this.#keepsText(text) && { unprobed: copyOf(text) }),
      ...(containment?.enabled && looks.length > 0 && { fingerprints: fingerprintsOf(text) }),
    }
  }

  #probes(text: Bytes, form: Bytes): PreparedProbe[] {
    const { profile, similarityMin, slots, evidence } = this.#near
    const probes: PreparedProbe[] = []
    if (!this.#config.near.enabled) return probes
    let whole = this.#keepsText(text) ? textEvidence(text, slab) : undefined
    for (const one of profilesOf(form, profile, similarityMin)) {
      const options = { profile: one, slots }
      const { sketch, hashes } =
        evidence === 'hashes' ? lentSketch(form, options) : { sketch: sketchOf(form, options) }
      if (sketch.isEmpty) continue
      const own = slotsIn(sketch)
      if (hashes) whole = evidenceOfHashes(hashes, slab)
      const fits = whole !== undefined && whole.byteLength <= this.#evidenceBytesMax
      const kept = fits && whole ? whole : sketchEvidence(form, one)
      probes.push({ profile: one, slots: own, evidence: kept })
    }
    return probes
  }

  #keepsText({ byteLength }: Bytes): boolean {
    const isText = this.#config.near.enabled && this.#near.evidence === 'text'
    return isText && byteLength > 0 && byteLength < this.#evidenceBytesMax
  }

  #chunks(form: Buffer): PreparedChunk[] {
    const { enabled, bytes } = this.#config.chunks
    const chunks: PreparedChunk[] = []
    if (!enabled || this.#chunksMax === 0) return chunks
    let start = 0
    for (const end of chunkEnds(form, { averageBytes: bytes })) {
      chunks.push({ start, end, hash: shortDigest(form.subarray(start, end)) })
      start = end
      if (chunks.length >= this.#chunksMax) break
    }
    return chunks
  }
}

/** Canonical forms of all but very long texts come here, one after the other. */
const scratch = Buffer.allocUnsafeSlow(256 * 1024)
/** Of the documents of a batch, which are gone when it is decided about. */
const slab = new Slab()

/** In memory of the batch. */
function slotsIn({ slots }: SimilaritySketch): Uint16Array {
  const { buffer, byteOffset } = slab.take(slots.byteLength)
  const own = new Uint16Array(buffer, byteOffset, slots.length)
  own.set(slots)
  return own
}

/** The one-shot hash with text output costs less than any form that makes a Buffer itself. */
export function shortDigest(bytes: Bytes): Uint8Array {
  return Buffer.from(hash('sha256', bytes, 'binary').slice(0, DIGEST_BYTES), 'latin1')
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

function requireNames(document: DocumentLike, source: string, hasText: boolean): void {
  const { id } = document
  const isId = typeof id === 'string' && id.length > 0 && Buffer.byteLength(id) <= 900
  if (!isId) throw refusal('A document has an id of 1 to 900 bytes.')
  if (!hasText && typeof document.text !== 'string')
    throw refusal(`The text of document ${id} is no string.`)
  const { language } = document
  if (language !== undefined && !isName(language))
    throw refusal(`The language of document ${id} is no text of at most ${NAME_BYTES_MAX} bytes.`)
  if (isName(source)) return
  throw refusal(`The source of document ${id} is no text of at most ${NAME_BYTES_MAX} bytes.`)
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && Buffer.byteLength(name) <= NAME_BYTES_MAX
}

function refusal(message: string): PrestigeError {
  return new PrestigeError('INVALID_VALUE', message)
}
