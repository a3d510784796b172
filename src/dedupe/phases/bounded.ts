/**
 * Counts that stay small however long a run is: what does not fit is summed up, and never lost from the sum.
 *
 * Names come from documents, so records have no prototype: `__proto__` is a source like any other.
 */

/** Maximum number of sources, and of pairs of them, that are counted separately in one run. */
const NAMES_MAX = 65_536

export type Counts = Record<string, number>

export function emptyRecord<T>(): Record<string, T> {
  return Object.create(null)
}

export function countIn(counts: Counts, name: string, number = 1): void {
  counts[name] = (counts[name] ?? 0) + number
}

/** What is counted by name. Names that come when there are too many share one count. */
export class ByName<T> {
  readonly record: Record<string, T> = emptyRecord()
  readonly others: T
  readonly #make: () => T
  #size = 0

  constructor(make: () => T) {
    this.#make = make
    this.others = make()
  }

  of(name: string): T {
    const known = this.record[name]
    if (known !== undefined) return known
    if (this.#size === NAMES_MAX) return this.others
    this.#size++
    const made = this.#make()
    this.record[name] = made
    return made
  }
}

export interface PairCounts {
  readonly counts: Readonly<Record<string, Counts>>
  /** Of pairs that came when there were too many. */
  readonly others: number
}

/** Counts by two names: which first met which second. */
export class ByPair implements PairCounts {
  readonly counts: Record<string, Counts> = emptyRecord()
  others = 0
  #size = 0

  add(first: string, second: string): void {
    const row = this.counts[first]
    if (row?.[second] !== undefined) row[second]++
    else if (this.#size === NAMES_MAX) this.others++
    else {
      this.#size++
      const made = row ?? emptyRecord<number>()
      made[second] = 1
      this.counts[first] = made
    }
  }

  toJSON(): PairCounts {
    return { counts: this.counts, others: this.others }
  }
}

/** The first few by an order, of however many are shown to it. */
export class Top<T> {
  readonly #compare: (one: T, other: T) => number
  readonly #max: number
  #items: T[] = []

  constructor(max: number, compare: (one: T, other: T) => number) {
    this.#max = max
    this.#compare = compare
  }

  add(item: T): void {
    const last = this.#items[this.#max - 1]
    if (last !== undefined && this.#compare(item, last) >= 0) return
    this.#items = [...this.#items, item].toSorted(this.#compare).slice(0, this.#max)
  }

  get items(): readonly T[] {
    return this.#items
  }
}
