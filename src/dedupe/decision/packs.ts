/**
 * Evidence that documents are measured by, that of many in one row. Evidence of its own row takes pages of an engine
 * that are half empty, and texts compress worse alone.
 *
 * A pack is written in the transaction that first points at something in it, or before, and not changed afterwards. It
 * goes with its run, or with the run that decides about its documents again. Evidence of exact copies is not kept: that
 * of what they are copies of is.
 *
 * Key: number of the run (4) shard (4) position of its first document (4); the first bit of the shard is set where
 * documents were decided about in the order of rank. Row: see pack-row.ts. A pointer is the key and the place in the pack
 * (2).
 */

import { asBuffer, type Bytes, copyOf, EMPTY, equalBytes, latin1 } from '../../platform/bytes.ts'
import { cell, glance, read, type Transaction } from '../../backends/index.ts'
import { originalOf, textEvidence } from '../../match/index.ts'
import { evidences, near, packs } from '../rows.ts'
import { encodePack, LENGTH_BYTES, PackRow } from './pack-row.ts'
import type { PreparedDocument } from './prepare.ts'

/** Larger rows fill pages of an engine hardly better, and one text costs reading all of its row. */
const PACK_BYTES = 256 * 1024
/** What is not compressed, with its lengths: fills pages of an engine, but for their own heads. */
const PLAIN_BYTES = 64 * 1024 - 64
const PACK_PARTS_MAX = 0xff_ff
const DIGESTS_MAX = 100_000
const KEY_BYTES = 12
const POINTER_BYTES = KEY_BYTES + 2
const IN_ORDER_OF_RANK = 0x80_00_00_00
const DOCUMENT_KEY_BYTES = 16

/** Plain data, so that it can come from another thread. */
export interface Pack {
  readonly key: Uint8Array
  readonly row: Uint8Array
  /** Of all evidence. */
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

/** Collects the evidence of documents that come one after another. */
export class Packer {
  readonly #place: Omit<PackPlace, 'shard' | 'position'>
  #parts: Bytes[] = []
  #bytes = 0
  #isOfTexts = true
  #key: Buffer = EMPTY
  #packs: Pack[] = []
  #digests = new Set<string>()

  constructor(place: Omit<PackPlace, 'shard' | 'position'>) {
    this.#place = place
  }

  /** Points the document at its evidence, unless it has none, or is a copy of one that was added. */
  add(document: PreparedDocument, shard: number, position: number): void {
    const own = packable(document)
    if (!own || !this.#isNew(document)) return
    if (this.#parts.length > 0 && !this.#hasRoomFor(own)) this.#finish()
    if (this.#parts.length === 0) this.#key = packKey({ ...this.#place, shard, position })
    const pointer = Buffer.allocUnsafe(POINTER_BYTES)
    pointer.set(this.#key)
    pointer.writeUInt16BE(this.#parts.length, KEY_BYTES)
    this.#parts.push(own.part)
    this.#bytes += own.part.byteLength
    this.#isOfTexts = own.isText
    document.packed = pointer
  }

  /** Those made since it was called last. */
  take(): Pack[] {
    if (this.#parts.length > 0) this.#finish()
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

  #hasRoomFor({ part, isText }: Packable): boolean {
    const count = this.#parts.length + 1
    const bytes = this.#bytes + part.byteLength
    if (isText !== this.#isOfTexts || count > PACK_PARTS_MAX) return false
    return isText ? bytes <= PACK_BYTES : bytes + count * LENGTH_BYTES <= PLAIN_BYTES
  }

  #finish(): void {
    const row = encodePack(this.#parts, this.#isOfTexts)
    this.#packs.push({ key: this.#key, row, bytes: this.#bytes })
    this.#parts = []
    this.#bytes = 0
  }
}

/** Of a text, its bytes; of other evidence, all of it. */
interface Packable {
  readonly part: Bytes
  readonly isText: boolean
}

function packable({ looks, unprobed }: PreparedDocument): Packable | undefined {
  const [own] = looks
  if (!own) return unprobed && { part: unprobed, isText: true }
  const text = originalOf(own.evidence)
  return { part: text ?? own.evidence, isText: text !== undefined }
}

/** What a document takes in its pack. */
export function bytesIn(document: PreparedDocument): number {
  return packable(document)?.part.byteLength ?? 0
}

/** A pack without the evidence of documents that are not wanted; the others keep their places. */
export function packOf(
  documents: readonly PreparedDocument[],
  isWanted: (document: PreparedDocument) => boolean,
): Buffer {
  const parts = documents.map((one) => (isWanted(one) ? packable(one)?.part : undefined) ?? EMPTY)
  return encodePack(
    parts,
    documents.every((one) => packable(one)?.isText),
  )
}

/** The documents of each pack, in the order of their evidence, by the key of the pack. */
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

/** What is kept with a representative: the key of its document, and where its evidence is packed. */
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

/** Reads evidence wherever it is. Packs that were read last are not decompressed again. */
export class EvidenceReader {
  /** Of documents that are being decided about: their packs may not be written yet. */
  readonly #held = new Set<ReadonlyMap<string, Bytes>>()
  readonly #decoded = new Map<string, PackRow>()

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
    if (!row) return undefined
    const pack = this.#opened(pointer.key, row)
    const part = pack.part(pointer.at)
    return part && (pack.isOfTexts ? textEvidence(part) : copyOf(part))
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

  #opened(key: Bytes, row: Bytes): PackRow {
    const name = latin1(key)
    const known = this.#decoded.get(name)
    if (known && equalBytes(known.row, row)) return known
    const opened = new PackRow(row)
    this.#decoded.delete(name)
    this.#decoded.set(name, opened)
    const [oldest] = this.#decoded.keys()
    if (this.#decoded.size > DECODED_MAX && oldest !== undefined) this.#decoded.delete(oldest)
    return opened
  }
}

const DECODED_MAX = 32
