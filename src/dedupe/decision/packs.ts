/**
 * Texts that documents are measured by, many in one compressed row. A text of its own row takes pages of an engine that
 * are half empty, and compresses worse alone.
 *
 * A pack is written in the transaction that first points at one of its texts, or before, and not changed afterwards. It
 * goes with its run, or with the run that decides about its documents again. Texts of exact copies are not kept: the
 * text they are copies of is.
 *
 * Key: number of the run (4) shard (4) position of its first document (4); the first bit of the shard is set where
 * documents were decided about in the order of rank. Row: `10` as they are or `11` deflated, number of texts (2), length
 * of each (4), texts. A pointer is the key and the place of a text in the pack (2).
 */

import { deflateRawSync, inflateRawSync } from 'node:zlib'

import { asBuffer, type Bytes, copyOf, EMPTY, equalBytes, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { cell, glance, read, type Transaction } from '../../backends/index.ts'
import { originalOf, textEvidence } from '../../match/index.ts'
import { evidences, near, packs } from '../rows.ts'
import type { PreparedDocument } from './prepare.ts'

/** Larger packs compress no better, and one text of a pack costs inflating all. */
const PACK_BYTES = 64 * 1024
const PACK_TEXTS_MAX = 0xff_ff
const DIGESTS_MAX = 100_000
const KEY_BYTES = 12
const POINTER_BYTES = KEY_BYTES + 2
const IN_ORDER_OF_RANK = 0x80_00_00_00
const PLAIN = 0x10
const DEFLATED = 0x11
const HEAD_BYTES = 3
const LENGTH_BYTES = 4
/** The best of speed and size for texts; 1 is slower and larger here. */
const LEVEL = 2
const DOCUMENT_KEY_BYTES = 16

/** Plain data, so that it can come from another thread. */
export interface Pack {
  readonly key: Uint8Array
  readonly row: Uint8Array
  /** Of all texts. */
  readonly bytes: number
}

export interface PackPlace {
  readonly run: number
  readonly shard: number
  /** Of the first document of a pack. */
  readonly position: number
  readonly isInOrderOfRank?: boolean
}

export function packKey({ run, shard, position, isInOrderOfRank = false }: PackPlace): Buffer {
  const key = Buffer.allocUnsafe(KEY_BYTES)
  key.writeUInt32BE(run)
  key.writeUInt32BE((shard | (isInOrderOfRank ? IN_ORDER_OF_RANK : 0)) >>> 0, 4)
  key.writeUInt32BE(position, 8)
  return key
}

/** All packs of a run begin so. */
export function packPrefix(run: number): Buffer {
  return packKey({ run, shard: 0, position: 0 }).subarray(0, 4)
}

/** Collects the texts of documents that come one after another. */
export class Packer {
  readonly #place: Omit<PackPlace, 'shard' | 'position'>
  #texts: Bytes[] = []
  #bytes = 0
  #key: Buffer = EMPTY
  #packs: Pack[] = []
  #digests = new Set<string>()

  constructor(place: Omit<PackPlace, 'shard' | 'position'>) {
    this.#place = place
  }

  /** Points the document at its text, if that is what it is measured by, and no copy of one that was added. */
  add(document: PreparedDocument, shard: number, position: number): void {
    const text = textOf(document)
    if (!text || !this.#isNew(document)) return
    if (this.#texts.length === 0) this.#key = packKey({ ...this.#place, shard, position })
    const pointer = Buffer.allocUnsafe(POINTER_BYTES)
    pointer.set(this.#key)
    pointer.writeUInt16BE(this.#texts.length, KEY_BYTES)
    this.#texts.push(text)
    this.#bytes += text.byteLength
    document.packed = pointer
    if (this.#bytes >= PACK_BYTES || this.#texts.length === PACK_TEXTS_MAX) this.#finish()
  }

  /** Those made since it was called last. */
  take(): Pack[] {
    if (this.#texts.length > 0) this.#finish()
    const made = this.#packs
    this.#packs = []
    return made
  }

  #isNew({ digest }: PreparedDocument): boolean {
    const name = latin1(digest)
    if (this.#digests.has(name)) return false
    // To forget costs time, and nothing else.
    if (this.#digests.size === DIGESTS_MAX) this.#digests = new Set()
    this.#digests.add(name)
    return true
  }

  #finish(): void {
    this.#packs.push({ key: this.#key, row: encodePack(this.#texts), bytes: this.#bytes })
    this.#texts = []
    this.#bytes = 0
  }
}

function textOf({ looks, unprobed }: PreparedDocument): Bytes | undefined {
  const [own] = looks
  return own ? originalOf(own.evidence) : unprobed
}

/** A pack without the texts of documents that are not wanted; the others keep their places. */
export function packOf(
  documents: readonly PreparedDocument[],
  isWanted: (document: PreparedDocument) => boolean,
): Buffer {
  return encodePack(documents.map((one) => (isWanted(one) && textOf(one)) || EMPTY))
}

/** The documents of each pack, in the order of their texts, by the key of the pack. */
export function byPack(
  documents: readonly PreparedDocument[],
): ReadonlyMap<string, readonly PreparedDocument[]> {
  const found = new Map<string, PreparedDocument[]>()
  for (const document of documents) {
    if (!document.packed) continue
    const name = latin1(document.packed.subarray(0, KEY_BYTES))
    const others = found.get(name)
    if (others) others.push(document)
    else found.set(name, [document])
  }
  return found
}

export function encodePack(texts: readonly Bytes[]): Buffer {
  const head = Buffer.allocUnsafe(HEAD_BYTES + texts.length * LENGTH_BYTES)
  const whole = Buffer.concat(texts)
  const packed = deflateRawSync(whole, { level: LEVEL, memLevel: 9, chunkSize: chunkOf(whole) })
  const isSmaller = packed.byteLength < whole.byteLength
  head[0] = isSmaller ? DEFLATED : PLAIN
  head.writeUInt16BE(texts.length, 1)
  texts.forEach(({ byteLength }, at) =>
    head.writeUInt32BE(byteLength, HEAD_BYTES + at * LENGTH_BYTES),
  )
  return Buffer.concat([head, isSmaller ? packed : whole])
}

/** One chunk holds it all: memory is asked for once. */
function chunkOf({ byteLength }: Bytes): number {
  return Math.max(4096, byteLength)
}

export function decodePack(row: Bytes): Bytes[] {
  try {
    return textsIn(asBuffer(row))
  } catch (error) {
    const message = 'A row of the corpus job (packs) cannot be read.'
    throw new PrestigeError('CONTENT_CORRUPT', message, { cause: error })
  }
}

function textsIn(row: Buffer): Bytes[] {
  const [format] = row
  if (format !== PLAIN && format !== DEFLATED) throw new TypeError('another format')
  const count = row.readUInt16BE(1)
  const lengths = Array.from({ length: count }, (_, at) =>
    row.readUInt32BE(HEAD_BYTES + at * LENGTH_BYTES),
  )
  const bytes = lengths.reduce((sum, length) => sum + length, 0)
  const body = row.subarray(HEAD_BYTES + count * LENGTH_BYTES)
  const whole = format === PLAIN ? body : inflateRawSync(body, { maxOutputLength: bytes + 1 })
  if (whole.byteLength !== bytes) throw new TypeError('other lengths')
  let end = 0
  return lengths.map((length) => whole.subarray(end, (end += length)))
}

/** What is kept with a representative: the key of its document, and where its text is packed. */
export function pointingTo(key: Buffer, pointer: Uint8Array | undefined): Buffer {
  return pointer ? Buffer.concat([key, pointer]) : key
}

/** The key of the document in it. */
export function keyIn(payload: Bytes): Buffer {
  return asBuffer(payload).subarray(0, DOCUMENT_KEY_BYTES)
}

/** Key of the pack and place in it; `undefined` where the evidence has a row of its own. */
export function pointerIn(
  payload: Bytes,
): { readonly key: Buffer; readonly at: number } | undefined {
  if (payload.byteLength <= DOCUMENT_KEY_BYTES) return undefined
  const pointer = asBuffer(payload).subarray(DOCUMENT_KEY_BYTES)
  return { key: pointer.subarray(0, KEY_BYTES), at: pointer.readUInt16BE(KEY_BYTES) }
}

/** Reads evidence wherever it is. Packs that were inflated last are not inflated again. */
export class EvidenceReader {
  /** Of documents that are being decided about: their packs may not be written yet. */
  readonly #held = new Set<ReadonlyMap<string, Bytes>>()
  readonly #inflated = new Map<string, { readonly row: Bytes; readonly texts: readonly Bytes[] }>()

  /** Until the function returned is called. */
  hold(documents: readonly PreparedDocument[]): () => void {
    const texts = new Map<string, Bytes>()
    for (const { packed, looks } of documents) {
      const [own] = looks
      if (packed && own) texts.set(latin1(packed), own.evidence)
    }
    this.#held.add(texts)
    return () => this.#held.delete(texts)
  }

  /** Of a representative. Packs never change once something points at them: nothing need be relied on. */
  *read(partition: Bytes, id: Bytes, payload: Bytes): Transaction<Bytes | undefined> {
    const pointer = pointerIn(payload)
    if (!pointer) {
      const [own] = yield* read(cell(evidences, Buffer.concat([partition, id])))
      return own
    }
    const held = this.#heldAt(payload)
    // What is cached must not keep the memory of a whole batch.
    if (held) return copyOf(held)
    const [row] = yield* glance(cell(packs, pointer.key))
    const text = row && this.#texts(pointer.key, row)[pointer.at]
    return text && textEvidence(text)
  }

  /** Of a representative in the index of near duplicates. */
  *of(partition: Bytes, id: Bytes): Transaction<Bytes | undefined> {
    const [row] = yield* glance(cell(near.representatives, Buffer.concat([partition, id])))
    return row && (yield* this.read(partition, id, row.payload))
  }

  #heldAt(payload: Bytes): Bytes | undefined {
    if (this.#held.size === 0) return undefined
    const name = latin1(payload.subarray(DOCUMENT_KEY_BYTES))
    for (const texts of this.#held) {
      const found = texts.get(name)
      if (found) return found
    }
    return undefined
  }

  #texts(key: Bytes, row: Bytes): readonly Bytes[] {
    const name = latin1(key)
    const known = this.#inflated.get(name)
    if (known && equalBytes(known.row, row)) return known.texts
    const texts = decodePack(row)
    this.#inflated.delete(name)
    this.#inflated.set(name, { row: copyOf(row), texts })
    const [oldest] = this.#inflated.keys()
    if (this.#inflated.size > INFLATED_MAX && oldest !== undefined) this.#inflated.delete(oldest)
    return texts
  }
}

const INFLATED_MAX = 64
