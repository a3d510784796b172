/**
 * A report for a terminal: aligned whatever the script, never wider than asked for, and harmless, because names
 * come from documents and may hold what a terminal would obey.
 */

import { displayWidth, shortened } from '../platform/display-width.ts'
import { count, countOf, duration, size } from '../platform/units.ts'
import { type Bar, compact, namesOf, similarityBars, sizeBars } from './plots.ts'
import { corpusText } from './corpus-name.ts'
import { ALL_RUNS, type Report } from './report.ts'
import { nameOf, type Samples } from './sample-pairs.ts'
import { percent, settingsSentence, statusSentence } from './words.ts'

export interface TextOptions {
  /** Columns, from 40; 80 if not given. */
  readonly width?: number | undefined
  /** Escape sequences of a terminal. Default: `false`. */
  readonly colour?: boolean | undefined
  /** How texts of clusters begin, as `samplesOf` has them. Default: none. */
  readonly beginnings?: Samples['beginnings'] | undefined
}

type Paint = (style: 'title' | 'bar' | 'soft' | 'warning', text: string) => string

const CODES = { title: '1', bar: '36', soft: '2', warning: '33' } as const
const WIDTH_MIN = 40
/** Names are not cut shorter than this. */
const NAME_MIN = 6
const BAR_MAX = 32
const BARS_MAX = 12
const PAIRS_MAX = 8
const CLUSTERS_MAX = 5
const RUNS_MAX = 12
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** Lines end with a line feed. */
export function textReport(
  report: Report,
  { width = 80, colour = false, beginnings }: TextOptions = {},
): string {
  const columns = Math.max(WIDTH_MIN, Math.floor(width))
  const paint: Paint = (style, text) => (colour ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text)
  const writer = new Writer(columns, paint)
  heading(report, writer)
  outcomes(report, writer)
  runs(report, writer)
  sources(report, writer)
  meetings(report, writer)
  writer.bars('Similarity of duplicates', similarityBars(report, BARS_MAX))
  writer.bars('Clusters by size', sizeBars(report))
  clusters(report, writer, beginnings)
  rejects(report, writer)
  return writer.text()
}

type Cell = string | { readonly right: string }

class Writer {
  readonly columns: number
  readonly paint: Paint
  readonly #lines: string[] = []

  constructor(columns: number, paint: Paint) {
    this.columns = columns
    this.paint = paint
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`
  }

  line(text: string, style?: Parameters<Paint>[0]): void {
    const short = shortened(text, this.columns - 2).trimEnd()
    this.#lines.push(`  ${style ? this.paint(style, short) : short}`)
  }

  /** Sentences are wrapped, never cut. */
  paragraph(text: string, style?: Parameters<Paint>[0]): void {
    let line = ''
    for (const word of text.split(' ')) {
      if (line !== '' && displayWidth(`${line} ${word}`) > this.columns - 2) {
        this.line(line, style)
        line = word
      } else line = line === '' ? word : `${line} ${word}`
    }
    this.line(line, style)
  }

  title(text: string): void {
    if (this.#lines.length > 0) this.#lines.push('')
    this.#lines.push(this.paint('title', shortened(text, this.columns)))
  }

  table(heads: readonly Cell[], rows: readonly (readonly Cell[])[]): void {
    const all = heads.length > 0 ? [heads, ...rows] : rows
    const widths = fitted(all, this.columns - 2)
    for (const [at, row] of all.entries()) {
      const isHead = at === 0 && heads.length > 0
      const cells = widths.map((width, column) => aligned(row[column] ?? '', width))
      const line = `  ${cells.join('  ')}`.trimEnd()
      this.#lines.push(isHead ? this.paint('soft', line) : line)
    }
  }

  bars(title: string, bars: readonly Bar[]): void {
    if (bars.length === 0) return
    this.title(title)
    const amounts = bars.map(({ parts }) => parts.reduce((sum, part) => sum + part.count, 0))
    const most = Math.max(1, ...amounts)
    const labels = Math.max(...bars.map(({ label }) => displayWidth(label)))
    const room = Math.min(BAR_MAX, this.columns - labels - 14)
    for (const [at, { label }] of bars.entries()) {
      const amount = amounts[at] ?? 0
      const drawn = bar((amount / most) * room)
      const painted = drawn === '' ? '' : `${this.paint('bar', drawn)} `
      this.#lines.push(`  ${aligned({ right: label }, labels)}  ${painted}${count(amount)}`)
    }
  }
}

/**
 * Widths of columns that are not too wide together. Names give way, the widest first; numbers never do, because a
 * number cut short is another one: rather, the last column is left out.
 */
function fitted(rows: readonly (readonly Cell[])[], columns: number): number[] {
  const [first = []] = rows
  const widths = first.map((_, at) => Math.max(...rows.map((row) => displayWidth(safe(row[at])))))
  const isNames = first.map((_, at) => rows.every((row) => typeof row[at] !== 'object'))
  const excess = () => widths.reduce((sum, width) => sum + width + 2, -2) - columns
  while (excess() > 0) {
    const names = widths.map((width, at) => (isNames[at] ? width : 0))
    const widest = Math.max(...names)
    if (widest > NAME_MIN) widths[names.indexOf(widest)] = widest - 1
    else widths.pop()
  }
  return widths
}

function safe(cell: Cell | undefined): string {
  const text = typeof cell === 'object' ? cell.right : (cell ?? '')
  return shortened(text, Number.MAX_SAFE_INTEGER)
}

function aligned(cell: Cell, width: number): string {
  const text = shortened(safe(cell), width)
  const blanks = ' '.repeat(Math.max(0, width - displayWidth(text)))
  return typeof cell === 'object' ? blanks + text : text + blanks
}

/** Something is never nothing: the smallest bar is an eighth. */
function bar(length: number): string {
  if (length <= 0) return ''
  const eighths = Math.max(1, Math.round(length * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '')
}

const right = (text: string): Cell => ({ right: text })

function heading(report: Report, writer: Writer): void {
  const { run, inputs, throughput } = report
  const isAll = run.id === ALL_RUNS
  const counted = report.runs.filter(({ status }) => status !== 'undone').length
  writer.title(isAll ? `All ${countOf(counted, 'run')}` : `Run ${run.id}`)
  const corpus = corpusText(inputs)
  if (corpus !== '') writer.line(corpus)
  const files = `${countOf(inputs.files, 'input file')}, ${size(inputs.bytes)}`
  const skipped = inputs.skipped > 0 ? `, ${count(inputs.skipped)} done before` : ''
  writer.line(`${files}${skipped}`)
  if (throughput) {
    const { seconds, documentsPerSecond, megabytesPerSecond } = throughput
    const speed = `${countOf(Math.round(documentsPerSecond), 'document')}/s, ${megabytesPerSecond.toFixed(1)} MB/s`
    writer.line(`${duration(seconds * 1000)}; ${speed}`)
  }
  writer.paragraph(settingsSentence(report))
  const status = statusSentence(report)
  if (status) writer.paragraph(status, 'warning')
}

function outcomes(report: Report, writer: Writer): void {
  const { documents, bytes, methods, duplicationRate } = report
  const line = (name: string, amount: number, measure: string, note: string): Cell[] => [
    name,
    right(count(amount)),
    right(measure),
    note,
  ]
  const ways = methods.flatMap(({ method, dropped }) =>
    dropped > 0 ? [line(`· ${method}`, dropped, '', '')] : [],
  )
  const links = methods.flatMap(({ method, linked }) =>
    linked > 0 ? [`${method} ${count(linked)}`] : [],
  )
  const rows = [
    line('documents in', documents.in, size(bytes.in), ''),
    line('kept', documents.kept + documents.linked, size(bytes.kept), ''),
    line('dropped', documents.dropped, size(bytes.saved), percent(duplicationRate)),
    ...ways,
  ]
  if (documents.repeated > 0) {
    rows.push(line('· repeated', documents.repeated, '', 'same id and text again'))
  }
  if (documents.linked > 0) {
    rows.push(line('· linked', documents.linked, '', `of those kept: ${links.join(', ')}`))
  }
  if (documents.superseding > 0) {
    rows.push(line('superseding', documents.superseding, '', 'replaced a worse copy'))
  }
  if (documents.supersededEarlier > 0) {
    const note = 'kept by earlier runs, see superseded.jsonl'
    rows.push(line('superseded before', documents.supersededEarlier, '', note))
  }
  if (documents.rejected > 0) rows.push(line('rejected', documents.rejected, '', 'not documents'))
  if (documents.possibleMisses > 0) {
    rows.push(line('possible misses', documents.possibleMisses, '', 'full buckets were skipped'))
  }
  const { passages, collisions } = report
  if (collisions.crossSource > 0) {
    rows.push(line('across sources', collisions.crossSource, '', 'duplicates of another source'))
  }
  if (passages.spans > 0) {
    rows.push(line('shared passages', passages.spans, size(passages.bytes), ''))
  }
  writer.title('Documents')
  writer.table([], rows)
}

function runs({ runs: all }: Report, writer: Writer): void {
  if (all.length < 2) return
  writer.title('Runs')
  const shown = all.slice(-RUNS_MAX)
  const rows = shown.map(({ id, startedAt, status, documents }): Cell[] => {
    const figure = (amount: number | undefined) => right(amount === undefined ? '–' : count(amount))
    const kept = documents && documents.kept + documents.linked
    const figures = [documents?.in, kept, documents?.linked, documents?.dropped]
    const day = startedAt.slice(0, 16).replace('T', ' ')
    const name = status === 'finished' ? id : `${id} (${status})`
    return [day, ...[...figures, documents?.rejected].map(figure), name]
  })
  const heads = ['in', 'kept', 'linked', 'dropped', 'rejected'].map(right)
  writer.table(['begun', ...heads, 'run'], rows)
  if (all.length > shown.length)
    writer.line(`and ${countOf(all.length - shown.length, 'older run')}`)
}

function sources({ sources: named, otherSources }: Report, writer: Writer): void {
  if (named.length < 2) return
  writer.title('Sources')
  const others = otherSources.documents > 0 ? [{ source: 'all others', ...otherSources }] : []
  const rows = [...named, ...others].map(({ source, documents, kept, linked, dropped }): Cell[] => [
    source,
    right(count(documents)),
    right(count(kept + linked)),
    right(count(linked)),
    right(count(dropped)),
    right(percent(documents === 0 ? 0 : dropped / documents)),
  ])
  const heads = ['in', 'kept', 'linked', 'dropped', ''].map(right)
  writer.table(['source', ...heads], rows)
}

function meetings({ collisions, dominance }: Report, writer: Writer): void {
  const names = namesOf(collisions)
  const pairs = names.flatMap((came, row) =>
    names.flatMap((there, column) => {
      const amount = collisions.counts[row]?.[column] ?? 0
      return row === column || amount === 0 ? [] : [{ came, there, amount }]
    }),
  )
  if (pairs.length === 0) return
  writer.title('Duplicates between sources')
  const most = pairs.toSorted((one, other) => other.amount - one.amount)
  const rows = most
    .slice(0, PAIRS_MAX)
    .map(({ came, there, amount }): Cell[] => [right(count(amount)), came, there])
  writer.table([right('#'), 'source', 'duplicate of'], rows)
  if (pairs.length > PAIRS_MAX) writer.line(`and ${countOf(pairs.length - PAIRS_MAX, 'more pair')}`)
  if (dominance.length === 0) return
  writer.title('Which source is kept against others')
  const lines = dominance
    .slice(0, PAIRS_MAX)
    .map(({ source, won, lost }): Cell[] => [
      source,
      right(count(won)),
      right(count(lost)),
      right(percent(won / (won + lost))),
    ])
  writer.table(['source', right('kept'), right('dropped'), right('')], lines)
}

function clusters(
  { clusters: { largest, count: all } }: Report,
  writer: Writer,
  beginnings: TextOptions['beginnings'],
): void {
  if (largest.length === 0) return
  writer.title(`The largest of ${countOf(all, 'cluster')}`)
  const rows = largest
    .slice(0, CLUSTERS_MAX)
    .map(({ size: documents, survivor, members }): Cell[] => {
      const likeness = members.map(({ similarity }) => similarity)
      const least = likeness.length > 0 ? Math.min(...likeness).toFixed(2) : ''
      const text = beginnings?.get(nameOf(survivor))
      const row: Cell[] = [right(compact(documents)), right(least), survivor.source, survivor.id]
      if (text !== undefined) row.push(text)
      return row
    })
  const heads = [right('size'), right('from'), 'source', 'kept']
  writer.table(beginnings ? [...heads, 'text'] : heads, rows)
}

function rejects({ rejects: lines }: Report, writer: Writer): void {
  if (lines.length === 0) return
  writer.title('Rejected')
  const rows = lines.map(({ reason, count: amount }): Cell[] => [right(count(amount)), reason])
  writer.table([], rows)
}
