/**
 * Opposites: "turn on" and "turn off", "enable" and "disable", "before" and "after". Models of meaning put them side by side,
 * and as questions they have contrary answers.
 *
 * English only. A word that only one text has, and its opposite that only the other has; not a word that is merely missing, which
 * is what the guard `words` is about.
 */

const PAIRS = `
  on off, in out, up down, before after, above below, over under, more less, most least, more fewer, first last, early late,
  earlier later, open close, open closed, opened closed, opening closing, start stop, start end, start finish, begin end,
  started stopped, starting stopping, add remove, added removed, adding removing, add delete, create delete, install uninstall,
  allow forbid, allow deny, allow block, allow prevent, allowed forbidden, permit forbid, accept reject, accept decline,
  approve reject, grant revoke, enable disable, activate deactivate, increase decrease, increase reduce, raise lower, grow shrink,
  gain lose, win lose, buy sell, buying selling, lend borrow, push pull, send receive, import export, importing exporting,
  upload download, upgrade downgrade, encrypt decrypt, encode decode, compress decompress, lock unlock, mute unmute, show hide,
  hot cold, warm cool, high low, higher lower, highest lowest, large small, larger smaller, largest smallest, big small,
  bigger smaller, biggest smallest, long short, longer shorter, longest shortest, fast slow, faster slower, fastest slowest,
  old new, older newer, oldest newest, old young, older younger, good bad, better worse, best worst, strong weak, rich poor,
  cheap expensive, cheapest expensive, easy hard, easy difficult, safe dangerous, true false, right wrong, right left, same different,
  with without, minimum maximum, min max, positive negative, advantages disadvantages, pros cons, benefits risks, benefits drawbacks,
  male female, men women, man woman, north south, east west, day night, public private, internal external, input output,
  inbound outbound, ascending descending, asynchronous synchronous, dead alive, love hate, always never, all none, employer employee,
  landlord tenant, parent child, husband wife, mother father, arrive depart, arrival departure, attack defend, expand collapse,
  include exclude, inside outside, join leave, remember forget, succeed fail, success failure, subscribe unsubscribe`

const PREFIXES: ReadonlySet<string> = new Set([
  'un',
  'in',
  'im',
  'ir',
  'il',
  'dis',
  'non',
  'non-',
  'de',
  'mis',
  'anti',
  'anti-',
])
/** "do" and "undo" are; "to" and "into" are not. */
const STEM_MIN = 4
/** They begin like an opposite of another word, and are none. */
const NO_OPPOSITES: ReadonlySet<string> = new Set([
  'invaluable',
  'inform',
  'import',
  'indeed',
  'defined',
])

const opposites = new Map<string, Set<string>>()
for (const pair of PAIRS.split(',')) {
  const [one = '', other = ''] = pair.trim().split(' ')
  opposites.set(one, (opposites.get(one) ?? new Set()).add(other))
  opposites.set(other, (opposites.get(other) ?? new Set()).add(one))
}

const WORD = /[a-z]+(?:-[a-z]+)*/g

/** The first pair of opposites that keeps the two texts apart. */
export function oppositesOf(
  first: string,
  second: string,
): { readonly a: readonly string[]; readonly b: readonly string[] } | undefined {
  const own = wordsOf(first)
  const others = wordsOf(second)
  for (const a of own) {
    if (others.has(a)) continue
    for (const b of others) if (!own.has(b) && isOpposite(a, b)) return { a: [a], b: [b] }
  }
  return undefined
}

const wordsOf = (text: string) => new Set(text.toLowerCase().match(WORD) ?? [])

function isOpposite(one: string, other: string): boolean {
  if (opposites.get(one)?.has(other)) return true
  const [long, short] = one.length > other.length ? [one, other] : [other, one]
  if (short.length < STEM_MIN || !long.endsWith(short) || NO_OPPOSITES.has(long)) return false
  return PREFIXES.has(long.slice(0, long.length - short.length))
}
