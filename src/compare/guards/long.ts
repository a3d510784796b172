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
const SENTENCE = /(?<=[.!?]\s|[\n。！？।])/u
const WORDS = /(?<=[hpx]\s)/u

/** What each text has that the other has not, in order; `undefined`: one of them is short. */
export function differingParts(a: string, b: string): readonly [string, string] | undefined {
  if (Math.min(a.length, b.length) < LONG) return undefined
  const [own, others] = [piecesOf(a), piecesOf(b)]
  return [without(own, others), without(others, own)]
}

function piecesOf(text: string): readonly string[] {
  return text
    .split(SENTENCE)
    .flatMap((sentence) => (sentence.length > SENTENCE_MAX ? sentence.split(WORDS) : [sentence]))
}

/** A piece that one text has more often than the other is left as often as it is more. */
function without(own: readonly string[], others: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const piece of others) counts.set(piece, (counts.get(piece) ?? 0) + 1)
  let left = ''
  for (const piece of own) {
    const count = counts.get(piece) ?? 0
    if (count > 0) counts.set(piece, count - 1)
    else left += piece
    if (left.length > READ_MAX) break
  }
  return left
}
