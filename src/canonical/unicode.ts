/**
 * The `unicode` profile: text that reads the same is the same, whatever its case, width or encoding
 * form.
 *
 * A value becomes NFKC(fold(NFKD(text))) with every run of White_Space made one space and none at
 * either end. `fold` is full case folding (CaseFolding.txt, statuses C and F). That is Unicode's
 * compatibility caseless matching (D146) made into a normal form: it is idempotent, and any two
 * texts with one NFKD have one result.
 *
 * Invariant: the result depends on Unicode 15.0 alone, never on the Unicode version of the running
 * Node. Case folding and White_Space come from our own table. Normalisation is Node's, which
 * Unicode promises never to change for characters that are assigned; a code point that 15.0 leaves
 * unassigned is kept as it is and separates its neighbours, as it did in 15.0, even where a newer
 * Unicode gives it a meaning.
 *
 * Deliberately not here:
 * - Removing default-ignorable characters. ZWJ makes one emoji of several, and ZWNJ separates words
 *   in Persian and changes letters in Indic scripts; without them different texts would become the
 *   same. So soft hyphens, variation selectors and a leading byte order mark make a difference too.
 * - Rules of one language. I and İ fold as in English: I to i, İ to i + U+0307 (so İ is not i), and
 *   ı stays ı. A Turkish corpus that wants otherwise brings its own function.
 * - Removing accents or punctuation.
 */

import { isAscii } from 'node:buffer'
import { PrestigeError } from '../platform/errors.ts'
import { type BlockKernel, blockKernel, INERT, NOT_INERT } from './block-kernel.ts'
import { hasBit, unicodeTables, type UnicodeTables } from './unicode-tables.ts'
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

/** The last step also lowers and collapses the ASCII spans, which the step before leaves alone. */
export function unicodeForm(bytes: Uint8Array, scratch?: Buffer): Uint8Array {
  if (isAscii(bytes)) return collapseSpaceAndLower(bytes, scratch)
  requireUtf8(bytes, 'unicode')
  return collapseSpaceAndLower(foldSpans(bytes), scratch)
}

/** Throws INVALID_OPTIONS on a Node whose normalisation is older than our table, or missing. */
export function requireNormalisation(): void {
  // U+1E030 is new in Unicode 15.0. A Node built without ICU returns every string as it is.
  if ('\u{1e030}'.normalize('NFKC') === '\u0430') return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `The 'unicode' profile needs a Node with Unicode 15.0 or later (process.versions.unicode). ` +
      `Choose another canonical profile, or use an official build of Node.`,
  )
}

/**
 * A text may be cut before any ASCII character: none is a combining mark, and none composes with
 * what stands before it. It may not be cut after one, because `e` composes with an accent that
 * follows.
 */
function foldSpans(bytes: Uint8Array): Uint8Array {
  const kernel = blockKernel()
  if (kernel && bytes.length <= textBytesMax) return foldBetween(kernel, bytes)
  const spans: Uint8Array[] = []
  for (let from = 0; from < bytes.length;) {
    const end = spanEnd(bytes, from + spanBytesMin)
    const span = bytes.subarray(from, end)
    spans.push(isAscii(span) ? span : foldSpan(span))
    from = end
  }
  return Buffer.concat(spans)
}

/**
 * As above, but what is inert is passed over: a code point that the whole form leaves as it is, and that neither
 * moves nor composes with what stands before it. A text may be cut before such a one too, so a span begins one code
 * point before the first that is not inert. Where one span follows another, the next is longer.
 */
function foldBetween(kernel: BlockKernel, bytes: Uint8Array): Uint8Array {
  const spans: Uint8Array[] = []
  let from = 0
  let wanted = spanBytesLeast
  while (from < bytes.length) {
    const at = foldedUntil(kernel, bytes, from)
    if (at === bytes.length) break
    const start = at === from ? from : pointBefore(bytes, at)
    if (start > from) spans.push(bytes.subarray(from, start))
    wanted = start === from ? Math.min(wanted * 2, spanBytesMost) : spanBytesLeast
    const end = spanEnd(bytes, at + wanted)
    spans.push(foldSpan(bytes.subarray(start, end)))
    from = end
  }
  if (from === 0) return bytes
  spans.push(bytes.subarray(from))
  return Buffer.concat(spans)
}

/** Where the first code point is that is not inert; what is met for the first time is learnt. */
function foldedUntil(kernel: BlockKernel, bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    at = kernel.inertUntil(bytes, at)
    if (at === bytes.length) return at
    const point = decodeUtf8(bytes.subarray(at, at + 4)).codePointAt(0) ?? 0
    if (kernel.kindOf(point) !== 0) return at
    kernel.learn(point, isInert(unicodeTables(), point) ? INERT : NOT_INERT)
  }
}

/** Marks and parts of Hangul syllables are all that may compose with what stands before them. */
const mayCompose = /[\p{M}\u1100-\u11ff]/u

function isInert(tables: UnicodeTables, point: number): boolean {
  const text = String.fromCodePoint(point)
  if (hasBit(tables.unassigned, point) || mayCompose.test(text)) return false
  return foldRun(tables, text) === text
}

function pointBefore(bytes: Uint8Array, at: number): number {
  let start = at - 1
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start--
  return start
}

function spanEnd(bytes: Uint8Array, earliest: number): number {
  let end = earliest
  while ((bytes[end] ?? 0) >= 0x80) end++
  return Math.min(end, bytes.length)
}

function foldSpan(span: Uint8Array): Uint8Array {
  if (span.length > textBytesMax) {
    throw unreadable('unicode', `it has more than ${textBytesMax} bytes without an ASCII character`)
  }
  const tables = unicodeTables()
  const text = decodeUtf8(span)
  return Buffer.from(needsCare(tables, text) ? foldRuns(tables, text) : foldQuickly(tables, text))
}

function needsCare(tables: UnicodeTables, text: string): boolean {
  return subscriptIota.test(text) || hasUnassigned(tables, text)
}

function hasUnassigned({ unassigned }: UnicodeTables, text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    let point = text.charCodeAt(at)
    if (isHighSurrogate(point)) point = text.codePointAt(at++) ?? 0
    if (hasBit(unassigned, point)) return true
  }
  return false
}

/**
 * The definition at the top with NFKC for NFKD, which Node finds already done in most texts. The
 * two differ only where folding turns U+0345, a mark that moves in NFKD, into the letter ι, which
 * does not.
 */
function foldQuickly(tables: UnicodeTables, text: string): string {
  return foldCase(tables, text.normalize('NFKC')).normalize('NFKC')
}

/** The definition at the top, for every run between unassigned code points. */
function foldRuns(tables: UnicodeTables, text: string): string {
  let folded = ''
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const start = at
    let point = text.charCodeAt(at)
    if (isHighSurrogate(point)) point = text.codePointAt(at++) ?? 0
    if (!hasBit(tables.unassigned, point)) continue
    folded += foldRun(tables, text.slice(from, start)) + text.slice(start, at + 1)
    from = at + 1
  }
  return folded + foldRun(tables, text.slice(from))
}

function foldRun(tables: UnicodeTables, run: string): string {
  return foldCase(tables, run.normalize('NFKD')).normalize('NFKC')
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
