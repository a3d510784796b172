/**
 * The ledger: which documents were processed, when, in which run, with which outcome. A document is marked done
 * only after its work is: it is claimed, worked on, committed. What crashes in between is taken over.
 */

import { type Backend, Gate, type ReadScope, type Transaction } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { measured } from '../platform/measured.ts'
import { ContainedMetrics } from '../platform/sinks.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import {
  type Claim,
  type Claimed,
  claimLine,
  type ClaimOptions,
  type ClaimOutcome,
  commitClaim,
  heldClaim,
  prepareClaim,
  renewClaim,
} from './claims.ts'
import {
  checkOutcome,
  isProcessed,
  isRemembered,
  type LedgerLine,
  type LineInput,
  lookLine,
  prepareLine,
  recordLines,
  supersedeLine,
  ledgerLine,
} from './lines.ts'
import { DocumentLines } from './documents.ts'
import { ambiguous, type DocumentName, nameOf } from './document-name.ts'
import {
  areProcessed,
  countsOf,
  type LineCounts,
  type LinesOptions,
  listAll,
  type ListOptions,
  listRun,
  listRuns,
  listSource,
  type LedgerRun,
  type RunLine,
} from './listing.ts'
import {
  checkDetail,
  checkLease,
  documentKey,
  refuseUnknown,
  runName,
  sourceName,
} from './names.ts'
import type { LedgerOptions } from './options.ts'
import { forgetRun, type Forgotten, pruneAs, type Pruned, type PruneOptions } from './forgetting.ts'
import { type Exists, reconcile, type ReconcileOptions, type ReconcileReport } from './reconcile.ts'
import type { Line, RunRow } from './rows.ts'
import {
  checkRunInput,
  finishRun,
  openShards,
  type RunInput,
  type StartedRun,
  startRun,
} from './runs.ts'
import { type LedgerKind, readOnly } from './settings.ts'
import {
  checkLeaseOptions,
  finishShard,
  held,
  type Leased,
  type LeaseOptions,
  leaseShard,
  listShards,
  noteProgress,
  releaseShard,
  type Shard,
  shardValue,
} from './shards.ts'
import { dropLines } from './undo.ts'
import { type ClaimedWork, withClaim, type WithClaimResult } from './with-claim.ts'

export class Ledger {
  readonly #backend: Backend
  readonly #gate = new Gate('ledger')
  readonly #retentionMs: number
  readonly #isReadOnly: boolean
  readonly #metrics: MetricsSink | undefined
  /** Lines that the corpus job owns. */
  readonly #documents: DocumentLines | undefined

  /** @internal */
  constructor(
    backend: Backend,
    options: Pick<LedgerOptions, 'retentionMs' | 'metrics'> = {},
    kind: LedgerKind = { owner: 'ledger' },
  ) {
    this.#backend = backend
    this.#retentionMs = options.retentionMs ?? Infinity
    this.#metrics = options.metrics && new ContainedMetrics(options.metrics)
    this.#isReadOnly = kind.owner === 'job'
    if (kind.owner === 'job' && kind.hasDocuments) {
      this.#documents = new DocumentLines(backend, kind, this.#retentionMs)
    }
  }

  /** Its lines are those of a corpus job, and only the job writes them. */
  get isOfJob(): boolean {
    return this.#isReadOnly
  }

  /** Its work is done. Claimed is not yet, failed is not. Of several documents of an id, one is enough. */
  async wasProcessed(which: DocumentName): Promise<boolean> {
    return (await this.lines(which)).some(isProcessed)
  }

  /** In the order of the ids. */
  wasProcessedMany(ids: readonly string[]): Promise<boolean[]> {
    return this.#pass('wasProcessedMany', async () => {
      const keys = ids.map(documentKey)
      if (this.#documents) return this.#documents.areProcessed(ids)
      return areProcessed(this.#backend, keys, this.#retentionMs)
    })
  }

  /** The line of a document. Refused where several documents have the id: give their source too, or ask for `lines`. */
  async get(which: DocumentName): Promise<LedgerLine | undefined> {
    const [line, another] = await this.lines(which)
    if (another) throw ambiguous(nameOf(which))
    return line
  }

  /** The lines of all documents of an id, or of a source and an id. */
  lines(which: DocumentName): Promise<LedgerLine[]> {
    return this.#pass('lines', async () => {
      const { id, source } = nameOf(which)
      const key = documentKey(id)
      if (this.#documents) return this.#documents.ofId(id, source)
      const line = await this.#backend.read(findLine, key)
      if (!line || !this.#remembers(line, this.#backend.now())) return []
      return source === undefined || line.source === source ? [ledgerLine(line)] : []
    })
  }

  /**
   * Lines of a source, of a run, or all, in an order that never changes, which is not that of time. Those of some time
   * or status are found by reading the others too. Of the state of a corpus job without a source: also what was no
   * document, as `rejected`.
   */
  async *list(options: ListOptions = {}): AsyncGenerator<RunLine> {
    this.#gate.assertOpen()
    const { source, run, ...others } = options
    if (source !== undefined && run !== undefined) throw oneOfBoth('List')
    if (this.#documents) {
      if (source !== undefined) sourceName(source)
      if (run !== undefined) runName(run)
      yield* this.#documents.list({ source, run, hasRejects: true }, others)
    } else if (source !== undefined) yield* this.bySource(source, others)
    else if (run !== undefined) yield* this.byRun(run, others)
    else yield* listAll(this.#backend, others, this.#retentionMs)
  }

  /** The lines of a source, in an order that never changes. */
  async *bySource(source: string, options: LinesOptions = {}): AsyncGenerator<LedgerLine> {
    this.#gate.assertOpen()
    const name = sourceName(source)
    if (this.#documents) yield* this.#documents.list({ source }, options)
    else yield* listSource(this.#backend, name, options, this.#retentionMs)
  }

  /** What a run made of its documents, in an order that never changes. */
  async *byRun(run: string, options: LinesOptions = {}): AsyncGenerator<RunLine> {
    this.#gate.assertOpen()
    const name = runName(run)
    if (this.#documents) yield* this.#documents.list({ run }, options)
    else yield* listRun(this.#backend, name, options)
  }

  /** How many lines there are of each status: of all, of a source, or of a run. Exact, and at once. */
  counts(of: { source?: string | undefined; run?: string | undefined } = {}): Promise<LineCounts> {
    return this.#pass('counts', () => {
      refuseUnknown(of, ['source', 'run'])
      if (of.source !== undefined && of.run !== undefined) throw oneOfBoth('Count')
      const run = of.run === undefined ? undefined : runName(of.run)
      const name = of.source === undefined ? run : sourceName(of.source)
      return this.#backend.read(countsOf, name)
    })
  }

  /** The right to work on a document, unless it is processed or another has it. */
  claim(id: string, options: ClaimOptions): Promise<Claimed> {
    return this.#write('claim', () =>
      this.#backend.run(claimLine, prepareClaim(id, options, this.#retentionMs)),
    )
  }

  /** The work is done. Refused with CLAIM_LOST when another has taken the document over. */
  commit(claim: Claim, outcome: ClaimOutcome): Promise<LedgerLine> {
    return this.#write('commit', () => {
      checkOutcome(outcome)
      return this.#commit(claim, outcome)
    })
  }

  /** The work failed: the line says failed, and anybody may claim the document at once. */
  abort(claim: Claim, why: { readonly reason?: string | undefined } = {}): Promise<LedgerLine> {
    return this.#write('abort', () => {
      refuseUnknown(why, ['reason'])
      checkDetail(why.reason)
      const outcome = { status: 'failed', detail: why.reason } as const
      return this.#commit(claim, outcome)
    })
  }

  /** The lease goes on from now. */
  renew(claim: Claim, leaseMs: number): Promise<LedgerLine> {
    return this.#write('renew', () => {
      checkLease(leaseMs)
      return this.#backend.run(renewClaim, heldClaim(claim), leaseMs)
    })
  }

  /**
   * Claims, works, and commits what the work returns (accepted, if nothing). The lease is renewed meanwhile. When
   * the work throws, the claim is given up and the error is thrown on.
   */
  withClaim(
    id: string,
    options: ClaimOptions,
    work: (claimed: ClaimedWork) => Promise<ClaimOutcome | void>,
  ): Promise<WithClaimResult> {
    return withClaim(this, id, options, work)
  }

  /**
   * Writes lines of work that is done, in their order where they are of one document, and gives what each replaced.
   * Each is written whatever becomes of the others; then the first error is thrown.
   */
  record(inputs: readonly LineInput[]): Promise<(LedgerLine | undefined)[]> {
    return this.#write('record', async () => {
      const replaced = await recordLines(this.#backend, inputs.map(prepareLine))
      for (const { status } of inputs) this.#countLine(status)
      return replaced
    })
  }

  /** Another document took the place of this one, which was processed. `undefined`: it was not. */
  supersede(
    id: string,
    by: string,
    options: { readonly run?: string | undefined } = {},
  ): Promise<LedgerLine | undefined> {
    return this.#write('supersede', async () => {
      refuseUnknown(options, ['run'])
      documentKey(by)
      const change = { of: by, run: options.run }
      const line = await this.#backend.run(supersedeLine, documentKey(id), change)
      return line && ledgerLine(line)
    })
  }

  /** Takes a document's line away, with its history: as if it had never been seen. A claim on it is lost. */
  forget(id: string): Promise<boolean> {
    return this.#write('forget', async () => {
      const key = documentKey(id)
      for (;;) {
        const { hasLine, hasMore } = await this.#backend.run(dropLines, key, Infinity, true)
        if (!hasMore) return hasLine
      }
    })
  }

  /** Starts a run, or resumes one that is running and has the same configuration. */
  startRun(input: RunInput = {}): Promise<StartedRun> {
    return this.#write('startRun', () => {
      checkRunInput(input)
      return this.#backend.run(startRun, input)
    })
  }

  /** The run takes no more lines. Claims that are still held may be committed. */
  finishRun(run: string, status: 'finished' | 'failed' = 'finished'): Promise<RunRow> {
    return this.#write('finishRun', () => {
      if (status === 'finished' || status === 'failed') {
        return this.#backend.run(finishRun, run, status)
      }
      throw new PrestigeError('INVALID_OPTIONS', 'A run ends as finished or failed.')
    })
  }

  /** All runs, the oldest first. */
  async *runs(): AsyncGenerator<LedgerRun> {
    this.#gate.assertOpen()
    yield* listRuns(this.#backend)
  }

  /**
   * Undo: ends the run and takes its lines back; what they had replaced is in force again. Lines that a later run
   * has replaced stay, and are counted: undo that run first, then this one again.
   */
  forgetRun(run: string): Promise<Forgotten> {
    return this.#write('forgetRun', () => forgetRun(this.#backend, runName(run)))
  }

  /** Takes away lines from before a time (by default, beyond `retentionMs`), and runs that ended before it. */
  prune(options: PruneOptions = {}): Promise<Pruned> {
    return this.#write('prune', () => pruneAs(this.#backend, options, this.#retentionMs))
  }

  /** Finds, and by default repairs, what ledger and target disagree on. */
  reconcile(exists: Exists, options: ReconcileOptions = {}): Promise<ReconcileReport> {
    return this.#write('reconcile', () => reconcile(this.#backend, exists, options))
  }

  /** Divides a run, for workers that share it. */
  openShards(run: string, count: number): Promise<RunRow> {
    return this.#write('openShards', () => this.#backend.run(openShards, run, count))
  }

  /** A shard that nobody has. */
  lease(run: string, options: LeaseOptions): Promise<Leased> {
    return this.#write('lease', () => {
      checkLeaseOptions(options)
      return this.#backend.run(leaseShard, run, options)
    })
  }

  /** Notes how far a shard is, for whoever takes it over, and renews its lease. */
  progress(run: string, shard: number, token: number, value: unknown): Promise<number> {
    return this.#write('progress', () =>
      this.#backend.run(noteProgress, held(run, shard, token), shardValue(value)),
    )
  }

  done(run: string, shard: number, token: number, result?: unknown): Promise<void> {
    return this.#write('done', () =>
      this.#backend.run(finishShard, held(run, shard, token), shardValue(result)),
    )
  }

  /** Gives a shard back, with its progress. */
  release(run: string, shard: number, token: number): Promise<void> {
    return this.#write('release', () => this.#backend.run(releaseShard, held(run, shard, token)))
  }

  async *shards(run: string): AsyncGenerator<Shard> {
    this.#gate.assertOpen()
    yield* listShards(this.#backend, runName(run).text)
  }

  close(): Promise<void> {
    return this.#gate.close(() => this.#backend.close())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #commit(claim: Claim, outcome: ClaimOutcome): Promise<LedgerLine> {
    const line = await this.#backend.run(commitClaim, heldClaim(claim), outcome)
    this.#countLine(outcome.status)
    return line
  }

  #countLine(status: string): void {
    this.#metrics?.counter('prestige.ledger.lines', 1, { status })
  }

  #remembers(line: Line, now: number): boolean {
    return isRemembered(line, now, this.#retentionMs)
  }

  /** As `#pass`, for what changes lines, runs or shards: those of the corpus job are its own. */
  #write<T>(operation: string, work: () => Promise<T>): Promise<T> {
    return this.#pass(operation, () => {
      if (this.#isReadOnly) throw readOnly()
      return work()
    })
  }

  /** Bad input rejects the promise; it is never thrown beside it. */
  #pass<T>(operation: string, work: () => Promise<T>): Promise<T> {
    return this.#gate.pass(() =>
      measured(this.#metrics, 'prestige.ledger', operation, async () => work()),
    )
  }
}

function* findLine(_scope: ReadScope, key: Buffer): Transaction<Line | undefined> {
  return yield* lookLine(key)
}

function oneOfBoth(verb: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', `${verb} a source or a run, not both.`)
}
