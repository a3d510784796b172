/**
 * Reads of one turn of the event loop go to the server together. Each fetch is from one moment: what asks one
 * space is one HMGET, shared with others that ask the same; what asks several is one script.
 */

import type { Cell } from '../contract.ts'
import type { Versioned } from '../kit/optimistic.ts'
import { versioned } from './commits.ts'
import type { Keys, SpaceKeys } from './keys.ts'
import { GROUP_CELLS_MAX } from './scripts.ts'
import { Turn } from './turn.ts'

const CELLS_MAX = 256

type Found = readonly (Versioned | undefined)[]

export interface Fetching {
  /** Values of one hash. */
  fromOne(key: Buffer, fields: readonly Buffer[]): Promise<unknown>
  /** Lists of values of several hashes, from one moment. */
  fromMany(keys: readonly Buffer[], args: readonly Buffer[]): Promise<unknown>
}

interface Waiting {
  readonly cells: readonly Cell<unknown>[]
  readonly done: (found: Found) => void
  readonly failed: (error: unknown) => void
}

export class Fetches {
  readonly #keys: Keys
  readonly #fetching: Fetching
  readonly #turn = new Turn(() => this.#flush())
  #waiting: Waiting[] = []

  constructor(keys: Keys, fetching: Fetching) {
    this.#keys = keys
    this.#fetching = fetching
  }

  fetch(cells: readonly Cell<unknown>[]): Promise<Found> {
    return new Promise((done, failed) => {
      for (const { space } of cells) this.#keys.of(space)
      this.#waiting.push({ cells, done, failed })
      this.#turn.take()
    })
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    const batches = new Map<SpaceKeys | undefined, Waiting[]>()
    for (const one of waiting) {
      const space = this.#onlySpace(one.cells)
      const batch = batches.get(space)
      if (batch) batch.push(one)
      else batches.set(space, [one])
    }
    for (const batch of batches.values()) {
      for (const part of inParts(batch)) void this.#send(part)
    }
  }

  /** `undefined`: there are several. */
  #onlySpace(cells: readonly Cell<unknown>[]): SpaceKeys | undefined {
    const [first] = cells
    if (first === undefined || cells.some(({ space }) => space !== first.space)) return undefined
    return this.#keys.of(first.space)
  }

  /** Never rejects: every fetch hears of its own end. */
  async #send(batch: readonly Waiting[]): Promise<void> {
    try {
      const question = new Question(this.#keys)
      for (const { cells } of batch) question.add(cells)
      const lists = await question.ask(this.#fetching)
      for (const one of batch) this.#answer(one, lists)
    } catch (error) {
      for (const { failed } of batch) failed(error)
    }
  }

  /** Values come space by space, in the order in which they were asked for. */
  #answer({ cells, done, failed }: Waiting, lists: Lists): void {
    try {
      done(
        cells.map(({ space }) => {
          const keys = this.#keys.of(space)
          return versioned(lists.next(keys), keys, space)
        }),
      )
    } catch (error) {
      failed(error)
    }
  }
}

function* inParts(batch: readonly Waiting[]): Generator<Waiting[]> {
  let part: Waiting[] = []
  let cells = 0
  for (const one of batch) {
    if (part.length > 0 && cells + one.cells.length > CELLS_MAX) {
      yield part
      part = []
      cells = 0
    }
    part.push(one)
    cells += one.cells.length
  }
  yield part
}

class Lists {
  readonly #lists: ReadonlyMap<SpaceKeys, readonly unknown[]>
  readonly #taken = new Map<SpaceKeys, number>()

  constructor(lists: ReadonlyMap<SpaceKeys, readonly unknown[]>) {
    this.#lists = lists
  }

  next(keys: SpaceKeys): unknown {
    const at = this.#taken.get(keys) ?? 0
    this.#taken.set(keys, at + 1)
    return this.#lists.get(keys)?.[at]
  }
}

class Question {
  readonly #keys: Keys
  readonly #fields = new Map<SpaceKeys, Buffer[]>()

  constructor(keys: Keys) {
    this.#keys = keys
  }

  add(cells: readonly Cell<unknown>[]): void {
    for (const { space, key } of cells) {
      const keys = this.#keys.of(space)
      const field = Buffer.from(key.buffer, key.byteOffset, key.byteLength)
      const fields = this.#fields.get(keys)
      if (fields) fields.push(field)
      else this.#fields.set(keys, [field])
    }
  }

  async ask(fetching: Fetching): Promise<Lists> {
    const [one, ...more] = [...this.#fields]
    const lists = new Map<SpaceKeys, unknown[]>()
    if (one === undefined) return new Lists(lists)
    if (more.length === 0) {
      const [keys, fields] = one
      lists.set(keys, listOf(await fetching.fromOne(keys.rows, fields)))
      return new Lists(lists)
    }
    // A space of more cells than Lua takes at once comes several times.
    const groups = [one, ...more].flatMap(([keys, fields]) =>
      cut(fields).map((part) => ({ keys, part })),
    )
    const plan = Buffer.from(groups.flatMap(({ part }) => [part.length >> 8, part.length & 255]))
    const answer = listOf(
      await fetching.fromMany(
        groups.map(({ keys }) => keys.rows),
        [plan, ...groups.flatMap(({ part }) => part)],
      ),
    )
    groups.forEach(({ keys }, at) => {
      const values = listOf(answer[at])
      const list = lists.get(keys)
      if (list) list.push(...values)
      else lists.set(keys, values)
    })
    return new Lists(lists)
  }
}

function cut(fields: readonly Buffer[]): Buffer[][] {
  const parts: Buffer[][] = []
  for (let at = 0; at < fields.length; at += GROUP_CELLS_MAX) {
    parts.push(fields.slice(at, at + GROUP_CELLS_MAX))
  }
  return parts
}

function listOf(answer: unknown): unknown[] {
  if (Array.isArray(answer)) return answer
  throw new TypeError('Redis answered a list of fields with something else.')
}
