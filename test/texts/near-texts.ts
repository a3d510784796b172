/** Texts that are like one another by a known amount. */

import { canonicalProfile } from '../../src/canonical/index.ts'
import { seededRandom } from '../../src/backends/simulated/backend.ts'
import {
  DEFAULT_PROFILE,
  jaccard,
  profilesOf,
  shingleHashes,
  type ShingleProfile,
} from '../../src/fingerprint/index.ts'

/** `count` words that are the same for the same seed. */
export function wordsOf(seed: number, count: number): string[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => `w${lettersOf(Math.floor(random() * 1e9))}`)
}

/** A number in letters: words with digits are identifiers, and guards keep texts with others apart. */
export function lettersOf(number: number): string {
  return number
    .toString(26)
    .replaceAll(/[0-9]/g, (digit) => String.fromCharCode('q'.charCodeAt(0) + Number(digit)))
}

/** A text of its own. */
export function textOf(seed: number, count = 300): string {
  return wordsOf(seed, count).join(' ')
}

/** The text with some words replaced, spread evenly: each takes up to five shingles of words with it. */
export function edited(text: string, edits: number, mark = 'x'): string {
  const words = text.split(' ')
  for (let edit = 0; edit < edits; edit++) {
    words[Math.floor(((edit + 0.5) * words.length) / edits)] = `${mark}${lettersOf(edit)}`
  }
  return words.join(' ')
}

/** Of the canonical texts, by all their shingles; by default as the first is kept. */
export function exactSimilarity(first: string, second: string, profile?: ShingleProfile): number {
  const unicode = canonicalProfile('unicode')
  const [kept, asked] = [first, second].map((text) => unicode.canonicalise(Buffer.from(text)))
  const own = profile ?? profilesOf(kept!, DEFAULT_PROFILE, 1)[0]
  return jaccard(shingleHashes(kept!, own), shingleHashes(asked!, own))
}
