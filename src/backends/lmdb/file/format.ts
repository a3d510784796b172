/**
 * The data format of LMDB as lmdb writes it: data version 2, little endian, a page header of 24 bytes that carries the
 * page's number and the transaction that wrote it.
 *
 * Invariant: whatever a `Page` hands out lies inside its bytes, because every node was checked when it was made. Key
 * order is a check of its own (`orderFault`): the free list is ordered by other rules, and salvage reads on without it.
 */

import type { Bytes } from '../../../platform/bytes.ts'
import { PrestigeError } from '../../../platform/errors.ts'

export const PAGE_HEADER_BYTES = 24
export const META_PAGES = 2
/** The root of an empty tree. */
export const NO_PAGE = -1
/** The header and the fields of a meta page, up to its transaction. */
export const META_BYTES = 160

const MAGIC = 0xbeef_c0de
const DATA_VERSION = 2
const DEPTH_MAX = 32
const NODE_HEADER_BYTES = 8
const OVERFLOW_REFERENCE_BYTES = 24
const TREE_RECORD_BYTES = 48
const TRANSACTION_MAX = 2 ** 48

export const PageFlag = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const
/** Marks that a writer keeps in memory and may leave behind. */
const VOLATILE_FLAGS = 0xe010
const NodeFlag = { big: 1, tree: 2 } as const

/** A page that cannot be what LMDB wrote. */
export class DamagedPage extends PrestigeError {
  readonly page: number
  readonly reason: string

  constructor(page: number, reason: string) {
    super(
      'CONTENT_CORRUPT',
      `Page ${page} of data.mdb is damaged: ${reason}. Run \`prestige verify\` to see what can still be read.`,
    )
    this.page = page
    this.reason = reason
  }
}

/** What LMDB records about one tree. */
export interface TreeRecord {
  readonly flags: number
  readonly depth: number
  readonly branchPages: number
  readonly leafPages: number
  readonly overflowPages: number
  readonly entries: number
  readonly root: number
}

/** One committed state of the file. */
export interface Meta {
  readonly pageBytes: number
  readonly pageMax: number
  readonly transaction: number
  readonly free: TreeRecord
  readonly main: TreeRecord
  /** What is wrong with its trees. */
  readonly treeFault: string | undefined
}

/** A number above 2^53 is rounded; no sound file has one but that of no page. */
export function readNumber(bytes: Buffer, at: number): number {
  const low = bytes.readUInt32LE(at)
  const high = bytes.readUInt32LE(at + 4)
  return low === 0xffff_ffff && high === 0xffff_ffff ? NO_PAGE : high * 2 ** 32 + low
}

export function parseMeta(index: number, bytes: Buffer): Meta {
  const fault = metaFault(index, bytes)
  if (fault) throw new DamagedPage(index, fault)
  const pageMax = readNumber(bytes, 144)
  const meta = {
    pageBytes: bytes.readUInt32LE(48),
    pageMax,
    transaction: readNumber(bytes, 152),
    free: parseTree(bytes, 48),
    main: parseTree(bytes, 96),
  }
  const treeFault: string | undefined =
    (pageMax < META_PAGES - 1 ? 'the number of its last page is wrong' : undefined) ??
    recordFault(meta.free, pageMax) ??
    recordFault(meta.main, pageMax) ??
    (meta.main.flags !== 0
      ? `the flags ${meta.main.flags} of its main tree are unknown`
      : undefined)
  return { ...meta, treeFault }
}

/**
 * Raises what is wrong with the trees of a meta page. After a write of the newer meta page has failed, LMDB leaves
 * trees in it that its numbers do not fit; nobody uses them, since the other page is the newer one then.
 */
export function requireTrees(index: number, meta: Meta, other: Meta | undefined): void {
  if (!meta.treeFault) return
  const isOlder =
    other && (meta.transaction === other.transaction - 1 || isFirstOf(index, meta, other))
  if (isOlder) return
  throw new DamagedPage(index, meta.treeFault)
}

/** Before the first commit both are as they were made, and page 0 counts. */
function isFirstOf(index: number, meta: Meta, other: Meta): boolean {
  return index === 1 && meta.transaction === 0 && other.transaction === 0
}

function metaFault(index: number, bytes: Buffer): string | undefined {
  if (bytes.byteLength < META_BYTES) return 'the file ends inside it'
  if (bytes.readUInt32LE(24) !== MAGIC) return 'it does not bear the mark of LMDB'
  if (bytes.readUInt32LE(28) !== DATA_VERSION) return 'its format is of another version'
  if (readNumber(bytes, 0) !== index) return `its header names page ${readNumber(bytes, 0)}`
  if (bytes.readUInt16LE(18) !== PageFlag.meta) return 'its header is not that of a meta page'
  const pageBytes = bytes.readUInt32LE(48)
  if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0) {
    return `its page size is ${pageBytes}`
  }
  const transaction = readNumber(bytes, 152)
  // Transactions write the two meta pages in turn.
  const isInTurn = transaction < META_PAGES || transaction % META_PAGES === index
  if (transaction < 0 || transaction > TRANSACTION_MAX || !isInTurn) {
    return `its transaction number ${transaction} is wrong`
  }
  return undefined
}

function parseTree(bytes: Buffer, at: number): TreeRecord {
  return {
    flags: bytes.readUInt16LE(at + 4),
    depth: bytes.readUInt16LE(at + 6),
    branchPages: readNumber(bytes, at + 8),
    leafPages: readNumber(bytes, at + 16),
    overflowPages: readNumber(bytes, at + 24),
    entries: readNumber(bytes, at + 32),
    root: readNumber(bytes, at + 40),
  }
}

function recordFault({ root, depth }: TreeRecord, pageMax: number): string | undefined {
  if (root === NO_PAGE && depth === 0) return undefined
  if (root < META_PAGES || root > pageMax) return `it places the root of a tree on page ${root}`
  return depth < 1 || depth > DEPTH_MAX ? `it claims a tree of depth ${depth}` : undefined
}

/** What the work gives, or the damage that it met. */
export function orDamage<T>(work: () => T): T | DamagedPage {
  try {
    return work()
  } catch (error) {
    if (error instanceof DamagedPage) return error
    throw error
  }
}

/** A branch or leaf page. */
export class Page {
  readonly number: number
  readonly bytes: Buffer
  readonly isLeaf: boolean
  readonly count: number

  constructor(number: number, bytes: Buffer) {
    this.number = number
    this.bytes = bytes
    this.isLeaf = (bytes.readUInt16LE(18) & PageFlag.leaf) !== 0
    this.count = bytes.readUInt16LE(20) >> 1
  }

  get transaction(): number {
    return readNumber(this.bytes, 8)
  }

  key(index: number): Buffer {
    const from = this.#start(index) + NODE_HEADER_BYTES
    return this.bytes.subarray(from, from + this.#keyBytes(index))
  }

  /** How the key of a node compares with another key, in byte order. */
  compare(index: number, key: Bytes): number {
    const { bytes } = this
    const start = this.#start(index)
    const length = bytes.readUInt16LE(start + 6)
    const from = start + NODE_HEADER_BYTES
    const shared = Math.min(length, key.byteLength)
    for (let at = 0; at < shared; at++) {
      const difference = (bytes[from + at] ?? 0) - (key[at] ?? 0)
      if (difference !== 0) return difference
    }
    return length - key.byteLength
  }

  /** The page that a node of a branch page points at. */
  child(index: number): number {
    const at = this.#start(index)
    return this.bytes.readUInt16LE(at + 4) * 2 ** 32 + this.bytes.readUInt32LE(at)
  }

  valueBytes(index: number): number {
    return this.bytes.readUInt32LE(this.#start(index))
  }

  isTree(index: number): boolean {
    return this.#flags(index) === NodeFlag.tree
  }

  /** The value, as a view; `undefined`: it has pages of its own. */
  value(index: number): Buffer | undefined {
    if (this.#flags(index) === NodeFlag.big) return undefined
    const from = this.#dataStart(index)
    return this.bytes.subarray(from, from + this.valueBytes(index))
  }

  /** Where a value is that has pages of its own. */
  overflow(index: number): { readonly first: number; readonly pages: number } {
    const at = this.#dataStart(index)
    return { first: readNumber(this.bytes, at), pages: readNumber(this.bytes, at + 16) }
  }

  /** Names are kept as C keeps them, with a zero at the end. */
  treeName(index: number): string {
    return this.key(index).toString().replace(/\0$/, '')
  }

  tree(index: number, pageMax: number): TreeRecord {
    const name = this.treeName(index)
    if (!this.isTree(index)) throw new DamagedPage(this.number, `"${name}" is not a tree`)
    const record = parseTree(this.bytes, this.#dataStart(index))
    const fault =
      recordFault(record, pageMax) ||
      (record.flags !== 0 && `it gives the tree "${name}" unknown flags ${record.flags}`)
    if (fault) throw new DamagedPage(this.number, fault)
    return record
  }

  /** What is wrong with one node's place or sizes. */
  nodeFault(index: number): string | undefined {
    const start = this.#start(index)
    const { length } = this.bytes
    if (start < PAGE_HEADER_BYTES + 2 * this.count || start + NODE_HEADER_BYTES > length) {
      return `entry ${index} starts at byte ${start}`
    }
    if (start + this.#nodeBytes(index) > length) return `entry ${index} reaches beyond its end`
    if (!this.isLeaf) return undefined
    const flags = this.#flags(index)
    if (flags > NodeFlag.tree) return `entry ${index} has unknown flags ${flags}`
    if (flags === NodeFlag.tree && this.valueBytes(index) !== TREE_RECORD_BYTES) {
      return `entry ${index} is a tree record of ${this.valueBytes(index)} bytes`
    }
    return undefined
  }

  /** What is wrong with the nodes taken together: they fill the page from its end, without a gap. */
  fault(): string | undefined {
    let bytes = 0
    for (let index = 0; index < this.count; index++) {
      const fault = this.nodeFault(index)
      if (fault) return fault
      bytes += (this.#nodeBytes(index) + 1) & ~1
    }
    const free = this.bytes.readUInt16LE(22)
    if (bytes === this.bytes.length - PAGE_HEADER_BYTES - free) return undefined
    return 'the sizes of its entries do not add up'
  }

  orderFault(): string | undefined {
    // The first key of a branch page stands for "everything before the second", whatever it is.
    for (let index = this.isLeaf ? 1 : 2; index < this.count; index++) {
      if (this.compare(index, this.key(index - 1)) <= 0) return `key ${index} is out of order`
    }
    return undefined
  }

  #start(index: number): number {
    return PAGE_HEADER_BYTES + this.bytes.readUInt16LE(PAGE_HEADER_BYTES + 2 * index)
  }

  #flags(index: number): number {
    return this.bytes.readUInt16LE(this.#start(index) + 4)
  }

  #keyBytes(index: number): number {
    return this.bytes.readUInt16LE(this.#start(index) + 6)
  }

  #dataStart(index: number): number {
    return this.#start(index) + NODE_HEADER_BYTES + this.#keyBytes(index)
  }

  #nodeBytes(index: number): number {
    const own = NODE_HEADER_BYTES + this.#keyBytes(index)
    if (!this.isLeaf) return own
    const isBig = this.#flags(index) === NodeFlag.big
    return own + (isBig ? OVERFLOW_REFERENCE_BYTES : this.valueBytes(index))
  }
}

/** What is wrong with the header of a branch or leaf page. */
export function headerFault(number: number, bytes: Buffer): string | undefined {
  const named = readNumber(bytes, 0)
  if (named !== number) return `its header names page ${named}`
  const flags = bytes.readUInt16LE(18) & ~VOLATILE_FLAGS
  if (flags !== PageFlag.branch && flags !== PageFlag.leaf) {
    return `it is neither a branch nor a leaf page (flags ${flags})`
  }
  const lower = bytes.readUInt16LE(20)
  const upper = bytes.readUInt16LE(22)
  if (lower === 0) return 'it is empty'
  if (lower % 2 !== 0 || lower > upper || upper > bytes.length - PAGE_HEADER_BYTES) {
    return `its free space goes from ${lower} to ${upper}`
  }
  return undefined
}

/** What is wrong with the header of a run of overflow pages. */
export function overflowFault(number: number, pages: number, header: Buffer): string | undefined {
  const named = readNumber(header, 0)
  if (named !== number) return `its header names page ${named}`
  if ((header.readUInt16LE(18) & ~VOLATILE_FLAGS) !== PageFlag.overflow) {
    return 'it is not the beginning of a large value'
  }
  const claimed = header.readUInt32LE(20)
  return claimed === pages ? undefined : `it claims ${claimed} pages where ${pages} were referenced`
}
