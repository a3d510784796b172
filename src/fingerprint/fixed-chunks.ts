/**
 * Text in chunks of a fixed number of characters, as the corpus platform this project grew from cuts it:
 * white space collapsed to single blanks first, every chunk trimmed. One character inserted changes every
 * later chunk; `content-chunks.ts` has no such weakness.
 */

import { PrestigeError } from '../platform/errors.ts'

export interface FixedChunkOptions {
  /** Code points in one chunk. */
  readonly characters?: number | undefined
  /** How many code points of a chunk the next one repeats. */
  readonly overlap?: number | undefined
}

const DEFAULT_CHARACTERS = 512

/** White space as Python's `split()` has it: what Unicode calls so, and the four ASCII separators. */
// oxlint-disable-next-line no-control-regex -- they are meant
const SPACES = /(?:\p{White_Space}|[\u{1c}-\u{1f}])+/u

const collapsed = (text: string) =>
  text
    .split(SPACES)
    .filter((word) => word !== '')
    .join(' ')

export function fixedChunks(
  text: string,
  { characters = DEFAULT_CHARACTERS, overlap = 0 }: FixedChunkOptions = {},
): string[] {
  const isGood = Number.isInteger(characters) && Number.isInteger(overlap)
  if (!isGood || overlap < 0 || overlap >= characters) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      `Chunks of ${characters} characters with an overlap of ${overlap} would never end.`,
    )
  }
  const points = Array.from(collapsed(text))
  const chunks: string[] = []
  for (let start = 0; start < points.length; start += characters - overlap) {
    const chunk = collapsed(points.slice(start, start + characters).join(''))
    // A blank by itself would be the same chunk in every text.
    if (chunk !== '') chunks.push(chunk)
  }
  return chunks
}
