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
import { countInForce, countOfRun, isProcessed, type LedgerLine } from './lines.ts'
import { type LinesOptions, pages, type Wanted, wantedOf } from './listing.ts'
import { documentKey } from './names.ts'
import { rejectLines } from './rejects.ts'
import { documents, type FinalStatus } from './rows.ts'
import type { JobLedger } from './settings.ts'

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
  readonly run?: string | undefined
  /** Also what was no document, where no source is asked for. */
  readonly hasRejects?: boolean
}

export class DocumentLines {
  readonly #backend: Backend
  /** See above. */
  readonly #hasOldKeys: boolean
  readonly #retentionMs: number
  /** What all fingerprints were made with, where that is known. */
  readonly #fingerprints: string | undefined

  constructor(
    backend: Backend,
    { hasOldKeys, fingerprints }: Pick<JobLedger, 'hasOldKeys' | 'fingerprints'>,
    retentionMs: number,
  ) {
    this.#backend = backend
    this.#hasOldKeys = hasOldKeys
    this.#fingerprints = fingerprints
    this.#retentionMs = retentionMs
  }

  /** Of all documents of an id. */
  async ofId(id: string, source?: string): Promise<LedgerLine[]> {
    const found: LedgerLine[] = []
    for await (const line of this.list({ id, source })) found.push(line)
    return found
  }

  async areProcessed(ids: readonly string[]): Promise<boolean[]> {
    const answers: boolean[] = []
    for (let from = 0; from < ids.length; from += PAGE) {
      const page = ids.slice(from, from + PAGE)
      const lines = await Promise.all(page.map((id) => this.ofId(id)))
      answers.push(...lines.map((all) => all.some(isProcessed)))
    }
    return answers
  }

  /**
   * In the order of their keys. Lines of a source, run or time are found by reading all: no row is kept for that. What
   * was no document comes last, in the order of runs and inputs.
   */
  async *list(filter: DocumentFilter, options: LinesOptions = {}): AsyncGenerator<LedgerLine> {
    const wanted = wantedOf(options)
    let left = wanted.limit
    if (left === 0) return
    const { startAfter, status } = options
    const isAfterReject = typeof startAfter === 'object' && startAfter.status === 'rejected'
    if (status === 'rejected' || isAfterReject) {
      const last = typeof startAfter === 'string' ? startAfter : startAfter?.id
      yield* this.#rejects(filter, wanted, left, last)
      return
    }
    const range = await this.#range(filter.id, startAfter)
    const found = this.#matching(range, filter)
    for await (const page of pages(found, Math.min(PAGE, left))) {
      for (const line of await this.#backend.read(linesOfRows, page)) {
        if (line.at + this.#retentionMs <= this.#backend.now() || !wanted.matches(line)) continue
        yield this.#fingerprints === undefined
          ? line
          : Object.assign(line, { fingerprintVersion: this.#fingerprints })
        if (--left === 0) return
      }
    }
    yield* this.#rejects(filter, wanted, left)
  }

  /** What was no document has no id and no source of its own. */
  async *#rejects(
    { source, run, hasRejects }: DocumentFilter,
    wanted: Wanted,
    left: number,
    after?: string,
  ): AsyncGenerator<LedgerLine> {
    if (!hasRejects || source !== undefined) return
    let isPast = after === undefined
    for await (const line of rejectLines(this.#backend, run)) {
      if (!isPast || !wanted.matches(line)) {
        isPast ||= line.id === after
        continue
      }
      yield line
      if (--left <= 0) return
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
    if (given !== undefined) return Buffer.from(given, 'hex')
    const last = (await this.ofId(id, undefined)).at(-1)
    return last && 'key' in last ? Buffer.from(String(last.key), 'hex') : documentKey(id)
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
  const { id, source, run, at, method, similarity, language } = row
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
    ...(language !== undefined && { language }),
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
