/**
 * The journal of an index, read and written change by change, wherever a change is: in a row of its own, or in a block.
 *
 * A transaction that inserts much gathers its inserts and writes them as blocks, each under the number of its last
 * insert: so whoever looks for a number finds the block at it or behind it. All inserts of a block have its nonce.
 * Nothing of a transaction that gathers is in the journal, or in its head, before it is flushed.
 */

import { type Bytes, EMPTY, equalBytes } from '../platform/bytes.ts'
import { cell, read, rowsOf, type Scope, type Space, type Transaction } from '../backends/index.ts'
import {
  BLOCK_PARTITIONS_MAX,
  blockRoom,
  type Head,
  type Insert,
  JournalBlock,
  type JournalChange,
  type JournalRow,
  type NearSpaces,
  sequenceKey,
  sequenceOf,
} from './rows.ts'

export const HEAD_KEY: Buffer = Buffer.from('journal')

/** A row of the journal, and the number of its last change. */
interface RowFound {
  readonly row: JournalRow
  readonly last: number
}

/** The row that has this change, or would have it. */
function* rowWith({ journal }: NearSpaces, sequence: number): Transaction<RowFound | undefined> {
  const [own] = yield* read(cell(journal, sequenceKey(sequence)))
  if (own) return { row: own, last: sequence }
  const [next] = yield* rowsOf(journal, { start: sequenceKey(sequence), limit: 1 })
  return next?.value.kind === 'block' ? { row: next.value, last: sequenceOf(next.key) } : undefined
}

function changeIn({ row, last }: RowFound, sequence: number): JournalChange | undefined {
  return row.kind === 'block' ? row.changeAt(sequence, last) : row
}

export function* readChange(
  spaces: NearSpaces,
  sequence: number,
): Transaction<JournalChange | undefined> {
  const found = yield* rowWith(spaces, sequence)
  return found && changeIn(found, sequence)
}

/** Those of one block cost one read, if they come one after another. */
export function* readChanges(
  spaces: NearSpaces,
  sequences: readonly number[],
): Transaction<(JournalChange | undefined)[]> {
  const changes: (JournalChange | undefined)[] = []
  let found: RowFound | undefined
  for (const sequence of sequences) {
    let change = found?.row.kind === 'block' ? changeIn(found, sequence) : undefined
    if (!change) {
      found = yield* rowWith(spaces, sequence)
      change = found && changeIn(found, sequence)
    }
    changes.push(change)
  }
  return changes
}

/** Leaves a note in the place of an insert: views that have seen nothing behind it must recognise its nonce. */
export function* takeOut(
  scope: Scope,
  spaces: NearSpaces,
  sequence: number,
  id: Bytes,
): Transaction<void> {
  const found = yield* rowWith(spaces, sequence)
  const insert = found && changeIn(found, sequence)
  // In a damaged index, another's row, or none, may be there.
  if (!found || insert?.kind !== 'insert' || !equalBytes(insert.id, id)) return
  const { row, last } = found
  const left = row.kind === 'block' ? row.without(sequence, last) : undefined
  const place = cell(spaces.journal, sequenceKey(last))
  scope.write(place, left ?? { kind: 'gone', nonce: insert.nonce })
  if (!left) scope.write(cell(spaces.dead, sequenceKey(last)), EMPTY)
}

/** Where a change comes in the journal, and the nonce of the one before it. */
export interface Place {
  readonly sequence: number
  readonly nonce: Buffer
  readonly before: Bytes
}

/** Inserts of one transaction that are not written yet. */
interface Open {
  readonly nonce: Buffer
  readonly first: number
  readonly partitions: Set<string>
  readonly inserts: Insert[]
}

/** The place of the next change of a journal, which its head names from now on. Who writes it relies on the head. */
export function* nextPlace(scope: Scope, heads: Space<Head>): Transaction<Place> {
  const nonce = scope.id()
  const { sequence, before } = yield* placeAfter(heads)
  scope.write(cell(heads, HEAD_KEY), { sequence, nonce })
  return { sequence, nonce, before }
}

function* placeAfter(heads: Space<Head>): Transaction<Omit<Place, 'nonce'>> {
  const [last] = yield* read(cell(heads, HEAD_KEY))
  return { sequence: (last?.sequence ?? 0) + 1, before: last?.nonce ?? EMPTY }
}

export class Journal {
  readonly #spaces: NearSpaces
  /** The transaction that gathers. */
  #scope: Scope | undefined
  #open: Open | undefined

  constructor(spaces: NearSpaces) {
    this.#spaces = spaces
  }

  /** From here on, inserts of this transaction are written when it is flushed, which it has to be. */
  gather(scope: Scope): void {
    this.#scope = scope
    this.#open = undefined
  }

  *insert(scope: Scope, insert: Insert): Transaction<Place> {
    if (this.#scope !== scope) {
      const place = yield* this.append(scope)
      const { sequence, nonce } = place
      scope.write(cell(this.#spaces.journal, sequenceKey(sequence)), {
        kind: 'insert',
        nonce,
        ...insert,
      })
      return place
    }
    const name = insert.partition.toString('latin1')
    const open = this.#open
    if (open && hasRoomFor(open, name, insert)) {
      open.partitions.add(name)
      open.inserts.push(insert)
      const { nonce, first, inserts } = open
      return { sequence: first + inserts.length - 1, nonce, before: nonce }
    }
    this.#write(scope)
    const nonce = scope.id()
    const { sequence, before } = yield* placeAfter(this.#spaces.heads)
    this.#open = { nonce, first: sequence, partitions: new Set([name]), inserts: [insert] }
    return { sequence, nonce, before }
  }

  /** The place of a change that is not gathered; what was gathered before comes before it. */
  *append(scope: Scope): Transaction<Place> {
    this.#write(scope)
    return yield* nextPlace(scope, this.#spaces.heads)
  }

  /** Writes what was gathered in this transaction. More may be gathered. */
  flush(scope: Scope): void {
    this.#write(scope)
  }

  #write(scope: Scope): void {
    const open = this.#open
    if (!open || this.#scope !== scope) return
    this.#open = undefined
    const { nonce, first, inserts } = open
    const [only] = inserts
    const sequence = first + inserts.length - 1
    const row: JournalRow =
      only && inserts.length === 1
        ? { kind: 'insert', nonce, ...only }
        : JournalBlock.of(nonce, inserts)
    scope.write(cell(this.#spaces.journal, sequenceKey(sequence)), row)
    scope.write(cell(this.#spaces.heads, HEAD_KEY), { sequence, nonce })
  }
}

function hasRoomFor({ inserts, partitions }: Open, name: string, { signature }: Insert): boolean {
  const [first] = inserts
  if (first?.signature.byteLength !== signature.byteLength) return false
  if (partitions.size === BLOCK_PARTITIONS_MAX && !partitions.has(name)) return false
  return inserts.length < blockRoom(signature.byteLength)
}
