/** The part of the page that compares runs: what came, and what became of it, run by run. */

import { countOf } from '../platform/units.ts'
import { cells, key, section, table } from './html-parts.ts'
import { html, type Markup } from './markup.ts'
import { columnsPlot } from './plots.ts'
import type { Report } from './report.ts'
import type { RunLine } from './runs.ts'

/** So many, the newest, are drawn and listed. */
const RUNS_MAX = 24

export function runsSection({ runs }: Report): Markup {
  if (runs.length < 2) return html``
  const shown = runs.slice(-RUNS_MAX)
  const left = runs.length - shown.length
  const first = left + 1
  const bars = shown.map(({ documents }, at) => ({
    label: String(first + at),
    parts: [
      { kind: 'kept', count: documents?.kept ?? 0 },
      { kind: 'linked', count: documents?.linked ?? 0 },
      { kind: 'dropped', count: documents?.dropped ?? 0 },
    ],
  }))
  const summary = shown.map((run, at) => `${first + at}: ${runText(run)}`).join('; ')
  const older = left > 0 ? ` ${countOf(left, 'older run')} not shown.` : ''
  return section('Runs over time', [
    html`<p>Documents of each run, as they were when it was finished.${older}</p> `,
    key([
      ['kept', 'kept'],
      ['linked', 'kept and linked'],
      ['dropped', 'dropped'],
    ]),
    html`<figure>
      ${columnsPlot(bars, { title: 'Documents by run', summary, axis: 'number of the run' })}
    </figure>`,
    table(
      'Runs of this state, the oldest first',
      [
        'No.',
        'Run',
        'Begun',
        '#Documents in',
        '#Kept',
        '#… linked',
        '#Dropped',
        '#Rejected',
        'Status',
      ],
      shown.map((run, at) =>
        cells([String(first + at), run.id, when(run.startedAt), ...figuresOf(run), run.status]),
      ),
    ),
  ])
}

function figuresOf({ documents }: RunLine): (number | { readonly number: string })[] {
  if (!documents) return Array.from({ length: 5 }, () => ({ number: '–' }))
  const { in: came, kept, linked, dropped, rejected } = documents
  return [came, kept + linked, linked, dropped, rejected]
}

function runText({ id, documents }: RunLine): string {
  if (!documents) return `${id}, no figures`
  const { in: came, kept, linked, dropped } = documents
  return `${id}, ${countOf(came, 'document')}, ${kept + linked} kept, ${dropped} dropped`
}

export function when(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}
