/** One content, put together from its parts: what its bytes say it is, whatever other rows say. */

import { createHash, type Hash } from 'node:crypto'

import { type Bytes, endOfPrefix, equalBytes } from '../../platform/bytes.ts'
import { cell, ID_BYTES, read, type Scope, type Transaction } from '../../backends/index.ts'
import { digestOf } from '../../fingerprint/index.ts'
import { formOf } from '../prepare.ts'
import { partCount, partKey } from '../rows.ts'
import { knownOf, raw } from './raw.ts'
import type { VerifyHow } from './report.ts'
import type { Walk } from './walk.ts'

const PART_NUMBER_BYTES = 4
const ROWS_REMOVED_AT_ONCE = 16

export interface Content {
  readonly id: Buffer
  /** What identifies it; `undefined` when its parts are not those of one value. */
  readonly digest: Buffer | undefined
  /** The digest of its canonical form, where links are kept. */
  readonly form: Buffer | undefined
  /** The digest of its bytes, where `digest` is that of its canonical form. */
  readonly exact: Buffer | undefined
  readonly bytes: number
  /** The key of its first row. */
  readonly row: Bytes
  /** One more than the number of its last part. */
  readonly partsEnd: number
}

/** A content, and rows behind the parts that were asked for. */
export interface ReadContent extends Content {
  readonly extra: readonly Buffer[]
}

/** The number of the part that a key of `contents` names; `undefined` when it is no such key. */
export function partOf(key: Buffer): number | undefined {
  if (key.byteLength === ID_BYTES) return 0
  if (key.byteLength !== ID_BYTES + PART_NUMBER_BYTES) return undefined
  // The first part is under the id alone.
  return key.readUInt32BE(ID_BYTES) || undefined
}

/** Takes the parts of one content in their order. Bytes are kept only where a canonical form needs them. */
export class Joiner {
  readonly id: Buffer
  readonly #how: VerifyHow
  readonly #kept: Bytes[] = []
  #sha256: Hash | undefined
  #firstPart = 0
  #partsEnd = 0
  #bytes = 0
  #lastBytes = 0
  #isOneValue = true

  constructor(how: VerifyHow, id: Buffer) {
    this.#how = how
    this.id = id
  }

  get isEmpty(): boolean {
    return this.#partsEnd === 0
  }

  add(part: number, bytes: Bytes): void {
    if (this.isEmpty) this.#firstPart = part
    if (part !== this.#partsEnd || !this.#fits(bytes)) this.#isOneValue = false
    this.#partsEnd = part + 1
    this.#bytes += bytes.byteLength
    this.#lastBytes = bytes.byteLength
    if (this.#needsBytes || this.#kept.length === 0) this.#kept.push(bytes)
    else this.#update(bytes)
  }

  end(): Content {
    const { id } = this
    const row = partKey(id, this.#firstPart)
    const place = { id, row, bytes: this.#bytes, partsEnd: this.#partsEnd }
    if (!this.#isOneValue) {
      return { ...place, digest: undefined, form: undefined, exact: undefined }
    }
    return { ...place, ...this.#identity() }
  }

  /** Every part but the last is full: readers find a part's bytes by its number. */
  #fits({ byteLength }: Bytes): boolean {
    const { partBytes } = this.#how
    if (this.isEmpty) return byteLength <= partBytes
    return this.#lastBytes === partBytes && byteLength > 0 && byteLength <= partBytes
  }

  #update(bytes: Bytes): void {
    const [first] = this.#kept
    if (this.#sha256 === undefined && first) this.#sha256 = createHash('sha256').update(first)
    this.#sha256?.update(bytes)
  }

  get #needsBytes(): boolean {
    const { profile } = this.#how
    return profile !== undefined && profile.name !== 'none'
  }

  /** As a put decides it. Values the profile cannot read were put as bytes, whatever is asked for today. */
  #identity(): { digest: Buffer; form: Buffer | undefined; exact: Buffer | undefined } {
    const { profile, sharesForms } = this.#how
    const [first] = this.#kept
    const value = this.#kept.length === 1 && first ? first : Buffer.concat(this.#kept)
    const exact = this.#sha256?.digest() ?? digestOf(value)
    if (!profile || !this.#needsBytes) return { digest: exact, form: undefined, exact: undefined }
    const form = formOf(profile, 'bytes', value, exact)
    return sharesForms
      ? { digest: form, form: undefined, exact }
      : { digest: exact, form, exact: undefined }
  }
}

/** Reads a content afresh; `undefined` when it has no rows. Parts from `partsMax` on are only listed. */
export async function readContent(
  walk: Walk,
  id: Buffer,
  partsMax = Infinity,
): Promise<ReadContent | undefined> {
  const joiner = new Joiner(walk.how, id)
  const extra: Buffer[] = []
  for await (const { key, value } of walk.scan(raw.contents, { start: id, end: endOfPrefix(id) })) {
    const part = partOf(key)
    if (part === undefined) continue
    if (part < partsMax) joiner.add(part, value)
    else extra.push(key)
  }
  return joiner.isEmpty ? undefined : { ...joiner.end(), extra }
}

/**
 * The content under an id as somebody describes it: whole if it has the digest, if need be without rows
 * behind its last part. What is returned has the digest, or nothing under that id does.
 */
export async function findContent(
  walk: Walk,
  { id, bytes }: { readonly id: Buffer; readonly bytes: number },
  digest: Bytes,
): Promise<ReadContent | undefined> {
  const found = await readContent(walk, id)
  if (!found || hasDigest(found, digest)) return found
  const parts = partCount(bytes, walk.how.partBytes)
  if (parts >= found.partsEnd) return found
  const described = await readContent(walk, id, parts)
  return described && hasDigest(described, digest) ? described : found
}

/** `exact`: the digest of its bytes, where `digest` is that of a canonical form and the row has both. */
export function hasDigest(content: Content | undefined, digest: Bytes, exact?: Bytes): boolean {
  if (content?.digest === undefined || !equalBytes(content.digest, digest)) return false
  return !exact || !content.exact || equalBytes(content.exact, exact)
}

/**
 * Removes the rows of a content that nobody can see: it is neither listed under the digest of its bytes nor
 * staged, and can never be again, because ids are never given twice.
 */
export async function removeContent(walk: Walk, { id, digest }: Content): Promise<boolean> {
  for (;;) {
    const range = { start: id, end: endOfPrefix(id), limit: ROWS_REMOVED_AT_ONCE }
    const rows: Buffer[] = []
    for await (const { key } of walk.backend.scan(raw.contents, range)) rows.push(key)
    if (rows.length === 0) return true
    if (!(await walk.backend.run(removeInvisible, { id, digest, rows }))) return false
  }
}

function* removeInvisible(
  scope: Scope,
  content: { readonly id: Buffer; readonly digest: Buffer | undefined; readonly rows: Buffer[] },
): Transaction<boolean> {
  const { id, digest, rows } = content
  const [staged] = yield* read(cell(raw.staged, id))
  if (staged !== undefined) return false
  const known = digest && knownOf((yield* read(cell(raw.digests, digest)))[0])
  if (known && equalBytes(known.id, id)) return false
  for (const row of rows) scope.remove(cell(raw.contents, row))
  return true
}
