/**
 * data.mdb, read page by page with plain reads and never mapped: a damaged file raises errors, and no signal.
 *
 * Invariant: a page is checked before anything in it is used, and pages of one committed state are never mixed with
 * those of another: the cache is emptied when a meta page changes. Whoever reads keeps commits out (see pause.ts).
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

import { dirname } from 'node:path'

import { copyOf, EMPTY } from '../../../platform/bytes.ts'
import { PrestigeError } from '../../../platform/errors.ts'
import { dataFile, storeMissing } from '../files.ts'
import {
  DamagedPage,
  headerFault,
  META_BYTES,
  META_PAGES,
  type Meta,
  NO_PAGE,
  orDamage,
  overflowFault,
  Page,
  PAGE_HEADER_BYTES,
  parseMeta,
  readNumber,
  requireTrees,
} from './format.ts'
import { freePages, hasRuns } from './free-list.ts'

const CACHED_PAGES_MAX = 256
const PAGE_BYTES_LIKELY = 4096

export class DataFile {
  readonly #path: string
  #file: number
  readonly #cache = new Map<number, Page>()
  /** Both meta pages as they were when this state was read. */
  #head: Buffer = EMPTY
  #scratch: Buffer = EMPTY
  #meta: Meta | undefined
  readonly #isTolerant: boolean

  /** Tolerant: a state that is damaged or cut is read as far as it goes, for salvage. */
  constructor(directory: string, isTolerant = false) {
    this.#isTolerant = isTolerant
    this.#path = dataFile(directory)
    this.#file = openForReading(this.#path, directory)
  }

  close(): void {
    closeSync(this.#file)
  }

  get meta(): Meta {
    return this.#meta ?? this.refresh()
  }

  /**
   * The newest committed state. Both meta pages must be sound: if one is not, nobody knows whether it was the newer
   * one, and a key that was put last would be missing without a word.
   */
  refresh(): Meta {
    if (this.#isTolerant) return this.#meta ?? this.#newestSound()
    this.#followReplaced()
    const head = this.#readHead(this.#meta?.pageBytes ?? PAGE_BYTES_LIKELY)
    if (this.#meta && sameMetas(head, this.#head, this.#meta.pageBytes)) return this.#meta
    const meta = this.#newest(head)
    this.use(meta)
    if (this.pagesInFile <= meta.pageMax) this.#refuseTruncated()
    this.requireRoot(meta)
    this.#head = copyOf(head)
    return meta
  }

  /** The file was written again (../compact.ts): what is open here is what it was before. */
  #followReplaced(): void {
    if (this.#explained(() => fstatSync(this.#file).nlink) > 0) return
    const file = openForReading(this.#path, dirname(this.#path))
    closeSync(this.#file)
    this.#file = file
    this.#cache.clear()
    this.#head = EMPTY
    this.#meta = undefined
  }

  #newestSound(): Meta {
    const { sound, faults } = this.metas()
    const [meta] = sound
    if (!meta) throw faults[0] ?? new PrestigeError('CONTENT_CORRUPT', `${this.#path} is empty.`)
    this.use(meta)
    return meta
  }

  /** Reads on in this committed state. */
  use(meta: Meta): void {
    this.#cache.clear()
    this.#head = EMPTY
    this.#meta = meta
  }

  /** What is to be read of each meta page, newest first, and what is wrong with those that cannot be. */
  metas(): { readonly sound: readonly Meta[]; readonly faults: readonly DamagedPage[] } {
    const found: (Meta | undefined)[] = []
    const faults: DamagedPage[] = []
    const noted = <T>(work: () => T): T | undefined => {
      const result = orDamage(work)
      if (!(result instanceof DamagedPage)) return result
      faults.push(result)
      return undefined
    }
    for (let index = 0; index < META_PAGES; index++) {
      found.push(noted(() => this.#metaAt(index, found[0]?.pageBytes)))
    }
    const sound: Meta[] = []
    for (const [index, meta] of found.entries()) {
      if (meta) noted(() => requireTrees(index, meta, found[1 - index]))
      if (meta && !meta.treeFault) sound.push(meta)
    }
    sound.sort((one, other) => other.transaction - one.transaction)
    return { sound, faults }
  }

  get pagesInFile(): number {
    return Math.floor(this.bytesInFile / this.meta.pageBytes)
  }

  get bytesInFile(): number {
    return this.#explained(() => fstatSync(this.#file).size)
  }

  /** A page of a tree whose keys are in byte order, checked from its header to the order of its keys. */
  page(number: number): Page {
    const known = this.#cache.get(number)
    if (known) {
      if (this.#cache.size < CACHED_PAGES_MAX) return known
      // Used again, so it goes last.
      this.#cache.delete(number)
      this.#cache.set(number, known)
      return known
    }
    const page = this.load(number)
    const fault = page.fault() ?? page.orderFault()
    if (fault) throw new DamagedPage(number, fault)
    if (this.#cache.size >= CACHED_PAGES_MAX) {
      for (const [oldest] of this.#cache) {
        this.#cache.delete(oldest)
        break
      }
    }
    this.#cache.set(number, page)
    return page
  }

  /** A page of which only the header was checked. */
  load(number: number): Page {
    this.#requirePages(number, 1)
    const bytes = Buffer.allocUnsafeSlow(this.meta.pageBytes)
    this.#readPages(number, bytes)
    const fault = headerFault(number, bytes)
    if (fault) throw new DamagedPage(number, fault)
    this.#requirePast(number, bytes)
    return new Page(number, bytes)
  }

  /** A copy of the value of a leaf's entry. */
  value(leaf: Page, index: number): Buffer {
    const inline = leaf.value(index)
    return inline ? copyOf(inline) : this.#overflowValue(leaf, index)
  }

  /** The pages that a large value has to itself; they begin as they should. */
  overflowRun(leaf: Page, index: number): { readonly first: number; readonly pages: number } {
    const run = this.#overflowPlace(leaf, index)
    this.#readOverflow(run, Buffer.allocUnsafe(PAGE_HEADER_BYTES))
    return run
  }

  #overflowValue(leaf: Page, index: number): Buffer {
    const run = this.#overflowPlace(leaf, index)
    const bytes = Buffer.allocUnsafe(PAGE_HEADER_BYTES + leaf.valueBytes(index))
    this.#readOverflow(run, bytes)
    return bytes.subarray(PAGE_HEADER_BYTES)
  }

  #overflowPlace(leaf: Page, index: number): { readonly first: number; readonly pages: number } {
    const { first, pages } = leaf.overflow(index)
    const length = leaf.valueBytes(index)
    const needed = Math.ceil((PAGE_HEADER_BYTES + length) / this.meta.pageBytes)
    if (pages < needed) {
      throw new DamagedPage(leaf.number, `entry ${index} has ${length} bytes on ${pages} pages`)
    }
    this.#requirePages(first, pages)
    return { first, pages }
  }

  #readOverflow({ first, pages }: { first: number; pages: number }, bytes: Buffer): void {
    this.#readPages(first, bytes)
    const fault = overflowFault(first, pages, bytes)
    if (fault) throw new DamagedPage(first, fault)
    this.#requirePast(first, bytes)
  }

  #requirePages(first: number, count: number): void {
    const { pageMax } = this.meta
    if (first < META_PAGES || first + count - 1 > pageMax) {
      throw new DamagedPage(first, `it was referenced, but the store has pages 2 to ${pageMax}`)
    }
  }

  /** A page that was written later than the state it is read in belongs to another state. */
  #requirePast(number: number, header: Buffer): void {
    const transaction = readNumber(header, 8)
    if (transaction !== NO_PAGE && transaction <= this.meta.transaction) return
    throw new DamagedPage(
      number,
      `it was written by transaction ${transaction}, the store is at ${this.meta.transaction}`,
    )
  }

  #readPages(first: number, bytes: Buffer): void {
    const read = this.#read(bytes, first * this.meta.pageBytes)
    if (read < bytes.length) throw new DamagedPage(first, 'it lies beyond the end of the file')
  }

  #read(bytes: Buffer, position: number): number {
    return this.#explained(() => {
      let read = 0
      while (read < bytes.length) {
        const more = readSync(this.#file, bytes, read, bytes.length - read, position + read)
        if (more === 0) break
        read += more
      }
      return read
    })
  }

  #explained<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw readError(this.#path, error)
    }
  }

  #readHead(pageBytes: number): Buffer {
    const length = pageBytes + META_BYTES
    if (this.#scratch.length !== length) this.#scratch = Buffer.allocUnsafeSlow(length)
    const read = this.#read(this.#scratch, 0)
    return read === length ? this.#scratch : this.#scratch.subarray(0, read)
  }

  #newest(head: Buffer): Meta {
    if (head.length === 0) throw new PrestigeError('CONTENT_CORRUPT', `${this.#path} is empty.`)
    const first = parseMeta(0, head)
    const { pageBytes } = first
    const whole = pageBytes + META_BYTES === head.length ? head : this.#readHead(pageBytes)
    const second = parseMeta(1, whole.subarray(pageBytes))
    const meta = first.transaction >= second.transaction ? first : second
    requireTrees(0, first, second)
    requireTrees(1, second, first)
    if (second.pageBytes !== pageBytes) {
      throw new DamagedPage(1, `its page size is ${second.pageBytes}, that of page 0 ${pageBytes}`)
    }
    return meta
  }

  /** The first meta page gives the place of the second. If the first is lost, every page size is tried. */
  #metaAt(index: number, pageBytes: number | undefined): Meta {
    const bytes = Buffer.alloc(META_BYTES)
    const at = (place: number) => parseMeta(index, bytes.subarray(0, this.#read(bytes, place)))
    if (index === 0) return at(0)
    if (pageBytes !== undefined) return at(pageBytes)
    for (let size = 512; size <= 65_536; size *= 2) {
      try {
        const meta = at(size)
        if (meta.pageBytes === size) return meta
      } catch (error) {
        if (!(error instanceof DamagedPage)) throw error
      }
    }
    return at(PAGE_BYTES_LIKELY)
  }

  /** Every commit rewrites the root of the main tree. Another root belongs to another commit than the meta page says. */
  requireRoot({ main, transaction }: Meta = this.meta): void {
    if (main.root === NO_PAGE) return
    const root = this.page(main.root)
    if (root.transaction === transaction) return
    throw new DamagedPage(
      main.root,
      `it was written by transaction ${root.transaction}, but is the root as of transaction ${transaction}`,
    )
  }

  #refuseTruncated(): void {
    if (missingPages(this) > 0) throw new PrestigeError('CONTENT_CORRUPT', truncatedText(this))
  }
}

/** Pages that the meta page counts, the file does not have, and nothing says are free. */
export function missingPages(file: DataFile): number {
  const { pagesInFile, meta } = file
  // LMDB does not write pages at the end that were freed by the transaction that added them.
  const free = new Set<number>()
  try {
    for (const page of freePages(file))
      if (page >= pagesInFile && page <= meta.pageMax) free.add(page)
  } catch (error) {
    if (!(error instanceof DamagedPage)) throw error
  }
  return Math.max(0, meta.pageMax + 1 - pagesInFile - free.size)
}

export function truncatedText({ meta, pagesInFile }: DataFile): string {
  return `data.mdb is truncated: its header promises ${meta.pageMax + 1} pages, the file has ${pagesInFile}. Bring back a copy, or run \`prestige verify\` to see what can still be read.`
}

function sameMetas(one: Buffer, other: Buffer, pageBytes: number): boolean {
  if (one.length !== other.length) return false
  const end = pageBytes + META_BYTES
  return (
    one.compare(other, 0, META_BYTES, 0, META_BYTES) === 0 &&
    one.compare(other, pageBytes, end, pageBytes, end) === 0
  )
}

function openForReading(path: string, directory: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') throw readError(path, error)
    throw storeMissing(directory)
  }
}

function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}

/** A read that failed says nothing about what is stored. */
function readError(path: string, error: unknown): PrestigeError {
  return new PrestigeError(
    'BACKEND_UNAVAILABLE',
    `${path} cannot be read (${errnoOf(error)}). Nothing is known about what it holds; check the disk and the permissions.`,
    { cause: error },
  )
}

/**
 * Raises CONTENT_CORRUPT where LMDB would crash at opening (no LMDB file, damaged at its head, or cut), and
 * FORMAT_UNSUPPORTED where a free list was written by lmdb 3, which the version used here would misread.
 */
export function checkHead(directory: string, isFreeListKnown: boolean): void {
  const file = new DataFile(directory)
  try {
    file.refresh()
    if (isFreeListKnown || !hasRuns(file)) return
    throw new PrestigeError(
      'FORMAT_UNSUPPORTED',
      `${directory} was written by an earlier version, and can only be read by this one. Copy it: prestige export --archive FILE --store ${directory}, then prestige import --archive FILE --store NEW.`,
    )
  } finally {
    file.close()
  }
}
