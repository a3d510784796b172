/**
 * Opens a sentence model as an embedder. Models run in worker threads, one text at a time each, so the event loop
 * stays free; texts wait in one queue, first come first served.
 */

import { PrestigeError } from '../../platform/errors.ts'
import { readOptions } from '../../platform/options.ts'
import { documentOf } from '../document.ts'
import type { Embedder, EmbedOptions } from './embedder.ts'
import { locateModel, type ModelPlan } from './locate.ts'
import { MODEL_DEFAULT } from './models.ts'
import { type EmbedderOptions, embedderOptions, type CheckedEmbedderOptions } from './options.ts'
import { ModelThread } from './model-thread.ts'
import type { RuntimeName } from './runtime.ts'
import type { ModelFacts } from './sentence-model.ts'

type Windows = readonly Float32Array[]

interface Job {
  readonly text: string
  resolve(windows: Windows): void
  reject(error: unknown): void
}

export async function openEmbedder(
  model: string = MODEL_DEFAULT,
  options: EmbedderOptions = {},
): Promise<SentenceEmbedder> {
  const read = readOptions(embedderOptions, options, 'How to open an embedder')
  const plan = locateModel(model, read)
  const { runtime, overlapTokens, windowsMax } = read
  const request = { plan, runtime, overlapTokens, windowsMax }
  const threads = Array.from({ length: read.workers }, () => new ModelThread(request))
  try {
    const facts = await threads[0]?.open()
    if (!facts) throw new PrestigeError('WORKER_FAILED', 'There is no thread for the model.')
    return new SentenceEmbedder(threads, facts, idOf(plan, facts, read))
  } catch (failure) {
    await Promise.all(threads.map((thread) => thread.close()))
    throw failure
  }
}

/** Everything a vector depends on, in an order that stays; digests shortened to what distinguishes them. */
function idOf(
  plan: ModelPlan,
  facts: ModelFacts,
  { overlapTokens }: CheckedEmbedderOptions,
): string {
  const parts = [
    plan.model,
    plan.precision,
    facts.runtime,
    plan.pooling,
    `windows=${plan.tokensMax}-${overlapTokens}-end`,
    ...(plan.prefix === '' ? [] : [`prefix=${JSON.stringify(plan.prefix)}`]),
    `weights=${facts.weightsSha256.slice(0, 16)}`,
    `tokenizer=${facts.tokenizerSha256.slice(0, 16)}`,
  ]
  return parts.join('/')
}

export class SentenceEmbedder implements Embedder {
  readonly id: string
  readonly dimensions: number
  /** What computes the model. Reported, because it may be the slower one. */
  readonly runtime: RuntimeName
  readonly #threads: readonly ModelThread[]
  readonly #idle: ModelThread[]
  readonly #queue = new Set<Job>()
  #isClosed = false

  constructor(threads: readonly ModelThread[], facts: ModelFacts, id: string) {
    this.id = id
    this.dimensions = facts.dimensions
    this.runtime = facts.runtime
    this.#threads = threads
    // The first has its model loaded, and is taken first.
    this.#idle = threads.toReversed()
  }

  /** The pooled vector of every text: of a short one, its only window. */
  async embed(texts: readonly string[], options: EmbedOptions = {}): Promise<Float32Array[]> {
    const windows = await this.embedWindows(texts, options)
    return windows.map((vectors) => documentOf(vectors).pooled)
  }

  async embedWindows(texts: readonly string[], { signal }: EmbedOptions = {}): Promise<Windows[]> {
    signal?.throwIfAborted()
    if (this.#isClosed) throw closed()
    const jobs: Job[] = []
    const answers = Promise.all(
      texts.map(
        (text) =>
          new Promise<Windows>((resolve, reject) => {
            const job = { text: text.toWellFormed(), resolve, reject }
            jobs.push(job)
            this.#queue.add(job)
          }),
      ),
    )
    const stop = () => this.#drop(jobs, signal?.reason)
    signal?.addEventListener('abort', stop, { once: true })
    this.#work()
    try {
      return await answers
    } catch (failure) {
      // One text failed: nobody waits for the others any more.
      this.#drop(jobs, failure)
      throw failure
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }

  /** What a thread is busy with goes on to its end, unheard. */
  #drop(jobs: readonly Job[], reason: unknown): void {
    for (const job of jobs) {
      this.#queue.delete(job)
      job.reject(reason)
    }
  }

  #work(): void {
    for (const job of this.#queue) {
      const thread = this.#idle.pop()
      if (!thread) return
      this.#queue.delete(job)
      void thread
        .embed(job.text)
        .then(
          (windows) => job.resolve(windows),
          (failure: unknown) => job.reject(failure),
        )
        .finally(() => {
          this.#idle.push(thread)
          this.#work()
        })
    }
  }

  /** Ends the threads. What they were busy with fails. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#drop([...this.#queue], closed())
    await Promise.all(this.#threads.map((thread) => thread.close()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function closed(): PrestigeError {
  return new PrestigeError('WORKER_FAILED', 'The embedder is closed.')
}
