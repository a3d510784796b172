/**
 * Numbers in a text, as values: digits of any script, grouped or not, with scale words, or as small words.
 *
 * `1,500`, `1.500`, `1 500` and `1500` are one number: three digits behind a single separator are a group, since it
 * cannot be known whether a writer meant a fraction, and calling two numbers different only misses a duplicate.
 */

import { folded, isAscii } from './fold.ts'
import { lettersOf, numberWord, ONE_WORDS, SCALES, UNITS } from './tables.ts'

export interface FoundNumber {
  /** In one notation. */
  readonly value: string
  /** What it counts, where that is written right beside it. */
  readonly unit: string | undefined
  /** The word before it, in lower case; empty where there is none. */
  readonly before: string
  readonly index: number
}

const GROUP = "[.,'’٬٫ \\u00a0\\u202f]"
/** Words of these scripts are not separated from numbers. */
const LETTER =
  '(?![\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}])[\\p{L}\\p{M}\\p{Nd}]'
// Not within a word such as B52; a sign only where no number or word stands before it.
const NUMBER = new RegExp(
  `(?<!${LETTER}|[\\p{L}][-.])(?<sign>(?<![\\p{L}\\p{Nd})\\]])[-−])?(?<digits>\\p{Nd}+(?:${GROUP}\\p{Nd}+)*)`,
  'gu',
)
/** As many characters are looked at on either side. */
const BESIDE_MAX = 40
const BEFORE = /(\p{Sc}|\b(?:USD|EUR|GBP|JPY|INR|CNY|CHF)) ?$/u
const AFTER = /^[ \u00a0\u202f-]?(%|‰|°[CF]?|\p{Sc}|\p{L}[\p{L}\p{M}]*)/u
const HAN = /^\p{Script=Han}/u

export function numbersOf(text: string): FoundNumber[] {
  const found: FoundNumber[] = []
  for (const { groups, index, 0: whole } of text.matchAll(NUMBER)) {
    const digits = western(groups?.['digits'] ?? '')
    const behind = text.slice(index + whole.length, index + whole.length + BESIDE_MAX)
    const before = text.slice(Math.max(0, index - BESIDE_MAX), index)
    for (const part of partsOf(digits)) {
      const { scale, unit } = suffixOf(behind)
      const value = scaled(valueOf(part), scale)
      const sign = groups?.['sign'] ? '-' : ''
      found.push({
        value: `${sign}${value}`,
        unit: unitBefore(before) ?? unit,
        before: wordBefore(before),
        index,
      })
    }
  }
  for (const { 0: word, index } of text.matchAll(isAscii(text) ? /[A-Za-z]+/g : lettersOf())) {
    const plain = folded(word)
    const isOne = ONE_WORDS.has(plain)
    const value = isOne ? '1' : numberWord(plain, word, () => text)
    if (value === undefined) continue
    const { scale, unit } = suffixOf(
      text.slice(index + word.length, index + word.length + BESIDE_MAX),
    )
    if (isOne && unit === undefined) continue
    const before = text.slice(Math.max(0, index - BESIDE_MAX), index)
    found.push({ value: scaled(value, scale), unit, before: wordBefore(before), index })
  }
  return found.toSorted((first, second) => first.index - second.index)
}

function wordBefore(before: string): string {
  return /([\p{L}\p{M}]+)[^\p{L}\p{N}]*$/u.exec(before)?.[1]?.toLowerCase() ?? ''
}

/** Digits apart that a space or comma only seems to join: `3, 14` never comes here, `1 50` does. */
function partsOf(digits: string): string[] {
  const groups = digits.split(/[^0-9]/)
  const isGrouped = groups.slice(1).every((group) => group.length === 3)
  if (groups.length <= 2 && !/[ \u00a0\u202f]/.test(digits)) return [digits]
  if (isGrouped || /^[0-9]{1,3}(?:([^0-9])[0-9]{3})*(?!\1)[.,][0-9]+$/.test(digits)) return [digits]
  return groups
}

function valueOf(digits: string): string {
  const separators = digits.match(/[^0-9]/g) ?? []
  const last = separators.at(-1)
  if (last === undefined) return trimmed(digits, '')
  const at = digits.lastIndexOf(last)
  const whole = digits.slice(0, at).replaceAll(/[^0-9]/g, '')
  const rest = digits.slice(at + 1)
  const isGroup =
    separators.length > 1
      ? separators.every((one) => one === last) && rest.length === 3
      : rest.length === 3 && !/^0+$/.test(whole)
  return isGroup ? trimmed(whole + rest, '') : trimmed(whole, rest)
}

function trimmed(whole: string, fraction: string): string {
  const left = whole.replace(/^0+(?=\d)/, '')
  const right = fraction.replace(/0+$/, '')
  return right === '' ? left : `${left || '0'}.${right}`
}

/** Moves the point, on digits alone: a value of any length stays exact. */
function scaled(value: string, places: number): string {
  if (places === 0) return value
  const [whole = '0', fraction = ''] = value.split('.')
  const moved = fraction.padEnd(places, '0')
  return trimmed(whole + moved.slice(0, places), moved.slice(places))
}

function suffixOf(behind: string): { scale: number; unit: string | undefined } {
  const [matched, word] = AFTER.exec(behind) ?? []
  if (matched === undefined || word === undefined) return { scale: 0, unit: undefined }
  const isHan = HAN.test(word)
  const scale = SCALES.get(isHan ? word.slice(0, 1) : folded(word))
  if (scale === undefined) return { scale: 0, unit: unitOf(word) }
  const end = isHan ? matched.length - word.length + 1 : matched.length
  const next = AFTER.exec(behind.slice(end))?.[1]
  return { scale, unit: next === undefined ? undefined : unitOf(next) }
}

function unitBefore(before: string): string | undefined {
  const [, symbol] = BEFORE.exec(before) ?? []
  return symbol === undefined ? undefined : unitOf(symbol)
}

/** Of Chinese, whose words are not separated, the first characters. */
export function unitOf(word: string): string | undefined {
  if (HAN.test(word)) return UNITS.get(word.slice(0, 2)) ?? UNITS.get(word.slice(0, 1))
  return UNITS.get(word) ?? UNITS.get(folded(word))
}

const DIGIT = /\p{Nd}/u
const known = new Map<number, string>()

/** Any decimal digit as 0 to 9. */
export function western(text: string): string {
  return text.replaceAll(/\p{Nd}/gu, (digit) => {
    const point = digit.codePointAt(0) ?? 0
    if (point < 0x80) return digit
    const value = known.get(point) ?? String(digitAt(point))
    known.set(point, value)
    return value
  })
}

/** Digits stand in rows of ten from zero on, and where rows follow each other the first begins with a zero too. */
function digitAt(point: number): number {
  let start = point
  while (DIGIT.test(String.fromCodePoint(start - 1))) start--
  return (point - start) % 10
}
