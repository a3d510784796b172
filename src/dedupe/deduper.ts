/** The corpus job as a library offers it: streams of documents, whole jobs over files, plans, and the way back. */

import { randomBytes } from 'node:crypto'

import type { Backend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  HIDDEN,
  type InputFile,
  LEADS_OUTSIDE,
  type Listing,
  type ListingInput,
  listShards,
  type NamedInput,
  type OutputFormat,
  type ReadingInput,
} from '../input/index.ts'
import { requireSame } from '../platform/settings.ts'
import { countOf } from '../platform/units.ts'
import { type AgainstResult, cleanAgainst } from './against.ts'
import type { DedupeConfig } from './config/config.ts'
import type { JobEvents } from './phases/decide-run.ts'
import { orphansOf } from './decision/cluster.ts'
import type { Decision, Named } from './decision/decision.ts'
import { decideStream } from './dedupe.ts'
import { type JobResult, planJob, type PlanResult, runJob } from './job.ts'
import { requireNoPassages } from './passages/settings.ts'
import type { Redo } from './phases/again.ts'
import type { Said } from './phases/again-settings.ts'
import { closeCalls, type CloseCalls, type CloseCallsOptions } from './inspect/close-calls.ts'
import { type ClustersOptions, type DocumentCluster, largestClusters } from './inspect/clusters.ts'
import { type DocumentFilter, type DocumentInfo, documentsOf } from './inspect/document-info.ts'
import { type DocumentExplanation, explain } from './inspect/explain.ts'
import type { WorkerOptions } from './phases/leases.ts'
import { undoJob, type Undone } from './phases/take-back.ts'
import type { DocumentLike } from './decision/prepare.ts'
import { pruneDocuments, type PrunedDocuments, type PruneOptions } from './phases/prune.ts'
import { requireSources } from './phases/priorities.ts'
import { isOpen, listRuns, type RunHead, type RunStatus, sourceRuleOf } from './runs.ts'
import { doneFiles } from './done-files.ts'
import type { State } from './state.ts'
import { beginStream, keepStreamed } from './streams.ts'

export interface Job {
  /** Files, directories, globs, or `-` for stdin. Each is a source, by its name as given here or by one of its own. */
  readonly inputs: readonly (string | NamedInput)[]
  /** The directory of all outputs. */
  readonly out: string
  readonly listing?: ListingInput | undefined
  readonly reading?: ReadingInput | undefined
  /** In which format outputs are written. Default: that of the earlier runs to the directory, or of each input. */
  readonly formatOut?: OutputFormat | undefined
  /**
   * An output is several files of at most so many bytes, before compression. Default: as the earlier runs to the
   * directory have it, or one file.
   */
  readonly shardSize?: number | undefined
  /** Names the run; else a name is made of the time. */
  readonly run?: string | undefined
  /** The first piece of input that is no document stops the run, and nothing of it is kept. */
  readonly strict?: boolean | undefined
  /** How workers share a run: whoever asks for the same while it goes on works along. */
  readonly sharing?: WorkerOptions | undefined
  /** Called when all inputs were found, before anything is recorded. Throws what it throws. */
  readonly onListed?: ((listing: Pick<Listing, 'shards' | 'skipped'>) => void) | undefined
  /** Is notified of progress. */
  readonly watcher?: JobEvents | undefined
  /** Of the program, for the manifest. */
  readonly version?: string | undefined
}

export interface PlanJob extends Job {
  /** Where to list the duplicates that a run would find: the very lines of its `duplicates.jsonl`. */
  readonly file?: string | undefined
}

export interface DedupeStreamOptions {
  /** Names the run, so that it can be undone. */
  readonly run?: string | undefined
  /** Stops when it is aborted, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Nothing is kept: documents are only held against what is there. */
  readonly against?: boolean | undefined
}

export interface RunInfo {
  readonly id: string
  readonly status: RunStatus
  readonly startedAt: number
  readonly finishedAt: number | undefined
  /** Where it published to; empty for a stream. */
  readonly out: string
  readonly files: number
  /** The run that has decided about its inputs again. */
  readonly redoneBy?: string | undefined
}

/** How jobs over files treat what earlier runs have processed. */
export interface JobMode {
  /** It is decided about again. */
  readonly again?: boolean | undefined
  /** What was typed: it is named where it differs from earlier runs. */
  readonly said?: Said | undefined
  /** Called before documents of earlier runs are decided about again. */
  readonly onAgain?: ((redo: Redo) => void) | undefined
  /** Bytes that indexes in memory may have. */
  readonly memory?: number | undefined
}

const LIVE_RUN = 'live'

export class Deduper {
  readonly #state: State
  readonly #overlay: () => Backend
  readonly #mode: JobMode

  /** @internal */
  constructor(state: State, overlay: () => Backend, mode: JobMode = {}) {
    this.#state = state
    this.#overlay = overlay
    this.#mode = mode
  }

  /** Where everything is kept: for reports. */
  get backend(): Backend {
    return this.#state.backend
  }

  get config(): DedupeConfig {
    return this.#state.config
  }

  /** Decisions in the order of the documents. Goes on only as they are taken. */
  async *dedupe(
    documents: AsyncIterable<DocumentLike> | Iterable<DocumentLike>,
    options: DedupeStreamOptions = {},
  ): AsyncGenerator<Decision> {
    const { run = LIVE_RUN, signal, against } = options
    if (this.config.orderIndependent) throw needsAll()
    requireNoPassages(this.config, 'a stream of documents')
    this.#requireSame()
    if (!against) await beginStream(this.#state, run)
    yield* decideStream(this.#state, documents, { run, signal, against })
  }

  /** Decides about one document and remembers it. A text that has changed replaces what its id had before. */
  async decide(document: DocumentLike, run = LIVE_RUN): Promise<Decision> {
    requireNoPassages(this.config, 'deciding document by document')
    this.#requireSame()
    const prepared = this.#state.prepare(document)
    const session = randomBytes(6).toString('base64url')
    await beginStream(this.#state, run)
    const [decision] = await this.#state.decide([prepared], { run, session }, keepStreamed(run))
    if (decision) return decision
    throw new PrestigeError('BACKEND_UNAVAILABLE', 'Nothing was decided.')
  }

  /** What would be decided, without a trace. */
  async look(document: DocumentLike): Promise<Decision> {
    this.#requireSame()
    return this.#state.lookAt(this.#state.prepare(document))
  }

  /** Opened with `again` and other settings, only a job can go on. */
  #requireSame(): void {
    const remedy = 'Call run, which decides again about what is there, then open it again.'
    requireSame('state', this.#state.mismatch, remedy)
  }

  /** The documents of an id, with their texts where the inputs still have them; empty if there are none. */
  documents(id: string, filter?: DocumentFilter): Promise<DocumentInfo[]> {
    return documentsOf(this.#state.backend, id, filter)
  }

  /** Why the documents of an id were kept, dropped or linked, and what would change it. Leaves no trace. */
  why(id: string, filter?: DocumentFilter): Promise<DocumentExplanation[]> {
    return explain(this.#state, id, filter)
  }

  /** The largest clusters of all runs. */
  clusters(options?: ClustersOptions): Promise<DocumentCluster[]> {
    return largestClusters(this.#state.backend, options)
  }

  /** Pairs nearest to the threshold on both sides, for people to look at and to label. Leaves no trace. */
  closeCalls(options?: CloseCallsOptions): Promise<CloseCalls> {
    return closeCalls(this.#state, options)
  }

  /** Goes on where it was cut off; asked for again when it is finished, it does nothing. */
  async run(job: Job): Promise<JobResult> {
    const { backend, config } = this.#state
    const { metrics } = this.#state
    const { meaning, prefer } = this.#state.engine
    const { embedder } = meaning ?? {}
    // What is open already need not be loaded again; but a job goes by the rules of its config alone.
    const opened = prefer ? undefined : this.#state
    const runs = await listRuns(backend)
    const runOf = await doneFiles(backend, runs)
    const isDone = (file: InputFile) => !this.#mode.again && runOf(file) !== undefined
    const listing = listingOf(job, runs)
    const run = async ({ shards, skipped }: Listing) => {
      await requireSources(backend, config, shards, job.reading)
      const passedOver = passedOverIn(skipped)
      const options = {
        ...job,
        ...this.#mode,
        listing,
        config,
        shards,
        embedder,
        metrics,
        passedOver,
      }
      const result = await runJob(backend, options, opened)
      return { ...result, notes: [...result.notes, ...notesOf(skipped)] }
    }
    return withShards({ ...job, listing }, run, isDone)
  }

  /** What a run would come to. Nothing is kept and, but for `file`, nothing is written. */
  async plan(job: PlanJob): Promise<PlanResult> {
    const { backend, config } = this.#state
    if (!backend.serial) throw noPlan()
    const listing = listingOf(job, await listRuns(backend))
    const { embedder } = this.#state.engine.meaning ?? {}
    return withShards({ ...job, listing }, async ({ shards }) => {
      await requireSources(backend, config, shards, job.reading)
      return planJob(
        this.#overlay(),
        { ...job, ...this.#mode, listing, config, shards, embedder },
        job.file,
      )
    })
  }

  /** Writes those of the inputs that are no duplicates of what is known. Nothing is added to what is known. */
  async clean(job: Job): Promise<AgainstResult> {
    requireNoPassages(this.config, 'cleaning against a state')
    if (job.formatOut !== undefined && job.formatOut !== 'same') throw notConverted('formatOut')
    if (job.shardSize !== undefined) throw notConverted('shardSize')
    return withShards(job, async ({ shards, skipped }) => {
      const result = await cleanAgainst(this.#state, { ...job, shards })
      return { ...result, notes: [...result.notes, ...notesOf(skipped)] }
    })
  }

  /** Takes a run back; with `cascade`, those that rely on it first. */
  async undo(run: string, options: { readonly cascade?: boolean } = {}): Promise<Undone[]> {
    const undone = await undoJob(this.#state.backend, run, options.cascade ?? false)
    this.#state.engine.invalidate()
    return undone
  }

  /**
   * Removes documents that were decided about before a time, with their fingerprints, unless newer ones rely on them:
   * those were dropped, linked or cut because of them. What was removed is new when it comes again. Outputs are not
   * changed. Refused while a run goes on or can be resumed.
   */
  async prune(options: PruneOptions): Promise<PrunedDocuments> {
    requirePrunable(options, await listRuns(this.#state.backend))
    return pruneDocuments(this.#state.backend, this.#state.engine, options)
  }

  /**
   * Duplicates of a text that its document has no more, so that no copy of it may be kept. Given again, they are
   * re-evaluated.
   */
  orphans(): AsyncIterable<Named> {
    return orphansOf(this.#state.backend)
  }

  async runs(): Promise<RunInfo[]> {
    const runs = await listRuns(this.#state.backend)
    return runs.map(infoOf)
  }

  close(): Promise<void> {
    return this.#state.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function infoOf({ id, status, startedAt, finishedAt, out, files, redoneBy }: RunHead): RunInfo {
  return {
    id,
    status,
    startedAt,
    finishedAt,
    out,
    files,
    ...(redoneBy !== undefined && { redoneBy }),
  }
}

async function withShards<T>(
  job: Job,
  use: (listing: Listing) => Promise<T>,
  isDone?: (file: InputFile) => boolean,
): Promise<T> {
  const listing = await listShards(
    job.inputs,
    job.listing,
    process.stdin,
    isDone,
    job.watcher?.signal,
  )
  try {
    job.onListed?.(listing)
    return await use(listing)
  } finally {
    await listing.close()
  }
}

/** A state goes on naming sources as it began: else documents of one source would be counted as two. */
function listingOf({ listing = {} }: Job, runs: readonly RunHead[]): ListingInput {
  const known = sourceRuleOf(runs)
  const { sources = known ?? 'arguments' } = listing
  if (known === undefined || sources === known) return { ...listing, sources }
  throw new PrestigeError(
    'SETTINGS_MISMATCH',
    `The earlier runs of this state have input.sources: ${known}, and this one ${sources}. Leave it out, or use another state: --state OTHER.`,
  )
}

/** What nobody has hidden. */
function passedOverIn(skipped: Listing['skipped']): Listing['skipped'] {
  return skipped.filter(({ why }) => why !== HIDDEN)
}

function notesOf(skipped: Listing['skipped']): string[] {
  const links = skipped.filter(({ why }) => why === LEADS_OUTSIDE)
  const [first] = links
  if (!first) return []
  const such = links.length > 1 ? ', such as' : ':'
  return [
    `${countOf(links.length, 'symbolic link')} to files outside the inputs passed over${such} ${first.file}. Add --follow-symlinks to read such links.`,
  ]
}

function notConverted(option: string): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    `clean writes documents in the format and the files of their input: leave ${option} out, or make a run.`,
  )
}

function requirePrunable(options: PruneOptions, runs: readonly RunHead[]): void {
  const names = ['olderThan', 'dryRun', 'cascade']
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const message = `${unknown} is not an option here. There are ${names.join(', ')}.`
    throw new PrestigeError('INVALID_OPTIONS', message)
  }
  if (!(Number(options.olderThan) >= 0)) {
    throw new PrestigeError('INVALID_OPTIONS', 'Give olderThan, a time.')
  }
  const open = runs.find(isOpen)
  if (!open) return
  throw new PrestigeError(
    'CONTENDED',
    `Run ${open.id} goes on, or was cut off. Finish it by giving its command again, or undo it; then prune.`,
  )
}

function noPlan(): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    'A plan needs a state in a directory or in memory: it is made on top of rows that stand still. Plan against a state of its own.',
  )
}

function needsAll(): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    'orderIndependent needs all documents before it can decide about the first: give them as a job.',
  )
}
