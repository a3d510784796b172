/**
 * Runs of the corpus job in the directory for outputs, one at a time, and what is asked about them. The state is where
 * `prestige dedupe -o DIR` has it, so that the command line and a server take turns on the same directory.
 */

import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import type { Backend } from '../../backends/index.ts'
import {
  type Deduper,
  isTakenBack,
  type JobConfig,
  type JobResult,
  listRuns,
  openDedupe,
  openForJob,
  type PlanResult,
  readRun,
  type Undone,
  wouldUndo,
} from '../../dedupe/index.ts'
import type { NamedInput } from '../../input/index.ts'
import { codeOf, PrestigeError } from '../../platform/errors.ts'
import { readLines } from '../../platform/files.ts'
import { versionOf } from '../../platform/version.ts'
import { HttpProblem } from '../http/problem.ts'
import { CorpusJob } from './job.ts'
import { saidBy } from './settings.ts'
import { Turns } from './turns.ts'
import { Uploads } from './uploads.ts'

/** What a job is to do. */
export interface Order {
  readonly config: JobConfig
  readonly run?: string | undefined
  readonly again: boolean
  /** As it can be asked for again. */
  readonly body: object
  /** Held; released when the job has ended. */
  readonly upload?: string | undefined
  readonly inputs: readonly NamedInput[]
}

export interface Plan extends PlanResult {
  /** The first documents that would be dropped or linked, as `duplicates.jsonl` has them. */
  readonly duplicates: readonly unknown[]
  readonly hasMore: boolean
}

export interface CorpusJobsOptions {
  readonly waitingMax: number
  /** Bytes of all uploads together. */
  readonly uploadsBytes: number
  readonly clock: () => number
}

/** Jobs that have ended and are still shown. */
const ENDED_MAX = 100

export class CorpusJobs {
  readonly out: string
  readonly state: string
  readonly uploads: Uploads
  readonly #turns: Turns
  readonly #clock: () => number
  readonly #jobs = new Map<string, CorpusJob>()
  readonly #closing = new AbortController()
  #cleaned: Promise<void> | undefined

  constructor(out: string, { waitingMax, uploadsBytes, clock }: CorpusJobsOptions) {
    this.out = resolve(out)
    this.state = join(this.out, 'state')
    this.uploads = new Uploads(join(this.out, 'uploads'), uploadsBytes)
    this.#turns = new Turns(waitingMax)
    this.#clock = clock
  }

  /** A place among those that wait; before the body of a request is read. */
  reserve(): () => void {
    if (this.#closing.signal.aborted)
      throw new PrestigeError('BACKEND_CLOSED', 'The server is shutting down.')
    return this.#turns.reserve()
  }

  get jobs(): CorpusJob[] {
    return [...this.#jobs.values()]
  }

  job(id: string): CorpusJob {
    const job = this.#jobs.get(id)
    if (job) return job
    throw new HttpProblem(
      'KEY_NOT_FOUND',
      'There is no such job. GET /api/v1/runs lists jobs, and the runs that they made.',
    )
  }

  /** Begins when its turn comes. `leave` gives its place back. */
  start(order: Order, leave: () => void): CorpusJob {
    const job = new CorpusJob(this.#clock, order.upload)
    this.#jobs.set(job.id, job)
    this.#forgetEnded()
    void this.#turns
      .run(() => this.#perform(job, order))
      .catch((error: unknown) => job.fail(error))
      .finally(leave)
    void job.ended.then(leave)
    return job
  }

  #forgetEnded(): void {
    const ended = this.jobs.filter((job) => job.isEnded)
    for (const job of ended.slice(0, -ENDED_MAX)) this.#jobs.delete(job.id)
  }

  async #perform(job: CorpusJob, order: Order): Promise<void> {
    try {
      job.signal.throwIfAborted()
      job.begin()
      await (this.#cleaned ??= this.#clean())
      const result = await this.#run(job, order)
      await this.#release(order)
      job.succeed(result)
    } catch (error) {
      const { run } = job.view
      // In its own turn: the next job would meet a run that was cut off.
      if (job.isDiscarded && run !== undefined) await this.#undo(run, false)
      await this.#release(order)
      job.fail(error)
    }
  }

  async #release({ upload }: Order): Promise<void> {
    if (upload === undefined) return
    await this.uploads.release(upload, (file) => this.#isInput(file))
  }

  async #run(job: CorpusJob, order: Order): Promise<JobResult> {
    const { config } = order
    const deduper = await this.#openFor(order, this.state)
    try {
      const result = await deduper.run({
        ...this.#jobOf(order),
        watcher: job.watcher(),
        ...(order.run !== undefined && { run: order.run }),
        formatOut: config.formatOut,
        shardSize: config.shardSize,
      })
      const { lacksReport, writeReports } = await import('../../report/index.ts')
      const { backend } = deduper
      if (result.isPublisher || (await lacksReport(backend, this.out, result.run)))
        await writeReports(backend, this.out, result, { version: versionOf() })
      return result
    } finally {
      await deduper.close()
    }
  }

  #openFor({ config, body, again }: Order, state: string): Promise<Deduper> {
    const how = { said: saidBy(config, body), out: this.out, again }
    return openForJob(state, state === this.state ? { ...how, durability: 'os' } : how)
  }

  #jobOf({ config, inputs }: Order) {
    const { listing, reading, strict } = config
    return { inputs, out: this.out, listing, reading, strict, version: versionOf() }
  }

  /** What a run would do. Nothing is kept of it. */
  async plan(order: Order, duplicatesMax: number, signal: AbortSignal): Promise<Plan> {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-plan-'))
    const stop = AbortSignal.any([signal, this.#closing.signal])
    try {
      return await this.#turns.run(async () => {
        stop.throwIfAborted()
        const deduper = await this.#openFor(order, this.#hasData() ? this.state : 'memory:')
        const file = join(directory, 'duplicates.jsonl')
        try {
          const job = { ...this.#jobOf(order), file, watcher: { signal: stop } }
          const result = await deduper.plan(job)
          return { ...result, ...(await firstLines(file, duplicatesMax)) }
        } finally {
          await deduper.close()
        }
      })
    } finally {
      await this.#release(order)
      await rm(directory, { recursive: true, force: true })
    }
  }

  #hasData(): boolean {
    return existsSync(join(this.state, 'data.mdb'))
  }

  /** For questions: nothing is decided. Settings are those of the last run. */
  async withState<T>(use: (deduper: Deduper) => Promise<T>): Promise<T> {
    const deduper = await openDedupe(this.state, {
      create: false,
      durability: 'os',
      asBefore: true,
    })
    try {
      return await use(deduper)
    } finally {
      await deduper.close()
    }
  }

  /** The same where there need not be a state yet. */
  async withAnyState<T>(use: (deduper: Deduper) => Promise<T>, otherwise: T): Promise<T> {
    if (!this.#hasData()) return otherwise
    return this.withState(use).catch((error: unknown) => {
      if (codeOf(error) === 'STORE_NOT_FOUND') return otherwise
      throw error
    })
  }

  /** The same about one run. */
  withRun<T>(run: string, use: (deduper: Deduper) => Promise<T>): Promise<T> {
    return this.withState(async (deduper) => {
      if (!(await listRuns(deduper.backend)).some(({ id }) => id === run)) throw noRun(run)
      return use(deduper)
    }).catch((error: unknown) => {
      throw codeOf(error) === 'STORE_NOT_FOUND' ? noRun(run) : error
    })
  }

  async undo(
    run: string,
    how: { readonly cascade: boolean; readonly dryRun: boolean },
  ): Promise<Undone[]> {
    if (how.dryRun) return this.withRun(run, ({ backend }) => wouldUndo(backend, run, how.cascade))
    if (this.#turns.isBusy)
      throw new HttpProblem(
        'CONTENDED',
        'A run goes on or waits. Stop it with DELETE /api/v1/jobs/{job}, or undo when it has ended.',
      )
    const leave = this.#turns.reserve()
    try {
      return await this.#turns.run(() => this.#undo(run, how.cascade))
    } finally {
      leave()
    }
  }

  async #undo(run: string, cascade: boolean): Promise<Undone[]> {
    const undone = await this.withRun(run, async (deduper) => {
      const files = await filesOf(deduper.backend)
      const taken = await deduper.undo(run, { cascade })
      return { taken, files }
    })
    const gone = new Set([run, ...undone.taken.map((one) => one.run)])
    for (const { file, runs } of undone.files) {
      const upload = runs.some((id) => gone.has(id)) ? this.uploads.nameOf(file) : undefined
      if (upload !== undefined)
        await this.uploads.removeUnused(upload, (path) => this.#isInput(path))
    }
    return undone.taken
  }

  /** Whether a run of the state that was not taken back has read a file. */
  async #isInput(file: string): Promise<boolean> {
    return (await this.#inputs()).has(file)
  }

  #inputs(): Promise<ReadonlySet<string>> {
    return this.withAnyState(({ backend }) => inputsOf(backend), new Set())
  }

  async #clean(): Promise<void> {
    await this.uploads.removeLeft(await this.#inputs())
  }

  /** Stops what goes on, which can be resumed. */
  stop(): void {
    this.#closing.abort()
    for (const job of this.#jobs.values()) job.stop(false)
  }

  /** Waits until all have ended, too. */
  async close(): Promise<void> {
    this.stop()
    await this.#turns.run(() => Promise.resolve())
  }
}

function noRun(run: string): PrestigeError {
  const message = `There is no run ${JSON.stringify(run.slice(0, 100))}. GET /api/v1/runs lists them.`
  return new PrestigeError('RUN_NOT_FOUND', message)
}

interface InputOfRuns {
  readonly file: string
  readonly runs: readonly string[]
}

/** Every input file of the runs that were not taken back. */
async function filesOf(backend: Backend): Promise<InputOfRuns[]> {
  const byFile = new Map<string, string[]>()
  for (const head of await listRuns(backend)) {
    if (isTakenBack(head) && head.redoneBy === undefined) continue
    const { shards } = await backend.read(readRun, head)
    for (const { file, files } of shards)
      for (const one of files ?? [{ file }])
        byFile.set(one.file, [...(byFile.get(one.file) ?? []), head.id])
  }
  return Array.from(byFile, ([file, runs]) => ({ file, runs }))
}

async function inputsOf(backend: Backend): Promise<ReadonlySet<string>> {
  return new Set((await filesOf(backend)).map(({ file }) => file))
}

async function firstLines(
  file: string,
  max: number,
): Promise<Pick<Plan, 'duplicates' | 'hasMore'>> {
  const duplicates: unknown[] = []
  for await (const line of readLines(file)) {
    if (line === '') continue
    if (duplicates.length === max) return { duplicates, hasMore: true }
    duplicates.push(JSON.parse(line))
  }
  return { duplicates, hasMore: false }
}
