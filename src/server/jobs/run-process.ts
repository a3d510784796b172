/**
 * The process of one run or plan: it is given a task, reports progress, and ends. Being asked to stop, by its server or by
 * a signal, or losing its server, leaves the state in order, so that the run can be resumed.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'

import {
  type Deduper,
  type JobConfig,
  type JobEvents,
  type JobResult,
  openForJob,
  type PlanResult,
} from '../../dedupe/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { readLines } from '../../platform/files.ts'
import { sentFailure } from '../../platform/thread.ts'
import { versionOf } from '../../platform/version.ts'
import { readSettings, saidBy } from './settings.ts'
import type { FromRun, Plan, Task } from './task.ts'

/** From here on a thread prepares documents; for less it is not worth its start. */
const THREADS_FROM_BYTES = 1024 * 1024
/** So many milliseconds, at least, are between two messages of progress. */
const PROGRESS_MS = 50

const stop = new AbortController()

/** Each message has been passed on before the process ends. */
function send(message: FromRun): Promise<void> {
  return new Promise((resolve) => {
    if (process.send && process.connected) process.send(message, () => resolve())
    else resolve()
  })
}

/** Progress is added up: there may be a call for every document. */
class Reported implements JobEvents {
  readonly signal = stop.signal
  #documents = 0
  #bytes = 0
  #bytesAll = 0
  #sentAt = -Infinity

  get threads(): number {
    return this.#bytesAll < THREADS_FROM_BYTES ? 0 : 1
  }

  onShards(shards: readonly { readonly bytes: number }[]): void {
    this.#bytesAll = shards.reduce((sum, { bytes }) => sum + bytes, 0)
    void send({ kind: 'inputs', bytesAll: this.#bytesAll })
  }

  onProgress(documents: number, bytes: number): void {
    this.#documents += documents
    this.#bytes += bytes
    if (performance.now() - this.#sentAt >= PROGRESS_MS) this.flush()
  }

  onPhase(phase: 'reading' | 'deciding' | 'publishing', run: string): void {
    this.flush()
    void send({ kind: 'phase', phase, run })
  }

  flush(): void {
    if (this.#documents === 0 && this.#bytes === 0) return
    void send({ kind: 'progress', documents: this.#documents, bytes: this.#bytes })
    this.#documents = this.#bytes = 0
    this.#sentAt = performance.now()
  }
}

function openFor(task: Task, config: JobConfig): Promise<Deduper> {
  const { state, out, order } = task
  const how = { said: saidBy(config, order.body), out, again: order.again }
  return openForJob(state, state === 'memory:' ? how : { ...how, durability: 'os' })
}

function jobOf({ out, order }: Task, { listing, reading, strict }: JobConfig) {
  return { inputs: order.inputs, out, listing, reading, strict, version: versionOf() }
}

async function run(task: Task): Promise<JobResult> {
  const config = readSettings(task.order.settings)
  const deduper = await openFor(task, config)
  try {
    const watcher = new Reported()
    const result = await deduper.run({
      ...jobOf(task, config),
      watcher,
      ...(task.order.run !== undefined && { run: task.order.run }),
      formatOut: config.formatOut,
      shardSize: config.shardSize,
    })
    watcher.flush()
    const { lacksReport, writeReports } = await import('../../report/index.ts')
    const { backend } = deduper
    if (result.isPublisher || (await lacksReport(backend, task.out, result.run)))
      await writeReports(backend, task.out, result, { version: versionOf() })
    return result
  } finally {
    await deduper.close()
  }
}

async function plan(task: Task): Promise<Plan> {
  const config = readSettings(task.order.settings)
  const directory = await mkdtemp(join(tmpdir(), 'prestige-plan-'))
  try {
    const file = join(directory, 'duplicates.jsonl')
    const result = await planned(task, config, file)
    return { ...result, ...(await firstLines(file, task.duplicatesMax)) }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function planned(task: Task, config: JobConfig, file: string): Promise<PlanResult> {
  const deduper = await openFor(task, config)
  try {
    return await deduper.plan({ ...jobOf(task, config), file, watcher: { signal: stop.signal } })
  } finally {
    await deduper.close()
  }
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

async function perform(task: Task): Promise<void> {
  try {
    stop.signal.throwIfAborted()
    const result = task.kind === 'run' ? await run(task) : await plan(task)
    await send({ kind: 'done', result })
  } catch (error) {
    const isOurs = error instanceof PrestigeError && error.code !== 'UNEXPECTED'
    if (!isOurs && !stop.signal.aborted) process.stderr.write(`${inspect(error)}\n`)
    await send({ kind: 'failed', failure: sentFailure(error) })
  }
  process.removeListener('disconnect', end)
  if (process.connected) process.disconnect()
}

const end = () => stop.abort()
process.on('disconnect', end)
// A terminal sends its signals to the server and to its runs alike.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end)
// safe: only the server, by `performed`, sends messages
process.on('message', (message: Task | 'stop') => {
  if (message === 'stop') end()
  else void perform(message)
})
