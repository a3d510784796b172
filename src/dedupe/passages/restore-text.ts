/** The way back from a text that was cut to the one it was: by what `passages.jsonl` lists. */

import { PrestigeError } from '../../platform/errors.ts'

export interface CutSpan {
  /** Bytes of the whole text in UTF-8. */
  readonly start: number
  readonly end: number
  /** Id of the passage that was there. */
  readonly passage: string
}

/** The very text that was cut. `spans` are those of its document, and `passages` has the text of each. */
export function restoreText(
  text: string,
  spans: readonly CutSpan[],
  passages: ReadonlyMap<string, string>,
): string {
  const left = Buffer.from(text)
  const parts: Buffer[] = []
  let taken = 0
  let end = 0
  for (const span of spans) {
    const passage = passages.get(span.passage)
    const bytes = Buffer.from(passage ?? '')
    const between = span.start - end
    const fits = between >= 0 && taken + between <= left.length
    if (passage === undefined || bytes.length !== span.end - span.start || !fits) {
      throw new PrestigeError('INVALID_OPTIONS', reasonOf(span, passage))
    }
    parts.push(left.subarray(taken, taken + between), bytes)
    taken += between
    end = span.end
  }
  return Buffer.concat([...parts, left.subarray(taken)]).toString('utf8')
}

function reasonOf({ start, end, passage }: CutSpan, text: string | undefined): string {
  const what = `Bytes ${start} to ${end} cannot be restored`
  if (text === undefined) {
    return `${what}: passage ${passage} is not among those given. Read all lines of the passages.jsonl that lists the document.`
  }
  return `${what}: the text, or passage ${passage}, is not the one that was cut. Use the spans that the passages.jsonl of the same run lists for this very document.`
}
