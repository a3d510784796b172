/** Pieces that the page is put together from: sections, tables, keys to colours. */

import { count } from '../platform/units.ts'
import { html, type Markup } from './markup.ts'

export function section(title: string, parts: readonly (Markup | undefined)[]): Markup {
  const id = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  return html`<section id="${id}">
    <h2>${title}</h2>
    ${parts.filter((part) => part !== undefined)}
  </section> `
}

/** Names up to this length are shown whole. Longer ones differ as often in their end as in their beginning. */
const NAME_MAX = 120
const NAME_END = 40

/** A name of any script and direction; a long one is shown in full on hover. */
export function nameMarkup(name: string): Markup {
  if (name.length <= NAME_MAX) return html`<bdi>${name}</bdi>`
  // By characters: half of a surrogate pair can be in no page.
  const characters = Array.from(name)
  const begins = characters.slice(0, NAME_MAX - NAME_END).join('')
  const ends = characters.slice(-NAME_END).join('')
  return html`<bdi title="${name}">${begins}⋯${ends}</bdi>`
}

/** A number is counted in; a name may be of any script and direction. */
export type CellValue = string | number | { readonly number: string } | Markup

export function cells(values: readonly CellValue[]): Markup[] {
  return values.map((value, at) => {
    if (typeof value === 'number') return html`<td class="number">${count(value)}</td>`
    if (typeof value === 'string') {
      return at === 0
        ? html`<th scope="row">${nameMarkup(value)}</th>`
        : html`<td>${nameMarkup(value)}</td>`
    }
    return 'number' in value
      ? html`<td class="number">${value.number}</td>`
      : html`<td>${value}</td>`
  })
}

/** Heads that begin with `#` are of columns of numbers. */
export function table(
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly Markup[])[],
): Markup {
  const head = heads.map((name, at) =>
    name.startsWith('#') && at > 0
      ? html`<th scope="col" class="number"><bdi>${name.slice(1)}</bdi></th>`
      : html`<th scope="col">${name}</th>`,
  )
  return html`<div class="scroll">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${head}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row}
            </tr> `,
        )}
      </tbody>
    </table>
  </div> `
}

/** What the colours mean. */
export function key(entries: readonly (readonly [kind: string, label: string])[]): Markup {
  const items = entries.map(([kind, label]) => html`<li><i class="${kind}"></i>${label}</li>`)
  return html`<ul class="key">
    ${items}
  </ul> `
}
