/**
 * What one attempt of a transaction has recorded so far: writes, additions, and what it relies on.
 *
 * Nothing of it reaches the engine before the body has ended, which is why a body that throws has
 * written nothing. A draft answers reads of cells it has written itself.
 */

import { type Bytes, latin1, startsWith } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Cell, ReadScope, Scope, Space } from '../contract.ts'
import type { IdSource } from './ids.ts'

export interface Write {
  readonly space: Space<unknown>
  readonly key: Bytes
  /** `undefined` removes the row. */
  readonly bytes: Bytes | undefined
}

export interface Addition {
  readonly space: Space<number>
  readonly key: Bytes
  readonly delta: number
}

/** One string per cell: what maps of cells are keyed by. */
export function cellName(space: Space<unknown>, key: Bytes): string {
  return `${space.name}/${latin1(key)}`
}

function misuse(message: string): PrestigeError {
  return new PrestigeError('BODY_MISUSE', message)
}

export class Draft implements Scope {
  readonly serial: boolean
  /** In the order recorded; a later write of a cell replaces an earlier one. */
  readonly writes: Write[] = []
  readonly additions: Addition[] = []
  /** Cells named besides those read. */
  readonly relied: Cell<unknown>[] = []
  readonly #ids: Pick<IdSource, 'next'>
  readonly #now: number
  #own: OwnWrites | undefined

  constructor(serial: boolean, ids: Pick<IdSource, 'next'>, now: number) {
    this.serial = serial
    this.#ids = ids
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  id(): Buffer {
    return this.#ids.next()
  }

  rely(...cells: readonly Cell<unknown>[]): void {
    this.relied.push(...cells)
  }

  write<V>(cell: Cell<V>, value: V): void {
    if (cell.space.kind === 'tallies')
      throw misuse(`Tally ${cell.space.name} can only be added to.`)
    const bytes = cell.space.codec.encode(value, cell.key)
    this.writes.push({ space: cell.space, key: cell.key, bytes })
  }

  remove(cell: Cell<unknown>): void {
    if (cell.space.kind === 'tallies')
      throw misuse(`Tally ${cell.space.name} can only be added to.`)
    this.writes.push({ space: cell.space, key: cell.key, bytes: undefined })
  }

  add(cell: Cell<number>, delta: number): void {
    if (cell.space.kind !== 'tallies')
      throw misuse(`Space ${cell.space.name} holds rows, not tallies.`)
    if (!Number.isSafeInteger(delta)) throw misuse(`A tally takes whole numbers, not ${delta}.`)
    if (delta !== 0) this.additions.push({ space: cell.space, key: cell.key, delta })
  }

  /** The last write of a cell in this draft, if there is one. */
  own(space: Space<unknown>, key: Bytes): Write | undefined {
    if (this.writes.length === 0) return undefined
    return this.#index().find(space, key)
  }

  /** The cells of one space written so far, last write each. */
  *ownOf(space: Space<unknown>, prefix: Bytes): Generator<Write> {
    if (this.writes.length === 0) return
    for (const write of this.#index().last) {
      if (write.space.name === space.name && startsWith(write.key, prefix)) yield write
    }
  }

  /** One write a cell, the last one. */
  finalWrites(): readonly Write[] {
    return this.writes.length < 2 ? this.writes : this.#index().last
  }

  #index(): OwnWrites {
    this.#own ??= new OwnWrites()
    this.#own.add(this.writes)
    return this.#own
  }
}

/**
 * Finds writes by their cell. A body that decides about hundreds of documents reads and writes thousands of cells, so
 * this goes by a number made of the key: a string of every key costs several times as much.
 */
class OwnWrites {
  /** One a cell, the last one; in the order in which the cells were first written. */
  readonly last: Write[] = []
  readonly #heads = new Map<number, number>()
  /** For every place in `last`, another one whose key has the same number; -1: there is none. */
  readonly #others: number[] = []
  #added = 0

  add(writes: readonly Write[]): void {
    for (; this.#added < writes.length; this.#added++) {
      const write = writes[this.#added]
      if (write) this.#put(write)
    }
  }

  find({ name }: Space<unknown>, key: Bytes): Write | undefined {
    const at = this.#placeOf(name, key, this.#heads.get(numberOf(key)))
    return at === -1 ? undefined : this.last[at]
  }

  #put(write: Write): void {
    const number = numberOf(write.key)
    const head = this.#heads.get(number)
    const at = this.#placeOf(write.space.name, write.key, head)
    if (at !== -1) {
      this.last[at] = write
      return
    }
    this.#heads.set(number, this.last.length)
    this.#others.push(head ?? -1)
    this.last.push(write)
  }

  #placeOf(name: string, key: Bytes, head: number | undefined): number {
    for (let at = head ?? -1; at !== -1; at = this.#others[at] ?? -1) {
      const write = this.last[at]
      if (write && write.space.name === name && isSame(write.key, key)) return at
    }
    return -1
  }
}

/** Keys differ towards their ends more than at their beginnings. */
const NUMBERED_BYTES = 64

function numberOf(key: Bytes): number {
  const { length } = key
  let number = length
  for (let at = Math.max(0, length - NUMBERED_BYTES); at < length; at++) {
    number = Math.imul(number ^ (key[at] ?? 0), 0x01000193)
  }
  return number
}

/** Of short keys; a call to compare in C takes longer. */
function isSame(one: Bytes, other: Bytes): boolean {
  if (one.length !== other.length) return false
  for (let at = one.length - 1; at >= 0; at--) if (one[at] !== other[at]) return false
  return true
}

/** The scope of a body that only reads. */
export class ReadDraft implements ReadScope {
  readonly relied: Cell<unknown>[] = []
  readonly #now: number

  constructor(now: number) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  rely(...cells: readonly Cell<unknown>[]): void {
    this.relied.push(...cells)
  }
}
