/** The text kernels without WebAssembly: the same bits, several times slower. */

import type { Bytes } from '../platform/bytes.ts'
import type { RawSimHash, RawSketch, SketchAndHashes, TextInput, TextKernels } from './kernels.ts'
import { estimateDistinct } from './distinct-estimate.ts'
import type { MinHashCoefficients } from './minhash-coefficients.ts'
import { mix, SIMHASH_HIGH_SEED } from './mix.ts'
import {
  chosenShape,
  type ShingleProfile,
  type ShingleShape,
  type TextMeasures,
} from './shingle-profile.ts'
import { hash64, minhashOf } from './twin-minhash64.ts'
import { distinctHashes, sketchOfHashes } from './twin-sketch.ts'
import { textMeasures } from './twin-sample.ts'
import { allShingleHashes } from './twin-text.ts'

const encoder = new TextEncoder()

export class TwinKernels implements TextKernels {
  readonly name = 'twin'

  measures(input: TextInput): TextMeasures {
    return textMeasures(bytesOf(input))
  }

  sketch(input: TextInput, profile: ShingleProfile, slots: number): RawSketch {
    const { shape, hashes } = hashesOf(input, profile)
    const shingles = hashes.length
    if (shingles === 0) return emptySketch(shape, slots)
    const twin = sketchOfHashes(hashes, slots)
    return {
      shape,
      slots: twin.slots,
      shingles,
      distinct: twin.distinct || estimateDistinct(twin.sum, slots, shingles),
      isDistinctExact: twin.distinct > 0,
    }
  }

  sketchAndHashes(input: TextInput, profile: ShingleProfile, slots: number): SketchAndHashes {
    const sketch = this.sketch(input, profile, slots)
    return { sketch, hashes: this.shingleHashes(input, sketch.shape.name) }
  }

  shingleHashes(input: TextInput, profile: ShingleProfile): Uint32Array {
    return distinctHashes(hashesOf(input, profile).hashes)
  }

  simhash(input: TextInput, profile: ShingleProfile): RawSimHash {
    const { shape, hashes } = hashesOf(input, profile)
    const low = majority(hashes)
    const high = majority(hashes.map((hash) => mix(hash ^ SIMHASH_HIGH_SEED)))
    return { shape, low, high, shingles: hashes.length }
  }

  minhash64(input: TextInput, width: number, coefficients: MinHashCoefficients): BigUint64Array {
    return minhashOf(bytesOf(input), width, coefficients)
  }

  xxhash64(bytes: Bytes): bigint {
    return hash64(bytes)
  }
}

function bytesOf(input: TextInput): Bytes {
  return typeof input === 'string' ? encoder.encode(input) : input
}

function hashesOf(
  input: TextInput,
  profile: ShingleProfile,
): { readonly shape: ShingleShape; readonly hashes: Uint32Array } {
  const bytes = bytesOf(input)
  const shape = chosenShape(profile, textMeasures(bytes))
  return { shape, hashes: allShingleHashes(bytes, shape) }
}

function emptySketch(shape: ShingleShape, slots: number): RawSketch {
  return { shape, slots: new Uint16Array(slots), shingles: 0, distinct: 0, isDistinctExact: true }
}

/** The bits set in more than half of the hashes. */
function majority(hashes: Uint32Array): number {
  const counts = new Uint32Array(32)
  for (const hash of hashes) {
    for (let bit = 0; bit < 32; bit++) counts[bit] = (counts[bit] ?? 0) + ((hash >>> bit) & 1)
  }
  let result = 0
  counts.forEach((count, bit) => {
    if (count * 2 > hashes.length) result |= 1 << bit
  })
  return result >>> 0
}
