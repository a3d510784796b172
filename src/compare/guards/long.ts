/**
 * Long near duplicates have most of their sentences in common. Guards compare what is left: reading all of two long
 * texts would cost more than everything else that is done about them.
 */

/** Shorter texts are read whole: those of forty words are among them. */
const LONG = 600
/** Of what is left of a text, so many characters are read. */
const READ_MAX = 32_768
/** A sentence that is longer is cut once more, behind certain letters, so that both texts are cut alike. */
const SENTENCE_MAX = 400
const NEWLINE = 0x0a
/** Full stops of other scripts. */
const ENDS: ReadonlySet<number> = new Set(Array.from('。！？।', (sign) => sign.charCodeAt(0)))
const SPACE = /\s/
const ASCII_END = 0x80
const WORDS = /(?<=[hpx]\s)/u

/** What there is of a text here. */
interface Pieces {
  readonly text: string
  readonly pieces: readonly string[]
}

/** What each text has that the other has not, in order; `undefined`: one of them is short. */
export function differingParts(a: Pieces, b: Pieces): readonly [string, string] | undefined {
  if (Math.min(a.text.length, b.text.length) < LONG) return undefined
  const same = commonBeginning(a.pieces, b.pieces)
  return [without(a.pieces, b.pieces, same), without(b.pieces, a.pieces, same)]
}

/** Behind a full stop with white space, and behind every line. */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = []
  let start = 0
  const cut = (end: number) => {
    const sentence = text.slice(start, end)
    if (sentence.length > SENTENCE_MAX) pieces.push(...sentence.split(WORDS))
    else pieces.push(sentence)
    start = end
  }
  let before = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === NEWLINE || (code >= ASCII_END && ENDS.has(code))) cut(at + 1)
    else if (isStop(before) && SPACE.test(text[at] ?? '')) cut(at + 1)
    before = code
  }
  if (start < text.length) cut(text.length)
  return pieces
}

/** `.`, `!` or `?`. */
function isStop(code: number): boolean {
  return code === 0x2e || code === 0x21 || code === 0x3f
}

/** How many pieces both begin with. */
function commonBeginning(own: readonly string[], others: readonly string[]): number {
  let same = 0
  while (same < own.length && own[same] === others[same]) same++
  return same
}

/** A piece that one text has more often than the other is left as often as it is more. */
function without(own: readonly string[], others: readonly string[], from: number): string {
  const counts = new Map<string, number>()
  for (let at = from; at < others.length; at++) {
    const piece = others[at] ?? ''
    counts.set(piece, (counts.get(piece) ?? 0) + 1)
  }
  const left: string[] = []
  let length = 0
  for (let at = from; at < own.length && length <= READ_MAX; at++) {
    const piece = own[at] ?? ''
    const count = counts.get(piece) ?? 0
    if (count > 0) counts.set(piece, count - 1)
    else {
      left.push(piece)
      length += piece.length
    }
  }
  // Joined in one go, it is read faster than a text that was added to.
  return left.join('')
}
