/** Whether two words are one word in two spellings: a typo, or an ending of grammar. */

import { NO_TYPOS } from './languages.ts'

/** A shorter word is another word when a letter changes. */
const TYPO_LETTERS = 4
/** Names differ by little: Iran and Iraq, Anna and Anne. */
const NAME_LETTERS = 6
const STEM_LETTERS = 3
const INDIC_STEM_LETTERS = 2

const LATIN_ENDINGS = new Set(['', 's', 'es', 'e', 'n', 'en', 'd', 'ed', 'x', 'm', 'em', 't', 'te'])
const VOWEL_ENDINGS = new Set(['a', 'o', 'i', 'e', 'as', 'os', 'y'])
const GERMAN_ENDINGS = new Set(['', 'er', 'ern', 'e', 'en', 'es'])
const FRENCH_ENDINGS = new Set(['', 'nt', 'ent', 'e', 'es', 's'])
const CYRILLIC_ENDING = /^[аеёиоуыэюяйьмхв]{0,2}$/u
const INDIC_ENDINGS = new Set(['', 'ों', 'ें', 'े', 'ो', 'ां', 'ा', 'ियां', 'ियों', 'ी', 'ं'])
const ARABIC_ENDINGS = new Set(['', 'ات', 'ين', 'ون', 'ه', 'ا'])
const KOREAN_PARTICLE = /(?<=[가-힣])[은는이가을를에도의와과로들]$/u
const LIBRARY = /^lib(?!er|rar|el|id)/
const LATIN = /^\p{Script=Latin}+$/u
const CYRILLIC = /^\p{Script=Cyrillic}+$/u
const DEVANAGARI = /^[\p{Script=Devanagari}\p{M}]+$/u
const ARABIC = /^[\p{Script=Arabic}\p{M}]+$/u
const HANGUL = /^\p{Script=Hangul}+$/u

export interface Spelling {
  readonly form: string
  /** A capital where no sentence begins: probably a name, or a German noun. */
  readonly isName: boolean
  readonly isCapital: boolean
}

export function isVariant(a: Spelling, b: Spelling, language: string | undefined): boolean {
  if (NO_TYPOS.some((row) => row.has(a.form) && row.has(b.form))) return false
  // Names of libraries: libev and libuev.
  if (LIBRARY.test(a.form) && LIBRARY.test(b.form)) return false
  return isInflection(a.form, b.form, language, a.isCapital && b.isCapital) || isTypo(a, b)
}

/** The same stem with endings of one or two letters. */
export function isInflection(
  a: string,
  b: string,
  language: string | undefined,
  isName: boolean,
): boolean {
  if (HANGUL.test(a) && HANGUL.test(b)) {
    return a.replace(KOREAN_PARTICLE, '') === b.replace(KOREAN_PARTICLE, '')
  }
  const stem = commonPrefix(a, b)
  const [own, other] = [a.slice(stem), b.slice(stem)]
  if (DEVANAGARI.test(a) && DEVANAGARI.test(b)) {
    return stem >= INDIC_STEM_LETTERS && isIndicEnding(own, other)
  }
  if (stem < STEM_LETTERS) return false
  if (LATIN.test(a) && LATIN.test(b)) return isLatinEnding(own, other, language, isName)
  if (CYRILLIC.test(a) && CYRILLIC.test(b)) {
    return CYRILLIC_ENDING.test(own) && CYRILLIC_ENDING.test(other)
  }
  if (ARABIC.test(a) && ARABIC.test(b)) return ARABIC_ENDINGS.has(own) && ARABIC_ENDINGS.has(other)
  return false
}

function isLatinEnding(
  own: string,
  other: string,
  language: string | undefined,
  isName: boolean,
): boolean {
  if (LATIN_ENDINGS.has(own) && LATIN_ENDINGS.has(other)) return true
  if ((own === 'y' && other === 'ies') || (own === 'ies' && other === 'y')) return true
  if (language === 'fr' && FRENCH_ENDINGS.has(own) && FRENCH_ENDINGS.has(other)) return true
  if (language === 'de' || language === 'nl') {
    if (GERMAN_ENDINGS.has(own) && GERMAN_ENDINGS.has(other)) return true
  }
  // Anna and Anne, Mario and Maria are names of different people.
  return !isName && language !== 'en' && VOWEL_ENDINGS.has(own) && VOWEL_ENDINGS.has(other)
}

/** A boy and a girl differ by their last vowel, as do a boy and boys. */
function isIndicEnding(own: string, other: string): boolean {
  if ((own === 'ा' && other === 'ी') || (own === 'ी' && other === 'ा')) return false
  return INDIC_ENDINGS.has(own) && INDIC_ENDINGS.has(other)
}

/** One letter more, less, another, or two in each other's place; never the first one. */
function isTypo(a: Spelling, b: Spelling): boolean {
  const [first, second] = [Array.from(a.form), Array.from(b.form)]
  const isName = a.isName || b.isName
  const short = Math.min(first.length, second.length)
  if (Math.abs(first.length - second.length) > 1) return false
  if (short < (isName ? NAME_LETTERS : TYPO_LETTERS)) return false
  const start = commonPrefix(first, second)
  if (start === 0) return false
  const end = commonSuffix(first, second, start)
  const own = first.slice(start, first.length - end)
  const other = second.slice(start, second.length - end)
  // Daniel and Daniela, Christian and Christina.
  if (isName && end === 0) return false
  // Anna and Anne, where a sentence begins.
  const isCapital = a.isCapital || b.isCapital
  if (isCapital && end === 0 && own.length === other.length) return false
  if (own.length <= 1 && other.length <= 1) return true
  return own.length === 2 && own[0] === other[1] && own[1] === other[0] && other.length === 2
}

/** teh for the: two letters of a word of grammar in each other's place. */
export function isSwapped(form: string, words: ReadonlySet<string>): boolean {
  if (form.length < 3) return false
  for (let at = 0; at + 1 < form.length; at++) {
    const swapped = form.slice(0, at) + form.charAt(at + 1) + form.charAt(at) + form.slice(at + 2)
    if (words.has(swapped)) return true
  }
  return false
}

type Letters = ArrayLike<string>

function commonPrefix(a: Letters, b: Letters): number {
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  return at
}

function commonSuffix(a: Letters, b: Letters, start: number): number {
  let count = 0
  const most = Math.min(a.length, b.length) - start
  while (count < most && a[a.length - 1 - count] === b[b.length - 1 - count]) count++
  return count
}

/** So many letters of a part of an identifier: dev and doc are two things. */
const PART_LETTERS = 6

/** One letter wrong in a long part of letters, and every digit the same. */
export function isMistyped(a: string, b: string): boolean {
  if (a.replaceAll(/\D/g, '') !== b.replaceAll(/\D/g, '')) return false
  const [own, others] = [partsOf(a), partsOf(b)]
  if (own.length !== others.length) return false
  const apart = own.flatMap((part, at) => (part === others[at] ? [] : [[part, others[at] ?? '']]))
  const [pair] = apart
  if (apart.length !== 1 || !pair) return false
  const [one = '', other = ''] = pair
  const plain = { isName: false, isCapital: false }
  return (
    Math.min(one.length, other.length) >= PART_LETTERS &&
    isVariant({ form: one, ...plain }, { form: other, ...plain }, undefined)
  )
}

function partsOf(identifier: string): string[] {
  return identifier.split(/[^a-z]+/)
}
