/**
 * One worker thread with a model in it, and the one thing it is busy with. Started at first use, started again if it
 * died. It keeps the process alive only while it is busy.
 */

import { Worker } from 'node:worker_threads'

import { errorCodes, PrestigeError } from '../../platform/errors.ts'
import type { Failure, FromModel, ToModel } from './model-worker.ts'
import type { ModelFacts, ModelRequest } from './sentence-model.ts'

const isSource = import.meta.url.endsWith('.ts')
const SCRIPT = new URL(isSource ? './model-worker.ts' : './model-worker.js', import.meta.url)

/** Sources in TypeScript, as tests run them, need a loader inside the worker; what is published does not. */
function startThread(): Worker {
  if (!isSource) return new Worker(SCRIPT)
  const script = JSON.stringify(SCRIPT.href)
  return new Worker(`import('tsx/esm/api').then((tsx) => (tsx.register(), import(${script})))`, {
    eval: true,
    execArgv: [],
  })
}

interface Waiting {
  resolve(answer: FromModel): void
  reject(error: unknown): void
}

export class ModelThread {
  readonly #request: ModelRequest
  #worker: Worker | undefined
  #waiting: Waiting | undefined
  #facts: ModelFacts | undefined

  constructor(request: ModelRequest) {
    this.#request = request
  }

  async open(): Promise<ModelFacts> {
    if (this.#worker && this.#facts) return this.#facts
    this.#worker = this.#start()
    const answer = await this.#ask({ open: this.#request })
    if (!('facts' in answer)) throw stopped('did not open', answer)
    this.#facts = answer.facts
    return answer.facts
  }

  async embed(text: string): Promise<readonly Float32Array[]> {
    await this.open()
    const answer = await this.#ask({ text })
    if ('vectors' in answer) return answer.vectors
    throw stopped('gave no vectors', answer)
  }

  /** One at a time: whoever owns the thread sees to it. */
  #ask(message: ToModel): Promise<FromModel> {
    const worker = this.#worker
    if (!worker) return Promise.reject(stopped('is closed', undefined))
    worker.ref()
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      worker.postMessage(message, [])
    })
  }

  #start(): Worker {
    const worker = startThread()
    worker.unref()
    worker.on('message', (answer: FromModel) => this.#settle(worker, answer))
    worker.on('error', (error) => this.#fail(worker, error))
    worker.on('exit', (code) => this.#fail(worker, new Error(`It ended with code ${code}.`)))
    return worker
  }

  #settle(worker: Worker, answer: FromModel): void {
    if (worker !== this.#worker) return
    const waiting = this.#waiting
    this.#waiting = undefined
    worker.unref()
    if ('failure' in answer) waiting?.reject(failureOf(answer.failure))
    else waiting?.resolve(answer)
  }

  #fail(worker: Worker, cause: unknown): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    this.#facts = undefined
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.reject(stopped('stopped', cause))
  }

  async close(): Promise<void> {
    const worker = this.#worker
    if (!worker) return
    this.#fail(worker, new Error('It was closed.'))
    await worker.terminate()
  }
}

function failureOf({ code, message }: Failure): PrestigeError {
  const known = errorCodes.find((one) => one === code)
  if (known) return new PrestigeError(known, message)
  return new PrestigeError('WORKER_FAILED', `A model failed: ${message}`)
}

function stopped(what: string, cause: unknown): PrestigeError {
  return new PrestigeError('WORKER_FAILED', `A thread with a model ${what}.`, { cause })
}
