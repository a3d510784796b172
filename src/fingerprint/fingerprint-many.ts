/**
 * Sketches of many texts, in worker threads, in the order of the texts, the same as `sketchOf` gives.
 *
 * Texts travel in batches of about 256 KiB, so a slow source sees its results a batch at a time. At most two
 * batches a worker are out, so memory does not grow with the number of texts.
 */

import { availableParallelism } from 'node:os'

import { PrestigeError } from '../platform/errors.ts'
import { startThread, Thread } from '../platform/thread.ts'
import type { TextInput } from './kernels.ts'
import { DEFAULT_PROFILE, shapeOf, type ShingleProfile } from './shingle-profile.ts'
import { requireSlots, type SimilaritySketch, type SketchOptions } from './similarity-sketch.ts'
import {
  type BatchAnswer,
  type BatchRequest,
  recycle,
  sketchesOf,
  TextBatch,
} from './text-batch.ts'

export type Texts = Iterable<TextInput> | AsyncIterable<TextInput>

export interface FingerprintManyOptions extends SketchOptions {
  /** Whose workers to use; without it, those that all such calls of this process share. */
  readonly pool?: FingerprintPool | undefined
}

const DEFAULT_SLOTS = 128
const WORKERS_MAX = 256
const BATCHES_PER_WORKER = 2

type SketchThread = Thread<BatchRequest, BatchAnswer>

export function sketchThread(): SketchThread {
  return new Thread('A fingerprint worker', () =>
    startThread(import.meta.url, './fingerprint-worker'),
  )
}

export class FingerprintPool {
  readonly #workers: readonly SketchThread[]
  #isClosed = false

  constructor({ workers = Math.max(1, availableParallelism() - 1) }: { workers?: number } = {}) {
    if (!Number.isInteger(workers) || workers < 1 || workers > WORKERS_MAX) {
      throw new PrestigeError(
        'INVALID_OPTIONS',
        `workers is a whole number from 1 to ${WORKERS_MAX}, not ${workers}.`,
      )
    }
    this.#workers = Array.from({ length: workers }, sketchThread)
  }

  async *sketchMany(texts: Texts, options: SketchOptions = {}): AsyncGenerator<SimilaritySketch> {
    const slots = requireSlots(options.slots ?? DEFAULT_SLOTS)
    const profile = options.profile ?? DEFAULT_PROFILE
    shapeOf(profile)
    const batch = new TextBatch()
    const out: Promise<SimilaritySketch[]>[] = []
    const most = this.#workers.length * BATCHES_PER_WORKER
    for await (const text of texts) {
      if (batch.add(text)) continue
      out.push(this.#send(batch, profile, slots))
      batch.add(text)
      if (out.length >= most) yield* (await out.shift()) ?? []
    }
    if (!batch.isEmpty) out.push(this.#send(batch, profile, slots))
    for (const sketches of out) yield* await sketches
  }

  #send(batch: TextBatch, profile: ShingleProfile, slots: number): Promise<SimilaritySketch[]> {
    const sketches = this.#answer(batch, profile, slots)
    // It is awaited in its turn, or never if the caller has stopped asking; a failure is not lost before.
    sketches.catch(() => undefined)
    return sketches
  }

  async #answer(
    batch: TextBatch,
    profile: ShingleProfile,
    slots: number,
  ): Promise<SimilaritySketch[]> {
    if (this.#isClosed) throw new PrestigeError('WORKER_FAILED', 'The fingerprint pool is closed.')
    const request = batch.take(profile, slots)
    const transfers = [request.bytes, request.lengths.buffer]
    const answer = await this.#idlest().ask(request, transfers)
    const sketches = sketchesOf(answer)
    recycle(answer.bytes)
    return sketches
  }

  #idlest(): SketchThread {
    return this.#workers.reduce((best, worker) => (worker.busy < best.busy ? worker : best))
  }

  /** Ends the workers. What they were busy with fails. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#workers.map((worker) => worker.close()))
  }
}

let shared: FingerprintPool | undefined

export function fingerprintMany(
  texts: Texts,
  options: FingerprintManyOptions = {},
): AsyncGenerator<SimilaritySketch> {
  const { pool, ...sketchOptions } = options
  return (pool ?? (shared ??= new FingerprintPool())).sketchMany(texts, sketchOptions)
}

/** Ends the shared workers; the next call starts new ones. */
export async function closeFingerprintPool(): Promise<void> {
  const pool = shared
  shared = undefined
  await pool?.close()
}
