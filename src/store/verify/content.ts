/** One content, put together from its rows: what its bytes say it is, whatever other rows say. */

import { createHash, type Hash } from 'node:crypto'

import { type Bytes, endOfPrefix, equalBytes } from '../../platform/bytes.ts'
import {
  cell,
  type Cell,
  ID_BYTES,
  read,
  type Scope,
  type Space,
  type Transaction,
} from '../../backends/index.ts'
import { digestOf } from '../../fingerprint/index.ts'
import { formOf } from '../prepare.ts'
import { recipeKey } from '../contents/chunk-rows.ts'
import { deltaIn, heldRow, reverseKey } from '../contents/delta-rows.ts'
import { decoded } from '../contents/deltas.ts'
import { InflatedPacks } from '../contents/chunk-runs.ts'
import { batchesOf, findChunks } from '../contents/read-content.ts'
import { partKey } from '../rows.ts'
import { countStored } from '../tallies.ts'
import { knownOf, raw, recipeOf, tolerantChunks } from './raw.ts'
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
  /** The key of its first row, and where that is. */
  readonly row: Bytes
  readonly space: Space<Bytes>
  /** One more than the number of its last part. */
  readonly partsEnd: number
}

/** A content, and rows behind the parts that were asked for. */
export interface ReadContent extends Content {
  readonly extra: readonly Buffer[]
}

/** The number of the part that a key names; `undefined` when it is no such key. */
export function partOf(space: ContentSpace, key: Buffer): number | undefined {
  if (space === raw.recipes)
    return key.byteLength === ID_BYTES + PART_NUMBER_BYTES ? key.readUInt32BE(ID_BYTES) : undefined
  if (key.byteLength === ID_BYTES) return 0
  if (space === raw.deltas) return undefined
  if (key.byteLength !== ID_BYTES + PART_NUMBER_BYTES) return undefined
  // The first part is under the id alone.
  return key.readUInt32BE(ID_BYTES) || undefined
}

/** The rows of a content: one of these spaces has all of them. */
export type ContentSpace = Space<Bytes>
export const contentSpaces: readonly ContentSpace[] = [raw.contents, raw.recipes, raw.deltas]

/** Takes the rows of one content in their order. Bytes are kept only where a canonical form needs them. */
export class Joiner {
  readonly id: Buffer
  readonly #space: ContentSpace
  readonly #how: VerifyHow
  readonly #kept: Bytes[] = []
  #sha256: Hash | undefined
  #firstPart = 0
  #partsEnd = 0
  #bytes = 0
  #lastBytes = 0
  #isOneValue = true

  constructor(how: VerifyHow, id: Buffer, space: ContentSpace) {
    this.#how = how
    this.id = id
    this.#space = space
  }

  get isEmpty(): boolean {
    return this.#partsEnd === 0
  }

  /** Where its next part begins. */
  get bytes(): number {
    return this.#bytes
  }

  /** One row; its bytes may be more than memory should hold at once, or not be there. */
  async addRow(walk: Walk, part: number, row: Bytes): Promise<void> {
    const { layout } = this.#how
    if (this.#space === raw.contents) this.add(part, layout.readable(row))
    else if (this.#space === raw.deltas) {
      const delta = deltaIn(row)
      this.add(part, delta && (await walk.backend.read(() => decoded(delta, layout))))
    } else {
      const recipe = recipeOf(row)
      if (recipe?.offset !== this.#bytes) this.#isOneValue = false
      const inflated = new InflatedPacks()
      const isFirst = this.isEmpty
      for (const batch of batchesOf(recipe?.chunks ?? [])) {
        const found = await walk.backend.read(() => findChunks(batch, inflated, tolerantChunks))
        for (const chunk of found) this.#take(chunk)
      }
      this.#count(part, isFirst)
    }
  }

  add(part: number, bytes: Bytes | undefined): void {
    const isFirst = this.isEmpty
    if (bytes && !this.#fits(bytes)) this.#isOneValue = false
    this.#take(bytes)
    this.#count(part, isFirst)
  }

  #count(part: number, isFirst: boolean): void {
    if (isFirst) this.#firstPart = part
    if (part !== this.#partsEnd) this.#isOneValue = false
    this.#partsEnd = part + 1
  }

  #take(bytes: Bytes | undefined): void {
    if (!bytes) {
      this.#isOneValue = false
      return
    }
    this.#bytes += bytes.byteLength
    this.#lastBytes = bytes.byteLength
    if (this.#needsBytes || this.#kept.length === 0) this.#kept.push(bytes)
    else this.#update(bytes)
  }

  end(): Content {
    const { id } = this
    const space = this.#space
    const isRecipe = space === raw.recipes
    const place = { id, space, bytes: this.#bytes, partsEnd: this.#partsEnd }
    const row = isRecipe ? recipeKey(id, this.#firstPart) : partKey(id, this.#firstPart)
    const { layout } = this.#how
    // Readers look in one of the spaces, by its length.
    const isWhereReadersLook = !layout.chunks || layout.isLong(this.#bytes) === isRecipe
    if (!this.#isOneValue || !isWhereReadersLook) {
      return { ...place, row, digest: undefined, form: undefined, exact: undefined }
    }
    return { ...place, row, ...this.#identity() }
  }

  /** Every part but the last is full: readers find a part's bytes by its number. */
  #fits({ byteLength }: Bytes): boolean {
    const { chunks, rowBytes: partBytes } = this.#how.layout
    if (this.isEmpty || chunks) return byteLength <= partBytes
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

/** Reads a content afresh; `undefined` when it has no rows. Parts behind `bytesMax` are only listed. */
export async function readContent(
  walk: Walk,
  id: Buffer,
  bytesMax = Infinity,
): Promise<ReadContent | undefined> {
  let found: ReadContent | undefined
  for (const space of contentSpaces) {
    const joiner = new Joiner(walk.how, id, space)
    const extra: Buffer[] = []
    for await (const { key, value } of walk.scan(space, { start: id, end: endOfPrefix(id) })) {
      const part = partOf(space, key)
      if (part === undefined) continue
      if (joiner.isEmpty || joiner.bytes < bytesMax) await joiner.addRow(walk, part, value)
      else extra.push(key)
    }
    if (joiner.isEmpty) continue
    const content = { ...joiner.end(), extra }
    // Of rows in both spaces, those count that make up a content; the others are found by their own walk.
    if (found?.digest === undefined) found = content
  }
  return found
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
  if (bytes >= found.bytes) return found
  const described = await readContent(walk, id, bytes)
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
export async function removeContent(walk: Walk, content: Content): Promise<boolean> {
  const { id, digest } = content
  // What others are coded against stays for them, however damaged: some of them may be read by it.
  if (await walk.firstKey(raw.deltaBases, id)) return walk.backend.run(hold, content)
  const range = { start: id, end: endOfPrefix(id), limit: ROWS_REMOVED_AT_ONCE }
  for (const space of contentSpaces) {
    for (;;) {
      const rows: Cell<Bytes>[] = []
      for await (const { key } of walk.backend.scan(space, range)) rows.push(cell(space, key))
      if (rows.length === 0) break
      if (!(await walk.backend.run(removeInvisible, { id, digest, rows }))) return false
    }
  }
  return true
}

function* removeInvisible(
  scope: Scope,
  content: {
    readonly id: Buffer
    readonly digest: Buffer | undefined
    readonly rows: Cell<Bytes>[]
  },
): Transaction<boolean> {
  const { id, digest, rows } = content
  const [staged] = yield* read(cell(raw.staged, id))
  if (staged !== undefined) return false
  const known = digest && knownOf((yield* read(cell(raw.digests, digest)))[0])
  if (known && equalBytes(known.id, id)) return false
  for (const row of rows) {
    const delta = row.space === raw.deltas && deltaIn((yield* read(row))[0])
    if (delta) scope.remove(cell(raw.deltaBases, reverseKey(delta.base, id)))
    scope.remove(row)
  }
  // Its chunks may be garbage now; how many bytes is not known, and any number makes the collector look.
  if (rows.some(({ space }) => space === raw.recipes)) countStored(scope, { sweptBytes: 1 })
  return true
}

function* hold(scope: Scope, { id, row, space, bytes }: Content): Transaction<boolean> {
  const place = cell(space, row)
  const [note, there] = yield* read(cell(raw.heldBases, id), place)
  if (note || !there || space !== raw.contents) return true
  // Tallies are compared with the rows afterwards, and corrected.
  scope.write(cell(raw.heldBases, id), heldRow(bytes))
  return true
}
