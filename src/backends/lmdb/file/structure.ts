/**
 * Checks the structure of data.mdb without LMDB: every tree of the newest commit, page by page.
 *
 * What a lookup relies on and a scan never notices is checked too: that the keys of a page are those that the pages
 * above it send lookups there for. Values are not checked: this layer has no checksums.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { PrestigeError } from '../../../platform/errors.ts'
import { DataFile, missingPages, truncatedText } from './data-file.ts'
import {
  DamagedPage,
  META_PAGES,
  type Page,
  readNumber,
  type TreeRecord,
  orDamage,
} from './format.ts'
import { pagesListed } from './free-list.ts'
import { type KeyBounds, pagesOf } from './traversal.ts'

export interface StructureProblem {
  /** The space, or the part of the file: `header`, `main tree`, `free list`. */
  readonly tree: string
  readonly page: number
  readonly reason: string
}

export interface StructureReport {
  /** The commit that was checked; 0 if there is none that can be read. */
  readonly transaction: number
  readonly pages: number
  readonly entries: number
  readonly problems: readonly StructureProblem[]
}

const ATTEMPTS_MAX = 3
const PAGES_A_TURN = 128

/** Writers may go on; a check that they overtook is repeated. */
export async function checkStructure(directory: string): Promise<StructureReport> {
  const file = new DataFile(directory)
  try {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const report = await new Inspection(file).report()
      const isOvertaken = (file.metas().sound[0]?.transaction ?? 0) !== report.transaction
      if (report.problems.length === 0 || !isOvertaken) return report
    }
  } finally {
    file.close()
  }
  throw new PrestigeError(
    'CONTENDED',
    `The store at ${directory} was written to while its structure was checked. Stop its writers and check again.`,
  )
}

/** What a tree is for, and how its keys are ordered. */
interface Subject {
  readonly name: string
  readonly kind: 'free' | 'main' | 'space'
  readonly order: (one: Buffer, other: Buffer) => number
}

const byBytes: Subject['order'] = (one, other) => one.compare(other)
const FREE: Subject = {
  name: 'free list',
  kind: 'free',
  order: (one, other) => readNumber(one, 0) - readNumber(other, 0),
}
const MAIN: Subject = { name: 'main tree', kind: 'main', order: byBytes }

interface Counts {
  branchPages: number
  leafPages: number
  overflowPages: number
  entries: number
  isWhole: boolean
}

class Inspection {
  readonly #file: DataFile
  readonly #problems: StructureProblem[] = []
  /** One byte a page of the file: whether a tree has it. */
  #used = new Uint8Array()
  readonly #free: number[] = []
  readonly #named: [string, TreeRecord][] = []
  #pages = 0
  #entries = 0

  constructor(file: DataFile) {
    this.#file = file
  }

  async report(): Promise<StructureReport> {
    const file = this.#file
    const { sound, faults } = file.metas()
    for (const fault of faults) this.#add('header', fault)
    const [newest] = sound
    if (newest === undefined) return this.#result(0)
    file.use(newest)
    this.#used = new Uint8Array(Math.min(file.pagesInFile, newest.pageMax + 1))
    if (missingPages(file) > 0) this.#problem('header', newest.pageMax, truncatedText(file))
    const root = orDamage(() => file.requireRoot())
    if (root instanceof DamagedPage) this.#add('header', root)
    await this.#checkTree(FREE, newest.free)
    await this.#checkTree(MAIN, newest.main)
    for (const [name, tree] of this.#named) {
      this.#entries += await this.#checkTree({ name, kind: 'space', order: byBytes }, tree)
    }
    this.#checkFreePages(newest.pageMax)
    return this.#result(newest.transaction)
  }

  #result(transaction: number): StructureReport {
    return { transaction, pages: this.#pages, entries: this.#entries, problems: this.#problems }
  }

  /** How many entries were found. */
  async #checkTree(subject: Subject, tree: TreeRecord): Promise<number> {
    const { name } = subject
    const counts = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0, isWhole: true }
    for (const visit of pagesOf(this.#file, tree, (page) => this.#claim(page))) {
      if ('damage' in visit) {
        this.#add(name, visit.damage)
        counts.isWhole = false
      } else {
        this.#checkPage(subject, visit.page, visit, counts)
      }
      if (this.#pages % PAGES_A_TURN === 0) await nextTurn()
    }
    for (const what of ['entries', 'branchPages', 'leafPages', 'overflowPages'] as const) {
      if (!counts.isWhole || counts[what] === tree[what]) continue
      this.#problem(name, tree.root, `${what}: ${tree[what]} recorded, ${counts[what]} found`)
    }
    return counts.entries
  }

  #checkPage(subject: Subject, page: Page, bounds: KeyBounds, counts: Counts): void {
    const fault = page.fault() ?? keysFault(page, bounds, subject)
    if (fault) this.#problem(subject.name, page.number, fault)
    if (page.isLeaf) counts.leafPages++
    else counts.branchPages++
    for (let index = 0; page.isLeaf && index < page.count; index++) {
      counts.entries++
      const damage = page.nodeFault(index) ?? orDamage(() => this.#checkEntry(subject, page, index))
      if (damage instanceof DamagedPage) this.#add(subject.name, damage)
      if (typeof damage === 'number') counts.overflowPages += damage
      else counts.isWhole = false
    }
  }

  /** How many pages its value has to itself. */
  #checkEntry({ name, kind }: Subject, page: Page, index: number): number {
    const file = this.#file
    let overflowPages = 0
    if (page.value(index) === undefined) {
      const { first, pages } = file.overflowRun(page, index)
      this.#claimRun(name, first, pages)
      overflowPages = pages
    }
    if (kind === 'free') {
      const list = pagesListed(page.number, file.value(page, index), file.meta.pageMax)
      for (const free of list) this.#free.push(free)
    } else if (kind === 'main') {
      this.#named.push([page.treeName(index), page.tree(index, file.meta.pageMax)])
    } else if (page.isTree(index)) {
      throw new DamagedPage(page.number, `entry ${index} is a tree inside a tree`)
    }
    return overflowPages
  }

  #claim(page: number): boolean {
    if (page >= this.#used.length) throw new DamagedPage(page, 'it lies beyond the end of the file')
    if (this.#used[page] === 1) return false
    this.#used[page] = 1
    this.#pages++
    return true
  }

  #claimRun(name: string, first: number, pages: number): void {
    for (let page = first; page < first + pages; page++) {
      if (!this.#claim(page)) this.#problem(name, page, 'it is referenced more than once')
    }
  }

  #checkFreePages(pageMax: number): void {
    const seen = new Set<number>()
    for (const page of this.#free) {
      if (page < META_PAGES || page > pageMax) this.#freeProblem(page, 'it is free, but not there')
      else if (this.#used[page] === 1) this.#freeProblem(page, 'it is free, but in use')
      else if (seen.has(page)) this.#freeProblem(page, 'it is listed as free more than once')
      seen.add(page)
    }
  }

  #freeProblem(page: number, reason: string): void {
    this.#problem('free list', page, reason)
  }

  #add(tree: string, { page, reason }: DamagedPage): void {
    this.#problem(tree, page, reason)
  }

  #problem(tree: string, page: number, reason: string): void {
    this.#problems.push({ tree, page, reason })
  }
}

/** Keys ascend, and are those that lookups are sent to this page for. */
function keysFault(
  page: Page,
  { low, high }: KeyBounds,
  { kind, order }: Subject,
): string | undefined {
  // The first key of a branch page stands for "everything before the second", whatever it is.
  const first = page.isLeaf ? 0 : 1
  for (let index = first; index < page.count; index++) {
    const key = page.key(index)
    if (kind === 'free' && key.length !== 8) return `key ${index} is not a transaction`
    if (index > first && order(page.key(index - 1), key) >= 0) return `key ${index} is out of order`
    if (low && order(key, low) < 0) return `key ${index} is below what the pages above it say`
    if (high && order(key, high) >= 0) return `key ${index} is above what the pages above it say`
  }
  return undefined
}
