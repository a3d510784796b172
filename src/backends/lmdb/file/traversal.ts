/** Every page of a tree in key order, with the keys that the pages above it allow; what is damaged is passed over. */

import type { DataFile } from './data-file.ts'
import { DamagedPage, NO_PAGE, orDamage, type Page, type TreeRecord } from './format.ts'
import { levelFault } from './free-list.ts'

/** LMDB's flag of a tree whose keys are numbers, as those of the free list are. */
const INTEGER_KEYS = 8

/** From `low`, up to and without `high`; nothing: without a bound. */
export interface KeyBounds {
  readonly low: Buffer | undefined
  readonly high: Buffer | undefined
}

export type Visit = KeyBounds & ({ readonly page: Page } | { readonly damage: DamagedPage })

interface Place extends KeyBounds {
  readonly level: number
  readonly child: number | DamagedPage
}

/**
 * Only headers are checked, so single entries of a page may be damaged (`nodeFault`). `claim` says whether a page is
 * met for the first time: so this ends, whatever the pages say.
 */
export function* pagesOf(
  file: DataFile,
  { root, depth, flags }: TreeRecord,
  claim: (page: number) => boolean,
): Generator<Visit> {
  if (root === NO_PAGE) return
  const open: Place[] = [{ child: root, level: 1, low: undefined, high: undefined }]
  for (let place = open.pop(); place; place = open.pop()) {
    const { low, high, level } = place
    const found = orDamage(() => pageAt(file, place, depth, claim))
    if (found instanceof DamagedPage) {
      yield { low, high, damage: found }
      continue
    }
    yield { low, high, page: found }
    if (found.isLeaf) continue
    // Separators of a page that is damaged somewhere are not to be relied on, but those above it are.
    const isReliable = !(found.fault() ?? (flags & INTEGER_KEYS ? undefined : found.orderFault()))
    for (let index = found.count - 1; index >= 0; index--) {
      const bounds = isReliable ? boundsOf(found, index, place) : { low, high }
      open.push({ ...bounds, level: level + 1, child: childOf(found, index) })
    }
  }
}

function pageAt(
  file: DataFile,
  { child, level }: Place,
  depth: number,
  claim: (page: number) => boolean,
): Page {
  if (child instanceof DamagedPage) throw child
  const page = file.load(child)
  const fault = levelFault(page, level, depth)
  if (fault) throw new DamagedPage(child, fault)
  if (!claim(child)) throw new DamagedPage(child, 'it is referenced more than once')
  return page
}

function childOf(page: Page, index: number): number | DamagedPage {
  const fault = page.nodeFault(index)
  return fault ? new DamagedPage(page.number, fault) : page.child(index)
}

function boundsOf(page: Page, index: number, { low, high }: KeyBounds): KeyBounds {
  return {
    low: index === 0 ? low : page.key(index),
    high: index + 1 < page.count ? page.key(index + 1) : high,
  }
}
