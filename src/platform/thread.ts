/**
 * Worker threads. A thread is started from a file beside its owner, in sources and in what is published; it answers
 * requests, is started again if it died, and keeps the process alive only while it is busy.
 *
 * What crosses threads loses its class, and errors their code, so failures are sent as text.
 */

import { parentPort, type TransferListItem, Worker } from 'node:worker_threads'

import { errorCodes, PrestigeError } from './errors.ts'

/** `script`: the file's name without its ending; `owner`: `import.meta.url` of a file in the same directory. */
export function startThread(owner: string, script: string): Worker {
  const isSource = owner.endsWith('.ts')
  const url = new URL(`${script}.${isSource ? 'ts' : 'js'}`, owner)
  if (!isSource) return new Worker(url)
  // Sources in TypeScript, as tests run them, need a loader inside the worker; what is published does not.
  const load = `import('tsx/esm/api').then((tsx) => (tsx.register(), import(${JSON.stringify(url.href)})))`
  return new Worker(load, { eval: true, execArgv: [] })
}

export interface SentFailure {
  readonly code: string | undefined
  readonly message: string
}

/** In the thread: a failure as it is sent. */
export function sentFailure(failure: unknown): SentFailure {
  const cause = failure instanceof Error ? failure.cause : undefined
  const because = cause instanceof Error ? ` (${cause.message})` : ''
  return {
    code: failure instanceof PrestigeError ? failure.code : undefined,
    message: `${failure instanceof Error ? failure.message : String(failure)}${because}`,
  }
}

/** With its code, or WORKER_FAILED; `who` is the thread: "A thread that reads input". */
export function receivedFailure(who: string, { code, message }: SentFailure): PrestigeError {
  const known = errorCodes.find((one) => one === code)
  return known
    ? new PrestigeError(known, message)
    : new PrestigeError('WORKER_FAILED', `${who} failed: ${message}`)
}

interface Question<Request> {
  readonly id: number
  readonly request: Request
}

type Reply<Answer> = { readonly id: number } & (
  | { readonly answer: Answer }
  | { readonly failure: SentFailure }
)

interface Waiting<Answer> {
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** The thread's end: answers requests as they come. `transfers`: memory that an answer gives away. */
export function serve<Answer>(
  answerTo: (request: never) => Answer | Promise<Answer>,
  transfers: (answer: Answer) => readonly TransferListItem[] = () => [],
): void {
  parentPort?.on('message', ({ id, request }: Question<never>) => {
    void (async () => {
      try {
        const answer = await answerTo(request)
        parentPort?.postMessage({ id, answer }, transfers(answer))
      } catch (failure) {
        parentPort?.postMessage({ id, failure: sentFailure(failure) }, [])
      }
    })()
  })
}

export class Thread<Request, Answer> {
  readonly #who: string
  readonly #start: () => Worker
  readonly #waiting = new Map<number, Waiting<Answer>>()
  #worker: Worker | undefined
  #asked = 0

  constructor(who: string, start: () => Worker) {
    this.#who = who
    this.#start = start
  }

  /** How many requests it has not answered yet. */
  get busy(): number {
    return this.#waiting.size
  }

  /** Whether it has been started, and has not died since. */
  get isRunning(): boolean {
    return this.#worker !== undefined
  }

  ask(request: Request, transfers: readonly TransferListItem[] = []): Promise<Answer> {
    const worker = (this.#worker ??= this.#started())
    const id = this.#asked++
    return new Promise((resolve, reject) => {
      worker.postMessage({ id, request }, transfers)
      if (this.busy === 0) worker.ref()
      this.#waiting.set(id, { resolve, reject })
    })
  }

  /** What it was busy with fails. It starts again when it is asked. */
  async close(): Promise<void> {
    const worker = this.#worker
    if (!worker) return
    this.#fail(worker, new Error('It was closed.'))
    await worker.terminate()
  }

  #started(): Worker {
    const worker = this.#start()
    worker.unref()
    worker.on('message', (reply: Reply<Answer>) => this.#settle(worker, reply))
    worker.on('error', (error) => this.#fail(worker, error))
    worker.on('exit', (code) => this.#fail(worker, new Error(`It ended with code ${code}.`)))
    return worker
  }

  #settle(worker: Worker, reply: Reply<Answer>): void {
    if (worker !== this.#worker) return
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if (this.busy === 0) worker.unref()
    if ('failure' in reply) waiting?.reject(receivedFailure(this.#who, reply.failure))
    else waiting?.resolve(reply.answer)
  }

  #fail(worker: Worker, cause: unknown): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    const failure = new PrestigeError('WORKER_FAILED', `${this.#who} stopped.`, { cause })
    for (const one of waiting) one.reject(failure)
  }
}
