/** Two texts side by side as a table: shared line breaks make rows, so that what belongs together stays together. */

import { type Span, tokensOf } from '../compare/index.ts'
import { countOf } from '../platform/units.ts'
import { nameMarkup } from './html-parts.ts'
import { html, type Markup } from './markup.ts'
import type { SamplePair } from './sample-pairs.ts'

/** Words kept around a change, of a long stretch that is the same. */
const CONTEXT = 30
/** Of a stretch that only one side has. */
const ONLY_MAX = 300
const ROWS_MAX = 200

interface Row {
  readonly a: Markup[]
  readonly b: Markup[]
  /** In place of words that are not shown. */
  readonly note?: string
}

class Rows {
  readonly rows: Row[] = []
  #open: Row = { a: [], b: [] }
  #isAtLineStart = { a: true, b: true }

  add(side: 'a' | 'b', markup: Markup, text: string): void {
    this.#open[side].push(markup)
    this.#isAtLineStart[side] = /\n\s*$/.test(text)
  }

  /** Where both are at the beginning of a line, a new row begins. */
  meet(): void {
    if (this.#isAtLineStart.a && this.#isAtLineStart.b) this.end()
  }

  end(): void {
    const { a, b } = this.#open
    if (a.length + b.length > 0) this.rows.push(this.#open)
    this.#open = { a: [], b: [] }
    this.#isAtLineStart = { a: true, b: true }
  }

  note(note: string): void {
    this.end()
    this.rows.push({ a: [], b: [], note })
  }
}

export function pairMarkup(pair: SamplePair, number: number): Markup {
  const { a, b, method, similarity, why, spans, notes } = pair
  const how = similarity === undefined ? method : `${method}, similarity ${similarity.toFixed(3)}`
  const head = (side: 'A' | 'B', { id, source }: SamplePair['a']) =>
    html`<th scope="col">${nameMarkup(id)}<span>${side} · source ${nameMarkup(source)}</span></th>`
  const rows = spans ? rowsOf(spans) : []
  const table = html`<table class="sides">
    <thead>
      <tr>
        ${head('A', a)}${head('B', b)}
      </tr>
    </thead>
    <tbody>
      ${rows.slice(0, ROWS_MAX).map(rowMarkup)}
    </tbody>
  </table>`
  const more = rows.length > ROWS_MAX ? ['There is more; it is not shown.'] : []
  return html`<article class="pair">
    <header>
      <h3>Pair ${number}: ${how}</h3>
      <p class="soft">${why}</p>
      ${[...notes, ...more].map((note) => html`<p class="soft" dir="auto">${note}</p>`)}
    </header>
    ${table}
  </article> `
}

function rowMarkup({ a, b, note }: Row): Markup {
  if (note !== undefined)
    return html`<tr class="skip">
      <td>${note}</td>
      <td>${note}</td>
    </tr> `
  return html`<tr>
    <td dir="auto">${a}</td>
    <td dir="auto">${b}</td>
  </tr> `
}

function rowsOf(spans: readonly Span[]): Row[] {
  const rows = new Rows()
  spans.forEach((span, at) => {
    if (span.kind === 'only-a') rows.add('a', html`<del>${shown(span.a)}</del>`, span.a)
    else if (span.kind === 'only-b') rows.add('b', html`<ins>${shown(span.b)}</ins>`, span.b)
    else addSame(rows, span.a, span.b, at === 0, at === spans.length - 1)
  })
  rows.end()
  return rows.rows
}

function shown(text: string): string {
  const { count, starts } = tokensOf(text)
  if (count <= ONLY_MAX) return text
  return `${text.slice(0, starts[ONLY_MAX])}⋯ ${countOf(count - ONLY_MAX, 'more word')} ⋯`
}

/** Both have the same number of tokens; the middle of a long stretch is left out. */
function addSame(rows: Rows, a: string, b: string, isFirst: boolean, isLast: boolean): void {
  rows.meet()
  const [left, right] = [tokensOf(a), tokensOf(b)]
  // Where nothing differs but the form, the beginning shows what the texts are.
  const head = isFirst ? (isLast ? 2 * CONTEXT : 0) : CONTEXT
  const tail = left.count - (isLast ? 0 : CONTEXT)
  const add = (from: number, end: number) => {
    let start = from
    for (let at = from; at < end; at++) {
      const isBreak = [left, right].some(({ text, starts }) =>
        /\s*\n\s*$/.test(text.slice(starts[at], starts[at + 1])),
      )
      if (!isBreak && at < end - 1) continue
      for (const [side, tokens] of [['a', left] as const, ['b', right] as const]) {
        const words = tokens.text.slice(tokens.starts[start], tokens.starts[at + 1])
        rows.add(side, html`${isBreak ? words.trimEnd() : words}`, words)
      }
      if (isBreak) rows.end()
      start = at + 1
    }
  }
  if (tail - head <= CONTEXT) return add(0, left.count)
  add(0, head)
  rows.note(`⋯ ${countOf(tail - head, 'word')} the same ⋯`)
  add(tail, left.count)
}
