/**
 * From a document to its fingerprints: everything that can be computed without a read. Pure.
 *
 * What was computed elsewhere and what was made of a text by these settings are kept in partitions of their own, so
 * that numbers of different origin are never compared.
 */

import { createHash } from 'node:crypto'

import { asBuffer, type Bytes, utf8 } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { CanonicalProfile } from '../canonical/index.ts'
import {
  chunkEnds,
  hashVersion,
  mix,
  profilesOf,
  simHashOf,
  type SimHash,
  type SimHashFingerprint,
  type SimilaritySketch,
  sketchOf,
} from '../fingerprint/index.ts'
import { partitionKey, type SimHashProbe, type SketchProbe } from '../match/index.ts'
import type { FingerprintMethod } from './options.ts'
import { ID } from './rows.ts'
import type { FingerprintsSettings, OpenedSettings } from './settings.ts'

/** A SimHash: 64 bits as one number, as two of 32, or what `simHashOf` returns. */
export type SimHashValue = bigint | SimHash | SimHashFingerprint
/** A MinHash signature: numbers, as many as `slots`, or what `sketchOf` returns. */
export type MinHashValue = ArrayLike<number> | ArrayLike<bigint> | SimilaritySketch

/** What is looked for. Of a text, whatever is not given is computed. */
export interface FingerprintQuery {
  readonly text?: string | undefined
  readonly simhash?: SimHashValue | undefined
  readonly minhash?: MinHashValue | undefined
  /** Hashes of chunks, as text (hexadecimal, say) or bytes. */
  readonly chunks?: readonly (string | Uint8Array)[] | undefined
}

/** A document whose fingerprints are added. */
export interface FingerprintInput extends FingerprintQuery {
  /** 1 to 900 bytes of UTF-8. Adding an id again replaces its fingerprints. */
  readonly id: string
  readonly source?: string | undefined
  readonly language?: string | undefined
}

export interface Prepared {
  /** Of the canonical form of a text. */
  readonly form: Buffer | undefined
  /** Its own first. */
  readonly minhash: readonly SketchProbe[]
  readonly simhash: readonly SimHashProbe[]
  readonly chunks: readonly Buffer[]
}

export interface PreparedInput extends Prepared {
  readonly key: Buffer
  readonly id: string
  readonly source: string | undefined
  readonly language: string | undefined
  /** Of all fingerprints: the same for the same. */
  readonly content: Buffer
}

const ID_BYTES_MAX = 900
const NAME_BYTES_MAX = 200
const QUERY_NAMES = ['text', 'simhash', 'minhash', 'chunks']
const INPUT_NAMES = ['id', 'source', 'language', ...QUERY_NAMES]
const SIMHASH_END = 1n << 64n
const LOW = 0xffffffffn

export class Preparer {
  readonly #settings: FingerprintsSettings
  readonly #canonical: CanonicalProfile
  readonly #form: string

  constructor({ settings, canonical }: OpenedSettings) {
    this.#settings = settings
    this.#canonical = canonical
    this.#form = `${canonical.name} ${canonical.version}`
  }

  query(query: FingerprintQuery): Prepared {
    requireNames(query, QUERY_NAMES, 'A query')
    return this.#prepared(query)
  }

  input(input: FingerprintInput): PreparedInput {
    requireNames(input, INPUT_NAMES, 'A document')
    const { id, source, language } = input
    const key = documentKey(id)
    requireName(source, 'A source')
    requireName(language, 'A language')
    const prepared = this.#prepared(input)
    return { ...prepared, key, id, source, language, content: contentOf(prepared) }
  }

  #prepared(query: FingerprintQuery): Prepared {
    const { text, simhash, minhash, chunks } = query
    const ofText = text === undefined ? undefined : this.#ofText(text, query)
    const prepared = {
      form: ofText?.form,
      simhash: simhash === undefined ? (ofText?.simhash ?? []) : [this.#givenSimHash(simhash)],
      minhash: minhash === undefined ? (ofText?.minhash ?? []) : [this.#givenMinHash(minhash)],
      chunks: chunks === undefined ? (ofText?.chunks ?? []) : unique(givenChunks(chunks)),
    }
    const count = prepared.simhash.length + prepared.minhash.length + prepared.chunks.length
    if (prepared.form || count > 0) return prepared
    throw invalid('Give a text, a simhash, a minhash or chunks.')
  }

  #ofText(text: unknown, given: FingerprintQuery): Prepared {
    if (typeof text !== 'string') throw invalid(`A text is a string, not ${typeof text}.`)
    const form = asBuffer(this.#canonical.canonicalise(utf8(text, 'INVALID_VALUE', 'The text')))
    if (form.byteLength === 0) {
      throw invalid('The canonical form of the text is empty: it has no fingerprints.')
    }
    const { minhash } = this.#settings
    const profiles = profilesOf(form, minhash.profile, minhash.similarityMin)
    const makes = (method: FingerprintMethod) =>
      given[method] === undefined && this.#settings.methods.includes(method)
    return {
      form: hashOf('form', this.#form, form),
      minhash: makes('minhash') ? profiles.flatMap((profile) => this.#sketch(form, profile)) : [],
      simhash: makes('simhash') ? profiles.flatMap((profile) => this.#bits(form, profile)) : [],
      chunks: makes('chunks') ? this.#chunks(form) : [],
    }
  }

  #sketch(form: Buffer, profile: FingerprintsSettings['minhash']['profile']): SketchProbe[] {
    const { slots } = this.#settings.minhash
    const sketch = sketchOf(form, { profile, slots })
    return sketch.isEmpty ? [] : [this.#minhashProbe(sketch.slots, sketch.profile)]
  }

  #bits(form: Buffer, profile: FingerprintsSettings['minhash']['profile']): SimHashProbe[] {
    const print = simHashOf(form, profile)
    return print.isEmpty ? [] : [this.#simhashProbe(print, print.profile)]
  }

  #chunks(form: Buffer): Buffer[] {
    const { chunkBytes } = this.#settings
    let start = 0
    const all = chunkEnds(form, { averageBytes: chunkBytes }).map((end) => {
      const chunk = form.subarray(start, end)
      start = end
      return hashOf('chunk', `${this.#form} ${chunkBytes}`, chunk)
    })
    return unique(all)
  }

  #minhashProbe(signature: Uint16Array, profile: string): SketchProbe {
    const { slots } = this.#settings.minhash
    const names = ['fingerprints', profile, String(slots), hashVersion(), this.#form]
    return { partition: partitionKey(...names), signature, own: signature }
  }

  #simhashProbe({ low, high }: SimHash, profile: string): SimHashProbe {
    const bits = Buffer.allocUnsafe(8)
    bits.writeUInt32LE(low >>> 0, 0)
    bits.writeUInt32LE(high >>> 0, 4)
    const partition = partitionKey('fingerprints-simhash', profile, hashVersion(), this.#form)
    return { partition, signature: bits, own: bits }
  }

  #givenSimHash(value: SimHashValue): SimHashProbe {
    if (typeof value === 'bigint') {
      if (value < 0n || value >= SIMHASH_END) throw invalid('A SimHash is from 0 to 2^64 - 1.')
      return this.#simhashProbe({ low: Number(value & LOW), high: Number(value >> 32n) }, 'given')
    }
    if (!isSimHash(value)) {
      throw invalid('A simhash is a bigint, { low, high }, or what simHashOf returns.')
    }
    if (!('profile' in value)) return this.#simhashProbe(value, 'given')
    requireMade(value, 'simhash')
    return this.#simhashProbe(value, value.profile)
  }

  #givenMinHash(value: MinHashValue): SketchProbe {
    const { slots } = this.#settings.minhash
    const isSketch = typeof value === 'object' && value !== null && 'slots' in value
    const numbers: unknown = isSketch ? value.slots : value
    if (!isList(numbers)) {
      throw invalid('A minhash is an array of numbers, or what sketchOf returns.')
    }
    if (numbers.length !== slots) {
      throw invalid(
        `A minhash has ${slots} numbers here; this one has ${numbers.length}. Open with slots: ${numbers.length} in another namespace, or make it with ${slots}.`,
      )
    }
    if (!isSketch) return this.#minhashProbe(folded(numbers), 'given')
    requireMade(value, 'minhash')
    return this.#minhashProbe(value.slots, value.profile)
  }
}

/** Sixteen bits of each number are enough: two different ones look equal once in 65,536 times. */
function folded(numbers: ArrayLike<unknown>): Uint16Array {
  return Uint16Array.from({ length: numbers.length }, (_, at) => {
    const number = numbers[at]
    const isWhole = typeof number === 'bigint' || Number.isSafeInteger(number)
    if (!isWhole) throw invalid('A minhash has whole numbers only.')
    const whole = BigInt.asUintN(64, BigInt(number as number | bigint)) // safe: checked just now
    return mix(Number(whole & LOW) ^ mix(Number(whole >> 32n))) & 0xffff
  })
}

function isSimHash(value: unknown): value is SimHash | SimHashFingerprint {
  if (typeof value !== 'object' || value === null) return false
  return ['low', 'high'].every((name) => Number.isInteger(Reflect.get(value, name)))
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))
}

function requireMade(
  value: { readonly hashVersion: string; readonly isEmpty: boolean },
  what: string,
): void {
  if (value.isEmpty) throw invalid(`The ${what} is of nothing: it is like nothing.`)
  if (value.hashVersion === hashVersion()) return
  throw invalid(
    `The ${what} was made by version ${value.hashVersion}, and this prestige has ${hashVersion()}. Make it again.`,
  )
}

function givenChunks(chunks: unknown): Buffer[] {
  if (!Array.isArray(chunks)) throw invalid('chunks is an array of hashes.')
  return chunks.map((chunk: unknown) => {
    const bytes = typeof chunk === 'string' ? utf8(chunk, 'INVALID_VALUE', 'A chunk hash') : chunk
    if (bytes instanceof Uint8Array && bytes.byteLength > 0 && bytes.byteLength <= NAME_BYTES_MAX)
      return hashOf('chunk', typeof chunk, bytes)
    throw invalid(`A chunk hash is a string or bytes, of 1 to ${NAME_BYTES_MAX} bytes.`)
  })
}

/** In their order, each once. */
function unique(all: readonly Buffer[]): Buffer[] {
  return [...new Map(all.map((hash) => [hash.toString('latin1'), hash])).values()]
}

/** Sixteen bytes of a hash, of its kind and of how what it is of was made. */
function hashOf(kind: string, how: string, bytes: Bytes): Buffer {
  const head = `${kind}\0${how}\0`
  return createHash('sha256').update(head).update(bytes).digest().subarray(0, ID)
}

function contentOf({ form, minhash, simhash, chunks }: Prepared): Buffer {
  const all = createHash('sha256')
  const add = (bytes: Bytes) => all.update(`${bytes.byteLength}:`).update(bytes)
  add(form ?? Buffer.alloc(0))
  for (const { partition, signature } of simhash.slice(0, 1)) add(partition).update(signature)
  for (const { partition, signature } of minhash.slice(0, 1))
    add(partition).update(signature.join())
  for (const hash of chunks) add(hash)
  return all.digest().subarray(0, ID)
}

export function documentKey(id: unknown): Buffer {
  const bytes = typeof id === 'string' ? utf8(id, 'INVALID_KEY', 'An id') : undefined
  if (bytes && bytes.byteLength > 0 && bytes.byteLength <= ID_BYTES_MAX) {
    return hashOf('id', '', bytes)
  }
  const shown = bytes ? `has ${bytes.byteLength}` : `is ${id === null ? 'null' : typeof id}`
  throw new PrestigeError(
    'INVALID_KEY',
    `An id is a string of 1 to ${ID_BYTES_MAX} bytes of UTF-8; this one ${shown}.`,
  )
}

function requireName(name: unknown, what: string): void {
  if (name === undefined) return
  const bytes = typeof name === 'string' ? utf8(name, 'INVALID_VALUE', what) : undefined
  if (bytes && bytes.byteLength > 0 && bytes.byteLength <= NAME_BYTES_MAX) return
  throw invalid(`${what} is a string of 1 to ${NAME_BYTES_MAX} bytes of UTF-8.`)
}

function requireNames(value: unknown, names: readonly string[], what: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`${what} is an object with ${names.join(', ')}.`)
  }
  for (const name of Object.keys(value)) {
    if (!names.includes(name)) {
      throw invalid(`${what} has no ${name}. There are ${names.join(', ')}.`)
    }
  }
}

function invalid(message: string): PrestigeError {
  return new PrestigeError('INVALID_VALUE', message)
}
