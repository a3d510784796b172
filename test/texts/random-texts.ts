/** Texts nobody wrote, from a seed: many scripts, broken halves of characters, odd spaces, all lengths. */

import { randomWords } from '../../src/fingerprint/mix.ts'

/** First and last code points of what texts are made of. */
const ALPHABETS: readonly (readonly [number, number])[] = [
  [0x61, 0x7a],
  [0x20, 0x7e],
  [0x00, 0x2f],
  [0xa0, 0x17f],
  [0x300, 0x36f],
  [0x391, 0x44f],
  [0x5d0, 0x6d3],
  [0x900, 0x97f],
  [0xe00, 0xe5b],
  [0x1780, 0x17dd],
  [0x2000, 0x206f],
  [0x2190, 0x21ff],
  [0x3000, 0x30ff],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xd800, 0xdfff],
  [0xff00, 0xffef],
  [0x10100, 0x10102],
  [0x1f300, 0x1f64f],
  [0x20000, 0x2ffff],
  [0xe0100, 0xe01ef],
]

export interface RandomTexts {
  next(): string
  below(limit: number): number
}

export function randomTexts(seed: number): RandomTexts {
  const word = randomWords(seed)
  const below = (limit: number) => Math.floor((word() / 2 ** 32) * limit)
  const letter = () => {
    const [first, last] = ALPHABETS[below(ALPHABETS.length)]!
    return first + below(last - first + 1)
  }
  /** Runs of one script, so that words and shingles come about, with some of anything between. */
  const run = () => {
    const [first, last] = ALPHABETS[below(ALPHABETS.length)]!
    const points = Array.from({ length: 1 + below(12) }, () => first + below(last - first + 1))
    if (below(3) > 0) points.push(below(2) === 0 ? 0x20 : letter())
    return String.fromCodePoint(...points)
  }
  return {
    below,
    next() {
      const runs = below(20) === 0 ? below(300) : below(16)
      const made = Array.from({ length: runs }, run)
      // Repeated parts make repeated shingles.
      return below(4) === 0 ? [...made, ...made].join('') : made.join('')
    },
  }
}

/** As many bytes as asked for, of any value. */
export function randomBytes(texts: RandomTexts, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => texts.below(256))
}
