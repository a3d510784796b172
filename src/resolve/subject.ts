/**
 * What is to be resolved, made ready: everything that can be computed without looking.
 *
 * Texts and vectors differ in how signatures are made and similarity is measured. A kind knows that; the
 * transactions do not.
 */

import { asBuffer, type Bytes, concat, utf8 } from '../platform/bytes.ts'
import type { CanonicalProfile } from '../canonical/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  cosine,
  digestOf,
  Hyperplanes,
  profilesOf,
  type ShingleProfile,
  sketchOf,
} from '../fingerprint/index.ts'
import {
  evidenceOf,
  groupKey,
  type Look,
  Measured,
  MeasuredCache,
  type NearIndex,
  type TextNearSettings,
} from '../match/index.ts'
import type { VectorSettings } from './settings.ts'

export type Vector = Float32Array | Float64Array | readonly number[]

export interface Subject<Signature> {
  readonly kind: Kind<Signature>
  readonly group: string
  readonly tenant: Buffer
  /** Sixteen bytes of the input. */
  readonly id: Buffer
  /** Makes what only a search needs, which is most of the work. What cannot be read is refused here. */
  prepare(): void
  /** Its own look first. None: it is like nothing but itself. */
  readonly looks: readonly Look<Signature>[]
  /** Where it is kept if it is new. */
  readonly shelf: Buffer
  evidence(): Buffer
  /** With the evidence of a candidate on the shelf of one of the looks. */
  similarityTo(look: Look<Signature>, id: Bytes, evidence: () => Bytes): number
}

export interface Kind<Signature> {
  readonly name: 'text' | 'vector'
  readonly similarityMin: number
  readonly index: NearIndex<Signature>
  /** Similarities are estimates. */
  readonly isEstimated: boolean
  /** How similar two representatives are that one look has found. */
  between(look: Look<Signature>, first: Bytes, second: Bytes): number
}

const TEXT_BYTES_MAX = 64 * 1024 * 1024

export function tenantOf(kind: Kind<never>['name'], group: string): Buffer {
  return groupKey('tenant', kind, group)
}

export function requireGroup(group: unknown): asserts group is string {
  if (typeof group === 'string' && group.isWellFormed() && group.length <= 1024) return
  throw new PrestigeError('INVALID_KEY', 'A group is a text of at most 1024 characters.')
}

function idOf(bytes: Bytes): Buffer {
  return digestOf(bytes).subarray(0, 16)
}

interface TextLook extends Look<Uint16Array> {
  readonly own: Measured
  readonly profile: ShingleProfile
}

interface Sketched {
  readonly text: Buffer
  readonly profile: ShingleProfile
  readonly looks: readonly TextLook[]
  readonly shelf: Buffer
}

function isTextLook(look: Look<Uint16Array>): look is TextLook {
  return 'profile' in look
}

export class TextKind implements Kind<Uint16Array> {
  readonly name = 'text'
  readonly index: NearIndex<Uint16Array>
  readonly isEstimated: boolean
  readonly #settings: TextNearSettings
  readonly #canonical: CanonicalProfile
  /** Only where bodies run one after another: elsewhere they must ask for the same cells when run again. */
  readonly #measured: MeasuredCache | undefined

  constructor(
    index: NearIndex<Uint16Array>,
    settings: TextNearSettings,
    canonical: CanonicalProfile,
    isSerial: boolean,
  ) {
    this.index = index
    this.#settings = settings
    this.#canonical = canonical
    this.#measured = isSerial ? new MeasuredCache() : undefined
    this.isEstimated = settings.evidence === 'sketch'
  }

  get similarityMin(): number {
    return this.#settings.similarityMin
  }

  get profile(): ShingleProfile {
    return this.#settings.profile
  }

  subject(group: string, input: string): Subject<Uint16Array> {
    requireGroup(group)
    const bytes = requireText(input)
    let made: Sketched | undefined
    const sketched = () => (made ??= this.#sketched(group, bytes))
    return {
      kind: this,
      group,
      tenant: tenantOf('text', group),
      id: idOf(bytes),
      prepare: () => void sketched(),
      get looks() {
        return sketched().looks
      },
      get shelf() {
        return sketched().shelf
      },
      evidence: () => evidenceOf(this.#settings.evidence, sketched().text, sketched().profile),
      similarityTo: (look, id, read) => this.#similarity(sketched().looks, look, id, read),
    }
  }

  canonical(input: string): Bytes {
    return this.#canonical.canonicalise(requireText(input))
  }

  shelf(group: string, profile: ShingleProfile): Buffer {
    const { slots, hashVersion } = this.#settings
    return groupKey('shelf', group, profile, String(slots), hashVersion)
  }

  between(look: Look<Uint16Array>, first: Bytes, second: Bytes): number {
    const profile = isTextLook(look) ? look.profile : this.#settings.profile
    return Measured.ofEvidence(first, profile).similarityTo(Measured.ofEvidence(second, profile))
  }

  /** The text of a representative, where texts are kept. */
  textOf(evidence: Bytes): string | undefined {
    const { text } = Measured.ofEvidence(evidence, 'chars')
    return text && asBuffer(text).toString()
  }

  #sketched(group: string, bytes: Buffer): Sketched {
    const text = asBuffer(this.#canonical.canonicalise(bytes))
    const { profile, similarityMin, slots } = this.#settings
    const profiles = profilesOf(text, profile, similarityMin)
    const looks: TextLook[] = []
    for (const one of profiles) {
      const sketch = sketchOf(text, { profile: one, slots })
      if (sketch.isEmpty) continue
      const own = Measured.ofText(text, one)
      looks.push({ group: this.shelf(group, one), signature: sketch.slots, own, profile: one })
    }
    return { text, profile: profiles[0], looks, shelf: this.shelf(group, profiles[0]) }
  }

  #similarity(
    looks: readonly TextLook[],
    look: Look<Uint16Array>,
    id: Bytes,
    evidence: () => Bytes,
  ): number {
    const own = looks.find((one) => one === look)
    if (own === undefined) return 0
    const known = this.#measured?.get(id)
    const other = known ?? Measured.ofEvidence(evidence(), own.profile)
    const similarity = own.own.similarityTo(other)
    if (known === undefined) this.#measured?.keep(id, other)
    return similarity
  }
}

function requireText(input: unknown): Buffer {
  if (typeof input !== 'string') {
    throw new PrestigeError('INVALID_VALUE', `Text is a string, not ${typeof input}.`)
  }
  const bytes = utf8(input, 'INVALID_VALUE', 'The text')
  if (bytes.byteLength > 0 && bytes.byteLength <= TEXT_BYTES_MAX) return bytes
  throw new PrestigeError(
    'INVALID_VALUE',
    bytes.byteLength === 0
      ? 'The empty text is like nothing, and has no id.'
      : `A text has at most ${TEXT_BYTES_MAX} bytes; this one has ${bytes.byteLength}.`,
  )
}

export class VectorKind implements Kind<Uint8Array> {
  readonly name = 'vector'
  readonly index: NearIndex<Uint8Array>
  readonly isEstimated = false
  readonly #settings: VectorSettings
  readonly #planes: Hyperplanes

  constructor(index: NearIndex<Uint8Array>, settings: VectorSettings) {
    const { dimensions, bits, form, seed } = settings
    this.index = index
    this.#settings = settings
    this.#planes = new Hyperplanes({ dimensions, bits, form, seed })
  }

  get similarityMin(): number {
    return this.#settings.cosineMin
  }

  subject(group: string, input: Vector): Subject<Uint8Array> {
    requireGroup(group)
    const vector = this.#checked(input)
    const shelf = this.shelf(group)
    // A vector of length 0 has no direction: it is like nothing but itself.
    const isZero = vector.every((number) => number === 0)
    const looks = isZero ? [] : [{ group: shelf, signature: this.signature(vector) }]
    return {
      kind: this,
      group,
      tenant: tenantOf('vector', group),
      id: idOf(littleEndian(vector)),
      prepare: () => {},
      looks,
      shelf,
      evidence: () => vectorEvidence(vector),
      similarityTo: (_look, _id, evidence) => levelCosine(vector, readVector(evidence())),
    }
  }

  signature(vector: Vector): Uint8Array {
    return this.#planes.bitsOf(vector)
  }

  shelf(group: string): Buffer {
    const { dimensions, bits, form, seed, hashVersion } = this.#settings
    const planes = [dimensions, bits, form, seed].join('/')
    return groupKey('shelf', group, planes, hashVersion)
  }

  between(_look: Look<Uint8Array>, first: Bytes, second: Bytes): number {
    return levelCosine(readVector(first), readVector(second))
  }

  #checked(input: Vector): Float64Array {
    if (Array.isArray(input) && !input.every((number) => typeof number === 'number')) {
      throw new PrestigeError('INVALID_VALUE', 'A vector has numbers only.')
    }
    const vector = Float64Array.from(input)
    const { dimensions } = this.#settings
    if (vector.length !== dimensions) {
      throw new PrestigeError(
        'INVALID_VALUE',
        `This resolver takes vectors of ${dimensions} dimensions; this one has ${vector.length}.`,
      )
    }
    if (vector.every(Number.isFinite)) return vector
    throw new PrestigeError('INVALID_VALUE', 'A vector has finite numbers only.')
  }
}

/** Squares of numbers within these bounds, and sums of many of them, stay finite and above 0. */
const LEVEL_MIN = 2 ** -400
const LEVEL_MAX = 2 ** 400

/** The direction of a vector does not depend on its length, however large or small its numbers are. */
export function levelCosine(first: ArrayLike<number>, second: ArrayLike<number>): number {
  return cosine(levelled(first), levelled(second))
}

function levelled(vector: ArrayLike<number>): ArrayLike<number> {
  let greatest = 0
  for (let at = 0; at < vector.length; at++) {
    greatest = Math.max(greatest, Math.abs(vector[at] ?? 0))
  }
  if (greatest === 0 || (greatest >= LEVEL_MIN && greatest <= LEVEL_MAX)) return vector
  return Float64Array.from(vector, (number) => number / greatest)
}

/** As the ids of the resolver this one grew from: over the bits of doubles, lowest byte first. */
function littleEndian(vector: Float64Array): Buffer {
  const bytes = Buffer.allocUnsafe(vector.length * 8)
  vector.forEach((number, at) => bytes.writeDoubleLE(number, at * 8))
  return bytes
}

const SINGLE = 0x20
const DOUBLE = 0x21

/** `20` singles or `21` doubles, little endian: singles where they say the same. */
function vectorEvidence(vector: Float64Array): Buffer {
  const isSingle = vector.every((number) => Math.fround(number) === number)
  if (!isSingle) return concat(Buffer.of(DOUBLE), littleEndian(vector))
  const bytes = Buffer.allocUnsafe(1 + vector.length * 4)
  bytes[0] = SINGLE
  vector.forEach((number, at) => bytes.writeFloatLE(number, 1 + at * 4))
  return bytes
}

export function readVector(evidence: Bytes): Float64Array {
  const bytes = asBuffer(evidence)
  const size = bytes[0] === SINGLE ? 4 : 8
  const vector = new Float64Array((bytes.byteLength - 1) / size)
  for (let at = 0; at < vector.length; at++) {
    const from = 1 + at * size
    vector[at] = size === 4 ? bytes.readFloatLE(from) : bytes.readDoubleLE(from)
  }
  return vector
}
