/**
 * Runs of the corpus job in the directory for outputs, one at a time, and what is asked about them. The state is where
 * `prestige dedupe -o DIR` has it, so that the command line and a server take turns on the same directory.
 */

import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

import type { Backend } from '../../backends/index.ts'
import {
  type Deduper,
  isTakenBack,
  listRuns,
  openDedupe,
  readRun,
  requireKnownSettings,
  type Undone,
  wouldUndo,
} from '../../dedupe/index.ts'
import { codeOf, PrestigeError } from '../../platform/errors.ts'
import { HttpProblem } from '../http/problem.ts'
import { CorpusJob } from './job.ts'
import { readSettings, saidBy } from './settings.ts'
import { type Order, type Plan, planTask, runTask, type Task } from './task.ts'
import { Turns } from './turns.ts'
import { Uploads } from './uploads.ts'

/** What a job is to do, of which others need less. */
export interface JobOrder extends Order {
  /** Held; released when the job has ended. */
  readonly upload?: string | undefined
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

  /** Refuses settings that its run would be refused for. After other runs, that is not known before its turn. */
  async requireSettings(order: JobOrder): Promise<void> {
    if (order.again || !this.#turns.isFirst) return
    const said = saidBy(readSettings(order.settings), order.body)
    const check = ({ backend }: Deduper) => requireKnownSettings(backend, said, this.out)
    try {
      await this.withAnyState(check, undefined)
    } catch (error) {
      await this.#release(order)
      throw error
    }
  }

  /** Begins when its turn comes. `leave` gives its place back. */
  start(order: JobOrder, leave: () => void): CorpusJob {
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

  async #perform(job: CorpusJob, order: JobOrder): Promise<void> {
    try {
      job.signal.throwIfAborted()
      job.begin()
      await (this.#cleaned ??= this.#clean())
      const result = await runTask(this.#task('run', order, 0), job.watching())
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

  async #release({ upload }: JobOrder): Promise<void> {
    if (upload === undefined) return
    await this.uploads.release(upload, (file) => this.#isInput(file))
  }

  #task(kind: Task['kind'], order: JobOrder, duplicatesMax: number): Task {
    // A plan writes nothing: without a state there is none to be made.
    const state = kind === 'run' || this.#hasData() ? this.state : 'memory:'
    return { kind, order, out: this.out, state, duplicatesMax }
  }

  /** What a run would do. Nothing is kept of it. */
  async plan(order: JobOrder, duplicatesMax: number, signal: AbortSignal): Promise<Plan> {
    const stop = AbortSignal.any([signal, this.#closing.signal])
    try {
      return await this.#turns.run(() => {
        stop.throwIfAborted()
        return planTask(this.#task('plan', order, duplicatesMax), { signal: stop })
      })
    } finally {
      await this.#release(order)
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
