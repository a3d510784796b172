/**
 * Two texts in two columns, what they share on the same lines.
 *
 * Every line is exactly as wide as it may be, whatever the script. What only one side has is marked by colour, or
 * as `[-in A-]` and `{+in B+}` where there is none. Long stretches are cut short and said to be.
 */

import { type Span, type Tokens, tokensOf, tokenText } from '../../compare/index.ts'
import { displayWidth, graphemes, shortened } from '../../platform/display-width.ts'
import { harmless } from '../../platform/harmless.ts'
import { countOf } from '../print/units.ts'

/** `same` is plain; `note` is ours, not of the texts. */
export type Shade = 'same' | 'only-a' | 'only-b' | 'note'

export interface Layout {
  readonly columns: number
  /** Colours of a terminal; `undefined`: signs instead. */
  readonly colour?: ((shade: Shade, text: string) => string) | undefined
}

const SIGNS: Readonly<Record<Shade, readonly [string, string]>> = {
  same: ['', ''],
  note: ['', ''],
  'only-a': ['[-', '-]'],
  'only-b': ['{+', '+}'],
}

const BORDER = ' │ '
/** Words kept around a change, of a long stretch that is the same. */
const CONTEXT = 24
const ONLY_MAX = 400
const ROWS_MAX = 400

interface Word {
  readonly word: string
  /** What goes between it and the next. */
  readonly gap: string
}

interface Segment {
  readonly shade: Shade
  text: string
}

class Column {
  readonly lines: Segment[][] = [[]]
  readonly #width: number
  readonly #signs: boolean
  #used = 0
  #gap = ''

  constructor(width: number, hasSigns: boolean) {
    this.#width = width
    this.#signs = hasSigns
  }

  /** A comma goes with its word, so what has no blank behind it needs room for one sign more. */
  fits({ word, gap }: Word, shade: Shade): boolean {
    const needed = this.#cost(word, shade) + (gap === '' ? 1 : 0)
    return this.#used + needed <= this.#width || this.isAtStart
  }

  /** Nothing is in the current line. */
  get isAtStart(): boolean {
    return this.#used === 0
  }

  newLine(): void {
    this.lines.push([])
    this.#used = 0
    this.#gap = ''
  }

  /** Goes on in the given line, which is this one or one further down. */
  moveTo(line: number): void {
    while (this.lines.length < line) this.newLine()
  }

  append({ word, gap }: Word, shade: Shade): void {
    const cost = this.#cost(word, shade)
    if (this.#used + cost <= this.#width) this.#put(word, shade, cost)
    else this.#putInParts(word, shade)
    this.#gap = gap
  }

  /** Longer than a line, as are sentences of scripts without spaces. */
  #putInParts(word: string, shade: Shade): void {
    for (const grapheme of graphemes(word)) {
      if (this.#used + this.#cost(grapheme, shade) > this.#width) this.newLine()
      this.#put(grapheme, shade, this.#cost(grapheme, shade))
    }
  }

  #put(word: string, shade: Shade, cost: number): void {
    const line = this.lines.at(-1) ?? []
    const last = line.at(-1)
    if (last?.shade === shade) last.text += this.#gap + word
    else {
      if (last) last.text += this.#gap
      line.push({ shade, text: word })
    }
    this.#used += cost
    this.#gap = ''
  }

  #cost(word: string, shade: Shade): number {
    const isNew = this.lines.at(-1)?.at(-1)?.shade !== shade
    const signs = this.#signs && isNew ? SIGNS[shade].join('').length : 0
    return this.#gap.length + displayWidth(word) + signs
  }
}

/** The lines, without their ends; the first names the sides. */
export function sideBySide(
  spans: readonly Span[],
  names: readonly [string, string],
  { columns, colour }: Layout,
): string[] {
  const width = Math.floor((columns - BORDER.length) / 2)
  const sides = new Sides(width, colour === undefined)
  spans.forEach((span, at) => {
    if (sides.isFull) return
    if (span.kind === 'same') sides.same(span, at === 0, at === spans.length - 1)
    else if (span.kind === 'only-a') sides.only('left', span.a)
    else sides.only('right', span.b)
  })
  const shown = (segments: readonly Segment[]) => cell(segments, width, colour)
  const rows = sides.rows().map(([left, right]) => `${shown(left)}${BORDER}${shown(right)}`)
  const heads = names.map((text) => shown([{ shade: 'same', text: shortened(text, width) }]))
  const rule = `${'─'.repeat(width + 1)}┼${'─'.repeat(width + 1)}`
  return [heads.join(BORDER), rule, ...rows].map((line) => line.trimEnd())
}

function cell(segments: readonly Segment[], width: number, colour: Layout['colour']): string {
  let used = 0
  let text = ''
  for (const segment of segments) {
    const [open, close] = colour ? ['', ''] : SIGNS[segment.shade]
    used += displayWidth(segment.text) + open.length + close.length
    text += colour ? colour(segment.shade, segment.text) : open + segment.text + close
  }
  return text + ' '.repeat(Math.max(0, width - used))
}

class Sides {
  readonly #left: Column
  readonly #right: Column

  constructor(width: number, hasSigns: boolean) {
    this.#left = new Column(width, hasSigns)
    this.#right = new Column(width, hasSigns)
  }

  get isFull(): boolean {
    return Math.max(this.#left.lines.length, this.#right.lines.length) > ROWS_MAX
  }

  /** Both texts have the same number of tokens here. */
  same(
    { a, b }: { readonly a: string; readonly b: string },
    isFirst: boolean,
    isLast: boolean,
  ): void {
    const [left, right] = [tokensOf(a), tokensOf(b)]
    const from = isFirst ? 0 : CONTEXT
    const end = left.count - (isLast ? 0 : CONTEXT)
    const isShort = end - from <= CONTEXT
    // At the ends of the texts, the stretch is cut short on the far side only.
    const headEnd = isShort ? left.count : from
    this.#sameTokens(left, right, 0, headEnd)
    if (isShort) return
    this.#note(`⋯ ${countOf(end - headEnd, 'word')} the same ⋯`)
    this.#sameTokens(left, right, end, left.count)
  }

  only(side: 'left' | 'right', text: string): void {
    const column = side === 'left' ? this.#left : this.#right
    const shade = side === 'left' ? 'only-a' : 'only-b'
    const tokens = tokensOf(text)
    for (let at = 0; at < Math.min(tokens.count, ONLY_MAX); at++) {
      const word = wordOf(tokens, at)
      if (!column.fits(word, shade)) column.newLine()
      column.append(word, shade)
      if (word.breaks) column.newLine()
    }
    if (tokens.count <= ONLY_MAX) return
    column.newLine()
    column.append(noted(`⋯ ${countOf(tokens.count - ONLY_MAX, 'more word')} ⋯`), 'note')
    column.newLine()
  }

  rows(): (readonly [Segment[], Segment[]])[] {
    if (this.isFull) this.#note('⋯ there is more ⋯')
    const count = Math.max(this.#left.lines.length, this.#right.lines.length)
    const rows = Array.from(
      { length: count },
      (_, at) => [this.#left.lines[at] ?? [], this.#right.lines[at] ?? []] as const,
    )
    while (rows.at(-1)?.every((line) => line.length === 0)) rows.pop()
    return rows
  }

  #sameTokens(left: Tokens, right: Tokens, from: number, end: number): void {
    for (let at = from; at < end; at++) {
      this.#meet()
      const [a, b] = [wordOf(left, at), wordOf(right, at)]
      if (!this.#left.fits(a, 'same') || !this.#right.fits(b, 'same')) this.#newLines()
      this.#left.append(a, 'same')
      this.#right.append(b, 'same')
      if (a.breaks || b.breaks) {
        this.#meet()
        this.#newLines()
      }
    }
  }

  #note(text: string): void {
    this.#meet()
    if (!this.#left.isAtStart || !this.#right.isAtStart) this.#newLines()
    this.#left.append(noted(text), 'note')
    this.#right.append(noted(text), 'note')
    this.#meet()
    this.#newLines()
  }

  #newLines(): void {
    this.#left.newLine()
    this.#right.newLine()
  }

  /** Both go on in the same line. */
  #meet(): void {
    const line = Math.max(this.#left.lines.length, this.#right.lines.length)
    this.#left.moveTo(line)
    this.#right.moveTo(line)
  }
}

function noted(word: string): Word {
  return { word, gap: '' }
}

function wordOf(tokens: Tokens, at: number): Word & { readonly breaks: boolean } {
  const text = tokenText(tokens, at)
  const word = text.trim()
  const gap = /\s$/.test(text) ? ' ' : ''
  return { word: harmless(word), gap, breaks: text.slice(text.trimEnd().length).includes('\n') }
}
