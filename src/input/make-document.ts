/**
 * Makes a document of what a format found: fields by their names, and an id where there is none.
 *
 * Invariant: a field that was asked for and has another type is a reject, never guessed; one that is missing,
 * null or empty is only a reject if it is the text.
 */

import { createHash } from 'node:crypto'

import { type Document, type Reject, type Shard, withUtf8 } from './document.ts'
import type { ReadingOptions } from './options.ts'
import { sampleOf } from './sample.ts'
import { requireUtf8, Unfit } from './unfit.ts'

export interface Place {
  readonly position: number
  readonly line: number
  /** Where it begins, in bytes; used in ids where lines were not counted. */
  readonly offset: number
}

type Draft = { -readonly [K in keyof Document]: Document[K] }
/** Numbers up to here are seconds: the year 5138, or as milliseconds March 1973. */
const SECONDS_MAX = 1e11

export interface Field {
  readonly name: string
  readonly parts: readonly string[]
  /** As it stands in JSON, if it has no other form that is likely and is no path. */
  readonly quoted: Buffer | undefined
}

/** What later modules can keep: longer ones would stop a whole run. */
export const ID_BYTES_MAX = 900
export const NAME_BYTES_MAX = 200
const SHORTENED_HASH_CHARACTERS = 16
const MESSAGE_CHARACTERS_MAX = 500

export function fieldNamed(name: string): Field {
  const quoted = /^[\w-]+$/.test(name) ? Buffer.from(`"${name}"`) : undefined
  return { name, parts: name.split('.'), quoted }
}

export class DocumentMaker {
  readonly text: Field
  readonly id: Field
  /** The fields that only some inputs have. */
  readonly extras: ReadonlyMap<'source' | 'language' | 'time' | 'quality' | 'type', Field>
  readonly #shard: Shard
  readonly #source: string
  /** The field of the text is that of the id or of another, too. */
  readonly #isTextElsewhere: boolean

  constructor(shard: Shard, options: ReadingOptions) {
    const { text, id, ...others } = options.fields
    this.text = fieldNamed(text)
    this.id = fieldNamed(id)
    const names = ['source', 'language', 'time', 'quality', 'type'] as const
    const extras = names.flatMap((name) => {
      const field = others[name]
      return field === undefined ? [] : [[name, fieldNamed(field)] as const]
    })
    this.extras = new Map(extras)
    this.#shard = shard
    const elsewhere = [this.id, ...this.extras.values()]
    this.#isTextElsewhere = elsewhere.some(({ parts }) => parts[0] === this.text.name)
    this.#source = sourceIn(shard, shard.path, options.source)
  }

  /** Of a JSON value or a row: an object with fields, or the text itself. Throws `Unfit`. */
  ofValue(value: unknown, place: Place, exactId: (field: Field) => string | undefined): Document {
    if (typeof value === 'string') return this.ofText(value, place)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Unfit('wrong-type', `it is ${kindOf(value)}, not an object or a string`)
    }
    const text = valueAt(value, this.text)
    if (text === null) {
      throw new Unfit('missing-field', `the field ${this.text.name} is null, not a string`)
    }
    if (text === undefined) {
      const has = Object.keys(value).slice(0, 8).join(', ')
      const message = `it has no field ${this.text.name}; its fields are: ${has || 'none'}`
      throw new Unfit('missing-field', message)
    }
    if (text instanceof Uint8Array) requireUtf8(text)
    if (typeof text !== 'string') {
      throw new Unfit('wrong-type', `the field ${this.text.name} is ${kindOf(text)}, not a string`)
    }
    const document = this.#draft(text, place, this.#idOf(value, exactId))
    for (const [name, field] of this.extras) setExtra(document, name, field, valueAt(value, field))
    return document
  }

  ofText(text: string, place: Place): Document {
    return this.#draft(text, place, undefined)
  }

  /**
   * Of an object whose text was read apart, and is in its field as `stand-in`: the rest of its fields are as JSON has
   * them. `undefined` if the stand-in is not where the text should be.
   */
  ofValueAndText(
    value: unknown,
    standIn: string,
    text: Buffer,
    place: Place,
    exactId: (field: Field) => string | undefined,
  ): Document | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    if (this.#isTextElsewhere || valueAt(value, this.text) !== standIn) return undefined
    const document: Draft = withUtf8(this.#named(place, this.#idOf(value, exactId)), text)
    for (const [name, field] of this.extras) setExtra(document, name, field, valueAt(value, field))
    return document
  }

  reject(place: Place, unfit: Unfit, begins: Uint8Array | string): Reject {
    const { position, line } = place
    const { reason, message } = unfit
    return { position, line, reason, message: bounded(sentence(message)), sample: sampleOf(begins) }
  }

  #draft(text: string, place: Place, id: string | undefined): Draft {
    if (!text.isWellFormed()) {
      const message = 'its text has half of a surrogate pair, which is in no Unicode text'
      throw new Unfit('invalid-utf8', message)
    }
    return { ...this.#named(place, id), text }
  }

  #named({ position, line, offset }: Place, id: string | undefined): Omit<Draft, 'text'> {
    const derived = this.#shard.firstLine === undefined ? `@${offset}` : `#${line}`
    return {
      id: id ?? shortened(`${this.#shard.path}${derived}`, ID_BYTES_MAX),
      source: this.#source,
      position,
      line,
    }
  }

  #idOf(value: object, exactId: (field: Field) => string | undefined): string | undefined {
    const id = valueAt(value, this.id)
    if (id === undefined || id === null || id === '') return undefined
    if (typeof id === 'string') return fitting(id, this.id, ID_BYTES_MAX)
    if (typeof id === 'bigint') return String(id)
    if (typeof id !== 'number') {
      const message = `the field ${this.id.name} is ${kindOf(id)}, neither a string nor a number`
      throw new Unfit('wrong-type', message)
    }
    if (!Number.isInteger(id) || Number.isSafeInteger(id)) return String(id)
    // Beyond 2^53 neighbouring numbers are read as one, and different documents would share an id.
    const exact = exactId(this.id)
    if (exact !== undefined) return exact
    const message = `the field ${this.id.name} is a number too large to be read exactly; write it as a string`
    throw new Unfit('wrong-type', message)
  }
}

/** Throws `Unfit`: a name that is cut off, or half of a character, would be the name of others too. */
function fitting(text: string, { name }: Field, bytesMax: number): string {
  if (!text.isWellFormed()) {
    const message = `the field ${name} has half of a surrogate pair, which is in no Unicode text`
    throw new Unfit('invalid-utf8', message)
  }
  const bytes = Buffer.byteLength(text)
  if (bytes <= bytesMax) return text
  throw new Unfit('too-long', `the field ${name} has ${bytes} bytes, more than ${bytesMax}`)
}

/** What was derived of the name of a file: a long one ends in its own hash, so that it is still its own. */
export function shortened(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text
  const hash = createHash('sha256').update(text).digest('hex').slice(0, SHORTENED_HASH_CHARACTERS)
  const begins = Buffer.from(text).subarray(0, bytesMax - SHORTENED_HASH_CHARACTERS - 4)
  // Cut within a character, its rest is replaced by one of three bytes.
  return `${begins.toString('utf8').replace(/\uFFFD+$/, '')}~${hash}`
}

/** Sources of the documents of a shard that name none; `given`: by an option. */
export function sourcesIn(shard: Shard, given: string | undefined): string[] {
  const files = shard.files ?? [shard]
  return [...new Set(files.map(({ path }) => sourceIn(shard, path, given)))]
}

function sourceIn(shard: Shard, path: string, given: string | undefined): string {
  return shortened(given ?? shard.source ?? sourceOf(path), NAME_BYTES_MAX)
}

/** `data/web/part-1.jsonl.gz` → `part-1`. */
function sourceOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const dot = name.indexOf('.', 1)
  return dot < 0 ? name : name.slice(0, dot)
}

/** A field of this very name, or the value at the end of its dotted path. */
function valueAt(object: object, field: Field): unknown {
  if (Object.hasOwn(object, field.name)) return Reflect.get(object, field.name)
  if (field.parts.length === 1) return undefined
  let value: unknown = object
  for (const part of field.parts) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = Reflect.get(value, part)
  }
  return value
}

function setExtra(
  document: Draft,
  name: 'source' | 'language' | 'time' | 'quality' | 'type',
  field: Field,
  value: unknown,
): void {
  if (value === undefined || value === null || value === '') return
  if (name === 'time') document.time = timeOf(value, field)
  else if (name === 'quality') document.quality = numberOf(value, field)
  else if (typeof value === 'string') document[name] = fitting(value, field, NAME_BYTES_MAX)
  else if (typeof value === 'number' || typeof value === 'bigint') document[name] = String(value)
  else throw new Unfit('wrong-type', `the field ${field.name} is ${kindOf(value)}, not a string`)
}

function numberOf(value: unknown, field: Field): number {
  const number = typeof value === 'number' ? value : looksNumeric(value) ? Number(value) : NaN
  if (Number.isFinite(number)) return number
  throw new Unfit('wrong-type', `the field ${field.name} is ${kindOf(value)}, not a number`)
}

function timeOf(value: unknown, field: Field): number {
  let time = NaN
  if (value instanceof Date) time = value.getTime()
  else if (typeof value === 'number' || looksNumeric(value)) {
    const number = Number(value)
    time = Math.abs(number) <= SECONDS_MAX ? number * 1000 : number
  } else if (typeof value === 'string') time = Date.parse(value)
  if (Number.isFinite(time)) return time
  throw new Unfit('wrong-type', `the field ${field.name} is ${kindOf(value)}, not a time`)
}

function looksNumeric(value: unknown): boolean {
  if (typeof value === 'bigint') return true
  return typeof value === 'string' && /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(value)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (value instanceof Uint8Array) return 'bytes'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'string') return `"${sampleOf(value).slice(0, 40)}"`
  return typeof value === 'number' ? `the number ${value}` : `a ${typeof value}`
}

/** Names of fields are in messages, and have no limit of their own. */
function bounded(message: string): string {
  if (message.length <= MESSAGE_CHARACTERS_MAX) return message
  return `${message.slice(0, MESSAGE_CHARACTERS_MAX).toWellFormed()} …`
}

function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`
}
