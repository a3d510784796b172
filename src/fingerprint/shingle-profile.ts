/**
 * What a text is cut into before it is compared: overlapping shingles of characters, words or code points.
 *
 * - `chars-n`: n code points, with marks for both ends of the text. For short strings.
 * - `words-n`: n words. A word is a longest run of code points that do not separate words (Unicode 15.0:
 *   punctuation except connectors, symbols, spaces, controls separate). For documents.
 * - `codepoints-n`: n code points, those that separate words left out. For scripts without spaces.
 *
 * A text with fewer units than one shingle has, and a text without any word, is one shingle as a whole.
 * The empty text has none. Texts are compared as they are: canonicalise them first.
 */

import { PrestigeError } from '../platform/errors.ts'
import { ADAPTIVE_WIDTHS, adaptiveWidth, likelyWidths, type TextSample } from './adaptive-width.ts'

export type ShingleKind = 'chars' | 'words' | 'codepoints'
/** Profiles that choose a shape for each text. */
export type ChoosingProfile = 'adaptive' | 'auto'
export type ShingleProfile = ChoosingProfile | ShingleKind | `${ShingleKind}-${number}`

export const DEFAULT_PROFILE = 'adaptive'

/** A profile that was decided. */
export interface ShingleShape {
  readonly kind: ShingleKind
  /** Units in one shingle. */
  readonly width: number
  /** `words-5`, as it is recorded beside a fingerprint. */
  readonly name: `${ShingleKind}-${number}`
}

/** What `auto` chooses by. */
export interface TextCounts {
  readonly codePoints: number
  /** How many of them belong to scripts written without spaces. */
  readonly unspaced: number
}

export const SHINGLE_WIDTH_MAX = 32
/** Texts below this many code points are short strings: a few words more or less would be all of it. */
export const SHORT_CODE_POINTS = 200
/** `auto` takes code points when more than this many of a hundred belong to scripts without spaces. */
export const UNSPACED_PERCENT = 30

const KINDS: Record<ShingleKind, { readonly number: number; readonly width: number }> = {
  chars: { number: 0, width: 3 },
  words: { number: 1, width: 5 },
  codepoints: { number: 2, width: 5 },
}

const shapes = new Map<string, ShingleShape | ChoosingProfile>()

/** Reads a profile; `adaptive` and `auto` stay open until the text is seen. */
export function shapeOf(profile: ShingleProfile): ShingleShape | ChoosingProfile {
  const known = shapes.get(profile)
  if (known !== undefined) return known
  const read = readProfile(profile)
  shapes.set(profile, read)
  return read
}

function readProfile(profile: string): ShingleShape | ChoosingProfile {
  if (profile === 'adaptive' || profile === 'auto') return profile
  const [, name, digits] = /^(chars|words|codepoints)(?:-([1-9]\d?))?$/.exec(profile) ?? []
  const kind = isKind(name) ? name : undefined
  const width = digits === undefined ? KINDS[kind ?? 'chars'].width : Number(digits)
  if (kind !== undefined && width <= SHINGLE_WIDTH_MAX) {
    return Object.freeze({ kind, width, name: `${kind}-${width}` })
  }
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `A shingle profile is adaptive, auto, or chars, words or codepoints with an optional -1 to -${SHINGLE_WIDTH_MAX}, not ${profile}.`,
  )
}

function isKind(name: string | undefined): name is ShingleKind {
  return name !== undefined && Object.hasOwn(KINDS, name)
}

/** How `assembly/` knows the kind. */
export function kindNumber(kind: ShingleKind): number {
  return KINDS[kind].number
}

/** What can be known of a text before it is cut; each is computed when it is asked for. */
export interface TextMeasures {
  counts(): TextCounts
  sample(): TextSample
}

/** The shape a profile gives a text. */
export function chosenShape(profile: ShingleProfile, text: TextMeasures): ShingleShape {
  const shape = shapeOf(profile)
  if (shape === 'auto') return automaticShape(text.counts())
  return shape === 'adaptive' ? charsShape(adaptiveWidth(text.sample())) : shape
}

/**
 * The shape a profile gives a text, and then those it may have given another version of that text with about this
 * similarity: whoever looks for near duplicates looks there too.
 */
export function likelyShapes(
  profile: ShingleProfile,
  text: TextMeasures,
  similarity: number,
): readonly [ShingleShape, ...ShingleShape[]] {
  const shape = shapeOf(profile)
  if (shape === 'auto') return likelyAutomatic(text.counts(), similarity)
  if (shape !== 'adaptive') return [shape]
  const sample = text.sample()
  const own = adaptiveWidth(sample)
  const others = likelyWidths(sample, similarity).filter((width) => width !== own)
  return [charsShape(own), ...others.map(charsShape)]
}

/** Every shape a profile may give a text. */
export function shapesOf(profile: ShingleProfile): readonly ShingleShape[] {
  const shape = shapeOf(profile)
  if (shape === 'auto') return [fixedShape('chars'), fixedShape('words'), fixedShape('codepoints')]
  return shape === 'adaptive' ? ADAPTIVE_WIDTHS.map(charsShape) : [shape]
}

/** The rule of `auto`: short texts by characters, others by words, or by code points where nothing separates words. */
function automaticShape({ codePoints, unspaced }: TextCounts): ShingleShape {
  if (codePoints < SHORT_CODE_POINTS) return fixedShape('chars')
  return fixedShape(unspaced * 100 > codePoints * UNSPACED_PERCENT ? 'codepoints' : 'words')
}

function likelyAutomatic(
  counts: TextCounts,
  similarity: number,
): readonly [ShingleShape, ...ShingleShape[]] {
  const { codePoints, unspaced } = counts
  const own = automaticShape(counts)
  const share = codePoints === 0 ? 0 : unspaced / codePoints
  const isMixed = Math.abs(share - UNSPACED_PERCENT / 100) <= (1 - similarity) / 2
  const isLongToo = codePoints / similarity >= SHORT_CODE_POINTS
  const isShortToo = codePoints * similarity < SHORT_CODE_POINTS
  const others: ShingleShape[] = []
  if (isShortToo) others.push(fixedShape('chars'))
  if (isLongToo && (isMixed || share * 100 <= UNSPACED_PERCENT)) others.push(fixedShape('words'))
  if (isLongToo && (isMixed || share * 100 > UNSPACED_PERCENT))
    others.push(fixedShape('codepoints'))
  return [own, ...others.filter(({ name }) => name !== own.name)]
}

function charsShape(width: number): ShingleShape {
  return fixedShape(`chars-${width}`)
}

function fixedShape(profile: Exclude<ShingleProfile, ChoosingProfile>): ShingleShape {
  const shape = shapeOf(profile)
  if (typeof shape === 'string') throw new TypeError('This profile has a shape of its own.')
  return shape
}
