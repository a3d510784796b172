/**
 * A map from strings to values that iterates in the order of its keys: short sorted runs, in order.
 *
 * Every operation is a binary search for the run and one within it; a run that grows past its limit is
 * cut in two. Simple, and fast enough for the memory backend; not a database.
 */

const RUN_MAX = 512

interface Run<V> {
  readonly keys: string[]
  readonly values: V[]
}

export class OrderedMap<V> {
  readonly #runs: Run<V>[] = [{ keys: [], values: [] }]
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: string): V | undefined {
    const { run, at, found } = this.#place(key)
    return found ? run.values[at] : undefined
  }

  set(key: string, value: V): void {
    const { run, runAt, at, found } = this.#place(key)
    if (found) {
      run.values[at] = value
      return
    }
    run.keys.splice(at, 0, key)
    run.values.splice(at, 0, value)
    this.#size++
    if (run.keys.length > RUN_MAX) this.#cut(run, runAt)
  }

  delete(key: string): boolean {
    const { run, runAt, at, found } = this.#place(key)
    if (!found) return false
    run.keys.splice(at, 1)
    run.values.splice(at, 1)
    this.#size--
    if (run.keys.length === 0 && this.#runs.length > 1) this.#runs.splice(runAt, 1)
    return true
  }

  /** Up to `limit` entries from `start` (inclusive), before `end`, as they are now. */
  slice(start: string, end: string | undefined, limit: number): [string, V][] {
    const found: [string, V][] = []
    const place = this.#place(start)
    let { runAt, at } = place
    for (; runAt < this.#runs.length; runAt++, at = 0) {
      const run = this.#runs[runAt]
      if (run === undefined) break
      for (; at < run.keys.length; at++) {
        const key = run.keys[at]
        if (key === undefined || found.length >= limit) return found
        if (end !== undefined && key >= end) return found
        found.push([key, run.values[at] as V]) // safe: keys and values of a run have the same length
      }
    }
    return found
  }

  #cut(run: Run<V>, runAt: number): void {
    const middle = run.keys.length >> 1
    this.#runs.splice(runAt + 1, 0, {
      keys: run.keys.splice(middle),
      values: run.values.splice(middle),
    })
  }

  #place(key: string): { run: Run<V>; runAt: number; at: number; found: boolean } {
    const runAt = Math.max(0, lastAtMost(this.#runs, key))
    const run = this.#runs[runAt] as Run<V> // safe: there is always at least one run
    const at = firstAtLeast(run.keys, key)
    return { run, runAt, at, found: run.keys[at] === key }
  }
}

/** The last run that starts at or before the key; -1 when all start after it. */
function lastAtMost<V>(runs: readonly Run<V>[], key: string): number {
  let low = 0
  let high = runs.length
  while (low < high) {
    const middle = (low + high) >> 1
    const start = runs[middle]?.keys[0]
    if (start === undefined || start <= key) low = middle + 1
    else high = middle
  }
  return low - 1
}

function firstAtLeast(keys: readonly string[], key: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((keys[middle] as string) < key) low = middle + 1 // safe: middle is within bounds
    else high = middle
  }
  return low
}
