/**
 * A run or a plan in a process of its own: other requests do not wait for it, and if it dies, a job has failed and the
 * server goes on.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import type { JobResult, PlanResult } from '../../dedupe/index.ts'
import type { NamedInput } from '../../input/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { receivedFailure, type SentFailure } from '../../platform/thread.ts'
import type { JobPhase } from './job.ts'
import type { SettingsInput } from './settings.ts'

/** What a job is to do. */
export interface Order {
  readonly settings: SettingsInput
  readonly run?: string | undefined
  readonly again: boolean
  /** As it can be asked for again. */
  readonly body: object
  readonly inputs: readonly NamedInput[]
}

export interface Task {
  readonly kind: 'run' | 'plan'
  readonly order: Order
  /** Where results go, and where the state is. */
  readonly out: string
  readonly state: string
  /** Of a plan: so many are shown. */
  readonly duplicatesMax: number
}

export interface Plan extends PlanResult {
  /** The first documents that would be dropped or linked, as `duplicates.jsonl` has them. */
  readonly duplicates: readonly unknown[]
  readonly hasMore: boolean
}

export type Progress =
  | { readonly kind: 'inputs'; readonly bytesAll: number }
  | { readonly kind: 'progress'; readonly documents: number; readonly bytes: number }
  | { readonly kind: 'phase'; readonly phase: JobPhase; readonly run: string }

export type FromRun =
  | Progress
  | { readonly kind: 'done'; readonly result: JobResult | Plan }
  | { readonly kind: 'failed'; readonly failure: SentFailure }

export interface Watching {
  readonly signal: AbortSignal
  readonly onEvent?: ((event: Progress) => void) | undefined
}

export async function runTask(task: Task, watching: Watching): Promise<JobResult> {
  return (await performed(task, watching)) as JobResult // safe: the result of a run
}

export async function planTask(task: Task, watching: Watching): Promise<Plan> {
  return (await performed(task, watching)) as Plan // safe: the result of a plan
}

/** Ends when the process has ended. */
function performed(task: Task, { signal, onEvent }: Watching): Promise<JobResult | Plan> {
  const child = started()
  const stop = () => child.connected && child.send('stop', () => undefined)
  return new Promise<JobResult | Plan>((resolve, reject) => {
    let outcome: FromRun | undefined
    // safe: the process sends nothing else
    child.on('message', (message: FromRun) => {
      if (message.kind === 'done' || message.kind === 'failed') outcome = message
      else onEvent?.(message)
    })
    child.on('error', reject)
    child.on('close', (code, killedBy) => {
      if (outcome?.kind === 'done') resolve(outcome.result)
      else if (signal.aborted) reject(signal.reason)
      else if (outcome?.kind === 'failed') reject(failureOf(outcome.failure))
      else reject(died(killedBy ?? `exit code ${code}`))
    })
    child.send(task, (error) => error && child.kill())
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  }).finally(() => signal.removeEventListener('abort', stop))
}

function started(): ChildProcess {
  const isSource = import.meta.url.endsWith('.ts')
  const script = new URL(`run-process.${isSource ? 'ts' : 'js'}`, import.meta.url)
  return fork(fileURLToPath(script), [], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // What comes as a copy keeps its dates, maps and bytes.
    serialization: 'advanced',
    // Sources in TypeScript, as tests run them, need a loader; what is published does not.
    ...(isSource && { execArgv: ['--import', 'tsx'] }),
  })
}

/** What is no error of ours may have anything in its message: the process has written it to the log. */
function failureOf(failure: SentFailure): Error {
  if (failure.code === undefined) return new Error(failure.message)
  return receivedFailure('The process of the run', failure)
}

function died(how: string): PrestigeError {
  const message = `The process of the run ended early (${how}). Send the same documents again to resume it.`
  return new PrestigeError('WORKER_FAILED', message)
}
