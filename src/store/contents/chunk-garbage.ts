/**
 * Collects chunks by itself where there is much garbage (`gc: 'immediate'`).
 *
 * Invariant: one collection of a store at a time, in this process and, by the lease, in all of them. Each reads all
 * recipes and takes the marks of others away, so several at once would only keep each other from being completed.
 */

import type { Backend } from '../../backends/index.ts'
import { GcLease } from '../gc-lease.ts'
import { readGarbage } from '../tallies.ts'
import { chunkSlices } from './collect-chunks.ts'
import type { Layout } from './layout.ts'

const RUN_BY_ITSELF_BYTES = 1024 * 1024
const RUN_BY_ITSELF_SHARE = 0.1

/** There is so much garbage that it should not wait for `collect()`. */
export async function hasMuchGarbage(backend: Backend): Promise<boolean> {
  const { garbageBytes, chunkBytes } = await backend.read(readGarbage)
  return garbageBytes > Math.max(RUN_BY_ITSELF_BYTES, chunkBytes * RUN_BY_ITSELF_SHARE)
}

export class ChunkGarbage {
  readonly #backend: Backend
  readonly #layout: Layout
  readonly #lease: GcLease
  #running: Promise<void> | undefined
  #batches = 0
  /** Something was removed in a batch. */
  #isDue = false

  constructor(backend: Backend, layout: Layout) {
    this.#backend = backend
    this.#layout = layout
    this.#lease = new GcLease(backend)
  }

  /** To be called when the recipe of a content is gone. If that makes it much, waits until it is collected. */
  async noteRemoved(): Promise<void> {
    this.#isDue = true
    if (this.#batches === 0) await this.#collect()
  }

  /** What `work` removes is left to `collectDue`. */
  async inBatch<T>(work: () => Promise<T>): Promise<T> {
    this.#batches++
    try {
      return await work()
    } finally {
      this.#batches--
    }
  }

  /** Of batches that have ended. */
  async collectDue(): Promise<void> {
    if (this.#isDue && this.#batches === 0) await this.#collect()
  }

  async #collect(): Promise<void> {
    // It may have read the recipe before that was removed. Whoever began it gets its error.
    await this.#running?.catch(() => undefined)
    this.#isDue = false
    if (!(await hasMuchGarbage(this.#backend))) return
    this.#running ??= this.#run().finally(() => (this.#running = undefined))
    await this.#running
  }

  /** What is left to another process is collected by that, or after the next removal. */
  async #run(): Promise<void> {
    if (!(await this.#lease.take())) return
    try {
      for await (const _slice of chunkSlices(this.#backend, this.#layout)) {
        if (!(await this.#lease.take())) return
      }
    } finally {
      await this.#lease.release()
    }
  }
}
