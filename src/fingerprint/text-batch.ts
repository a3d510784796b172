/**
 * Many texts in one piece of memory, on their way to a worker: each is encoded once, straight into it, and
 * the memory itself changes hands.
 */

import type { RawSketch, TextInput } from './kernels.ts'
import { type ShingleProfile, shapeOf, type ShingleShape } from './shingle-profile.ts'
import { finishedSketch, requireText, type SimilaritySketch } from './similarity-sketch.ts'

/** What a worker gets. Text i is `lengths[i]` bytes long, right behind text i - 1. */
export interface BatchRequest {
  readonly bytes: ArrayBuffer
  readonly lengths: Uint32Array<ArrayBuffer>
  readonly profile: ShingleProfile
  readonly slots: number
}

/** What it gives back. Of each text: its slots, its profile, and three numbers. */
export interface BatchAnswer {
  /** The memory of the request, to be used again. */
  readonly bytes: ArrayBuffer
  readonly slots: Uint16Array<ArrayBuffer>
  readonly profiles: readonly string[]
  readonly counts: Float64Array<ArrayBuffer>
}

const BATCH_BYTES = 256 * 1024
const BATCH_TEXTS_MAX = 1024
const BYTES_PER_UNIT_MAX = 3
const COUNTS = 3

const encoder = new TextEncoder()
const spare: ArrayBuffer[] = []
const SPARE_MAX = 16

/** Memory of an answer that came back; only the usual size is kept. */
export function recycle(bytes: ArrayBuffer): void {
  if (bytes.byteLength === BATCH_BYTES && spare.length < SPARE_MAX) spare.push(bytes)
}

export class TextBatch {
  #bytes = new Uint8Array(0)
  #used = 0
  #lengths: number[] = []

  get isEmpty(): boolean {
    return this.#lengths.length === 0
  }

  /** Whether there was room. An empty batch has room for any text. */
  add(text: TextInput): boolean {
    requireText(text)
    const isString = typeof text === 'string'
    const needed = isString ? text.length * BYTES_PER_UNIT_MAX : text.byteLength
    if (this.isEmpty) this.#open(isString ? text : needed)
    else if (this.#lengths.length === BATCH_TEXTS_MAX) return false
    else if (needed > this.#bytes.byteLength - this.#used) return false
    const target = this.#bytes.subarray(this.#used)
    if (!isString) target.set(text)
    const length = isString ? encoder.encodeInto(text, target).written : needed
    this.#lengths.push(length)
    this.#used += length
    return true
  }

  #open(first: string | number): void {
    const most = typeof first === 'string' ? first.length * BYTES_PER_UNIT_MAX : first
    if (most <= BATCH_BYTES)
      this.#bytes = new Uint8Array(spare.pop() ?? new ArrayBuffer(BATCH_BYTES))
    else this.#bytes = new Uint8Array(typeof first === 'string' ? Buffer.byteLength(first) : first)
  }

  /** Empties the batch. */
  take(profile: ShingleProfile, slots: number): BatchRequest {
    const lengths = Uint32Array.from(this.#lengths)
    const bytes = this.#bytes.buffer
    this.#lengths = []
    this.#used = 0
    return { bytes, lengths, profile, slots }
  }
}

/** In the worker. */
export function answerOf(
  { bytes, lengths, profile, slots }: BatchRequest,
  sketch: (text: Uint8Array, profile: ShingleProfile, slots: number) => RawSketch,
): BatchAnswer {
  const all = new Uint16Array(lengths.length * slots)
  const counts = new Float64Array(lengths.length * COUNTS)
  const profiles: string[] = []
  let start = 0
  lengths.forEach((length, at) => {
    const raw = sketch(new Uint8Array(bytes, start, length), profile, slots)
    all.set(raw.slots, at * slots)
    counts.set([raw.shingles, raw.distinct, raw.isDistinctExact ? 1 : 0], at * COUNTS)
    profiles.push(raw.shape.name)
    start += length
  })
  return { bytes, slots: all, profiles, counts }
}

/** Back at home. */
export function sketchesOf({ slots, profiles, counts }: BatchAnswer): SimilaritySketch[] {
  const width = slots.length / profiles.length
  return profiles.map((profile, at) => {
    const [shingles = 0, distinct = 0, isExact = 0] = counts.subarray(at * COUNTS)
    return finishedSketch({
      shape: shapeNamed(profile),
      slots: slots.slice(at * width, (at + 1) * width),
      shingles,
      distinct,
      isDistinctExact: isExact === 1,
    })
  })
}

function shapeNamed(profile: string): ShingleShape {
  // safe: the name is one that a shape has given itself.
  const shape = shapeOf(profile as ShingleProfile)
  if (typeof shape === 'string')
    throw new TypeError('A worker answers with a profile that was decided.')
  return shape
}
