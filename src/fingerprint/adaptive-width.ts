/**
 * The rule of the profile `adaptive`: how many characters a shingle has, by how much one character says (its entropy)
 * and how many there are. Shingles have to be short enough that a few edits leave most of them alone, and long enough
 * that unrelated texts share few.
 *
 * Everything is computed with whole numbers and with the four operations that IEEE 754 defines exactly, so the same
 * text has the same width on every machine. Stores record the profile's name, not these constants: whoever changes one
 * gives the profile another name.
 */

/** What the rule knows of a text. Made by `assembly/sample.ts` and its twin. */
export interface TextSample {
  readonly codePoints: number
  /** How many of them were looked at: all of a short text. */
  readonly sampled: number
  /** How many of those are ideographs or kana. */
  readonly ideographs: number
  /** The sum of n log2 n over the kinds of characters, each seen n times, in 65,536ths. */
  readonly repetition: number
}

/** A width is taken from this many characters' worth of information on. Coarse: few texts are close to a border. */
const WIDTHS = [
  { width: 2, from: 0 },
  { width: 3, from: 3.3 },
  { width: 5, from: 4.25 },
  { width: 7, from: 6 },
  { width: 10, from: 8.5 },
  { width: 14, from: 12 },
  { width: 20, from: 17 },
  { width: 28, from: 24 },
] as const

type Width = (typeof WIDTHS)[number]['width']

export const ADAPTIVE_WIDTHS: readonly Width[] = WIDTHS.map(({ width }) => width)

/** A shingle says at least as much as it takes to number all characters of a text, and this many bits more. */
const SPARE_BITS = 8
/** With at least so many characters for each of a shingle, one edit leaves more than 0.8 of the shingles alone. */
const CHARACTERS_PER_UNIT = 12
/** Two characters are a word in scripts of ideographs, and half a syllable in others. */
const LETTERS_WIDTH = 3
const IDEOGRAPHS_SHARE = 0.4
/** By how much the entropy of two versions of a text differs, for each part in one that they differ by. */
const DRIFT_BITS = 0.5

const ONE = 65_536
const SAMPLE = 2048
const MANTISSA_BITS = 24

/** In 65,536ths, rounded down, of a whole number from 1 on. */
function log2Of(whole: number): number {
  const exponent = 31 - Math.clz32(whole)
  let mantissa = Math.floor((whole * 2 ** MANTISSA_BITS) / 2 ** exponent)
  let log = exponent
  for (let bit = 0; bit < 16; bit++) {
    mantissa = Math.floor((mantissa * mantissa) / 2 ** MANTISSA_BITS)
    const isLarge = mantissa >= 2 ** (MANTISSA_BITS + 1)
    if (isLarge) mantissa = Math.floor(mantissa / 2)
    log = log * 2 + (isLarge ? 1 : 0)
  }
  return log
}

let steps: Uint32Array | undefined

/** By how much n log2 n grows from n to n + 1, in 65,536ths. */
export function entropySteps(): Uint32Array {
  const total = (count: number) => (count === 0 ? 0 : count * log2Of(count))
  steps ??= Uint32Array.from({ length: SAMPLE }, (_, count) => total(count + 1) - total(count))
  return steps
}

export function adaptiveWidth(sample: TextSample): Width {
  const { codePoints, sampled, ideographs } = sample
  return widthOf(codePoints, entropyOf(sample), ideographs > sampled * IDEOGRAPHS_SHARE)
}

/** Ascending: the width of a text, and those of other versions of it with about this similarity. */
export function likelyWidths(sample: TextSample, similarity: number): Width[] {
  const { codePoints, sampled, ideographs } = sample
  const entropy = entropyOf(sample)
  const drift = (1 - similarity) * DRIFT_BITS * ONE
  const mixed = (sampled * (1 - similarity)) / 2
  const border = sampled * IDEOGRAPHS_SHARE
  const least = widthOf(codePoints * similarity, entropy + drift, ideographs + mixed > border)
  const most = widthOf(
    codePoints / similarity,
    Math.max(0, entropy - drift),
    ideographs - mixed > border,
  )
  return ADAPTIVE_WIDTHS.filter((width) => width >= least && width <= most)
}

/** Bits in one character, in 65,536ths. */
function entropyOf({ sampled, repetition }: TextSample): number {
  return sampled === 0 ? 0 : log2Of(sampled) - repetition / sampled
}

function widthOf(codePoints: number, entropy: number, isIdeographic: boolean): Width {
  const needed = log2Of(Math.max(1, Math.floor(codePoints))) + SPARE_BITS * ONE
  let chosen: Width = isIdeographic ? WIDTHS[0].width : LETTERS_WIDTH
  for (const { width, from } of WIDTHS) {
    const isWide = needed >= from * entropy && codePoints >= width * CHARACTERS_PER_UNIT
    if (isWide && width > chosen) chosen = width
  }
  return chosen
}
