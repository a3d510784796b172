/** Rows that lie amid the parts of many vectors: by Lloyd's k-means, of every group of parts by itself. */

import { type FloatTable, NEAREST_MAX, randomWords } from '../../fingerprint/index.ts'

const SEED = 384
/** Fills the table. Vectors lie side by side; there is one at least. `turn` is called often. */
export async function kMeans(
  table: FloatTable,
  vectors: Float32Array,
  rounds: number,
  turn: () => Promise<void>,
): Promise<void> {
  const { groups, width, nearestMax: slice = NEAREST_MAX } = table.shape
  const count = vectors.length / groups / width
  const random = randomWords(SEED)
  const numbers = chosenRows(table, vectors, random)
  table.useRows(numbers)
  for (let round = 0; round < rounds; round++) {
    const means = new Means(table)
    for (let from = 0; from < count; from += slice) {
      const some = Math.min(slice, count - from)
      const parts = vectors.subarray(from * groups * width, (from + some) * groups * width)
      means.add(parts, some, table.nearest(parts, some))
      await turn()
    }
    means.into(numbers, (group, row) => {
      // A row that is nearest to none moves to a vector.
      const vector = random() % count
      const at = (vector * groups + group) * width
      numbers.set(vectors.subarray(at, at + width), row * width)
    })
    table.useRows(numbers)
  }
}

/** Vectors at equal distances, from a random one on, so that no two rows are the same vector unless there are too few. */
function chosenRows(
  { shape: { groups, rows, width } }: FloatTable,
  vectors: Float32Array,
  random: () => number,
): Float32Array {
  const count = vectors.length / groups / width
  const numbers = new Float32Array(groups * rows * width)
  const first = random() % count
  for (let row = 0; row < groups * rows; row++) {
    const group = Math.floor(row / rows)
    const vector = (first + Math.floor(((row % rows) * count) / rows)) % count
    const at = (vector * groups + group) * width
    numbers.set(vectors.subarray(at, at + width), row * width)
  }
  return numbers
}

class Means {
  readonly #table: FloatTable
  readonly #sums: Float64Array
  readonly #counts: Uint32Array

  constructor(table: FloatTable) {
    const { groups, rows, width } = table.shape
    this.#table = table
    this.#sums = new Float64Array(groups * rows * width)
    this.#counts = new Uint32Array(groups * rows)
  }

  add(vectors: Float32Array, count: number, nearest: Uint32Array): void {
    const { groups, rows, width } = this.#table.shape
    for (let at = 0; at < nearest.length; at++) {
      const group = Math.floor(at / count)
      const row = group * rows + (nearest[at] ?? 0)
      this.#counts[row] = (this.#counts[row] ?? 0) + 1
      let from = ((at % count) * groups + group) * width
      for (let sum = row * width; sum < (row + 1) * width; sum++) {
        this.#sums[sum] = (this.#sums[sum] ?? 0) + (vectors[from++] ?? 0)
      }
    }
  }

  into(numbers: Float32Array, onEmpty: (group: number, row: number) => void): void {
    const { rows, width } = this.#table.shape
    this.#counts.forEach((count, row) => {
      if (count === 0) return onEmpty(Math.floor(row / rows), row)
      for (let at = row * width; at < (row + 1) * width; at++) {
        numbers[at] = (this.#sums[at] ?? 0) / count
      }
    })
  }
}
