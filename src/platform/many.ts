/**
 * Many operations at once over arrays, iterables and async iterables: results in the order of the items,
 * a bounded number and weight of them under way, and one outcome an item, so that a bad item never hides
 * what became of the others.
 */

import { deadlineOf, timedOutError } from './deadline.ts'
import { PrestigeError, prestigeError } from './errors.ts'
import type { Bytes } from './bytes.ts'

type Key = string | Bytes

/** What became of one of many. */
export type ItemOutcome<T> =
  | { readonly key: Key; readonly ok: true; readonly result: T; readonly error?: undefined }
  | {
      readonly key: Key
      readonly ok: false
      readonly error: PrestigeError
      readonly result?: undefined
    }

export interface ManyOptions {
  /**
   * Stops taking items. What is under way is finished, and reported where outcomes are taken bit by bit; then the
   * signal's reason is thrown.
   */
  readonly signal?: AbortSignal | undefined
  /** Stops taking items after so many milliseconds, and ends as with a signal: then `TIMED_OUT` is thrown. */
  readonly timeoutMs?: number | undefined
}

/** All there at once: an array, a Set. A string would be a list of letters, and is none. */
export type AtOnce<I> = Iterable<I> & object
export type Items<I> = AtOnce<I> | AsyncIterable<I>

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

/** What is there at once gives a promise of an array; what comes bit by bit gives outcomes bit by bit. */
export function many<I, T>(
  items: AsyncIterable<I>,
  work: Work<I, T>,
  options?: ManyOptions,
): AsyncGenerator<ItemOutcome<T>>
export function many<I, T>(
  items: Items<I>,
  work: Work<I, T>,
  options?: ManyOptions,
): Promise<ItemOutcome<T>[]> | AsyncGenerator<ItemOutcome<T>>
export function many<I, T>(
  items: Items<I>,
  work: Work<I, T>,
  options: ManyOptions = {},
): Promise<ItemOutcome<T>[]> | AsyncGenerator<ItemOutcome<T>> {
  if (typeof items !== 'object' || items === null || items instanceof Uint8Array) throw noItems()
  if (Symbol.asyncIterator in items) return inOrder(items[Symbol.asyncIterator](), work, options)
  if (Symbol.iterator in items) return toArray(inOrder(items[Symbol.iterator](), work, options))
  throw noItems()
}

function noItems(): PrestigeError {
  const message =
    'Give many: an array, another iterable or an async iterable. For one there is the plain verb.'
  return new PrestigeError('INVALID_OPTIONS', message)
}

async function toArray<T>(outcomes: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const outcome of outcomes) all.push(outcome)
  return all
}

interface UnderWay<T> {
  readonly name: string
  readonly weight: number
  readonly outcome: Promise<ItemOutcome<T>>
}

/** What is under way, in order, and whether there is room for more. */
class Window<T> {
  readonly #underWay: UnderWay<T>[] = []
  readonly #lastOfKey = new Map<string, Promise<unknown>>()
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

  /** Items of one key are done one after the other: the last of them wins, however long others take. */
  add(name: string, weight: number, begin: () => Promise<ItemOutcome<T>>): void {
    const before = this.#lastOfKey.get(name)
    const outcome = before ? before.then(begin) : begin()
    this.#lastOfKey.set(name, outcome)
    this.#underWay.push({ name, weight, outcome })
    this.#weight += weight
  }

  async next(): Promise<ItemOutcome<T> | undefined> {
    const head = this.#underWay.shift()
    if (head === undefined) return undefined
    const outcome = await head.outcome
    if (this.#lastOfKey.get(head.name) === head.outcome) this.#lastOfKey.delete(head.name)
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
  source: Iterator<I> | AsyncIterator<I>,
  work: Work<I, T>,
  options: ManyOptions,
): AsyncGenerator<ItemOutcome<T>> {
  options.signal?.throwIfAborted()
  const late = (ms: number) => timedOutError('The work on many items', 'partial', ms)
  const deadline = deadlineOf(options.signal, options.timeoutMs, late)
  const { signal } = deadline
  const window = new Window<T>((result) => work.weighResult(result))
  const stop = stopOf(signal)
  let cut: Stopped | undefined
  try {
    for (;;) {
      const coming = take(source, signal, stop.requested)
      const taken = coming instanceof Promise ? await coming : coming
      if (taken === 'end') break
      if ('reason' in taken) {
        cut = taken
        break
      }
      const { item } = taken
      window.add(nameOf(item, work), weightOf(item, work), () => outcomeOf(item, work))
      while (window.isFull) {
        const outcome = await window.next()
        if (outcome) yield outcome
      }
    }
    for (let outcome = await window.next(); outcome; outcome = await window.next()) yield outcome
    if (cut) throw cut.reason
  } finally {
    // Whoever stops early still finds everything that was begun ended, and the source closed.
    deadline.clear()
    stop.forget()
    if (cut) void Promise.resolve(source.return?.()).catch(() => {})
    else await source.return?.()
    await window.ended()
  }
}

type Taken<I> = { readonly item: I } | Stopped | 'end'

/** The next item, unless the source fails or the signal comes first. No promise where none is needed. */
function take<I>(
  source: Iterator<I> | AsyncIterator<I>,
  signal: AbortSignal | undefined,
  stopped: Promise<Stopped> | undefined,
): Taken<I> | Promise<Taken<I>> {
  if (signal?.aborted) return { reason: signal.reason }
  try {
    const coming = source.next()
    if (!(coming instanceof Promise)) return takenOf(coming)
    const later = coming.then(takenOf, (reason: unknown) => ({ reason }))
    return stopped ? Promise.race([stopped, later]) : later
  } catch (reason) {
    return { reason }
  }
}

function takenOf<I>(next: IteratorResult<I>): Taken<I> {
  return next.done ? 'end' : { item: next.value }
}

interface Stopped {
  readonly reason: unknown
}

function stopOf(signal: AbortSignal | undefined): {
  requested: Promise<Stopped> | undefined
  forget: () => void
} {
  if (signal === undefined) return { requested: undefined, forget: () => {} }
  let listener = () => {}
  const requested = new Promise<Stopped>((resolve) => {
    listener = () => resolve({ reason: signal.reason })
    signal.addEventListener('abort', listener)
  })
  return { requested, forget: () => signal.removeEventListener('abort', listener) }
}

/** What cannot be weighed or named is no item, and its own outcome will say so. */
function weightOf<I, T>(item: I, work: Work<I, T>): number {
  try {
    return work.weigh(item)
  } catch {
    return 0
  }
}

/** The same for the same key, be it text or bytes. */
function nameOf<I, T>(item: I, work: Work<I, T>): string {
  try {
    return Buffer.from(work.keyOf(item)).toString('latin1')
  } catch {
    return ''
  }
}

async function outcomeOf<I, T>(item: I, work: Work<I, T>): Promise<ItemOutcome<T>> {
  let key: Key = ''
  try {
    key = work.keyOf(item)
    return { key, ok: true, result: await work.perform(item) }
  } catch (error) {
    return { key, ok: false, error: prestigeError(error) }
  }
}
