/** Texts that are near duplicates of one another, and whose bands are not shared by all. */

import { compareTexts } from '../../src/compare/index.ts'
import { textsOf } from './texts.ts'

/** Bands that miss many pairs. */
export const FEW = { threshold: 0.7, profile: 'chars-3', slots: 64, bands: 2, rows: 6 } as const

export interface Missed {
  readonly older: string
  readonly younger: string
  /** Shares a band with both. */
  readonly third: string
  /** A near duplicate of the younger that its bands find, and those of the older miss. */
  readonly member: string
}

/** Texts of which bands miss a pair, found by trying: whatever the hashes are, there are some. */
export function missed(count = 20): Missed {
  const shares = (first: string, second: string) => {
    const { similarity, sharedBands } = compareTexts(first, second, FEW)
    return similarity >= FEW.threshold ? sharedBands.length > 0 : undefined
  }
  for (let seed = 1; seed < 500; seed++) {
    const texts = textsOf(seed)
    const words = texts.words(count)
    const variants = Array.from({ length: 12 }, () => texts.variant(words, 1))
    const [older, ...others] = variants
    const younger = others.find((one) => shares(older!, one) === false)
    if (!younger) continue
    const third = others.find((one) => shares(older!, one) && shares(younger, one))
    const member = others.find(
      (one) => one !== third && one !== younger && shares(younger, one) && !shares(older!, one),
    )
    if (third && member) return { older: older!, younger, third, member }
  }
  throw new Error('no pair is missed by these bands')
}
