/** The text kernels in WebAssembly. Each call places its input, runs to its end and copies the answer out. */

import type { Bytes } from '../platform/bytes.ts'
import type { RawSimHash, RawSketch, SketchAndHashes, TextInput, TextKernels } from './kernels.ts'
import { estimateDistinct } from './distinct-estimate.ts'
import type { MinHashCoefficients } from './minhash-coefficients.ts'
import {
  chosenShape,
  kindNumber,
  type ShingleProfile,
  type ShingleShape,
  type TextMeasures,
} from './shingle-profile.ts'
import { WasmMemory } from './wasm-memory.ts'

export class WasmKernels implements TextKernels {
  readonly name = 'wasm'
  #memory: WasmMemory | undefined

  measures(input: TextInput): TextMeasures {
    const measured = <T>(measure: (text: TextMeasures) => T) =>
      this.#inMemory((memory) => measure(measuresAt(memory, memory.place(input))))
    return {
      counts: () => measured((text) => text.counts()),
      sample: () => measured((text) => text.sample()),
    }
  }

  sketch(input: TextInput, profile: ShingleProfile, slots: number): RawSketch {
    return this.#with(input, profile, (memory, length, shape) => {
      const { exports, heap } = memory
      const shingles = exports.sketch(heap, length, kindNumber(shape.kind), shape.width, slots)
      return sketched(memory, shape, shingles, slots)
    })
  }

  sketchAndHashes(input: TextInput, profile: ShingleProfile, slots: number): SketchAndHashes {
    return this.#with(input, profile, (memory, length, shape) => {
      const { exports, heap } = memory
      const kind = kindNumber(shape.kind)
      const shingles = exports.sketchAndSet(heap, length, kind, shape.width, slots)
      const sketch = sketched(memory, shape, shingles, slots, true)
      return {
        sketch,
        hashes: memory.lentUint32s(memory.uint32Result(12), memory.uint32Result(16)),
      }
    })
  }

  shingleHashes(input: TextInput, profile: ShingleProfile): Uint32Array {
    return this.#with(input, profile, (memory, length, { kind, width }) => {
      const count = memory.exports.shingleSet(memory.heap, length, kindNumber(kind), width)
      return memory.uint32s(memory.uint32Result(0), count)
    })
  }

  simhash(input: TextInput, profile: ShingleProfile): RawSimHash {
    return this.#with(input, profile, (memory, length, shape) => {
      const { exports, heap } = memory
      const shingles = exports.simhash(heap, length, kindNumber(shape.kind), shape.width)
      return { shape, shingles, low: memory.uint32Result(0), high: memory.uint32Result(4) }
    })
  }

  minhash64(
    input: TextInput,
    width: number,
    { multipliers, addends }: MinHashCoefficients,
  ): BigUint64Array {
    const slots = multipliers.length
    return this.#inMemory((memory) => {
      const { exports, heap } = memory
      // The kernel takes four slots at a time; those beyond the last one are of no matter.
      const stride = Math.ceil(slots / 4) * 4
      const text = heap + stride * 24
      memory.reserve(text)
      memory.placeArray(multipliers, heap)
      memory.placeArray(addends, heap + stride * 8)
      exports.minhash64(text, memory.place(input, text), width, stride, heap)
      return new BigUint64Array(exports.memory.buffer, heap + stride * 16, slots).slice()
    })
  }

  xxhash64(bytes: Bytes): bigint {
    return this.#inMemory((memory) => {
      memory.exports.xxhash64(memory.heap, memory.place(bytes))
      return memory.uint64Result(0)
    })
  }

  #with<T>(
    input: TextInput,
    profile: ShingleProfile,
    run: (memory: WasmMemory, length: number, shape: ShingleShape) => T,
  ): T {
    return this.#inMemory((memory) => {
      const length = memory.place(input)
      return run(memory, length, chosenShape(profile, measuresAt(memory, length)))
    })
  }

  #inMemory<T>(run: (memory: WasmMemory) => T): T {
    const memory = (this.#memory ??= new WasmMemory())
    try {
      return run(memory)
    } finally {
      if (memory.isOversized) this.#memory = undefined
    }
  }
}

function sketched(
  memory: WasmMemory,
  shape: ShingleShape,
  shingles: number,
  slots: number,
  isLent = false,
): RawSketch {
  const counted = memory.uint32Result(8)
  const folded = memory.lentUint16s(memory.exports.folded(), slots)
  return {
    shape,
    slots: shingles === 0 ? new Uint16Array(slots) : isLent ? folded : folded.slice(),
    shingles,
    distinct: counted || estimateDistinct(memory.float64Result(0), slots, shingles),
    isDistinctExact: counted > 0 || shingles === 0,
  }
}

/** Of the text that was placed. */
function measuresAt(memory: WasmMemory, length: number): TextMeasures {
  const { exports, heap } = memory
  return {
    counts: () => ({
      codePoints: exports.inspect(heap, length),
      unspaced: memory.uint32Result(0),
    }),
    sample: () => ({
      codePoints: exports.sample(heap, length),
      sampled: memory.uint32Result(0),
      ideographs: memory.uint32Result(4),
      repetition: memory.uint32Result(8),
    }),
  }
}
