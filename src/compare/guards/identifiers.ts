/**
 * What names exactly one thing and has no typo that is harmless: versions, codes such as B52, hashes, paths, addresses
 * and package names. Written in ASCII, so they are found in text of any script.
 */

import { PLACEHOLDER } from './fold.ts'

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
/** Runs without any of these are words. */
const SPECIAL = /[0-9_/\\@.:-]/
const OPENING = new Set('("\'[{<,;:!?*#&-=')
const CLOSING = new Set(')"\'\\]}>,;:!?.*&-=')
const LETTER_BEFORE = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{M}\p{Nd}]$/u

const DATE = /^\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)$|^\d{4}\.\d{1,2}\.\d{1,2}$/
const GROUPED = /^\d{1,3}(?:\.\d{3})+$/
const DOTTED = /^v?\d+(?:\.\d+){2,}(?:[-+~._]?[a-z][a-z0-9.+-]*)?$/i
const NAMED_VERSION = /^v\d+(?:\.\d+)*(?:[-+~._]?[a-z][a-z0-9.+-]*)?$/i
const PRE_RELEASE = /^\d+(?:\.\d+)*[-+~._]?(?:alpha|beta|rc|dev|pre|post|snapshot|a|b)[-.]?\d*$/i
const PLAIN_VERSION = /^\d+(?:\.\d+)*$/
const VERSION_WORD =
  /\b(?:version|release|ver\.?|версия|версии|versión|versione)\s*$|(?:版本|संस्करण)\s*$/iu

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
  const found: FoundIdentifier[] = []
  const rest = replaceRuns(text, (run, index) => {
    const core = trimmed(run)
    if (core === '' || !SPECIAL.test(core)) return run
    if (core.length > IDENTIFIER_MAX && !ADDRESS.test(core)) return ' '
    if (LETTER_BEFORE.test(text.slice(Math.max(0, index - 2), index))) return run
    const before = () => text.slice(Math.max(0, index - 12), index)
    const kind = isVersion(core, before) ? 'version' : kindOf(core)
    if (kind === undefined) return core.includes('/') ? partwise(run, found) : run
    found.push({ kind, value: plainIdentifier(core, kind) })
    return run.replace(core, () => PLACEHOLDER)
  })
  return { found, rest }
}

const NEXT_SPECIAL = new RegExp(SPECIAL, 'g')

/** Replaces runs of visible ASCII that have a special sign: most have none, and are passed over. */
function replaceRuns(text: string, replace: (run: string, index: number) => string): string {
  let replaced = ''
  let at = 0
  for (;;) {
    NEXT_SPECIAL.lastIndex = at
    const { index } = NEXT_SPECIAL.exec(text) ?? {}
    if (index === undefined) return replaced + text.slice(at)
    let start = index
    while (start > at && isVisibleCode(text.charCodeAt(start - 1))) start--
    let end = index + 1
    while (isVisibleCode(text.charCodeAt(end))) end++
    replaced += text.slice(at, start) + replace(text.slice(start, end), start)
    at = end
  }
}

function isVisibleCode(code: number): boolean {
  return code >= 0x21 && code <= 0x7e
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

function trimmed(run: string): string {
  let start = 0
  let end = run.length
  while (start < end && OPENING.has(run[start] ?? '')) start++
  while (end > start && CLOSING.has(run[end - 1] ?? '')) end--
  return run.slice(start, end)
}

function isVersion(core: string, before: () => string): boolean {
  if (!/\d/.test(core) || DATE.test(core) || GROUPED.test(core)) return false
  if (DOTTED.test(core) || NAMED_VERSION.test(core) || PRE_RELEASE.test(core)) return true
  return PLAIN_VERSION.test(core) && VERSION_WORD.test(before())
}

const ADDRESSES = [ADDRESS, MAIL, HOST]
const IDENTIFIERS = [SCOPED, FILE, PATH, UUID, HEX, CODE, UNDERSCORED, PACKAGE]

function kindOf(core: string): 'identifier' | 'address' | undefined {
  if (ADDRESSES.some((pattern) => pattern.test(core))) return 'address'
  return IDENTIFIERS.some((pattern) => pattern.test(core)) ? 'identifier' : undefined
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
