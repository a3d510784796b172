/**
 * Threads that read and prepare shards ahead of the one that decides. Batches come out in the order of the input
 * whatever the number of threads, so decisions do not depend on it.
 */

import { Worker } from 'node:worker_threads'

import { errorCodes, PrestigeError } from '../../platform/errors.ts'
import type { ReadingInput, Shard } from '../../input/index.ts'
import type { Preparing } from '../decision/prepare.ts'
import type { Batch } from './shard-batches.ts'
import type { ShardRequest } from './shard-worker.ts'

type Message = { readonly batch: Batch } | { readonly failure: unknown }

const isSource = import.meta.url.endsWith('.ts')
const SCRIPT = new URL(isSource ? './shard-worker.ts' : './shard-worker.js', import.meta.url)

/** Sources in TypeScript, as tests run them, need a loader inside the worker; what is published does not. */
function startThread(): Worker {
  if (!isSource) return new Worker(SCRIPT)
  const script = JSON.stringify(SCRIPT.href)
  return new Worker(`import('tsx/esm/api').then((tsx) => (tsx.register(), import(${script})))`, {
    eval: true,
    execArgv: [],
  })
}

/** One thread, and what it has said that nobody has heard yet. */
class Thread {
  readonly #worker = startThread()
  readonly #said: Message[] = []
  #heard: (() => void) | undefined

  constructor() {
    this.#worker.on('message', (message: Message) => this.#say(message))
    this.#worker.on('error', (failure) => this.#say({ failure }))
    this.#worker.on('exit', (code) => {
      this.#say({ failure: new Error(`The thread ended with code ${code}.`) })
    })
  }

  begin(request: ShardRequest): void {
    this.#worker.postMessage(request, [])
  }

  async *batches(): AsyncGenerator<Batch> {
    for (;;) {
      const message = this.#said.shift()
      if (message === undefined) {
        await new Promise<void>((resolve) => {
          this.#heard = resolve
        })
        continue
      }
      if ('failure' in message) throw failureOf(message.failure)
      this.#worker.postMessage('taken', [])
      yield message.batch
      if (message.batch.isLast) return
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }

  #say(message: Message): void {
    this.#said.push(message)
    this.#heard?.()
  }
}

/** What crosses threads loses its class. */
function failureOf(failure: unknown): unknown {
  if (failure instanceof PrestigeError) return failure
  const code: unknown = Reflect.get(Object(failure), 'code')
  const message = String(Reflect.get(Object(failure), 'message') ?? failure)
  const known = errorCodes.find((one) => one === code)
  if (known) return new PrestigeError(known, message, { cause: failure })
  return new PrestigeError('WORKER_FAILED', `A thread that reads input failed: ${message}`, {
    cause: failure,
  })
}

export interface Work {
  readonly shard: Shard
  readonly reading: ReadingInput
  readonly strict: boolean
}

export interface PreparedBatch<W> {
  readonly work: W
  readonly batch: Batch
}

/** Batches of shards in the order in which they are given, prepared by so many threads ahead. */
export async function* preparedAhead<W extends Work>(
  preparing: Preparing,
  next: () => Promise<W | undefined>,
  threads: number,
): AsyncGenerator<PreparedBatch<W>> {
  const all: Thread[] = []
  const idle: Thread[] = []
  const busy: { readonly thread: Thread; readonly work: W }[] = []
  try {
    for (;;) {
      while (busy.length < threads) {
        const work = await next()
        if (!work) break
        const thread = idle.pop() ?? new Thread()
        if (!all.includes(thread)) all.push(thread)
        const { shard, reading, strict } = work
        thread.begin({ preparing, shard, reading, strict })
        busy.push({ thread, work })
      }
      const first = busy.shift()
      if (!first) return
      const { thread, work } = first
      for await (const batch of thread.batches()) yield { work, batch }
      idle.push(thread)
    }
  } finally {
    await Promise.all(all.map((thread) => thread.end()))
  }
}
