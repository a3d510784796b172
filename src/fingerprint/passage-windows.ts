/**
 * Windows over the units of a text: every sequence of units that is as short as it may be, and what those of them that
 * many documents share cover of the text.
 *
 * A window is a minimal sequence of neighbouring units with at least so many words: from every unit on, and up to every
 * unit. So whatever is long enough and shared is covered from its first unit to its last, and nothing else is.
 */

import { mix, SHINGLE_MULTIPLIER } from './mix.ts'
import type { PassageUnits } from './passage-units.ts'

/** Hashes are whole numbers below 2^53: all of one half, and so many bits of the other. */
const LOW_BITS = 21

export interface PassageWindows {
  /** First and last unit of each window. */
  readonly first: Uint32Array
  readonly last: Uint32Array
  readonly hashes: Float64Array
}

export function passageWindows(units: PassageUnits, wordsMin: number): PassageWindows {
  const { first, last } = windowPlaces(units.halfWords, 2 * wordsMin)
  const [high, low] = [new Sums(units.high, HIGH_POWERS), new Sums(units.low, LOW_POWERS)]
  const hashes = new Float64Array(first.length)
  for (let at = 0; at < hashes.length; at++) {
    const [from, to] = [first[at] ?? 0, (last[at] ?? 0) + 1]
    const length = to - from
    hashes[at] =
      mix(high.between(from, to) + length) * 2 ** LOW_BITS +
      (mix(low.between(from, to) ^ length) >>> (32 - LOW_BITS))
  }
  return { first, last, hashes }
}

/** Every window once. */
function windowPlaces(sizes: Uint32Array, sizeMin: number): Omit<PassageWindows, 'hashes'> {
  // From every unit on, and up to every unit.
  const first = new Uint32Array(2 * sizes.length)
  const last = new Uint32Array(2 * sizes.length)
  let count = 0
  let from = 0
  let size = 0
  for (let to = 0; to < sizes.length; to++) {
    size += sizes[to] ?? 0
    const before = count
    // The shortest from each of these on; the last of them is the shortest up to this unit.
    for (; size >= sizeMin; from++) {
      first[count] = from
      last[count++] = to
      size -= sizes[from] ?? 0
    }
    if (count > before || count === 0) continue
    // No window from a unit on ends here; the shortest that does begins one before what is too short.
    first[count] = from - 1
    last[count++] = to
  }
  return { first: first.subarray(0, count), last: last.subarray(0, count) }
}

/** Powers of a multiplier: as many as the longest text so far has units. */
class Powers {
  readonly multiplier: number
  #values = Int32Array.of(1)

  constructor(multiplier: number) {
    this.multiplier = multiplier
  }

  upTo(length: number): Int32Array {
    const known = this.#values.length
    if (known > length) return this.#values
    const values = new Int32Array(Math.max(length + 1, 2 * known))
    values.set(this.#values)
    for (let at = known; at < values.length; at++) {
      values[at] = Math.imul(values[at - 1] ?? 1, this.multiplier)
    }
    return (this.#values = values)
  }
}

const HIGH_POWERS = new Powers(SHINGLE_MULTIPLIER)
const LOW_POWERS = new Powers(0xc2b2ae3d)

/** Hash sums of units up to each place, so that any window is one subtraction. */
class Sums {
  readonly #sums: Int32Array
  readonly #powers: Int32Array

  constructor(hashes: Uint32Array, powers: Powers) {
    const { multiplier } = powers
    this.#sums = new Int32Array(hashes.length + 1)
    this.#powers = powers.upTo(hashes.length)
    let sum = 0
    for (let at = 0; at < hashes.length; at++) {
      sum = (Math.imul(sum, multiplier) + (hashes[at] ?? 0)) | 0
      this.#sums[at + 1] = sum
    }
  }

  between(from: number, to: number): number {
    const before = Math.imul(this.#sums[from] ?? 0, this.#powers[to - from] ?? 1)
    return ((this.#sums[to] ?? 0) - before) | 0
  }
}

/** Units that shared windows cover, neighbours joined: first and last of each run. */
export interface UnitRun {
  readonly first: number
  readonly last: number
  /** The fewest documents that have one of its windows. */
  readonly documents: number
}

/** `documentsOf`: how many documents have a window; `undefined` if it is not shared by enough of them. */
export function sharedRuns(
  { first, last, hashes }: PassageWindows,
  documentsOf: (hash: number) => number | undefined,
): UnitRun[] {
  const shared: UnitRun[] = []
  for (let at = 0; at < hashes.length; at++) {
    const documents = documentsOf(hashes[at] ?? 0)
    if (documents !== undefined) {
      shared.push({ first: first[at] ?? 0, last: last[at] ?? 0, documents })
    }
  }
  const runs: UnitRun[] = []
  for (const window of shared.toSorted((one, other) => one.first - other.first)) {
    const run = runs.at(-1)
    if (!run || window.first > run.last + 1) runs.push(window)
    else {
      const documents = Math.min(run.documents, window.documents)
      runs[runs.length - 1] = {
        first: run.first,
        last: Math.max(run.last, window.last),
        documents,
      }
    }
  }
  return runs
}
