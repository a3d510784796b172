/** Hyperplane bits in WebAssembly. Planes stay in a memory of their own, so each set of them has one. */

import type { Planes, PlanesKernel } from './hyperplanes.ts'
import { WasmMemory } from './wasm-memory.ts'

export class WasmPlanes implements PlanesKernel {
  readonly #memory = new WasmMemory()
  readonly #planes: Planes
  readonly #vector: number
  readonly #out: number

  constructor(planes: Planes) {
    this.#planes = planes
    this.#vector = this.#memory.heap + planes.numbers.byteLength
    this.#out = this.#vector + planes.stride * 4
    this.#memory.reserve(this.#out + Math.max(planes.bits, planes.stride) / 8)
    this.#memory.placeArray(planes.numbers, this.#memory.heap)
  }

  bitsOf(vector: Float32Array): Uint8Array {
    const { exports, heap } = this.#memory
    const { form, stride, bits } = this.#planes
    this.#memory.bytes().fill(0, this.#vector + vector.byteLength, this.#out)
    this.#memory.placeArray(vector, this.#vector)
    if (form === 'dense') exports.denseBits(this.#vector, stride, heap, bits, this.#out)
    else exports.hadamardBits(this.#vector, stride, heap, this.#out)
    return this.#memory.bytes().slice(this.#out, this.#out + bits / 8)
  }
}
