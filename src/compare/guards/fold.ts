/** How texts and words are written before they are compared: one form for what only looks different. */

/** No one sees them, or only as direction. */
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu
const NOT_ASCII = /[^\0-\u007f]/
const QUOTES = /[‘’‚‛′ʼ`´]/g
const DASHES = /[‐‑‒–—―−]/g

export function isAscii(text: string): boolean {
  return !NOT_ASCII.test(text)
}

/** Of private use, so that it is no letter: no text has a word of it. It stands for what was found already. */
export const PLACEHOLDER = '\ue000'
export const PLACEHOLDER_CODE = PLACEHOLDER.charCodeAt(0)

/** Neither ASCII nor what stands for an identifier. */
export function isOtherCode(code: number): boolean {
  return code >= 0x80 && code !== PLACEHOLDER_CODE
}

/** Units of the character that begins there. */
export function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
}

/** Of ASCII. */
export function isLetterCode(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)
}

export function isDigitCode(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

export function normalised(text: string): string {
  if (!NOT_ASCII.test(text)) return text.includes('`') ? text.replaceAll('`', "'") : text
  const whole = text.toWellFormed().normalize('NFKC').replace(IGNORABLE, '')
  return whole.replace(QUOTES, "'").replace(DASHES, '-')
}

const LATIN_MARKS = /(?<=[\p{Script=Latin}\u0300-\u036f])[\u0300-\u036f]/gu
const OTHER_MARKS = /[\u064b-\u065f]|[\u0591-\u05c7]|\u0670|\u0640|\u093c|\u0300|\u0301/g
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ı: 'i',
  æ: 'ae',
  œ: 'oe',
  ё: 'е',
  '\u0901': '\u0902',
  أ: 'ا',
  إ: 'ا',
  آ: 'ا',
  ى: 'ي',
  ة: 'ه',
}
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu')

/** In lower case and without accents, which many leave out. */
export function folded(word: string): string {
  const lower = word.toLowerCase()
  if (!NOT_ASCII.test(lower)) return lower
  return lower
    .normalize('NFD')
    .replace(LATIN_MARKS, '')
    .replace(OTHER_MARKS, '')
    .normalize('NFC')
    .replace(LETTER, (letter) => LETTERS[letter] ?? letter)
}

/** A table of words, written with spaces between them. */
export const setOf = (words: string): ReadonlySet<string> =>
  new Set(words.split(/\s+/).filter(Boolean).map(folded))
