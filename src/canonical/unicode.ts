/**
 * The Unicode forms: text that reads the same is the same, whatever its case, width or encoding form.
 *
 * A value becomes what `unicode-rules.ts` makes of it, with every run of White_Space made one space and none at
 * either end. The result is idempotent, and any two texts with one NFKD have one result.
 *
 * Invariant: the result depends on Unicode 15.0 alone, never on the Unicode version of the running
 * Node. Case folding, White_Space and the rest come from our own table. Normalisation is Node's, which
 * Unicode promises never to change for characters that are assigned; a code point that 15.0 leaves
 * unassigned is kept as it is and separates its neighbours, as it did in 15.0, even where a newer
 * Unicode gives it a meaning.
 */

import { isAscii } from 'node:buffer'

import { PrestigeError } from '../platform/errors.ts'
import {
  type BlockKernel,
  blockKernel,
  INERT,
  NOT_INERT,
  REMOVED,
  UNSPACED,
} from './block-kernel.ts'
import { isUnspaced, joinCjkMarks, unspaced } from './cjk-space.ts'
import type { UnicodeRules } from './unicode-rules.ts'
import { hasBit, type UnicodeTables } from './unicode-tables.ts'
import { unreadable } from './unreadable.ts'
import { decodeUtf8, requireUtf8, textBytesMax } from './utf8.ts'
import { collapseSpaceAndLower } from './white-space.ts'

/** Small enough for ASCII parts of a text to skip the string work, large enough to batch it. */
const spanBytesMin = 1024
/** Of spans between what is inert: a lone sign is a short one, a text of such signs makes long ones. */
const spanBytesLeast = 16
const spanBytesMost = 4096

/** Characters whose NFKD contains U+0345, and a few neighbours that do no harm. */
const subscriptIota = /[\u0345\u037a\u1f80-\u1ffc]/

/** Collapsing also lowers the ASCII spans, which folding leaves alone. */
export function unicodeForm(rules: UnicodeRules, bytes: Uint8Array, scratch?: Buffer): Uint8Array {
  if (isAscii(bytes)) return collapseSpaceAndLower(bytes, scratch)
  requireUtf8(bytes, rules.profile)
  const folding = new Folding(rules)
  const kernel = blockKernel()
  if (kernel && bytes.length <= textBytesMax) folding.foldBetween(kernel, bytes)
  else folding.foldAll(bytes)
  const form = collapseSpaceAndLower(folding.folded(), scratch)
  return folding.hasUnspaced ? joinCjkMarks(form) : form
}

/** Throws INVALID_OPTIONS on a Node whose normalisation is older than our table, or missing. */
export function requireNormalisation(profile: string): void {
  // U+1E030 is new in Unicode 15.0. A Node built without ICU returns every string as it is.
  if ('\u{1e030}'.normalize('NFKC') === '\u0430') return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `The '${profile}' profile needs a Node with Unicode 15.0 or later (process.versions.unicode). ` +
      `Choose another canonical profile, or use an official build of Node.`,
  )
}

/** One text on its way to its form. */
class Folding {
  /** It has characters that count no white space between them and a mark. */
  hasUnspaced = false
  readonly #rules: UnicodeRules
  readonly #parts: Uint8Array[] = []

  constructor(rules: UnicodeRules) {
    this.#rules = rules
  }

  folded(): Uint8Array {
    const [first, second] = this.#parts
    return first && !second ? first : Buffer.concat(this.#parts)
  }

  /**
   * A text may be cut before any ASCII character: none is a combining mark, and none composes with
   * what stands before it. It may not be cut after one, because `e` composes with an accent that
   * follows.
   */
  foldAll(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length;) {
      const end = spanEnd(bytes, from + spanBytesMin)
      const span = bytes.subarray(from, end)
      if (isAscii(span)) this.#parts.push(span)
      else this.#fold(span)
      from = end
    }
  }

  /**
   * As above, but the kernel settles what it can: code points that the form leaves as they are, removes or turns
   * into one ASCII character, and that neither move nor compose with what stands before them. A text may be cut
   * before those that are kept, so a span begins at the last of them before the first that is not settled. Where
   * one span follows another, the next is longer.
   */
  foldBetween(kernel: BlockKernel, bytes: Uint8Array): void {
    const kindOf = (point: number): number => kindIn(this.#rules, point)
    let [from, start, end] = [0, 0, 0]
    let wanted = spanBytesLeast
    while (from < bytes.length) {
      if (from >= end) {
        start = from
        end = kernel.load(bytes, from)
      }
      const settled = kernel.settle(from - start, end - start, this.#rules.table, kindOf)
      this.hasUnspaced ||= settled.hasUnspaced
      const until = start + settled.at
      if (until === bytes.length) {
        this.#take(bytes.subarray(from), kernel.settled(settled.made), true)
        return
      }
      const kept = start + settled.keptAt
      this.#take(bytes.subarray(from, kept), kernel.settled(settled.keptMade), false)
      wanted = kept === from ? Math.min(wanted * 2, spanBytesMost) : spanBytesLeast
      if (until === end && kept > from) {
        // What follows the block may compose with its last code point, which the next one begins with.
        end = from = kept
        continue
      }
      from = spanEnd(bytes, until + wanted)
      this.#fold(bytes.subarray(kept, from))
    }
  }

  /** Whatever is settled becomes shorter, or stays as it is. What is made is overwritten by what follows. */
  #take(source: Uint8Array, made: Uint8Array, isLast: boolean): void {
    if (made.length === source.length) this.#parts.push(source)
    else this.#parts.push(isLast ? made : Buffer.from(made))
  }

  #fold(span: Uint8Array): void {
    const { profile, joinsCjk } = this.#rules
    if (span.length > textBytesMax) {
      throw unreadable(profile, `it has more than ${textBytesMax} bytes without an ASCII character`)
    }
    const folded = foldText(this.#rules, decodeUtf8(span))
    this.hasUnspaced ||= joinsCjk && unspaced.test(folded)
    this.#parts.push(Buffer.from(folded))
  }
}

/** Marks and parts of Hangul syllables are all that may compose with what stands before them. */
const mayCompose = /[\p{M}\u1100-\u11ff]/u

function kindIn(rules: UnicodeRules, point: number): number {
  const { ignorable, unassigned } = rules.tables()
  if (hasBit(ignorable, point)) return REMOVED
  const text = String.fromCodePoint(point)
  if (hasBit(unassigned, point) || mayCompose.test(text)) return NOT_INERT
  const folded = foldRun(rules, text)
  if (folded === text) return rules.joinsCjk && isUnspaced(point) ? UNSPACED : INERT
  const unit = folded.charCodeAt(0)
  return folded.length === 1 && unit >= 0x20 && unit < 0x7f ? unit : NOT_INERT
}

function spanEnd(bytes: Uint8Array, earliest: number): number {
  let end = earliest
  while ((bytes[end] ?? 0) >= 0x80) end++
  return Math.min(end, bytes.length)
}

function foldText(rules: UnicodeRules, text: string): string {
  const tables = rules.tables()
  if (!hasAny(tables.rare, text)) return foldAssigned(rules, text)
  const shown = without(tables.ignorable, text)
  return hasAny(tables.unassigned, shown) ? foldRuns(rules, shown) : foldAssigned(rules, shown)
}

function hasAny(bits: Uint32Array, text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    let point = text.charCodeAt(at)
    if (isHighSurrogate(point)) point = text.codePointAt(at++) ?? 0
    if (hasBit(bits, point)) return true
  }
  return false
}

function without(bits: Uint32Array, text: string): string {
  let kept = ''
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const start = at
    let point = text.charCodeAt(at)
    if (isHighSurrogate(point)) point = text.codePointAt(at++) ?? 0
    if (!hasBit(bits, point)) continue
    kept += text.slice(from, start)
    from = at + 1
  }
  return kept + text.slice(from)
}

/**
 * The rules with NFKC for NFKD, which Node finds already done in most texts. The two differ only
 * where accents are removed, or folding turns U+0345, a mark that moves in NFKD, into the letter ι,
 * which does not.
 */
function foldAssigned(rules: UnicodeRules, text: string): string {
  if (rules.withoutAccents || subscriptIota.test(text)) return foldRun(rules, text)
  return foldCase(rules.tables(), text.normalize('NFKC')).normalize('NFKC')
}

/** By the rules, for every run between unassigned code points. */
function foldRuns(rules: UnicodeRules, text: string): string {
  const { unassigned } = rules.tables()
  let folded = ''
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const start = at
    let point = text.charCodeAt(at)
    if (isHighSurrogate(point)) point = text.codePointAt(at++) ?? 0
    if (!hasBit(unassigned, point)) continue
    folded += foldRun(rules, text.slice(from, start)) + text.slice(start, at + 1)
    from = at + 1
  }
  return folded + foldRun(rules, text.slice(from))
}

function foldRun(rules: UnicodeRules, run: string): string {
  const apart = run.normalize('NFKD')
  const plain = rules.withoutAccents?.(apart) ?? apart
  return foldCase(rules.tables(), plain).normalize('NFKC')
}

// Folded text is gathered here as UTF-16LE, which is several times faster than adding to a string.
// It is shared between calls, because a fold is never interrupted by another.
const gathered = Buffer.allocUnsafeSlow(16 * 1024)
const gatheredMax = gathered.length - 16 // a code point folds to three units or fewer

function foldCase({ simple, special }: UnicodeTables, text: string): string {
  let folded = ''
  let length = 0
  for (let at = 0; at < text.length; at++) {
    const unit = simple[text.charCodeAt(at)] ?? 0
    if (unit !== 0) length = gather(unit, length)
    else {
      const point = text.codePointAt(at) ?? 0
      const full = special.get(point) ?? String.fromCodePoint(point)
      for (let index = 0; index < full.length; index++) {
        length = gather(full.charCodeAt(index), length)
      }
      if (point > 0xffff) at++
    }
    if (length > gatheredMax) {
      folded += gathered.toString('utf16le', 0, length)
      length = 0
    }
  }
  return folded + gathered.toString('utf16le', 0, length)
}

function gather(unit: number, length: number): number {
  gathered[length] = unit
  gathered[length + 1] = unit >>> 8
  return length + 2
}

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800
}
