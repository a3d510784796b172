/**
 * What one attempt of a transaction has recorded so far: writes, additions, and what it relies on.
 *
 * Nothing of it reaches the engine before the body has ended, which is why a body that throws has
 * written nothing. A draft answers reads of cells it has written itself.
 */

import { type Bytes, latin1, startsWith } from '../bytes.ts'
import { PrestigeError } from '../errors.ts'
import type { Cell, ReadScope, Scope, Space } from './contract.ts'
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
  #own: Map<string, Write> | undefined
  #indexed = 0

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
    const bytes = cell.space.codec.encode(value)
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
    return this.#index().get(cellName(space, key))
  }

  /** The cells of one space written so far, last write each. */
  *ownOf(space: Space<unknown>, prefix: Bytes): Generator<Write> {
    if (this.writes.length === 0) return
    for (const write of this.#index().values()) {
      if (write.space.name === space.name && startsWith(write.key, prefix)) yield write
    }
  }

  /** One write a cell, the last one. */
  finalWrites(): readonly Write[] {
    return this.writes.length < 2 ? this.writes : [...this.#index().values()]
  }

  #index(): Map<string, Write> {
    const own = (this.#own ??= new Map())
    for (const write of this.writes.slice(this.#indexed)) {
      own.set(cellName(write.space, write.key), write)
    }
    this.#indexed = this.writes.length
    return own
  }
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
