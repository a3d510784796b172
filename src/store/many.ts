/**
 * Many operations at once over arrays, iterables and async iterables: results in the order of the items,
 * a bounded number and weight of them under way, and one outcome an item, so that a bad item never hides
 * what became of the others.
 */

import type { Key } from './prepare.ts'

export type Outcome<T> =
  | { readonly key: Key; readonly ok: true; readonly result: T }
  | { readonly key: Key; readonly ok: false; readonly error: Error }

export interface ManyOptions {
  /** Stops taking items: what is under way is finished and told, then the signal's reason is thrown. */
  readonly signal?: AbortSignal | undefined
}

export type Items<I> = Iterable<I> | AsyncIterable<I>

/** How to do one item. */
export interface Work<I, T> {
  keyOf(item: I): Key
  /** Bytes the item brings with it. */
  weigh(item: I): number
  perform(item: I): Promise<T>
  /** Bytes its result holds. How many items are under way follows from what came out so far. */
  weighResult(result: T): number
}

const UNDER_WAY_MAX = 256
const UNDER_WAY_BYTES_MAX = 32 * 1024 * 1024
/** What a result is taken to weigh before any was seen: few are begun at first, more once they prove small. */
const RESULT_BYTES_GUESS = 2 * 1024 * 1024

/** Arrays in, a promise of an array out; anything else in, an async iterable out. */
export function many<I, T>(
  items: Items<I>,
  work: Work<I, T>,
  options: ManyOptions = {},
): Promise<Outcome<T>[]> | AsyncGenerator<Outcome<T>> {
  const outcomes = inOrder(items, work, options)
  return Array.isArray(items) ? toArray(outcomes) : outcomes
}

async function toArray<T>(outcomes: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const outcome of outcomes) all.push(outcome)
  return all
}

interface UnderWay<T> {
  readonly weight: number
  readonly outcome: Promise<Outcome<T>>
}

/** What is under way, in order, and whether there is room for more. */
class Window<T> {
  readonly #underWay: UnderWay<T>[] = []
  readonly #weighResult: (result: T) => number
  #weight = 0
  #resultWeight = RESULT_BYTES_GUESS

  constructor(weighResult: (result: T) => number) {
    this.#weighResult = weighResult
  }

  get isFull(): boolean {
    const { length } = this.#underWay
    const bytes = this.#weight + length * this.#resultWeight
    return length >= UNDER_WAY_MAX || (length > 0 && bytes > UNDER_WAY_BYTES_MAX)
  }

  add(weight: number, outcome: Promise<Outcome<T>>): void {
    this.#underWay.push({ weight, outcome })
    this.#weight += weight
  }

  async next(): Promise<Outcome<T> | undefined> {
    const head = this.#underWay.shift()
    if (head === undefined) return undefined
    const outcome = await head.outcome
    this.#weight -= head.weight
    const result = outcome.ok ? this.#weighResult(outcome.result) : 0
    this.#resultWeight = Math.max(result, this.#resultWeight * 0.8)
    return outcome
  }

  async ended(): Promise<void> {
    await Promise.all(this.#underWay.map(({ outcome }) => outcome))
  }
}

async function* inOrder<I, T>(
  items: Items<I>,
  work: Work<I, T>,
  { signal }: ManyOptions,
): AsyncGenerator<Outcome<T>> {
  const window = new Window<T>((result) => work.weighResult(result))
  try {
    signal?.throwIfAborted()
    let isCutOff = false
    for await (const item of items) {
      isCutOff = signal?.aborted === true
      if (isCutOff) break
      window.add(work.weigh(item), outcomeOf(item, work))
      while (window.isFull) {
        const outcome = await window.next()
        if (outcome) yield outcome
      }
    }
    for (let outcome = await window.next(); outcome; outcome = await window.next()) yield outcome
    if (isCutOff) signal?.throwIfAborted()
  } finally {
    // Whoever stops early still finds everything that was begun ended.
    await window.ended()
  }
}

async function outcomeOf<I, T>(item: I, work: Work<I, T>): Promise<Outcome<T>> {
  const key = work.keyOf(item)
  try {
    return { key, ok: true, result: await work.perform(item) }
  } catch (error) {
    return { key, ok: false, error: error instanceof Error ? error : new Error(String(error)) }
  }
}
