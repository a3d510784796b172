/**
 * Bits of vectors: one for each of many random planes, 1 if the vector lies on or above it. The share of
 * equal bits of two vectors gives their angle.
 *
 * Two forms, both from a seed: `hadamard` (three rounds of random signs and a fast Hadamard transform; the
 * default, several times faster, as exact) and `dense` (Gaussian planes, as the resolver this project grew
 * from has them).
 */

import { PrestigeError } from '../platform/errors.ts'
import { hammingDistance } from './exact-similarity.ts'
import { kernels, type KernelsName } from './kernels.ts'
import { gaussianPlanes, HYPERPLANE_SEED, randomSigns } from './random-planes.ts'
import { TwinPlanes } from './twin-planes.ts'
import { WasmPlanes } from './wasm-planes.ts'

export type PlanesForm = 'hadamard' | 'dense'

export interface HyperplaneOptions {
  /** Numbers in a vector. */
  readonly dimensions: number
  /** A multiple of 8 from 8 to 4096. */
  readonly bits?: number | undefined
  /** How the planes are made. Default: `hadamard`. */
  readonly form?: PlanesForm | undefined
  /** Where the planes come from. */
  readonly seed?: number | undefined
  /** For tests: which kernels to use. */
  readonly kernels?: KernelsName | undefined
}

/** What a kernel needs to know of the planes. */
export interface Planes {
  readonly form: PlanesForm
  /** Numbers a vector is padded to. */
  readonly stride: number
  readonly bits: number
  /** Planes one after another, or three rounds of signs. */
  readonly numbers: Float32Array
}

export interface PlanesKernel {
  /** The packed bits of a vector that was checked; the first plane is bit 0 of byte 0. */
  bitsOf(vector: Float32Array): Uint8Array
}

const DEFAULT_BITS = 256
const BITS_MAX = 4096
const DIMENSIONS_MAX = 65_536
const ROUNDS = 3
/** Products and sums of numbers within these bounds stay finite and normal in single precision. */
const SAFE_MIN = 2 ** -40
const SAFE_MAX = 2 ** 40

export class Hyperplanes {
  readonly dimensions: number
  readonly bits: number
  readonly form: PlanesForm
  readonly #kernel: PlanesKernel

  constructor(options: HyperplaneOptions) {
    const { dimensions, bits = DEFAULT_BITS, form = 'hadamard', seed = HYPERPLANE_SEED } = options
    requireMultiple(dimensions, 1, DIMENSIONS_MAX, 'dimensions')
    requireMultiple(bits, 8, BITS_MAX, 'bits')
    this.dimensions = dimensions
    this.bits = bits
    this.form = form
    const planes = FORMS[requireForm(form)](dimensions, bits, seed)
    const name = options.kernels ?? kernels().name
    this.#kernel = name === 'wasm' ? new WasmPlanes(planes) : new TwinPlanes(planes)
  }

  /** One bit a plane, packed. */
  bitsOf(vector: ArrayLike<number>): Uint8Array {
    return this.#kernel.bitsOf(this.#checked(vector))
  }

  /** Cosine of the angle between two vectors, from their bits. */
  estimateCosine(first: Uint8Array, second: Uint8Array): number {
    return cosineFromBits(hammingDistance(first, second), this.bits)
  }

  /** In single precision and of moderate size: no bit depends on a vector's length. */
  #checked(vector: ArrayLike<number>): Float32Array {
    if (vector.length !== this.dimensions) {
      throw refusal(`This one has ${vector.length} dimensions, not ${this.dimensions}.`)
    }
    let greatest = 0
    for (let at = 0; at < vector.length; at++) {
      const size = Math.abs(vector[at] ?? 0)
      if (!(size < Infinity)) throw refusal(`The number at ${at} is not finite.`)
      if (size > greatest) greatest = size
    }
    if (greatest === 0) throw refusal('All of its numbers are 0, so it has no direction.')
    if (greatest >= SAFE_MIN && greatest <= SAFE_MAX) {
      return vector instanceof Float32Array ? vector : Float32Array.from(vector)
    }
    return Float32Array.from(vector, (number) => number / greatest)
  }
}

/** Of vectors whose packed bits differ in `distance` of `bits` places. */
export function cosineFromBits(distance: number, bits: number): number {
  return Math.cos((Math.PI * distance) / bits)
}

function refusal(why: string): PrestigeError {
  return new PrestigeError('INVALID_VALUE', `The vector cannot be used. ${why}`)
}

function dense(dimensions: number, bits: number, seed: number): Planes {
  const stride = Math.ceil(dimensions / 4) * 4
  const numbers = gaussianPlanes(bits, dimensions, stride, seed)
  return { form: 'dense', stride, bits, numbers }
}

function signed(dimensions: number, bits: number, seed: number): Planes {
  let stride = 8
  while (stride < dimensions || stride < bits) stride *= 2
  return { form: 'hadamard', stride, bits, numbers: randomSigns(ROUNDS, stride, seed) }
}

const FORMS = { dense, hadamard: signed }

function requireForm(form: PlanesForm): PlanesForm {
  if (Object.hasOwn(FORMS, form)) return form
  throw new PrestigeError('INVALID_OPTIONS', `form is hadamard or dense, not ${form}.`)
}

function requireMultiple(value: number, step: number, max: number, name: string): void {
  if (Number.isInteger(value) && value >= step && value <= max && value % step === 0) return
  const what = step === 1 ? 'a whole number' : `a multiple of ${step}`
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `${name} is ${what} from ${step} to ${max}, not ${value}.`,
  )
}
