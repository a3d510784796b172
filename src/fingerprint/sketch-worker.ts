/**
 * One worker thread and the batches it is busy with. Started with the first batch, started again if it died.
 * It keeps the process alive only while a batch is out.
 */

import { Worker } from 'node:worker_threads'

import { PrestigeError } from '../platform/errors.ts'
import type { BatchAnswer, BatchFailure, BatchRequest } from './text-batch.ts'

interface Waiting {
  resolve(answer: BatchAnswer): void
  reject(error: unknown): void
}

const isSource = import.meta.url.endsWith('.ts')
const SCRIPT = new URL(
  isSource ? './fingerprint-worker.ts' : './fingerprint-worker.js',
  import.meta.url,
)

/** Sources in TypeScript, as tests run them, need a loader inside the worker; what is published does not. */
function startThread(): Worker {
  if (!isSource) return new Worker(SCRIPT)
  const script = JSON.stringify(SCRIPT.href)
  return new Worker(`import('tsx/esm/api').then((tsx) => (tsx.register(), import(${script})))`, {
    eval: true,
    execArgv: [],
  })
}

export class SketchWorker {
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined

  get busy(): number {
    return this.#waiting.size
  }

  send(request: BatchRequest): Promise<BatchAnswer> {
    const worker = (this.#worker ??= this.#start())
    if (this.busy === 0) worker.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject })
      worker.postMessage(request, [request.bytes, request.lengths.buffer])
    })
  }

  #start(): Worker {
    const worker = startThread()
    worker.unref()
    worker.on('message', (answer: BatchAnswer | BatchFailure) => this.#settle(worker, answer))
    worker.on('error', (error) => this.#fail(worker, error))
    worker.on('exit', (code) => this.#fail(worker, new Error(`It ended with code ${code}.`)))
    return worker
  }

  #settle(worker: Worker, answer: BatchAnswer | BatchFailure): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if (this.busy === 0) worker.unref()
    if ('failure' in answer) waiting?.reject(stopped('could not make a sketch', answer.failure))
    else waiting?.resolve(answer)
  }

  #fail(worker: Worker, cause: unknown): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const one of waiting) one.reject(stopped('stopped', cause))
  }

  async close(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    this.#fail(worker, new Error('It was closed.'))
    await worker.terminate()
  }
}

function stopped(what: string, cause: unknown): PrestigeError {
  return new PrestigeError('WORKER_FAILED', `A fingerprint worker ${what}.`, { cause })
}
