/**
 * Pieces of input that are no documents. All are counted; so many are recorded, of each shard and of a run, because
 * input that is nothing but broken lines would else make records many times its size.
 */

import { endOfPrefix } from '../../platform/bytes.ts'
import { type Backend, cell, type Scope } from '../../backends/index.ts'
import { placeOfReject, type Reject, type Shard } from '../../input/index.ts'
import { count, countOf } from '../../platform/units.ts'
import { countIn, type Counts, emptyRecord } from './bounded.ts'
import { rejects, runPrefix, shardKey } from '../rows.ts'

/** So many of a shard are recorded in the state. */
export const SHARD_REJECTS_MAX = 1000
/** So many of a run are written to `rejects.jsonl`, and so many characters of them. */
const REJECTS_MAX = 100_000
const CHARACTERS_MAX = 32 * 1024 * 1024

/** In place of rejects that are only counted, at the position of the first. */
interface Unrecorded {
  readonly unrecorded: Counts
}

/** `recorded`: how many of the shard are recorded already. */
export function keepRejects(
  scope: Scope,
  { run, shard, path }: { readonly run: string; readonly shard: number; readonly path?: string },
  rejected: readonly Reject[],
  recorded: number,
): void {
  const left = Math.max(0, SHARD_REJECTS_MAX - recorded)
  for (const reject of rejected.slice(0, left)) {
    const place = cell(rejects, shardKey(run, shard, reject.position))
    scope.write(place, path === undefined ? reject : { path, ...reject })
  }
  const [first, ...others] = rejected.slice(left)
  if (!first) return
  const unrecorded: Counts = emptyRecord()
  for (const { reason } of [first, ...others]) countIn(unrecorded, reason)
  scope.write(cell(rejects, shardKey(run, shard, first.position)), { unrecorded })
}

/** Which of the rejects that are met are written: the first ones, in the order of the input. */
export class RejectBudget {
  #left = REJECTS_MAX
  #charactersLeft = CHARACTERS_MAX

  allows(reject: object): boolean {
    this.#left--
    if (this.#left < 0) return false
    this.#charactersLeft -= JSON.stringify(reject).length
    return this.#charactersLeft >= 0
  }
}

/** One reject, or a number of the same reason that are only counted. */
export interface FoundReject {
  readonly shard: number
  readonly reason: string
  readonly count: number
  /** `undefined` where it is only counted. */
  readonly reject: Reject | undefined
}

/** In the order of the input. */
export async function* rejectsIn(backend: Backend, run: string): AsyncGenerator<FoundReject> {
  const prefix = runPrefix(run)
  const budget = new RejectBudget()
  const range = { start: prefix, end: endOfPrefix(prefix) }
  for await (const { key, value } of backend.scan(rejects, range)) {
    const shard = key.readUInt32BE(prefix.byteLength)
    const row = value as Reject | Unrecorded // safe: only keepRejects writes these
    if ('unrecorded' in row) {
      for (const [reason, number] of Object.entries(row.unrecorded)) {
        yield { shard, reason, count: number, reject: undefined }
      }
    } else {
      const reject = budget.allows(row) ? row : undefined
      yield { shard, reason: row.reason, count: 1, reject }
    }
  }
}

interface ShardCounts {
  documents: number
  rejected: number
  /** Of those that are recorded, the first; where the rest of the shard could not be read, that one. */
  worst: Reject | undefined
  isCutShort: boolean
}

/** Documents and rejects of each shard: identifies inputs of which most was no document. */
export class RejectedShards {
  readonly #shards = new Map<number, ShardCounts>()

  addDocument(shard: number): void {
    this.#of(shard).documents++
  }

  addReject(shard: number, reason: string, number: number, reject: Reject | undefined): void {
    const counts = this.#of(shard)
    counts.rejected += number
    const isEnd = reason === 'truncated' || reason === 'unreadable'
    if (reject && (isEnd ? !counts.isCutShort : !counts.worst)) counts.worst = reject
    if (isEnd) counts.isCutShort = true
  }

  /** Whether most of a shard was no document, or the rest of it could not be read. */
  isMostly(shard: number): boolean {
    const { documents, rejected, isCutShort } = this.#of(shard)
    return rejected > documents || isCutShort
  }

  /** What to say of them; `undefined` if there are none. */
  message(shards: readonly Shard[]): string | undefined {
    const bad = [...this.#shards].flatMap(([index, counts]) => {
      const shard = shards[index]
      return shard && this.isMostly(index) ? [{ shard, ...counts }] : []
    })
    const recorded = bad.filter(({ worst }) => worst)
    const shown = recorded.find((one) => one.isCutShort) ?? recorded[0] ?? bad[0]
    if (!shown) return undefined
    const { shard, worst: reject, isCutShort } = shown
    const inputs = new Set(bad.map((one) => one.shard.file)).size
    const rejected = count(sum(bad, 'rejected'))
    const all = countOf(sum(bad, 'rejected') + sum(bad, 'documents'), 'record')
    const others = inputs > 1 ? ` (and ${countOf(inputs - 1, 'other input')})` : ''
    const what = isCutShort ? 'could not be read to the end' : 'was mostly rejected'
    const found = `${reject?.path ?? shard.path}${others} ${what}: ${rejected} of ${all} rejected.`
    if (!reject) return found
    const which = isCutShort ? 'It stopped at' : 'The first of them:'
    return `${found} ${which} ${placeOfReject(shard, reject)} (${reject.reason}): ${reject.message}`
  }

  #of(shard: number): ShardCounts {
    const known = this.#shards.get(shard)
    if (known) return known
    const made = { documents: 0, rejected: 0, worst: undefined, isCutShort: false }
    this.#shards.set(shard, made)
    return made
  }
}

function sum(shards: readonly ShardCounts[], name: 'documents' | 'rejected'): number {
  return shards.reduce((all, counts) => all + counts[name], 0)
}
