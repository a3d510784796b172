/**
 * What is cut from the texts that a run keeps, in the state: publishing a run again, or writing one of its files again,
 * gives the same bytes. A row is a list of documents: position, then start and end of each span, in bytes of the text.
 */

import { endOfPrefix } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import type { Cuts, CutSpans } from '../../input/index.ts'
import type { Held } from '../phases/leases.ts'
import { clearRows } from '../phases/undo.ts'
import { passageCuts, runPrefix, shardKey } from '../rows.ts'
import { requirePublisher } from './count-windows.ts'

type CutRow = readonly (readonly [position: number, ...places: number[]])[]

const PLACES_MAX = 4096
/** Behind all shards: what was found, once all of it is there. */
const DONE = 0xffffffff

/** By the position of the document in the shard. */
export async function passageCutsOf(backend: Backend, run: string, shard: number): Promise<Cuts> {
  const cuts = new Map<number, [number, number][]>()
  const start = shardKey(run, shard)
  for await (const { value } of backend.scan(passageCuts, { start, end: endOfPrefix(start) })) {
    // safe: only KeptCuts writes the rows of shards
    for (const [position, ...places] of value as CutRow) {
      const spans = cuts.get(position) ?? []
      for (let at = 0; at < places.length; at += 2) {
        spans.push([places[at] ?? 0, places[at + 1] ?? 0])
      }
      cuts.set(position, spans)
    }
  }
  return cuts
}

/** Cuts of one shard, until they are written. */
export class KeptCuts {
  readonly #backend: Backend
  readonly #held: Held
  readonly #shard: number
  #row: (readonly [position: number, ...places: number[]])[] = []
  #places = 0
  #pieces = 0

  constructor(backend: Backend, held: Held, shard: number) {
    this.#backend = backend
    this.#held = held
    this.#shard = shard
  }

  async add(position: number, spans: CutSpans): Promise<void> {
    // A text may have more spans than a row can hold.
    for (let from = 0; from < spans.length; from += PLACES_MAX / 2) {
      const places = spans
        .slice(from, from + PLACES_MAX / 2)
        .flatMap(([start, end]) => [start, end])
      this.#row.push([position, ...places])
      this.#places += places.length
      if (this.#places >= PLACES_MAX) await this.flush()
    }
  }

  async flush(): Promise<void> {
    if (this.#row.length > 0) {
      const key = shardKey(this.#held.run, this.#shard, this.#pieces++)
      await this.#backend.run(keepRow, this.#held, key, this.#row)
    }
    this.#row = []
    this.#places = 0
  }
}

function* keepRow(scope: Scope, held: Held, key: Buffer, row: unknown): Transaction<void> {
  yield* requirePublisher(scope, held)
  scope.write(cell(passageCuts, key), row)
}

/** What a publisher before this one has written, but not to its end. */
export function clearCuts(backend: Backend, run: string): Promise<void> {
  return clearRows(backend, passageCuts, runPrefix(run))
}

/** What was reported when all passages of a run were found. `undefined`: they were not yet. */
export async function notesKept(
  backend: Backend,
  run: string,
): Promise<readonly string[] | undefined> {
  // safe: only keepNotes writes this row
  return (await backend.read(readDone, run)) as readonly string[] | undefined
}

export async function keepNotes(
  backend: Backend,
  held: Held,
  notes: readonly string[],
): Promise<void> {
  await backend.run(keepRow, held, shardKey(held.run, DONE), notes)
}

function* readDone(_scope: unknown, run: string): Transaction<unknown> {
  return (yield* read(cell(passageCuts, shardKey(run, DONE))))[0]
}
