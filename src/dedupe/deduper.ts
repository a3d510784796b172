/** The corpus job as a library offers it: streams of documents, whole jobs over files, plans, and the way back. */

import { randomBytes } from 'node:crypto'

import type { Backend } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  type InputFile,
  LEADS_OUTSIDE,
  type Listing,
  type ListingInput,
  listShards,
  type ReadingInput,
} from '../input/index.ts'
import { countOf } from '../platform/units.ts'
import { type AgainstResult, cleanAgainst } from './against.ts'
import type { DedupeConfig } from './config/config.ts'
import type { JobEvents } from './phases/decide-run.ts'
import { orphansOf } from './decision/cluster.ts'
import type { Decision, Named } from './decision/decision.ts'
import { decideStream } from './dedupe.ts'
import { type JobResult, planJob, type PlanResult, runJob, undoJob, type Undone } from './job.ts'
import type { WorkerOptions } from './phases/leases.ts'
import type { DocumentLike } from './decision/prepare.ts'
import { doneFiles, listRuns, type RunHead, type RunStatus } from './runs.ts'
import type { State } from './state.ts'
import { beginStream, keepStreamed } from './streams.ts'

export interface Job {
  /** Files, directories, globs, or `-` for stdin. */
  readonly inputs: readonly string[]
  /** The directory of all outputs. */
  readonly out: string
  readonly listing?: ListingInput | undefined
  readonly reading?: ReadingInput | undefined
  /** Names the run; else a name is made of the time. */
  readonly run?: string | undefined
  /** The first piece of input that is no document stops the run, and nothing of it is kept. */
  readonly strict?: boolean | undefined
  /** How workers share a run: whoever asks for the same while it goes on works along. */
  readonly sharing?: WorkerOptions | undefined
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
}

const LIVE_RUN = 'live'

export class Deduper {
  readonly #state: State
  readonly #overlay: () => Backend
  readonly #memory: number | undefined

  /** @internal */
  constructor(state: State, overlay: () => Backend, memory?: number) {
    this.#state = state
    this.#overlay = overlay
    this.#memory = memory
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
    if (!against) await beginStream(this.#state, run)
    yield* decideStream(this.#state, documents, { run, signal, against })
  }

  /** Decides about one document and remembers it. A text that has changed replaces what its id had before. */
  async decide(document: DocumentLike, run = LIVE_RUN): Promise<Decision> {
    const prepared = this.#state.prepare(document)
    const session = randomBytes(6).toString('base64url')
    await beginStream(this.#state, run)
    const [decision] = await this.#state.decide([prepared], { run, session }, keepStreamed(run))
    if (decision) return decision
    throw new PrestigeError('BACKEND_UNAVAILABLE', 'Nothing was decided.')
  }

  /** What would be decided, without a trace. */
  async look(document: DocumentLike): Promise<Decision> {
    return this.#state.lookAt(this.#state.prepare(document))
  }

  /** Goes on where it was cut off; asked for again when it is finished, it does nothing. */
  async run(job: Job): Promise<JobResult> {
    const { backend, config } = this.#state
    const { meaning, prefer } = this.#state.engine
    const { embedder } = meaning ?? {}
    // What is open already need not be loaded again; but a job goes by the rules of its config alone.
    const opened = prefer ? undefined : this.#state
    const isDone = await doneFiles(backend, await listRuns(backend))
    const run = async ({ shards, skipped }: Listing) => {
      const result = await runJob(
        backend,
        { ...job, config, shards, embedder, memory: this.#memory },
        opened,
      )
      return { ...result, notes: [...result.notes, ...notesOf(skipped)] }
    }
    return withShards(job, run, isDone)
  }

  /** What a run would come to. Nothing is kept and, but for `file`, nothing is written. */
  async plan(job: PlanJob): Promise<PlanResult> {
    const { backend, config } = this.#state
    if (!backend.serial) throw noPlan()
    return withShards(job, ({ shards }) =>
      planJob(
        this.#overlay(),
        { ...job, config, shards, embedder: this.#state.engine.meaning?.embedder },
        job.file,
      ),
    )
  }

  /** Writes those of the inputs that are no duplicates of what is known. Nothing is added to what is known. */
  clean(job: Job): Promise<AgainstResult> {
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

function infoOf({ id, status, startedAt, finishedAt, out, files }: RunHead): RunInfo {
  return { id, status, startedAt, finishedAt, out, files }
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
    return await use(listing)
  } finally {
    await listing.close()
  }
}

function notesOf(skipped: Listing['skipped']): string[] {
  const links = skipped.filter(({ why }) => why === LEADS_OUTSIDE)
  const [first] = links
  if (!first) return []
  const many = countOf(links.length, 'symbolic link')
  return [
    `${many} that lead outside the inputs were passed over, such as ${first.file}. To read them, add --follow-symlinks.`,
  ]
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
