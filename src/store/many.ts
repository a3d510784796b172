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
  /** Stops taking items; what is under way is finished, then the signal's reason is thrown. */
  readonly signal?: AbortSignal | undefined
}

export type Items<I> = Iterable<I> | AsyncIterable<I>

/** How to do one item. */
export interface Work<I, T> {
  keyOf(item: I): Key
  /** Bytes the item holds while it is under way. */
  weigh(item: I): number
  perform(item: I): Promise<T>
}

const UNDER_WAY_MAX = 256
const UNDER_WAY_BYTES_MAX = 32 * 1024 * 1024

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

async function* inOrder<I, T>(
  items: Items<I>,
  work: Work<I, T>,
  { signal }: ManyOptions,
): AsyncGenerator<Outcome<T>> {
  const underWay: UnderWay<T>[] = []
  let weight = 0
  const next = async (): Promise<Outcome<T> | undefined> => {
    const head = underWay.shift()
    weight -= head?.weight ?? 0
    return head?.outcome
  }
  try {
    for await (const item of items) {
      signal?.throwIfAborted()
      const itemWeight = work.weigh(item)
      underWay.push({ weight: itemWeight, outcome: outcomeOf(item, work) })
      weight += itemWeight
      while (underWay.length >= UNDER_WAY_MAX || weight > UNDER_WAY_BYTES_MAX) {
        const outcome = await next()
        if (outcome) yield outcome
      }
    }
    for (let outcome = await next(); outcome; outcome = await next()) yield outcome
    signal?.throwIfAborted()
  } finally {
    // Whoever stops early still finds everything that was begun ended.
    await Promise.all(underWay.map(({ outcome }) => outcome))
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
