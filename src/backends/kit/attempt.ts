/**
 * One attempt of a body on an optimistic engine, and its replay.
 *
 * An attempt asks the engine for what it has not seen yet, answers the same cell the same way throughout,
 * and lets the body read its own writes. The replay runs the body again from what the attempt saw and
 * compares: a body that decides differently the second time is not a function of what it read.
 */

import { isDeepStrictEqual } from 'node:util'

import { PrestigeError } from '../../platform/errors.ts'
import type { Ask, Cell, Transaction } from '../contract.ts'
import { type Addition, cellName, type Draft, type ReadDraft, type Write } from './draft.ts'
import type { Versioned } from './optimistic.ts'
import { refuseTally } from './serial.ts'

export interface Seen {
  readonly cell: Cell<unknown>
  readonly found: Versioned | undefined
  /** It was read, not only glanced at. */
  readonly isRead: boolean
}

/** Restarts the body: a fresh draft, and the generator that records in it. */
export type Start<T> = () => {
  readonly draft: Draft | ReadDraft
  /** The draft of a body that may write. */
  readonly own: Draft | undefined
  readonly body: Transaction<T>
}

export interface Attempt<T> {
  readonly seen: ReadonlyMap<string, Seen>
  readonly fetches: number
  /** Some values were believed from before rather than fetched now. */
  readonly usedKnown: boolean
  /** Cells named as relied on, besides those read. */
  readonly relied: readonly Cell<unknown>[]
  readonly writes: readonly Write[]
  readonly additions: readonly Addition[]
  readonly end: { readonly result: T } | { readonly error: unknown }
}

type Known = ReadonlyMap<string, Versioned | undefined>
type Fetch = (cells: readonly Cell<unknown>[]) => Promise<readonly (Versioned | undefined)[]>

export async function attemptOnce<T>(
  start: Start<T>,
  known: Known,
  fetch: Fetch,
): Promise<Attempt<T>> {
  const { draft, own, body } = start()
  const seen = new Map<string, Seen>()
  let fetches = 0
  let usedKnown = false
  let step = next(body)
  while ('ask' in step) {
    const missing = unseen(step.ask, seen, own)
    const toFetch = missing.filter((cell) => !known.has(nameOf(cell)))
    const isRead = step.ask.kind !== 'glance'
    if (isRead) markRead(step.ask, seen)
    for (const cell of missing) {
      seen.set(nameOf(cell), { cell, found: known.get(nameOf(cell)), isRead })
    }
    if (toFetch.length < missing.length) usedKnown = true
    if (toFetch.length > 0) {
      const found = await fetch(toFetch)
      toFetch.forEach((cell, at) => seen.set(nameOf(cell), { cell, found: found[at], isRead }))
      fetches++
    }
    const asked = step
    step = next(body, () => answers(asked, seen, own))
  }
  const done = 'result' in step && own !== undefined
  return {
    seen,
    fetches,
    usedKnown,
    relied: draft.relied,
    writes: done ? own.finalWrites() : [],
    additions: done ? own.additions : [],
    end: step,
  }
}

type Step<T> = { readonly ask: Ask } | { readonly result: T } | { readonly error: unknown }

/** One step of a body; what it throws is an end like any other until it has been validated. */
function next<T>(body: Transaction<T>, answer?: () => readonly unknown[]): Step<T> {
  try {
    const step = answer ? body.next(answer()) : body.next()
    return step.done ? { result: step.value } : { ask: step.value }
  } catch (error) {
    return { error }
  }
}

function nameOf({ space, key }: Cell<unknown>): string {
  return cellName(space, key)
}

/** What was glanced at before is read now. */
function markRead(ask: Ask, seen: Map<string, Seen>): void {
  if (!('cells' in ask)) return
  for (const cell of ask.cells) {
    const name = nameOf(cell)
    const one = seen.get(name)
    if (one && !one.isRead) seen.set(name, { ...one, isRead: true })
  }
}

function unseen(
  ask: Ask,
  seen: ReadonlyMap<string, Seen>,
  own: Draft | undefined,
): readonly Cell<unknown>[] {
  if (!('cells' in ask)) return []
  const wanted = new Map<string, Cell<unknown>>()
  for (const cell of ask.cells) {
    const name = nameOf(cell)
    if (!seen.has(name) && !own?.own(cell.space, cell.key)) wanted.set(name, cell)
  }
  return [...wanted.values()]
}

function answers<T>(
  step: Step<T>,
  seen: ReadonlyMap<string, Seen>,
  own: Draft | undefined,
): readonly unknown[] {
  if (!('ask' in step) || !('cells' in step.ask)) {
    throw new PrestigeError(
      'BODY_MISUSE',
      'This engine cannot answer `first` or `rowsOf`: check scope.serial.',
    )
  }
  return step.ask.cells.map(({ space, key }) => {
    if (own) refuseTally(space)
    const written = own?.own(space, key)
    const bytes = written ? written.bytes : seen.get(cellName(space, key))?.found?.bytes
    return bytes && space.codec.decode(Buffer.from(bytes), key)
  })
}

/** Runs the body once more from what was seen, and refuses one that does anything else this time. */
export function replay<T>(start: Start<T>, first: Attempt<T>): void {
  const { draft, own, body } = start()
  let step = next(body)
  while ('ask' in step) {
    if (unseen(step.ask, first.seen, own).length > 0) throw changed('asks for other cells')
    const asked = step
    step = next(body, () => answers(asked, first.seen, own))
  }
  if ('error' in step !== 'error' in first.end) throw changed('ends in another way')
  if ('error' in step || 'error' in first.end) return
  if (!isDeepStrictEqual(step.result, first.end.result)) throw changed('returns something else')
  if (!isDeepStrictEqual(draft.relied, first.relied)) throw changed('relies on other cells')
  if (!isDeepStrictEqual(own?.finalWrites() ?? [], first.writes))
    throw changed('writes something else')
  if (!isDeepStrictEqual(own?.additions ?? [], first.additions))
    throw changed('adds something else')
}

function changed(how: string): PrestigeError {
  return new PrestigeError(
    'BODY_NOT_DETERMINISTIC',
    `Run again from the same values, the body ${how}. Bodies take time and ids from their scope, and change nothing they are given.`,
  )
}
