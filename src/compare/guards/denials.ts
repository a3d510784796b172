/** Denials and calendar words, read from folded words. */

import { folded } from './fold.ts'
import {
  CALENDAR,
  CALENDAR_IF_CAPITAL,
  HAN_NEGATION,
  HAN_NOT_NEGATION,
  NEGATIONS,
  NEGATIONS_AMONG,
} from './tables.ts'

/** `weekday monday`, `month may`, `day today`. */
export function calendarOf(
  form: string,
  isCapitalised: boolean,
  isFirst: boolean,
): string | undefined {
  if (CALENDAR_IF_CAPITAL.has(form) && (!isCapitalised || isFirst)) return undefined
  return CALENDAR.get(form)
}

const HAN_WEEKDAY = /(?:星期|礼拜|禮拜|周|週)([一二三四五六日天])/gu
const HAN_DAYS = /今天|昨天|明天|前天|后天/gu

export function hanDates(text: string): string[] {
  const weekdays = [...text.matchAll(HAN_WEEKDAY)].map(
    ([, day]) => `weekday ${day === '天' ? '日' : day}`,
  )
  return [...weekdays, ...(text.match(HAN_DAYS) ?? [])]
}

/** The words that deny in such company: a bit for each list. */
export function denialsAmong(found: number): ReadonlySet<string> {
  const known = DENIALS_OF.get(found)
  if (known) return known
  const denials = new Set(NEGATIONS)
  for (const [at, one] of NEGATIONS_AMONG.entries()) {
    if (found & (1 << at)) for (const word of one.denials) denials.add(word)
  }
  DENIALS_OF.set(found, denials)
  return denials
}

/** A word, folded → a bit for each list that it is in the company of. */
export const COMPANY: ReadonlyMap<string, number> = companyBits()
/** By bits: there are few languages, and texts of the same ones come together. */
const DENIALS_OF = new Map<number, ReadonlySet<string>>([[0, NEGATIONS]])

function companyBits(): Map<string, number> {
  const bits = new Map<string, number>()
  for (const [at, { company }] of NEGATIONS_AMONG.entries()) {
    for (const word of company) bits.set(word, (bits.get(word) ?? 0) | (1 << at))
  }
  return bits
}

/** A denial may be part of a compound, or stand behind an apostrophe. */
export function partsOfWord(plain: string): string[] {
  const form = folded(plain)
  const isWhole = !form.includes('-') && !form.includes("'")
  return isWhole || form.endsWith("n't") ? [form] : form.split(/[-']/)
}

export function negationsIn(
  text: string,
  forms: readonly string[],
  denials: ReadonlySet<string>,
): number {
  const denying = forms.filter((form) => denials.has(form) || form.endsWith("n't"))
  const han = text.replaceAll(HAN_NOT_NEGATION, '').match(HAN_NEGATION) ?? []
  return denying.length + han.length
}
