/** The list of free pages: a tree whose keys are transactions and whose values are lists of page numbers. */

import type { DataFile } from './data-file.ts'
import { DamagedPage, NO_PAGE, type Page, readNumber } from './format.ts'

/** Every page that the list names, wherever it may lie. */
export function* freePages(file: DataFile): Generator<number> {
  for (const { page, list } of freeLists(file)) yield* pagesListed(page, list, file.meta.pageMax)
}

/** Whether a list has runs of pages, or empty places, which only lmdb 3 can continue. */
export function hasRuns(file: DataFile): boolean {
  for (const { list } of freeLists(file)) {
    for (let at = 8; at + 8 <= list.length; at += 8) {
      if (at <= 8 * readNumber(list, 0) && list.readBigInt64LE(at) <= 0n) return true
    }
  }
  return false
}

function* freeLists(file: DataFile): Generator<{ readonly page: number; readonly list: Buffer }> {
  const { root, depth } = file.meta.free
  if (root === NO_PAGE) return
  const seen = new Set<number>()
  const open = [{ number: root, level: 1 }]
  for (let next = open.pop(); next; next = open.pop()) {
    const { number, level } = next
    const page = file.load(number)
    const fault = page.fault() ?? levelFault(page, level, depth)
    if (fault) throw new DamagedPage(number, fault)
    if (seen.has(number)) throw new DamagedPage(number, 'it is referenced twice')
    seen.add(number)
    for (let index = 0; index < page.count; index++) {
      if (page.isLeaf) yield { page: number, list: file.value(page, index) }
      else open.push({ number: page.child(index), level: level + 1 })
    }
  }
}

/** Leaves are all at the same depth, and only there. */
export function levelFault(page: Page, level: number, depth: number): string | undefined {
  if (page.isLeaf === (level === depth)) return undefined
  const kind = page.isLeaf ? 'leaf' : 'branch'
  return `it is a ${kind} page at level ${level} of a tree of depth ${depth}`
}

/** A count, then the pages. lmdb 3 writes runs as a negative length and the first page. */
export function* pagesListed(page: number, list: Buffer, pageMax: number): Generator<number> {
  const places = Math.floor(list.length / 8)
  const count = places === 0 ? -1 : readNumber(list, 0)
  if (count < 0 || count >= places) throw new DamagedPage(page, 'its list of free pages is cut off')
  for (let at = 1; at <= count; at++) {
    const entry = Number(list.readBigInt64LE(8 * at))
    if (entry >= 0) {
      if (entry > 0) yield entry
      continue
    }
    at++
    const first = at <= count ? readNumber(list, 8 * at) : NO_PAGE
    if (first === NO_PAGE || -entry > pageMax) {
      throw new DamagedPage(page, 'its list of free pages is damaged')
    }
    for (let offset = 0; offset < -entry; offset++) yield first + offset
  }
}
