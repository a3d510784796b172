/**
 * Vectors in lists, each with the centre it is nearest to, as product codes of what separates them from it. All of that
 * is in rotated numbers, which spread evenly over the parts that codes stand for; directions come and are asked as they are.
 *
 * The product of a query with a vector is about its product with the centre, and a number for every code: so a search
 * computes one table, adds up codes of the lists whose centres are nearest to the query, and proposes the greatest sums.
 * What it proposes is to be measured. A list is a chain of blocks; blocks that become empty are used again.
 */

import {
  CODED_ROWS,
  type FloatTable,
  floatTable,
  type KernelsName,
  NEAREST_MAX,
  rowInPage,
  SUMS_MAX,
  type SummedCodes,
  summedCodes,
  uint32Rows,
} from '../../fingerprint/index.ts'
import { kMeans } from './k-means.ts'
import { learnedRotation } from './rotation.ts'

/** Numbers that one code stands for: of short vectors fewer, so that there are enough codes. */
const PART_WIDTHS = [4, 8, 16] as const
const PARTS_WANTED = 12
const ROUNDS = 6
/** Products of numbers that are summed up before others may have their turn: two or three milliseconds. */
const SLICE = 2 ** 24
/** Vectors for every code that rotation and codes are learned from. */
const SAMPLE_OF_CODE = 64
/** Proposals are cut to the best when there are so many times as many as wanted. */
const CROWD = 4

export interface ListsShape {
  readonly dimensions: number
  readonly lists: number
}

export interface Proposed {
  readonly slots: readonly number[]
  /** About their cosines. */
  readonly scores: readonly number[]
}

/** Numbers of a vector in lists, filled up with zeros to whole parts. */
export function widthOf(dimensions: number): number {
  const part = partWidth(dimensions)
  return Math.ceil(dimensions / part) * part
}

function partWidth(dimensions: number): number {
  return PART_WIDTHS.findLast((width) => width * PARTS_WANTED <= dimensions) ?? PART_WIDTHS[0]
}

export class CodedLists {
  readonly shape: ListsShape
  /** Vectors that are added at a time, at most: others may have their turn after them. */
  readonly slice: number
  readonly #groups: number
  readonly #width: number
  readonly #rotation: FloatTable
  readonly #centres: FloatTable
  readonly #codebook: FloatTable
  readonly #codes: SummedCodes
  readonly #slots = uint32Rows(1)
  readonly #blocks: number[][]
  readonly #lengths: Uint32Array
  readonly #free: number[] = []
  #blockCount = 0

  constructor(shape: ListsShape, kernels?: KernelsName) {
    this.shape = shape
    this.#width = widthOf(shape.dimensions)
    const part = partWidth(shape.dimensions)
    this.#groups = this.#width / part
    const products = this.#width * Math.max(shape.lists, CODED_ROWS)
    this.slice = Math.max(1, Math.min(NEAREST_MAX, Math.floor(SLICE / products)))
    const table = (groups: number, rows: number, width: number, nearestMax = this.slice) =>
      floatTable({ groups, rows, width, nearestMax }, kernels)
    this.#rotation = table(1, this.#width, this.#width, 1)
    this.#centres = table(1, shape.lists, this.#width)
    this.#codebook = table(this.#groups, CODED_ROWS, part)
    this.#codes = summedCodes(this.#groups, kernels)
    this.#blocks = Array.from({ length: shape.lists }, () => [])
    this.#lengths = new Uint32Array(shape.lists)
  }

  /** Of memory. */
  get bytes(): number {
    const tables = this.#rotation.bytes + this.#centres.bytes + this.#codebook.bytes
    return tables + this.#codes.bytes + this.#slots.bytes
  }

  /** Learns centres, rotation and codes from directions that are typical, `widthOf` numbers each. */
  async train(sample: Float32Array, turn: () => Promise<void>): Promise<void> {
    await kMeans(this.#centres, sample, ROUNDS, turn)
    const count = Math.min(sample.length / this.#width, CODED_ROWS * SAMPLE_OF_CODE)
    const apart = sample.slice(0, count * this.#width)
    for (let from = 0; from < count; from += this.slice) {
      const some = Math.min(this.slice, count - from)
      this.#nearestAndApart(apart.subarray(from * this.#width, (from + some) * this.#width), some)
      await turn()
    }
    this.#rotation.useRows(await learnedRotation(apart, this.#width, this.#groups, turn))
    const centres = this.#centres.numbers()
    for (const vectors of [apart, centres]) await this.#rotateAll(vectors, turn)
    this.#centres.useRows(centres)
    await kMeans(this.#codebook, apart, ROUNDS, turn)
  }

  async #rotateAll(vectors: Float32Array, turn: () => Promise<void>): Promise<void> {
    for (let from = 0; from < vectors.length; from += this.#width) {
      this.#rotate(vectors.subarray(from, from + this.#width))
      await turn()
    }
  }

  #rotate(vector: Float32Array): void {
    vector.set(this.#rotation.products(vector))
  }

  /** The lists of these directions, from which their centres are taken away. */
  #nearestAndApart(units: Float32Array, count: number): Uint32Array {
    const lists = this.#centres.nearest(units, count).slice()
    let at = 0
    for (const list of lists) {
      for (const number of this.#centres.row(list)) {
        units[at] = (units[at] ?? 0) - number
        at++
      }
    }
    return lists
  }

  /** Adds slots with their directions, which are used up. */
  add(slots: readonly number[], units: Float32Array): void {
    const count = slots.length
    for (let at = 0; at < count; at++) {
      this.#rotate(units.subarray(at * this.#width, (at + 1) * this.#width))
    }
    const lists = this.#nearestAndApart(units, count)
    const nearest = this.#codebook.nearest(units, count)
    const codes = new Uint8Array(this.#groups)
    slots.forEach((slot, at) => {
      for (let group = 0; group < this.#groups; group++) {
        codes[group] = nearest[group * count + at] ?? 0
      }
      this.#append(lists[at] ?? 0, slot, codes)
    })
  }

  #append(list: number, slot: number, codes: Uint8Array): void {
    const length = this.#lengths[list] ?? 0
    if (length % SUMS_MAX === 0) this.#blocks[list]?.push(this.#free.pop() ?? this.#blockCount++)
    const row = this.#rowOf(list, length)
    this.#slots.reserve(row + 1)
    this.#slots.page(row)[rowInPage(row)] = slot
    this.#codes.put(row, codes)
    this.#lengths[list] = length + 1
  }

  #rowOf(list: number, at: number): number {
    return (this.#blocks[list]?.[Math.floor(at / SUMS_MAX)] ?? 0) * SUMS_MAX + (at % SUMS_MAX)
  }

  #slotAt(row: number): number {
    return this.#slots.page(row)[rowInPage(row)] ?? 0
  }

  /** Removes a slot, which is most likely in the list of its direction. */
  remove(slot: number, unit: Float32Array): void {
    const list = this.#centres.nearest(this.#rotation.products(unit), 1)[0] ?? 0
    if (this.#removeFrom(list, slot)) return
    for (let other = 0; other < this.shape.lists; other++) if (this.#removeFrom(other, slot)) return
  }

  #removeFrom(list: number, slot: number): boolean {
    const last = (this.#lengths[list] ?? 0) - 1
    for (let at = 0; at <= last; at++) {
      const row = this.#rowOf(list, at)
      if (this.#slotAt(row) !== slot) continue
      const lastRow = this.#rowOf(list, last)
      this.#slots.page(row)[rowInPage(row)] = this.#slotAt(lastRow)
      this.#codes.put(row, this.#codes.codesAt(lastRow))
      this.#lengths[list] = last
      if (last % SUMS_MAX === 0) this.#free.push(this.#blocks[list]?.pop() ?? 0)
      return true
    }
    return false
  }

  /** Slots that are likely among the nearest to a direction, about the nearest first. */
  propose(unit: Float32Array, probes: number, wanted: number): Proposed {
    const rotated = this.#rotation.products(unit)
    const products = this.#centres.products(rotated).slice()
    this.#codes.useTable(this.#codebook.products(rotated))
    const proposals = new Proposals(wanted)
    for (const list of nearestLists(products, this.#centres.halves(), probes)) {
      const product = products[list] ?? 0
      let left = this.#lengths[list] ?? 0
      for (const block of this.#blocks[list] ?? []) {
        const first = block * SUMS_MAX
        const sums = this.#codes.sums(first, Math.min(left, SUMS_MAX))
        proposals.offer(sums, product, this.#slots.page(first), rowInPage(first))
        left -= SUMS_MAX
      }
    }
    return proposals.best()
  }

  /** Everything, to be written; slots under the numbers that `rowOf` gives. */
  parts(rowOf: Uint32Array): Buffer[] {
    const total = this.#lengths.reduce((sum, length) => sum + length, 0)
    const slots = new Uint32Array(total)
    const codes = Buffer.allocUnsafe(total * this.#groups)
    let at = 0
    this.#lengths.forEach((length, list) => {
      for (let inList = 0; inList < length; inList++, at++) {
        const row = this.#rowOf(list, inList)
        slots[at] = rowOf[this.#slotAt(row)] ?? 0
        codes.set(this.#codes.codesAt(row), at * this.#groups)
      }
    })
    const { buffer } = this.#lengths.slice()
    const tables = [this.#rotation, this.#centres, this.#codebook].map((table) => table.numbers())
    return [
      ...tables.map((table) => Buffer.from(table.buffer)),
      Buffer.from(buffer),
      Buffer.from(slots.buffer),
      codes,
    ]
  }

  /** Takes in what `parts` gave, for as many slots; whether it is as long as that. */
  fill(bytes: Buffer, count: number): boolean {
    const { lists } = this.shape
    const lengths = [
      this.#width * this.#width * 4,
      lists * this.#width * 4,
      this.#width * CODED_ROWS * 4,
      lists * 4,
      count * 4,
      count * this.#groups,
    ]
    if (bytes.byteLength !== lengths.reduce((sum, length) => sum + length, 0)) return false
    let from = 0
    const [rotation, centres, codebook, listLengths, slots, codes] = lengths.map((length) => {
      from += length
      return Uint8Array.from(bytes.subarray(from - length, from))
    })
    if (!rotation || !centres || !codebook || !listLengths || !slots || !codes) return false
    this.#rotation.useRows(new Float32Array(rotation.buffer))
    this.#centres.useRows(new Float32Array(centres.buffer))
    this.#codebook.useRows(new Float32Array(codebook.buffer))
    const slotNumbers = new Uint32Array(slots.buffer)
    let at = 0
    new Uint32Array(listLengths.buffer).forEach((length, list) => {
      for (const end = at + length; at < end; at++) {
        const own = codes.subarray(at * this.#groups, (at + 1) * this.#groups)
        this.#append(list, slotNumbers[at] ?? 0, own)
      }
    })
    return at === count
  }
}

/** The nearest is the list that a vector in this direction is put into. */
function nearestLists(products: Float32Array, halves: Float32Array, probes: number): number[] {
  const lists: number[] = []
  const scores: number[] = []
  for (let list = 0; list < products.length; list++) {
    const score = (products[list] ?? 0) - (halves[list] ?? 0)
    if (lists.length === probes && score <= (scores.at(-1) ?? 0)) continue
    let at = lists.length
    while (at > 0 && (scores[at - 1] ?? 0) < score) at--
    lists.splice(at, 0, list)
    scores.splice(at, 0, score)
    if (lists.length > probes) [lists.length, scores.length] = [probes, probes]
  }
  return lists
}

class Proposals {
  readonly #wanted: number
  #slots: Uint32Array
  #scores: Float32Array
  #count = 0
  /** What scores less is not among the wanted. */
  #floor = -Infinity

  constructor(wanted: number) {
    this.#wanted = wanted
    this.#slots = new Uint32Array(wanted * CROWD + SUMS_MAX)
    this.#scores = new Float32Array(this.#slots.length)
  }

  /** As many sums as one call gives, at most. */
  offer(sums: Float32Array, product: number, slots: Uint32Array, from: number): void {
    const floor = this.#floor - product
    for (let at = 0; at < sums.length; at++) {
      const sum = sums[at] ?? 0
      if (sum <= floor) continue
      this.#slots[this.#count] = slots[from + at] ?? 0
      this.#scores[this.#count++] = sum + product
    }
    if (this.#count > this.#wanted * CROWD) this.#cut()
  }

  /** Leaves the wanted, in no order: numbers alone are sorted far quicker than what belongs to them. */
  #cut(): void {
    if (this.#count <= this.#wanted) return
    const sorted = this.#scores.subarray(0, this.#count).toSorted()
    this.#floor = sorted[this.#count - this.#wanted] ?? -Infinity
    let equals = this.#wanted - (this.#count - (sorted.lastIndexOf(this.#floor) + 1))
    let kept = 0
    for (let at = 0; at < this.#count; at++) {
      const score = this.#scores[at] ?? 0
      if (score < this.#floor || (score === this.#floor && equals-- <= 0)) continue
      this.#slots[kept] = this.#slots[at] ?? 0
      this.#scores[kept++] = score
    }
    this.#count = kept
  }

  best(): Proposed {
    this.#cut()
    const order = Array.from({ length: this.#count }, (_, at) => at)
    order.sort((first, second) => (this.#scores[second] ?? 0) - (this.#scores[first] ?? 0))
    return {
      slots: order.map((at) => this.#slots[at] ?? 0),
      scores: order.map((at) => this.#scores[at] ?? 0),
    }
  }
}
