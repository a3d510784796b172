/**
 * Where ledger and target disagree: a line says accepted and the target has nothing, or the target has what the
 * ledger knows nothing of. Lines are read before the target is asked, and changed only if they are still the same.
 */

import { type Backend, read, type Scope, type Transaction } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  isHeld,
  isProcessed,
  lineCell,
  type PreparedLine,
  prepareLine,
  putLine,
  recordLine,
} from './lines.ts'
import { linesOf, pages } from './listing.ts'
import { documentKey, refuseUnknown, sourceName } from './names.ts'
import { type Line, lines } from './rows.ts'

/** Whether the target has these documents, in their order. */
export type Exists = (ids: readonly string[]) => Promise<readonly boolean[]>

export interface ReconcileOptions {
  /** Only says what it would do. */
  readonly dryRun?: boolean | undefined
  /** Only lines of this source; and the source of what is recorded because the target has it. */
  readonly source?: string | undefined
  /** Documents the target has; those without a line are recorded as accepted. */
  readonly present?: Iterable<string> | AsyncIterable<string> | undefined
  /** How many ids the target is asked for at once (100). */
  readonly pageSize?: number | undefined
}

export interface ReconcileReport {
  /** Accepted lines that the target was asked about. */
  readonly checked: number
  /** Accepted, and not in the target: failed now, and to be processed again. */
  readonly missing: number
  /** In the target, and not processed by the ledger's account: accepted now. */
  readonly unrecorded: number
  /** What changed meanwhile, or is being worked on, and was left alone. */
  readonly leftAlone: number
  /** The first 1000 of each. */
  readonly missingIds: readonly string[]
  readonly unrecordedIds: readonly string[]
}

const IDS_MAX = 1000
const MISSING = 'reconcile: the target does not have it'
const PRESENT = 'reconcile: the target has it'

export async function reconcile(
  backend: Backend,
  exists: Exists,
  options: ReconcileOptions = {},
): Promise<ReconcileReport> {
  refuseUnknown(options, ['dryRun', 'source', 'present', 'pageSize'])
  const { dryRun = false, source, present, pageSize = 100 } = options
  if (typeof exists !== 'function') {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      'Give a function that says which ids the target has.',
    )
  }
  if (!Number.isInteger(pageSize) || pageSize < 1) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `pageSize is a whole number from 1, not ${pageSize}.`,
    )
  }
  if (source !== undefined) sourceName(source)
  const tally = new Tally()
  for await (const page of pages(acceptedLines(backend, source), pageSize)) {
    const found = checkedAnswer(await exists(page.map(({ line }) => line.id)), page.length)
    tally.checked += page.length
    for (const [at, { key, line }] of page.entries()) {
      if (found[at]) continue
      const isHealed = dryRun || (await backend.run(failMissing, key, line.token))
      if (isHealed) tally.missing(line.id)
      else tally.leftAlone++
    }
  }
  if (present !== undefined) await addPresent(backend, present, { dryRun, source }, tally)
  return tally.report()
}

class Tally {
  checked = 0
  leftAlone = 0
  readonly #missing: string[] = []
  readonly #unrecorded: string[] = []
  #missingCount = 0
  #unrecordedCount = 0

  missing(id: string): void {
    if (this.#missingCount++ < IDS_MAX) this.#missing.push(id)
  }

  unrecorded(id: string): void {
    if (this.#unrecordedCount++ < IDS_MAX) this.#unrecorded.push(id)
  }

  report(): ReconcileReport {
    return {
      checked: this.checked,
      missing: this.#missingCount,
      unrecorded: this.#unrecordedCount,
      leftAlone: this.leftAlone,
      missingIds: this.#missing,
      unrecordedIds: this.#unrecorded,
    }
  }
}

async function* acceptedLines(backend: Backend, source: string | undefined) {
  for await (const { key, value: line } of backend.scan(lines)) {
    if (line.status !== 'accepted') continue
    if (source === undefined || line.source === source) yield { key, line }
  }
}

/** A short or odd answer would make lines fail that are sound. */
function checkedAnswer(answer: readonly boolean[], count: number): readonly boolean[] {
  const isGood =
    Array.isArray(answer) &&
    answer.length === count &&
    answer.every((one) => typeof one === 'boolean')
  if (isGood) return answer
  throw new PrestigeError(
    'INVALID_VALUE',
    `The target must answer ${count} ids with as many times true or false. Nothing was changed by this answer.`,
  )
}

/** Only what is still the line that was asked about. */
function* failMissing(scope: Scope, key: Buffer, token: number): Transaction<boolean> {
  const [old] = yield* read(lineCell(key))
  if (old?.status !== 'accepted' || old.token !== token) return false
  const line: Line = { ...old, status: 'failed', at: scope.now(), detail: MISSING }
  yield* putLine(scope, key, old, line)
  return true
}

async function addPresent(
  backend: Backend,
  present: Iterable<string> | AsyncIterable<string>,
  { dryRun, source }: { readonly dryRun: boolean; readonly source: string | undefined },
  tally: Tally,
): Promise<void> {
  for await (const ids of pages(each(present))) {
    const found = await backend.read(linesOf, ids.map(documentKey))
    for (const [at, id] of ids.entries()) {
      const line = found[at]
      if (line && isProcessed(line)) continue
      if (line && isHeld(line, backend.now())) {
        tally.leftAlone++
        continue
      }
      const prepared = prepareLine({ id, status: 'accepted', source, detail: PRESENT })
      if (dryRun || (await backend.run(recordPresent, prepared))) tally.unrecorded(id)
      else tally.leftAlone++
    }
  }
}

async function* each<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  yield* items
}

function* recordPresent(scope: Scope, prepared: PreparedLine): Transaction<boolean> {
  const [old] = yield* read(lineCell(prepared.key))
  if (old && (isProcessed(old) || isHeld(old, scope.now()))) return false
  yield* recordLine(scope, prepared)
  return true
}
