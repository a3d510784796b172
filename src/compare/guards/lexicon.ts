/**
 * Words as numbers: each distinct form gets an id, and what the tables say of it is looked up once. Guards compare ids;
 * a text of which much differs has thousands of words, and most of them were seen before.
 *
 * Forms are in lower case. Ids are of one lexicon: whoever compares two texts brings them into the same one.
 */

import { HASH_FACTOR, HASH_START } from './codes.ts'
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
const SMALL_I = 0x69
const APOSTROPHE = 0x27

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

/** What the tables say of each form that is in any of them. */
const KNOWN: ReadonlyMap<string, number> = knownForms()

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
  /** Made when they are asked for first: of most forms that are found once, no one asks. */
  readonly #forms: (string | undefined)[] = []
  readonly #traits: number[] = []

  constructor() {
    for (const [form, traits] of KNOWN) this.#traits[this.idOf(form)] = traits
  }

  get size(): number {
    return this.#traits.length
  }

  form(id: number): string {
    return (this.#forms[id] ??= textOf(
      this.#codes,
      this.#starts[id] ?? 0,
      this.#starts[id + 1] ?? 0,
    ))
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
    const id = this.size
    const from = this.#starts[id] ?? 0
    const to = from + end - start
    while (to > this.#codes.length) this.#codes = grown(this.#codes, Uint16Array)
    for (let at = start; at < end; at++) this.#codes[from + at - start] = smallCode(codes[at] ?? 0)
    this.#starts[id + 1] = to
    this.#forms.push(undefined)
    this.#traits.push(isContractedI(this.#codes, from, to) ? IS_NO_NAME : 0)
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

function knownForms(): Map<string, number> {
  const known = new Map<string, number>([['i', IS_NO_NAME]])
  const add = (forms: Iterable<string>, traits: number) => {
    for (const form of forms) known.set(form, (known.get(form) ?? 0) | traits)
  }
  add(SPECIAL_WORDS, IS_SPECIAL)
  add(PAGE_WORDS, IS_OF_PAGE)
  add(CALENDAR.keys(), IS_NO_NAME)
  add(NUMBER_WORDS.keys(), IS_NO_NAME)
  for (const [form, bits] of COMPANY) add([form], bits << COMPANY_SHIFT)
  for (const [form, bits] of LANGUAGES_OF) add([form], bits << LANGUAGE_SHIFT)
  return known
}

/** I'm, I've: whatever begins so. */
function isContractedI(codes: Uint16Array, start: number, end: number): boolean {
  return end - start > 1 && codes[start] === SMALL_I && codes[start + 1] === APOSTROPHE
}

function smallCode(code: number): number {
  return code >= 0x41 && code <= 0x5a ? code | 0x20 : code
}
