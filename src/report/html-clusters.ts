/** The parts of the page that name documents: clusters, close calls and shared passages. */

import { count, countOf, size } from '../platform/units.ts'
import { cells, nameMarkup, section, table } from './html-parts.ts'
import { html, type Markup } from './markup.ts'
import type { Named } from '../dedupe/index.ts'
import type { Report } from './report.ts'
import { nameOf, type Samples } from './sample-pairs.ts'

export function clustersSection(
  { clusters: { largest } }: Report,
  beginnings: Samples['beginnings'] = new Map(),
): Markup {
  if (largest.length === 0) return html``
  const textOf = (one: Named) => {
    const text = beginnings.get(nameOf(one))
    return text === undefined ? undefined : html`<span class="text" dir="auto">${text}</span>`
  }
  const parts = largest.map((cluster, at) => {
    const { id, source, size: documents, survivor, members } = cluster
    const isSame = survivor.id === id && survivor.source === source
    const kept = isSame
      ? undefined
      : html`; kept is ${nameMarkup(survivor.id)} (${nameMarkup(survivor.source)})`
    const left = documents - 1 - members.length
    const rows = members.map((member) => [
      ...cells([member.id, member.source, member.method, { number: member.similarity.toFixed(3) }]),
      ...(beginnings.size > 0 ? [html`<td>${textOf(member)}</td>`] : []),
    ])
    const caption =
      left > 0 ? `${members.length} of its members; ${count(left)} more` : 'Its members'
    const heads = ['Document', 'Source', 'Method', '#Similarity']
    if (beginnings.size > 0) heads.push('Text')
    return html`<details${at < 3 ? html` open` : ''}><summary><strong>${countOf(documents, 'document')}</strong>
around ${nameMarkup(id)} (${nameMarkup(source)})${kept}</summary>
${beginnings.size > 0 && html`<p>${textOf(survivor)}</p>`}
${table(caption, heads, rows)}</details>
`
  })
  return section('The largest clusters', [
    html`<p>
      A cluster is a star: every member was measured against the document in its centre.
    </p> `,
    ...parts,
  ])
}

export function closestSection({ closestCalls }: Report): Markup {
  if (closestCalls.length === 0) return html``
  return section('The closest calls', [
    table(
      'The least similar pairs that were taken for duplicates',
      ['Document', 'Source', 'Measured against', 'Its source', 'Method', '#Similarity'],
      closestCalls.map(({ id, source, of, method, similarity }) =>
        cells([id, source, of.id, of.source, method, { number: similarity.toFixed(3) }]),
      ),
    ),
  ])
}

export function passagesSection({ passages }: Report): Markup {
  if (passages.documents === 0) return html``
  const summary =
    `${countOf(passages.documents, 'document')} share ${countOf(passages.spans, 'passage')} with others, ` +
    `${size(passages.bytes)} of canonical text.`
  return section('Shared passages', [
    html`<p>${summary}</p> `,
    table(
      'Where the most is shared',
      ['Document', 'Source', 'Shares with', 'Its source', '#Passages', '#Bytes'],
      passages.longest.map(({ id, source, of, spans, bytes }) =>
        cells([id, source, of.id, of.source, spans, { number: size(bytes) }]),
      ),
    ),
  ])
}
