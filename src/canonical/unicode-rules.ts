/**
 * The rules of the Unicode forms: what becomes of a run of text in which 15.0 leaves no code point unassigned.
 *
 * - Version 1 of `unicode`: NFKC(fold(NFKD(text))). `fold` is full case folding (CaseFolding.txt, statuses C and
 *   F), and every White_Space becomes a space. That is Unicode's compatibility caseless matching (D146) made into a
 *   normal form.
 * - Version 2 first removes what is not shown (Default_Ignorable_Code_Point), which makes it NFKC_Casefold; and
 *   `fold` also turns marks into the ASCII ones that are written in their place (`scripts/make-case-folding.ts` says
 *   by which properties). White space beside such a mark does not count where a Chinese or Japanese character is on
 *   the other side (`cjk-space.ts`).
 * - `unaccented` is version 2 with accents removed, between NFKD and `fold`.
 *
 * As NFKC_Casefold does, this removes ZWJ and ZWNJ: an emoji made of several is the same as those several, and a
 * Persian or Indic word with a non-joiner is the same as the word without. Whoever needs them apart compares bytes.
 *
 * Deliberately not here:
 * - Rules of one language. I and İ fold as in English: I to i, İ to i + U+0307 (so İ is not i), and ı stays ı. A
 *   Turkish corpus that wants otherwise brings its own function.
 * - ASCII marks for one another: ' is not ", - is not --, and ` is neither. An ASCII text has one form in all
 *   versions.
 * - Bullets, middle dots, arrows, mathematical signs but the minus, and ¿ and ¡: they are not written in place of an
 *   ASCII mark.
 */

import { foldingTables, readingTables, type UnicodeTables } from './unicode-tables.ts'

export interface UnicodeRules {
  /** As in messages. */
  readonly profile: string
  /** The table of the kernel that has what is known of code points. */
  readonly table: number
  readonly tables: () => UnicodeTables
  /** Between NFKD and folding; absent where nothing is removed. */
  readonly withoutAccents?: (text: string) => string
  readonly joinsCjk: boolean
}

export const foldingRules: UnicodeRules = {
  profile: 'unicode',
  table: 0,
  tables: foldingTables,
  joinsCjk: false,
}

export const readingRules: UnicodeRules = {
  profile: 'unicode',
  table: 1,
  tables: readingTables,
  joinsCjk: true,
}

export const unaccentedRules: UnicodeRules = {
  profile: 'unaccented',
  table: 2,
  tables: readingTables,
  withoutAccents,
  joinsCjk: true,
}

/**
 * What people call accents, as code points of Unicode 15.0:
 * - combining marks of Latin, Greek and Cyrillic (U+0300–U+036F, U+0483–U+0487, U+1AB0–U+1ACE, U+1DC0–U+1DFF,
 *   U+FE20–U+FE2F), but for the overlays U+0334–U+0338, which make ≠ of =;
 * - Hebrew points and accents;
 * - Arabic harakat, Koranic signs and the tatweel, but for the madda and hamza U+0653–U+0655, which make letters.
 *
 * Not vowel signs, viramas and tone marks of Indic scripts, Thai and others, and not the dakuten: they make another
 * word.
 */
const accents =
  '\\u0300-\\u0333\\u0339-\\u036f\\u0483-\\u0487\\u1ab0-\\u1ace\\u1dc0-\\u1dff\\ufe20-\\ufe2f' +
  '\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7' +
  '\\u0610-\\u061a\\u0640\\u064b-\\u0652\\u0656-\\u065f\\u0670\\u06d6-\\u06dc\\u06df-\\u06e4\\u06e7\\u06e8' +
  '\\u06ea-\\u06ed\\u08ca-\\u08e1\\u08e3-\\u08ff'
const accented = new RegExp(`([иуИУ]?)([${accents}]+)`, 'g')
const BREVE = '\u0306'

/** й and ў are letters of their own to all who write them, and keep their breve. */
function withoutAccents(text: string): string {
  return text.replace(accented, (_all, base: string, marks: string) =>
    base !== '' && marks.includes(BREVE) ? base + BREVE : base,
  )
}
