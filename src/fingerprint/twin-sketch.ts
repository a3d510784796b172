/** The sketch in TypeScript. See `assembly/sketch.ts` for what it computes. */

import { mix, ROUND_STEP, SKETCH_SEED } from './mix.ts'

const EMPTY_SLOT = 0xffffffff
const LATER = 0x80000000
const WORD = 2 ** 32

export interface TwinSketch {
  readonly slots: Uint16Array
  readonly sum: number
  /** 0 if there was no need to count. */
  readonly distinct: number
}

export function sketchOfHashes(hashes: Uint32Array, slots: number): TwinSketch {
  const values = new Uint32Array(slots).fill(EMPTY_SLOT)
  for (const hash of hashes) {
    const product = ((hash ^ SKETCH_SEED) >>> 0) * slots
    keepLeast(values, Math.floor(product / WORD), (product >>> 0) >>> 1)
  }
  const isFilled = !values.includes(EMPTY_SLOT)
  const distinct = isFilled ? undefined : distinctHashes(hashes)
  if (distinct) fillRest(values, distinct)
  return {
    slots: Uint16Array.from(values, (value) => mix(value) >>> 16),
    sum: values.reduce((sum, value) => sum + value, 0),
    distinct: distinct?.length ?? 0,
  }
}

function keepLeast(values: Uint32Array, slot: number, value: number): void {
  if (value < (values[slot] ?? 0)) values[slot] = value
}

/** Sorted. */
export function distinctHashes(hashes: Uint32Array): Uint32Array {
  const sorted = hashes.toSorted()
  let count = 0
  for (const hash of sorted) {
    if (count === 0 || hash !== sorted[count - 1]) sorted[count++] = hash
  }
  return sorted.slice(0, count)
}

function fillRest(values: Uint32Array, hashes: Uint32Array): void {
  const slots = values.length
  for (let round = 1; values.includes(EMPTY_SLOT); round++) {
    const seed = mix((SKETCH_SEED + Math.imul(ROUND_STEP, round)) | 0)
    const tag = (LATER | (round << 21)) >>> 0
    for (const hash of hashes) {
      const mixed = mix(hash ^ seed)
      if (round < slots) {
        const product = mixed * slots
        keepLeast(values, Math.floor(product / WORD), (tag | ((product >>> 0) >>> 11)) >>> 0)
      } else keepLeast(values, round - slots, (tag | (mixed >>> 11)) >>> 0)
    }
  }
}
