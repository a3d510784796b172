/**
 * A position in one tree. It moves from key to key in byte order.
 *
 * Invariant: a key that is in the tree is found, or an error is raised. A damaged separator in a branch page sends a
 * search to a leaf beside the right one, where the key then lies before the first or behind the last key: so in these
 * two cases the neighbouring leaf is looked at as well. That leaves follow each other in order is checked on the way.
 */

import type { Bytes } from '../../../platform/bytes.ts'
import type { DataFile } from './data-file.ts'
import { DamagedPage, NO_PAGE, type Page, type TreeRecord } from './format.ts'
import { levelFault } from './free-list.ts'

interface Step {
  readonly page: Page
  index: number
}

export class Cursor {
  readonly #file: DataFile
  readonly #tree: TreeRecord
  /** From the root to the leaf. */
  #path: Step[] = []

  constructor(file: DataFile, tree: TreeRecord) {
    this.#file = file
    this.#tree = tree
  }

  get key(): Buffer {
    const { page, index } = this.#leaf
    return page.key(index)
  }

  /** A copy. */
  get value(): Buffer {
    const { page, index } = this.#leaf
    return this.#file.value(page, index)
  }

  get leaf(): { readonly page: Page; readonly index: number } {
    return this.#leaf
  }

  isAt(key: Bytes): boolean {
    const { page, index } = this.#leaf
    return page.compare(index, key) === 0
  }

  isBefore(key: Bytes): boolean {
    const { page, index } = this.#leaf
    return page.compare(index, key) < 0
  }

  /** Goes to the first key that is not before this one. False: there is none. */
  seek(key: Bytes): boolean {
    this.#path = []
    if (this.#tree.root === NO_PAGE) return false
    this.#descend(this.#path, this.#tree.root, (page) => placeOf(page, key))
    const { page, index } = this.#leaf
    if (index === 0 && page.compare(0, key) !== 0) this.#requireBefore(key)
    if (index < page.count) return true
    if (!this.#nextLeaf()) return false
    if (this.#leaf.page.compare(0, key) <= 0) throw this.#misplaced()
    return true
  }

  /** False: there is no further key. */
  next(): boolean {
    const leaf = this.#leaf
    leaf.index++
    return leaf.index < leaf.page.count || this.#nextLeaf()
  }

  get #leaf(): Step {
    const leaf = this.#path.at(-1)
    if (leaf === undefined) throw new Error('This cursor is nowhere: seek first.')
    return leaf
  }

  #descend(path: Step[], from: number, choose: (page: Page) => number): void {
    for (let number = from; ;) {
      const page = this.#file.page(number)
      const fault = levelFault(page, path.length + 1, this.#tree.depth)
      if (fault) throw new DamagedPage(number, fault)
      const index = choose(page)
      path.push({ page, index })
      if (page.isLeaf) return
      number = page.child(index)
    }
  }

  #nextLeaf(): boolean {
    const before = this.#leaf.page
    const path = [...this.#path]
    path.pop()
    for (let step = path.pop(); step; step = path.pop()) {
      if (step.index + 1 >= step.page.count) continue
      const next = { page: step.page, index: step.index + 1 }
      path.push(next)
      this.#descend(path, next.page.child(next.index), () => 0)
      this.#path = path
      if (this.#leaf.page.compare(0, before.key(before.count - 1)) <= 0) throw this.#misplaced()
      return true
    }
    return false
  }

  /** The leaf to the left, if there is one, ends before this key. */
  #requireBefore(key: Bytes): void {
    const path = [...this.#path]
    path.pop()
    for (let step = path.pop(); step; step = path.pop()) {
      if (step.index === 0) continue
      path.push(step)
      this.#descend(path, step.page.child(step.index - 1), (page) => page.count - 1)
      const last = path.at(-1)
      if (last && last.page.compare(last.index, key) >= 0) throw this.#misplaced()
      return
    }
  }

  #misplaced(): DamagedPage {
    const { number } = this.#leaf.page
    return new DamagedPage(number, 'its keys are not where the pages above it say')
  }
}

/** Of a leaf: the first key that is not before this one. Of a branch: the child that this key belongs to. */
function placeOf(page: Page, key: Bytes): number {
  let low = page.isLeaf ? 0 : 1
  let high = page.count
  while (low < high) {
    const middle = (low + high) >> 1
    const order = page.compare(middle, key)
    if (order < 0 || (order === 0 && !page.isLeaf)) low = middle + 1
    else high = middle
  }
  return page.isLeaf ? low : low - 1
}
