/**
 * Lines that the corpus job owns. The row of a document is its line: it is written in the transaction that decides
 * about the document, and counted in the same tallies as other lines.
 *
 * A document is its source file and its id. The first half of its key is made of the id alone, so that all documents of
 * an id are neighbours: the rows themselves are the index by id. States that were begun with format 1 also have
 * documents under older keys, which do not begin with their id.
 */

import { endOfPrefix } from '../platform/bytes.ts'
import {
  type Backend,
  cell,
  type Range,
  read,
  type ReadScope,
  type Row,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import type { DocumentRow } from './document-row.ts'
import { countInForce, countOfRun, type LedgerLine } from './lines.ts'
import { checkedLimit, type LinesOptions, pages } from './listing.ts'
import { documentKey } from './names.ts'
import { documents, type FinalStatus } from './rows.ts'

export const ID_BYTES = 8
const PAGE = 40
const ZERO = Buffer.of(0)
const SUPERSEDED_STEPS_MAX = 1000

/** A line of a document that the corpus job decided about. */
export interface DocumentLine extends LedgerLine {
  /** Identifies the document among others of the same id and source; `cluster` in `duplicates.jsonl` is such a key. */
  readonly key: string
}

/** Writes the row of a document in the place of `old`, which is what was read there. */
export function putDocument(
  scope: Scope,
  key: Buffer,
  old: DocumentRow | undefined,
  next: DocumentRow,
): void {
  scope.write(cell(documents, key), next)
  if (old) countDocument(scope, old, -1)
  countDocument(scope, next, 1)
}

export function removeDocument(scope: Scope, key: Buffer, old: DocumentRow): void {
  scope.remove(cell(documents, key))
  countDocument(scope, old, -1)
}

export function countDocument(scope: Scope, row: DocumentRow, delta: number): void {
  const status = statusOf(row)
  countInForce(scope, status, row.source || undefined, delta)
  countOfRun(scope, row.run, status, delta)
}

export function statusOf({ action }: DocumentRow): FinalStatus {
  if (action === 'superseded') return action
  return action === 'drop' ? 'duplicate' : 'accepted'
}

/** Which of the documents are wanted. */
export interface DocumentFilter {
  readonly id?: string
  readonly source?: string | undefined
  readonly run?: string
}

export class DocumentLines {
  readonly #backend: Backend
  /** See above. */
  readonly #hasOldKeys: boolean
  readonly #retentionMs: number

  constructor(backend: Backend, hasOldKeys: boolean, retentionMs: number) {
    this.#backend = backend
    this.#hasOldKeys = hasOldKeys
    this.#retentionMs = retentionMs
  }

  /** Of all documents of an id. */
  async ofId(id: string, source?: string): Promise<DocumentLine[]> {
    const found: DocumentLine[] = []
    for await (const line of this.list({ id, source })) found.push(line)
    return found
  }

  /** In the order of their keys. Lines of a source or run are found by reading all: no row is kept for that. */
  async *list(filter: DocumentFilter, options: LinesOptions = {}): AsyncGenerator<DocumentLine> {
    let left = checkedLimit(options)
    if (left === 0) return
    const range = await this.#range(filter.id, options.startAfter)
    const found = this.#matching(range, filter)
    for await (const page of pages(found, Math.min(PAGE, left))) {
      for (const line of await this.#backend.read(linesOfRows, page)) {
        if (line.at + this.#retentionMs <= this.#backend.now()) continue
        yield line
        if (--left === 0) return
      }
    }
  }

  async *#matching(
    range: Range,
    { id, source, run }: DocumentFilter,
  ): AsyncGenerator<Row<DocumentRow>> {
    for await (const row of this.#backend.scan(documents, range)) {
      const { value } = row
      if (id !== undefined && value.id !== id) continue
      if (source !== undefined && value.source !== source) continue
      if (run === undefined || value.run === run) yield row
    }
  }

  async #range(id: string | undefined, startAfter: LinesOptions['startAfter']): Promise<Range> {
    if (startAfter !== undefined)
      return { start: Buffer.concat([await this.#keyOf(startAfter), ZERO]) }
    if (id === undefined || this.#hasOldKeys) return {}
    const prefix = documentKey(id).subarray(0, ID_BYTES)
    return { start: prefix, end: endOfPrefix(prefix) }
  }

  /** The key of a line, or the last one of an id. */
  async #keyOf(which: string | LedgerLine): Promise<Buffer> {
    const id = typeof which === 'string' ? which : which.id
    const given = typeof which === 'object' && 'key' in which ? String(which.key) : undefined
    const key = given ?? (await this.ofId(id, undefined)).at(-1)?.key
    return key === undefined ? documentKey(id) : Buffer.from(key, 'hex')
  }
}

function* linesOfRows(
  _scope: ReadScope,
  page: readonly Row<DocumentRow>[],
): Transaction<DocumentLine[]> {
  const lines: DocumentLine[] = []
  for (const { key, value } of page) lines.push(yield* lineOf(key, value))
  return lines
}

function* lineOf(key: Buffer, row: DocumentRow): Transaction<DocumentLine> {
  const { id, source, run, at, method, similarity } = row
  const of = yield* keptCopyOf(row)
  const why = { method, ...(similarity !== undefined && { similarity }) }
  return {
    id,
    status: statusOf(row),
    at,
    token: 0,
    ...(source !== '' && { source }),
    run,
    ...(of && { of: of.id }),
    ...(method !== undefined && { detail: JSON.stringify(why) }),
    key: key.toString('hex'),
  }
}

/** What is kept in the place of a document, or what it is linked to; `undefined` where it is kept for its own sake. */
function* keptCopyOf(row: DocumentRow): Transaction<DocumentRow | undefined> {
  if (row.action === 'keep') return undefined
  let key = row.supersededBy ?? row.cluster ?? row.like ?? row.spans?.[0]?.[2]
  let found: DocumentRow | undefined
  for (let step = 0; key !== undefined && step < SUPERSEDED_STEPS_MAX; step++) {
    const [next]: (DocumentRow | undefined)[] = yield* read(
      cell(documents, Buffer.from(key, 'hex')),
    )
    found = next ?? found
    key = next?.supersededBy
  }
  return found
}
