/**
 * Which content is linked to which. Every content that is compared has one row: it is a representative, or linked to
 * one. Every link has a reverse row, by which those linked to a representative are found when it goes.
 *
 * Invariant: what is linked is linked to a representative, or to a content with an orphan note. Notes are written by
 * the transaction that removes the representative, so a crash delays re-evaluation at most until the next collection.
 *
 * Not here: how representatives are found, and what decides that two contents are linked.
 */

import { asBuffer, type Bytes, concat, EMPTY, endOfPrefix, equalBytes } from '../platform/bytes.ts'
import {
  type Backend,
  cell,
  type Cell,
  type Codec,
  first,
  hasFormat,
  read,
  rows,
  type Scope,
  sealed,
  type Space,
  tallies,
  type Transaction,
} from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { ID_BYTES, rawCodec } from './rows.ts'

const FORMAT = 0x10
const LINKED = 1
const DIGEST_BYTES = 32
const TARGET_BYTES = ID_BYTES + DIGEST_BYTES + 8 + 6

/** What a content is linked to, as it was then. */
export interface LinkTarget {
  readonly id: Buffer
  readonly digest: Buffer
  readonly similarity: number
  readonly storedAt: number
  readonly firstKey: Buffer
}

/** What a content is to those similar to it. */
export interface Link {
  /** Absent: it is linked to nothing. */
  readonly to: LinkTarget | undefined
}

/** The fields of a link that belong to the method that made it. */
export interface LinkFields<L extends Link> {
  /** Length of the fields in front of the target. */
  readonly bytes: number
  /** The first byte of a row has four flags; the lowest says that it is linked. */
  flagsOf(link: L): number
  encode(link: L): Buffer
  decode(fields: Buffer, to: LinkTarget | undefined, flags: number): L
}

/** The spaces of one graph. Graphs of one backend differ by their prefix. */
export interface LinkSpaces<L extends Link> {
  /** Content id → Link. */
  readonly links: Space<L>
  /** Content id of a representative and of a content that is linked to it → the latter's digest. */
  readonly linked: Space<Bytes>
  /** Content id of a representative that is gone → nothing: those linked to it are to be re-evaluated. */
  readonly orphaned: Space<Bytes>
  readonly tallies: Space<number>
  /** Length of a row without a target. */
  readonly unlinkedBytes: number
}

export function linkSpaces<L extends Link>(
  prefix: string,
  fields: LinkFields<L>,
  linkedTraits: { readonly gatherBytes?: number } = {},
): LinkSpaces<L> {
  const name = `${prefix}.links`
  return {
    links: rows(name, sealed(name, linkCodec(name, fields)), { ordered: true }),
    linked: rows(`${prefix}.linked`, rawCodec, { ordered: true, ...linkedTraits }),
    orphaned: rows(`${prefix}.orphaned`, rawCodec, { ordered: true }),
    tallies: tallies(`${prefix}.tallies`),
    unlinkedBytes: 1 + fields.bytes,
  }
}

export function linkSpacesOf(spaces: LinkSpaces<Link>): readonly Space<unknown>[] {
  const { links, linked, orphaned, tallies: counts } = spaces
  return [links, linked, orphaned, counts]
}

/** `1f` fields [linked to (16) its digest (32) similarity (8) stored at (6) first key]; flags: 1 linked. */
function linkCodec<L extends Link>(name: string, fields: LinkFields<L>): Codec<L> {
  const targetAt = 1 + fields.bytes
  return {
    encode(link) {
      const flags = fields.flagsOf(link) | (link.to ? LINKED : 0)
      const head = concat(Buffer.of(FORMAT | flags), fields.encode(link))
      return link.to ? concat(head, encodeTarget(link.to)) : head
    },
    decode(bytes) {
      const row = asBuffer(bytes)
      const flags = (row[0] ?? 0) & 0x0f
      const isLinked = (flags & LINKED) !== 0
      const bytesMin = targetAt + (isLinked ? TARGET_BYTES : 0)
      if (row.byteLength < bytesMin || !hasFormat(row)) throw unreadable(name)
      const to = isLinked ? decodeTarget(row.subarray(targetAt)) : undefined
      return fields.decode(row.subarray(1, targetAt), to, flags)
    },
  }
}

function encodeTarget({ id, digest, similarity, storedAt, firstKey }: LinkTarget): Buffer {
  const numbers = Buffer.allocUnsafe(14)
  numbers.writeDoubleBE(similarity)
  numbers.writeUIntBE(storedAt, 8, 6)
  return Buffer.concat([id, digest, numbers, firstKey])
}

function decodeTarget(row: Buffer): LinkTarget {
  const numbersAt = ID_BYTES + DIGEST_BYTES
  return {
    id: row.subarray(0, ID_BYTES),
    digest: row.subarray(ID_BYTES, numbersAt),
    similarity: row.readDoubleBE(numbersAt),
    storedAt: row.readUIntBE(numbersAt + 8, 6),
    firstKey: row.subarray(TARGET_BYTES),
  }
}

function unreadable(name: string): PrestigeError {
  const message = `A row of ${name} cannot be read. Run verify on this store.`
  return new PrestigeError('CONTENT_CORRUPT', message)
}

/** What the tallies of a graph count; `representatives` is 0 where the method does not count them. */
export interface LinkCounts {
  readonly links: number
  readonly representatives: number
}

/** What a graph has to know of the method it belongs to. */
export interface LinkMethod<L extends Link> {
  readonly countsRepresentatives: boolean
  /** Others may be linked to it. */
  isRepresentative(link: L): boolean
  /** Removes a representative from whatever finds it. */
  removeFromIndex(scope: Scope, id: Buffer, link: L): Transaction<void>
}

/** A content that is linked to a representative that is gone. */
export interface Orphan {
  readonly gone: Buffer
  readonly id: Buffer
  readonly digest: Buffer
}

export class LinkGraph<L extends Link> {
  readonly spaces: LinkSpaces<L>
  readonly #method: LinkMethod<L>

  constructor(spaces: LinkSpaces<L>, method: LinkMethod<L>) {
    this.spaces = spaces
    this.#method = method
  }

  row(id: Bytes): Cell<L> {
    return cell(this.spaces.links, id)
  }

  /** The row by which a content is found when its representative goes. */
  reverse(representative: Bytes, id: Bytes): Cell<Bytes> {
    return cell(this.spaces.linked, concat(representative, id))
  }

  isRepresentative(link: L): boolean {
    return this.#method.isRepresentative(link)
  }

  /** Records what a content is: a representative, linked to one, or neither. The caller inserts it into its index. */
  add(scope: Scope, content: { readonly id: Bytes; readonly digest: Bytes }, link: L): void {
    scope.write(this.row(content.id), link)
    if (link.to) scope.write(this.reverse(link.to.id, content.id), content.digest)
    this.count(scope, this.countsOf(link))
  }

  /** The content is being removed. Returns what it was. */
  *leave(scope: Scope, id: Buffer): Transaction<L | undefined> {
    const [link] = yield* read(this.row(id))
    if (link) yield* this.remove(scope, id, link)
    return link
  }

  /** Removes a content from links and index. Those linked to it are noted to be re-evaluated. */
  *remove(scope: Scope, id: Buffer, link: L): Transaction<void> {
    this.#detach(scope, id, link)
    if (!this.isRepresentative(link)) return
    yield* this.#method.removeFromIndex(scope, id, link)
    const hasLinked = !scope.serial || (yield* first(this.spaces.linked, id)) !== undefined
    if (hasLinked) this.noteOrphans(scope, id)
  }

  /** Whether the content was still linked to `gone`: it is not any more, and has to be re-evaluated. */
  *unlink(scope: Scope, gone: Bytes, id: Buffer): Transaction<boolean> {
    const [link] = yield* read(this.row(id))
    scope.remove(this.reverse(gone, id))
    if (!link?.to || !equalBytes(link.to.id, gone)) return false
    this.#detach(scope, id, link)
    return true
  }

  #detach(scope: Scope, id: Buffer, link: L): void {
    scope.remove(this.row(id))
    if (link.to) scope.remove(this.reverse(link.to.id, id))
    const { links, representatives } = this.countsOf(link)
    this.count(scope, { links: -links, representatives: -representatives })
  }

  noteOrphans(scope: Scope, id: Bytes): void {
    scope.write(cell(this.spaces.orphaned, id), EMPTY)
  }

  /** Contents to be re-evaluated. Nothing can be linked any more to what is gone, so its note goes after them. */
  async *orphans(backend: Backend): AsyncGenerator<Orphan> {
    const { orphaned, linked } = this.spaces
    for await (const { key: gone } of backend.scan(orphaned)) {
      const range = { start: gone, end: endOfPrefix(gone) }
      for await (const { key, value } of backend.scan(linked, range)) {
        yield { gone, id: key.subarray(gone.byteLength), digest: Buffer.from(value) }
      }
      await backend.run(removeRow, cell(orphaned, gone))
    }
  }

  /** How much one link adds to the tallies. */
  countsOf(link: L): LinkCounts {
    const isCounted = this.#method.countsRepresentatives && this.isRepresentative(link)
    return { links: link.to ? 1 : 0, representatives: isCounted ? 1 : 0 }
  }

  *readCounts(): Transaction<LinkCounts> {
    const [links = 0, representatives = 0] = yield* read(
      this.#tally('links'),
      this.#tally('representatives'),
    )
    return { links, representatives }
  }

  count(scope: Scope, { links, representatives }: LinkCounts): void {
    if (links !== 0) scope.add(this.#tally('links'), links)
    if (representatives !== 0) scope.add(this.#tally('representatives'), representatives)
  }

  #tally(name: keyof LinkCounts): Cell<number> {
    return cell(this.spaces.tallies, Buffer.from(name))
  }
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* removeRow(scope: Scope, row: Cell<unknown>): Transaction<void> {
  scope.remove(row)
}
