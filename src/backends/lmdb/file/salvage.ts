/**
 * Every row of a space that can still be read, and the ranges of keys that cannot.
 *
 * Rows come in the order of the pages. Keys are whole, their namespace in front. A row may be wrong where the file is
 * damaged: values have no checksum here, and whoever takes rows over checks them.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { concat } from '../../../platform/bytes.ts'
import { DataFile } from './data-file.ts'
import { DamagedPage, type Page, type TreeRecord, orDamage } from './format.ts'
import { type KeyBounds, pagesOf } from './traversal.ts'

export interface SalvagedRow {
  readonly key: Buffer
  readonly value: Buffer
  /** The key is not where it belongs: it is damaged, or the way to it is, or it is of another space. */
  readonly isMisplaced: boolean
}

/** Keys from `low`, up to and without `high`, may be missing; nothing: without a bound. */
export interface LostRange extends KeyBounds {
  readonly page: number
  readonly reason: string
}

const PAGES_A_TURN = 64

export async function* readableRows(
  directory: string,
  spaceName: string,
): AsyncGenerator<SalvagedRow | LostRange> {
  const file = new DataFile(directory)
  try {
    const { tree, damages } = findTree(file, spaceName)
    for (const { page, reason } of damages) yield { low: undefined, high: undefined, page, reason }
    if (tree) yield* rowsOf(file, tree)
  } finally {
    file.close()
  }
}

async function* rowsOf(file: DataFile, tree: TreeRecord): AsyncGenerator<SalvagedRow | LostRange> {
  let visited = 0
  for (const visit of pagesOf(file, tree, once())) {
    const { low, high } = visit
    const damage = 'damage' in visit ? visit.damage : damageOf(visit.page)
    if (damage) yield { low, high, page: damage.page, reason: damage.reason }
    if ('page' in visit && visit.page.isLeaf) yield* rowsOfLeaf(file, visit.page, visit)
    visited++
    if (visited % PAGES_A_TURN === 0) await nextTurn()
  }
}

/** Then nobody knows how many entries the page had. */
function damageOf(page: Page): DamagedPage | undefined {
  const fault = page.fault()
  return fault ? new DamagedPage(page.number, fault) : undefined
}

/** In the newest commit; if the way to it is lost there, in the one before, whose pages are not yet used again. */
function findTree(file: DataFile, name: string) {
  const { sound, faults } = file.metas()
  const damages: DamagedPage[] = [...faults]
  for (const meta of sound) {
    file.use(meta)
    let isWhole = true
    for (const visit of pagesOf(file, meta.main, once())) {
      const found =
        'damage' in visit ? visit.damage : orDamage(() => recordOf(file, visit.page, name))
      if (found instanceof DamagedPage) {
        damages.push(found)
        isWhole = false
      } else if (found) {
        return { tree: found, damages }
      }
    }
    if (isWhole) break
  }
  return { tree: undefined, damages }
}

function recordOf(file: DataFile, page: Page, name: string): TreeRecord | DamagedPage | undefined {
  for (let index = 0; page.isLeaf && index < page.count; index++) {
    if (page.nodeFault(index) || page.treeName(index) !== name) continue
    return page.tree(index, file.meta.pageMax)
  }
  return damageOf(page)
}

function* rowsOfLeaf(
  file: DataFile,
  page: Page,
  bounds: KeyBounds,
): Generator<SalvagedRow | LostRange> {
  for (let index = 0; index < page.count; index++) {
    if (page.nodeFault(index)) continue
    const key = Buffer.from(page.key(index))
    const value = orDamage(() => file.value(page, index))
    if (value instanceof DamagedPage) {
      yield { low: key, high: concat(key, Buffer.of(0)), page: value.page, reason: value.reason }
    } else {
      yield { key, value, isMisplaced: page.isTree(index) || isMisplaced(page, index, bounds) }
    }
  }
}

function isMisplaced(page: Page, index: number, { low, high }: KeyBounds): boolean {
  const key = page.key(index)
  const isReadable = (at: number) => at >= 0 && at < page.count && !page.nodeFault(at)
  return (
    (low !== undefined && key.compare(low) < 0) ||
    (high !== undefined && key.compare(high) >= 0) ||
    (isReadable(index - 1) && page.compare(index - 1, key) >= 0) ||
    (isReadable(index + 1) && page.compare(index + 1, key) <= 0)
  )
}

function once(): (page: number) => boolean {
  const seen = new Set<number>()
  return (page) => {
    if (seen.has(page)) return false
    seen.add(page)
    return true
  }
}
