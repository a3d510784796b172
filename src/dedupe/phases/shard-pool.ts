/**
 * Threads that read and prepare shards ahead of the one that decides. Batches come out in the order of the input
 * whatever the number of threads, so decisions do not depend on it.
 */

import {
  receivedFailure,
  type SentFailure,
  sentFailure,
  startThread,
} from '../../platform/thread.ts'
import type { ReadingInput, Shard } from '../../input/index.ts'
import type { Preparing } from '../decision/prepare.ts'
import type { Replay } from './replay.ts'
import type { Batch } from './shard-batches.ts'
import type { ShardRequest } from './shard-worker.ts'

/** `more`: documents that are not read from the input are wanted. */
type Message = { readonly batch: Batch } | { readonly failure: SentFailure }

/** One thread, and what it has said that nobody has heard yet. */
class Thread {
  readonly #worker = startThread(import.meta.url, './shard-worker')
  readonly #said: Message[] = []
  #heard: (() => void) | undefined
  #replay: Replay | undefined

  constructor() {
    this.#worker.on('message', (message: Message | 'more') => {
      if (message === 'more') void this.#feed()
      else this.#say(message)
    })
    this.#worker.on('error', (failure) => this.#say({ failure: sentFailure(failure) }))
    this.#worker.on('exit', (code) => {
      const failure = { code: undefined, message: `it ended with code ${code}` }
      this.#say({ failure })
    })
  }

  begin(request: Omit<ShardRequest, 'isReplayed'>, replay: Replay | undefined): void {
    this.#replay = replay
    this.#worker.postMessage({ ...request, isReplayed: replay !== undefined }, [])
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
      if ('failure' in message) throw receivedFailure('A thread that reads input', message.failure)
      this.#worker.postMessage('taken', [])
      yield message.batch
      if (message.batch.isLast) return
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }

  async #feed(): Promise<void> {
    try {
      const next = await this.#replay?.next()
      this.#worker.postMessage({ items: next?.done ? undefined : next?.value }, [])
    } catch (error) {
      this.#say({ failure: sentFailure(error) })
    }
  }

  #say(message: Message): void {
    this.#said.push(message)
    this.#heard?.()
  }
}

export interface Work {
  readonly shard: Shard
  readonly reading: ReadingInput
  readonly strict: boolean
  /** Number of the run, if texts are packed. */
  readonly run: number | undefined
  /** In place of what is in the input. */
  readonly replay: Replay | undefined
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
        const { shard, reading, strict, run, replay } = work
        thread.begin({ preparing, shard, reading, strict, run }, replay)
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
