/**
 * Long near duplicates have most of their sentences in common. Guards compare what is left: reading all of two long
 * texts would cost more than everything else that is done about them.
 */

import { Codes, codesOf, HASH_FACTOR, HASH_START } from './codes.ts'

/** Shorter texts are read whole: those of forty words are among them. */
const LONG = 600
/** Of what is left of a text, so many characters are read. */
const READ_MAX = 32_768
/** A sentence that is longer is cut once more, behind certain letters, so that both texts are cut alike. */
const SENTENCE_MAX = 400
const NEWLINE = 0x0a
const ASCII_END = 0x80
/** Full stops of other scripts. */
const ENDS: ReadonlySet<number> = new Set(Array.from('。！？।', (sign) => sign.charCodeAt(0)))
const SPACE = /\s/

const IS_END = 1
const IS_STOP = 2
const IS_SPACE = 4
const IS_CUT_LETTER = 8
/** What signs of ASCII are here, by their codes. */
const SORTS = Uint8Array.from({ length: ASCII_END }, (_none, code) => {
  const sign = String.fromCharCode(code)
  return (
    (code === NEWLINE ? IS_END : 0) |
    ('.!?'.includes(sign) ? IS_STOP : 0) |
    (SPACE.test(sign) ? IS_SPACE : 0) |
    ('hpx'.includes(sign) ? IS_CUT_LETTER : 0)
  )
})

/** The sentences and lines of a text. */
export interface Pieces {
  /** Where each begins, and where the last one ends. */
  readonly starts: readonly number[]
  readonly hashes: readonly number[]
}

/** What there is of a text here. */
interface InPieces {
  readonly text: string
  readonly pieces: Pieces
}

/** What each text has that the other has not, in order; `undefined`: one of them is short. */
export function differingParts(a: InPieces, b: InPieces): readonly [string, string] | undefined {
  if (Math.min(a.text.length, b.text.length) < LONG) return undefined
  const numbers = numbersOf(a, b)
  const count = a.pieces.hashes.length
  const own = countsOf(numbers, 0, count)
  const others = countsOf(numbers, count, numbers.length)
  return [without(a, numbers, 0, others), without(b, numbers, count, own)]
}

/** Behind a full stop with white space, and behind every line. */
export function piecesOf(text: string): Pieces {
  const codes = codesOf(text)
  const starts: number[] = []
  const hashes: number[] = []
  const { length } = text
  let start = 0
  let hash = HASH_START
  for (let at = 0; at < length; at++) {
    const code = codes[at] ?? 0
    hash = Math.imul(hash ^ code, HASH_FACTOR)
    if (code < ASCII_END) {
      const sort = SORTS[code] ?? 0
      if ((sort & (IS_END | IS_STOP)) === 0) continue
      if (sort & IS_STOP) {
        if (at + 1 === length || !isSpace(codes[at + 1] ?? 0)) continue
        hash = Math.imul(hash ^ (codes[++at] ?? 0), HASH_FACTOR)
      }
    } else if (!ENDS.has(code)) continue
    if (at + 1 - start > SENTENCE_MAX) cutSentence(codes, start, at + 1, starts, hashes)
    else {
      starts.push(start)
      hashes.push(hash)
    }
    start = at + 1
    hash = HASH_START
  }
  if (start < length) cutSentence(codes, start, length, starts, hashes)
  starts.push(length)
  return { starts, hashes }
}

/** Where it is long, behind certain letters with white space. */
function cutSentence(
  codes: Uint16Array,
  from: number,
  end: number,
  starts: number[],
  hashes: number[],
): void {
  const isLong = end - from > SENTENCE_MAX
  let start = from
  let hash = HASH_START
  let isBehindLetter = false
  for (let at = from; at < end; at++) {
    const code = codes[at] ?? 0
    hash = Math.imul(hash ^ code, HASH_FACTOR)
    if (isLong && isBehindLetter && at + 1 < end && isSpace(code)) {
      starts.push(start)
      hashes.push(hash)
      start = at + 1
      hash = HASH_START
    }
    isBehindLetter = code < ASCII_END && ((SORTS[code] ?? 0) & IS_CUT_LETTER) !== 0
  }
  starts.push(start)
  hashes.push(hash)
}

function isSpace(code: number): boolean {
  return code < ASCII_END
    ? ((SORTS[code] ?? 0) & IS_SPACE) !== 0
    : SPACE.test(String.fromCharCode(code))
}

const ownCodes = new Codes()
const otherCodes = new Codes()

/** A number for each piece of the first text, then of the second: the same for the same piece. */
function numbersOf(a: InPieces, b: InPieces): Int32Array {
  const count = a.pieces.hashes.length
  const numbers = new Int32Array(count + b.pieces.hashes.length)
  // The first piece of each number and one more, by hash; 0: free.
  const slots = new Int32Array(4 << (31 - Math.clz32(numbers.length)))
  const mask = slots.length - 1
  const codes = [ownCodes.of(a.text), otherCodes.of(b.text)] as const
  for (let nth = 0; nth < numbers.length; nth++) {
    const isOwn = nth < count
    const { starts, hashes } = isOwn ? a.pieces : b.pieces
    const at = isOwn ? nth : nth - count
    const start = starts[at] ?? 0
    const length = (starts[at + 1] ?? 0) - start
    const hash = hashes[at] ?? 0
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const known = (slots[slot] ?? 0) - 1
      if (known < 0) {
        slots[slot] = nth + 1
        numbers[nth] = nth
        break
      }
      const isKnownOwn = known < count
      const others = isKnownOwn ? a.pieces : b.pieces
      const other = isKnownOwn ? known : known - count
      const from = others.starts[other] ?? 0
      if (others.hashes[other] !== hash || (others.starts[other + 1] ?? 0) - from !== length)
        continue
      if (isSame(codes[isOwn ? 0 : 1], start, codes[isKnownOwn ? 0 : 1], from, length)) {
        numbers[nth] = known
        break
      }
    }
  }
  return numbers
}

function isSame(
  own: Uint16Array,
  start: number,
  others: Uint16Array,
  from: number,
  length: number,
): boolean {
  for (let at = 0; at < length; at++) if (own[start + at] !== others[from + at]) return false
  return true
}

/** How often each number is there. */
function countsOf(numbers: Int32Array, start: number, end: number): Int32Array {
  const counts = new Int32Array(numbers.length)
  for (let nth = start; nth < end; nth++) {
    const number = numbers[nth] ?? 0
    counts[number] = (counts[number] ?? 0) + 1
  }
  return counts
}

/** A piece that one text has more often than the other is left as often as it is more. */
function without(
  { text, pieces: { starts } }: InPieces,
  numbers: Int32Array,
  first: number,
  others: Int32Array,
): string {
  const left: string[] = []
  let length = 0
  /** Of pieces side by side that are left. */
  let from = 0
  let to = 0
  for (let at = 0; at + 1 < starts.length && length <= READ_MAX; at++) {
    const number = numbers[first + at] ?? 0
    const count = others[number] ?? 0
    if (count > 0) {
      others[number] = count - 1
      continue
    }
    const start = starts[at] ?? 0
    if (start !== to) {
      left.push(text.slice(from, to))
      from = start
    }
    to = starts[at + 1] ?? 0
    length += to - start
  }
  left.push(text.slice(from, to))
  // Joined in one go, it is read faster than a text that was added to.
  return left.join('')
}
