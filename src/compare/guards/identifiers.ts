/**
 * What names exactly one thing and has no typo that is harmless: versions, codes such as B52, hashes, paths, addresses
 * and package names. Written in ASCII, so they are found in text of any script.
 */

import { PLACEHOLDER } from './fold.ts'
import { codesOf } from './codes.ts'

export interface FoundIdentifier {
  /** `address`: of a page, a host or a mailbox. */
  readonly kind: 'version' | 'identifier' | 'address'
  readonly value: string
}

export interface Identified {
  /** In order. */
  readonly found: readonly FoundIdentifier[]
  /** The text with a placeholder in the place of each of them. */
  readonly rest: string
}

/** What is longer, and no address, is data: no guard reads it. */
const IDENTIFIER_MAX = 90
const ASCII_VISIBLE = String.fromCharCode(...Array.from({ length: 94 }, (_none, at) => 0x21 + at))
// Runs without any of these are words.
const DIGIT = 1
const UNDERSCORE = 2
const SLASH = 4
const BACKSLASH = 8
const AT = 16
const DOT = 32
const COLON = 64
const HYPHEN = 128
/** What these are beside: they make no run special. */
const LETTER = 256
const PLUS = 512
const TILDE = 1024
const OTHER = 2048
const SPECIAL = DIGIT | UNDERSCORE | SLASH | BACKSLASH | AT | DOT | COLON | HYPHEN
const CODE_SIGNS = LETTER | DIGIT | UNDERSCORE | DOT | HYPHEN | PLUS
const ANY = -1
const SIGNS = tableOf([
  ...Array.from(ASCII_VISIBLE, (sign) => [sign, /[a-z]/i.test(sign) ? LETTER : OTHER] as const),
  ['+', PLUS],
  ['~', TILDE],
  ...Array.from('0123456789', (digit) => [digit, DIGIT] as const),
  ['_', UNDERSCORE],
  ['/', SLASH],
  ['\\', BACKSLASH],
  ['@', AT],
  ['.', DOT],
  [':', COLON],
  ['-', HYPHEN],
])
const OPENING = tableOf(Array.from('("\'[{<,;:!?*#&-=', (sign) => [sign, 1] as const))
const CLOSING = tableOf(Array.from(')"\'\\]}>,;:!?.*&-=', (sign) => [sign, 1] as const))
const LETTER_BEFORE = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{M}\p{Nd}]$/u

const DATE = /^\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)$|^\d{4}\.\d{1,2}\.\d{1,2}$/
const GROUPED = /^\d{1,3}(?:\.\d{3})+$/
const DOTTED = /^v?\d+(?:\.\d+){2,}(?:[-+~._]?[a-z][a-z0-9.+-]*)?$/i
const NAMED_VERSION = /^v\d+(?:\.\d+)*(?:[-+~._]?[a-z][a-z0-9.+-]*)?$/i
const PRE_RELEASE = /^\d+(?:\.\d+)*[-+~._]?(?:alpha|beta|rc|dev|pre|post|snapshot|a|b)[-.]?\d*$/i
const PLAIN_VERSION = /^\d+(?:\.\d+)*$/
const VERSION_WORD =
  /\b(?:version|release|ver\.?|версия|версии|versión|versione)\s*$|(?:版本|संस्करण)\s*$/iu

/** Characters before a number in which such a word is looked for, and how one may end. */
const VERSION_WORD_MAX = 12
const VERSION_WORD_ENDS: ReadonlySet<number> = new Set(
  Array.from('nNeErR.', (sign) => sign.charCodeAt(0)),
)

const ADDRESS = /^(?:[a-z][a-z0-9+.-]*:\/\/|www\.)\S+$/i
const MAIL = /^[^@\s]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i
const SCOPED = /^@[a-z0-9._-]+\/[a-z0-9._-]+$/i
/** A file and a host may look alike; both are one thing. */
const HOST =
  /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|io|dev|edu|gov|info|co|uk|de|fr|es|it|nl|ru|in|cn|jp|br|eu)$/i
const FILE =
  /^[\w./\\~+-]*[\w-]\.(?:[ch]|cc|cpp|cs|css|csv|conf|cfg|bin|bz2|deb|docx?|exe|gif|go|gz|html?|ini|jar|java|jpe?g|js|jsonl?|log|md|mjs|mp[34]|pdf|php|png|pptx?|py|rb|rpm|rs|sh|so|sql|svg|tar|tgz|toml|tsx?|txt|wav|xlsx?|xml|ya?ml|zip)$/i
const PATH = /^(?:[~.]{0,2}\/|[a-z]:\\)\S*\w|^[\w.-]+(?:\/[\w.-]+){2,}$/i
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const HEX = /^(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,}$/i
/** Letters with digits behind them; or digits, letters and digits again; or capitals and digits with hyphens. */
const CODE =
  /^[a-z][a-z._+-]*\d[a-z0-9._+-]*$|^\d+[a-z]+[-._]?\d[a-z0-9._-]*$|^\d+-[A-Z]+[A-Z0-9-]*\d[A-Z0-9-]*$/i
const UNDERSCORED = /^[a-z0-9]+(?:_[a-z0-9]+)+$|^\w+(?:::\w+)+$/i
const PACKAGE =
  /^lib[a-z0-9+.]+(?:-[a-z0-9+.]+)+$|^[a-z0-9+.]+(?:-[a-z0-9+.]+)*-(?:dev|devel|doc|docs|dbg|dbgsym|bin|common|data|utils|perl|java|ruby|cil|udeb|src|examples)$/

export function identifiedIn(text: string): Identified {
  const codes = codesOf(text)
  const found: FoundIdentifier[] = []
  const rest: string[] = []
  let copied = 0
  for (let at = 0; at < text.length; at++) {
    if (!isVisibleCode(codes[at] ?? 0)) continue
    // A run of visible ASCII: most have no special sign, and are passed over.
    const start = at
    let signs = 0
    for (; at < text.length && isVisibleCode(codes[at] ?? 0); at++)
      signs |= SIGNS[codes[at] ?? 0] ?? 0
    if ((signs & SPECIAL) === 0) continue
    const replaced = replacedRun(text, start, at, found)
    if (replaced === undefined) continue
    rest.push(text.slice(copied, start), replaced)
    copied = at
  }
  if (copied === 0) return { found, rest: text }
  rest.push(text.slice(copied))
  return { found, rest: rest.join('') }
}

/** The run with a placeholder for what it names; `undefined`: it stays as it is. */
function replacedRun(
  text: string,
  runStart: number,
  runEnd: number,
  found: FoundIdentifier[],
): string | undefined {
  let start = runStart
  let end = runEnd
  while (start < end && isAmong(OPENING, text.charCodeAt(start))) start++
  while (end > start && isAmong(CLOSING, text.charCodeAt(end - 1))) end--
  const signs = signsIn(text, start, end)
  if ((signs & SPECIAL) === 0) return undefined
  const core = text.slice(start, end)
  if (core.length > IDENTIFIER_MAX && !ADDRESS.test(core)) return ' '
  if (isBehindLetter(text, runStart)) return undefined
  const kind = isVersion(core, signs, text, runStart) ? 'version' : kindOf(core, signs)
  if (kind === undefined) {
    const isCodes = signs & SLASH && signs & DIGIT
    return isCodes ? partwise(text.slice(runStart, runEnd), found) : undefined
  }
  found.push({ kind, value: plainIdentifier(core, kind) })
  return text.slice(runStart, start) + PLACEHOLDER + text.slice(end, runEnd)
}

function isBehindLetter(text: string, index: number): boolean {
  // What is before a run is no visible ASCII.
  if (index === 0 || text.charCodeAt(index - 1) < 0x80) return false
  return LETTER_BEFORE.test(text.slice(Math.max(0, index - 2), index))
}

function isVisibleCode(code: number): boolean {
  return code >= 0x21 && code <= 0x7e
}

/** A table by codes of ASCII. */
function tableOf(entries: Iterable<readonly [string, number]>): Uint16Array {
  const table = new Uint16Array(0x80)
  for (const [sign, value] of entries) table[sign.charCodeAt(0)] = value
  return table
}

function isAmong(table: Uint16Array, code: number): boolean {
  return table[code] === 1
}

/** The special signs of a run: a bit for each kind. */
function signsIn(text: string, start: number, end: number): number {
  let signs = 0
  for (let at = start; at < end; at++) signs |= SIGNS[text.charCodeAt(at)] ?? 0
  return signs
}

/** Win32/Win64: codes side by side. */
function partwise(run: string, found: FoundIdentifier[]): string {
  const parts = run.split('/').map((part) => {
    const core = trimmed(part)
    if (!/\d/.test(core) || !CODE.test(core)) return part
    found.push({ kind: 'identifier', value: core.toLowerCase() })
    return part.replace(core, () => PLACEHOLDER)
  })
  return parts.join('/')
}

function trimmed(part: string): string {
  let start = 0
  let end = part.length
  while (start < end && isAmong(OPENING, part.charCodeAt(start))) start++
  while (end > start && isAmong(CLOSING, part.charCodeAt(end - 1))) end--
  return part.slice(start, end)
}

function isVersion(core: string, signs: number, text: string, start: number): boolean {
  if (!(signs & DIGIT) || signs & (SLASH | BACKSLASH | AT | COLON | OTHER)) return false
  // Digits alone, or with dots.
  if (!(signs & ~DIGIT)) return isBehindVersionWord(text, start)
  if (!/^[0-9v]/i.test(core)) return false
  if (DATE.test(core) || GROUPED.test(core)) return false
  if (DOTTED.test(core) || NAMED_VERSION.test(core) || PRE_RELEASE.test(core)) return true
  return PLAIN_VERSION.test(core) && isBehindVersionWord(text, start)
}

function isBehindVersionWord(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - VERSION_WORD_MAX), start).trimEnd()
  const last = before.charCodeAt(before.length - 1)
  const isEnd = last >= 0x80 || VERSION_WORD_ENDS.has(last)
  return isEnd && VERSION_WORD.test(before)
}

/**
 * A pattern is tried where a run has one of the signs that it cannot do without, and none but those that it may have
 * at all.
 */
const PATTERNS: readonly (readonly [
  kind: 'address' | 'identifier',
  needs: number,
  has: number,
  pattern: RegExp,
])[] = [
  ['address', COLON | DOT, ANY, ADDRESS],
  ['address', AT, ANY, MAIL],
  ['address', DOT, LETTER | DIGIT | DOT | HYPHEN, HOST],
  ['identifier', AT, LETTER | DIGIT | DOT | UNDERSCORE | HYPHEN | AT | SLASH, SCOPED],
  ['identifier', DOT, CODE_SIGNS | SLASH | BACKSLASH | TILDE, FILE],
  ['identifier', SLASH | BACKSLASH, ANY, PATH],
  ['identifier', HYPHEN, LETTER | DIGIT | HYPHEN, UUID],
  ['identifier', DIGIT, LETTER | DIGIT, HEX],
  ['identifier', DIGIT, CODE_SIGNS, CODE],
  ['identifier', UNDERSCORE | COLON, LETTER | DIGIT | UNDERSCORE | COLON, UNDERSCORED],
  ['identifier', HYPHEN, LETTER | DIGIT | PLUS | DOT | HYPHEN, PACKAGE],
]

function kindOf(core: string, signs: number): 'identifier' | 'address' | undefined {
  // Digits alone are a number.
  if (signs === DIGIT) return undefined
  for (const [kind, needs, has, pattern] of PATTERNS) {
    if (signs & needs && (signs & ~has) === 0 && pattern.test(core)) return kind
  }
  return undefined
}

function plainIdentifier(core: string, kind: FoundIdentifier['kind']): string {
  const lower = core.toLowerCase()
  if (kind === 'version') return lower.replace(/^v/, '')
  if (kind === 'identifier') return lower
  return lower
    .replace(/^https?:\/\//, '')
    .replace(/^www\./, '')
    .replace(/\/$/, '')
}
