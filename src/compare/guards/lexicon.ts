/**
 * Words as numbers: each distinct form gets an id, and what the tables say of it is looked up once. Guards compare ids;
 * a text of which much differs has thousands of words, and most of them were seen before.
 *
 * Forms are in lower case. Ids are of one lexicon: whoever compares two texts brings them into the same one.
 */

import { COMPANY } from './denials.ts'
import { LANGUAGES, PAGE_WORDS } from './languages.ts'
import { CALENDAR, NEGATIONS, NEGATIONS_AMONG, NUMBER_WORDS, SCALES } from './tables.ts'

/** It may be a number, a date or a denial in some language, or half of such. */
export const IS_SPECIAL = 1
/** It is of a page, and not of what the page says. */
export const IS_OF_PAGE = 2
/** It is no name, although it has a capital. */
export const IS_NO_NAME = 4
const COMPANY_SHIFT = 3
const COMPANY_BITS = (1 << NEGATIONS_AMONG.length) - 1
const LANGUAGE_SHIFT = COMPANY_SHIFT + NEGATIONS_AMONG.length

/** With so many forms a lexicon is given up for a new one: texts have any number of codes and figures. */
const FORMS_MAX = 65_536
const SLOTS = 2 * FORMS_MAX
const CODES_AT_ONCE = 1024
const HASH_START = 0x811c9dc5
const HASH_FACTOR = 0x01000193

const SPECIAL_WORDS: ReadonlySet<string> = new Set([
  ...NUMBER_WORDS.keys(),
  ...SCALES.keys(),
  ...CALENDAR.keys(),
  ...NEGATIONS,
  ...NEGATIONS_AMONG.flatMap(({ denials }) => Array.from(denials)),
  'ne',
  'n',
  'cannot',
  'sept',
  'tres',
])

/** Which languages have a word in their grammar: a bit for each, in the order of the languages. */
const LANGUAGES_OF: ReadonlyMap<string, number> = languagesByWord()

function languagesByWord(): Map<string, number> {
  const byWord = new Map<string, number>()
  for (const [at, { words }] of LANGUAGES.entries()) {
    for (const word of words) byWord.set(word, (byWord.get(word) ?? 0) | (1 << at))
  }
  return byWord
}

export class Lexicon {
  /** Ids and one more, by hash; 0: free. */
  #slots = new Int32Array(SLOTS)
  #hashes = new Int32Array(FORMS_MAX)
  /** Codes of all forms, one behind the other, and where each begins. */
  #codes = new Uint16Array(8 * FORMS_MAX)
  #starts = new Int32Array(FORMS_MAX + 1)
  readonly #forms: string[] = []
  readonly #traits: number[] = []

  get size(): number {
    return this.#forms.length
  }

  form(id: number): string {
    return this.#forms[id] ?? ''
  }

  traits(id: number): number {
    return this.#traits[id] ?? 0
  }

  idOf(form: string): number {
    if (form.length > written.length) written = new Uint16Array(2 * form.length)
    for (let at = 0; at < form.length; at++) written[at] = form.charCodeAt(at)
    return this.idOfCodes(written, 0, form.length)
  }

  /** Of a part of a text; capitals of ASCII count as small letters. */
  idOfCodes(codes: Uint16Array, start: number, end: number): number {
    let hash = HASH_START
    for (let at = start; at < end; at++) {
      hash = Math.imul(hash ^ smallCode(codes[at] ?? 0), HASH_FACTOR)
    }
    hash ^= hash >>> 15
    const mask = this.#slots.length - 1
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const id = (this.#slots[slot] ?? 0) - 1
      if (id < 0) return this.#add(codes, start, end, hash, slot)
      if (this.#hashes[id] === hash && this.#isForm(id, codes, start, end)) return id
    }
  }

  #isForm(id: number, codes: Uint16Array, start: number, end: number): boolean {
    const from = this.#starts[id] ?? 0
    if ((this.#starts[id + 1] ?? 0) - from !== end - start) return false
    const own = this.#codes
    for (let at = start; at < end; at++) {
      if (own[from + at - start] !== smallCode(codes[at] ?? 0)) return false
    }
    return true
  }

  #add(codes: Uint16Array, start: number, end: number, hash: number, slot: number): number {
    const id = this.#forms.length
    const from = this.#starts[id] ?? 0
    const to = from + end - start
    while (to > this.#codes.length) this.#codes = grown(this.#codes, Uint16Array)
    for (let at = start; at < end; at++) this.#codes[from + at - start] = smallCode(codes[at] ?? 0)
    this.#starts[id + 1] = to
    const form = textOf(this.#codes, from, to)
    this.#forms.push(form)
    this.#traits.push(traitsOf(form))
    this.#hashes[id] = hash
    this.#slots[slot] = id + 1
    if (id + 1 === this.#hashes.length) this.#grow()
    return id
  }

  /** One text may have more forms than a lexicon should. */
  #grow(): void {
    this.#hashes = grown(this.#hashes, Int32Array)
    this.#starts = grown(this.#starts, Int32Array)
    this.#slots = new Int32Array(2 * this.#slots.length)
    const mask = this.#slots.length - 1
    for (let id = 0; id < this.size; id++) {
      let slot = (this.#hashes[id] ?? 0) & mask
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask
      this.#slots[slot] = id + 1
    }
  }
}

/** Where a form is written before it is looked for. */
let written = new Uint16Array(256)

function grown<T extends Int32Array | Uint16Array>(old: T, type: new (length: number) => T): T {
  const larger = new type(2 * old.length)
  larger.set(old)
  return larger
}

/** In memory of its own: a part of a string would keep all of it. */
function textOf(codes: Uint16Array, start: number, end: number): string {
  let text = ''
  for (let at = start; at < end; at += CODES_AT_ONCE) {
    const part = codes.subarray(at, Math.min(end, at + CODES_AT_ONCE))
    text += String.fromCharCode(...part)
  }
  return text
}

let read = new Uint16Array(32_768)
let readText = ''

/** The codes of a text, until another one is asked for. What is behind its end is none of it. */
export function codesOf(text: string): Uint16Array {
  if (text === readText) return read
  if (text.length > read.length) read = new Uint16Array(2 * text.length)
  readText = text
  for (let at = 0; at < text.length; at++) read[at] = text.charCodeAt(at)
  return read
}

let current = new Lexicon()

/** The one that texts are read with now. */
export function lexicon(): Lexicon {
  if (current.size > FORMS_MAX) current = new Lexicon()
  return current
}

/** A bit for each list of denials that the word is in the company of. */
export function companyBits(traits: number): number {
  return (traits >>> COMPANY_SHIFT) & COMPANY_BITS
}

/** A bit for each language that has the word in its grammar. */
export function languageBits(traits: number): number {
  return traits >>> LANGUAGE_SHIFT
}

function traitsOf(form: string): number {
  const isNoName =
    form === 'i' || form.startsWith("i'") || CALENDAR.has(form) || NUMBER_WORDS.has(form)
  return (
    (SPECIAL_WORDS.has(form) ? IS_SPECIAL : 0) |
    (PAGE_WORDS.has(form) ? IS_OF_PAGE : 0) |
    (isNoName ? IS_NO_NAME : 0) |
    ((COMPANY.get(form) ?? 0) << COMPANY_SHIFT) |
    ((LANGUAGES_OF.get(form) ?? 0) << LANGUAGE_SHIFT)
  )
}

function smallCode(code: number): number {
  return code >= 0x41 && code <= 0x5a ? code | 0x20 : code
}
