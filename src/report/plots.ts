/**
 * The pictures of a report: inline SVG with a title and a description, legible in light and dark and in print.
 * The same figures give the same bytes.
 */

import { shortened } from '../platform/display-width.ts'
import { count, countOf } from '../platform/units.ts'
import { html, type Markup } from './markup.ts'
import type { Matrix } from './matrix.ts'
import type { Report } from './report.ts'

/** Narrow enough to be read on a telephone; wider screens magnify it a little. */
const WIDTH = 480
const MAGNIFIED = 1.25

interface Picture {
  readonly title: string
  readonly summary: string
  readonly height: number
  readonly width?: number
}

function picture({ title, summary, height, width = WIDTH }: Picture, content: Markup[]): Markup {
  const id = `plot-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`
  return html`<svg
    viewBox="0 0 ${width} ${height}"
    width="${Math.round(width * MAGNIFIED)}"
    height="${Math.round(height * MAGNIFIED)}"
    role="img"
    aria-labelledby="${id}-title ${id}-summary"
  >
    <title id="${id}-title">${title}</title>
    <desc id="${id}-summary">${summary}</desc>
    ${content}
  </svg>`
}

export interface Bar {
  readonly label: string
  /** Stacked, with a class of the style sheet each. */
  readonly parts: readonly { readonly kind: string; readonly count: number }[]
}

const PLOT_LEFT = 48
const PLOT_TOP = 20
const PLOT_HEIGHT = 130

/** Upright bars, stacked. */
export function columnsPlot(
  bars: readonly Bar[],
  { title, summary, axis }: { title: string; summary: string; axis: string },
): Markup {
  const most = Math.max(1, ...bars.map(sumOf))
  const step = (WIDTH - PLOT_LEFT - 8) / Math.max(bars.length, 6)
  const bottom = PLOT_TOP + PLOT_HEIGHT
  const every = Math.ceil(bars.length / 12)
  const columns = bars.map((bar, at) => {
    const x = PLOT_LEFT + at * step
    let y = bottom
    const rects = bar.parts.map(({ kind, count: amount }) => {
      const height = (amount / most) * PLOT_HEIGHT
      y -= height
      return amount === 0 ? undefined : rect(kind, x + step * 0.1, y, step * 0.8, height)
    })
    const caption = bar.parts.map((part) => `${count(part.count)} ${part.kind}`).join(', ')
    const above = sumOf(bar) > 0 && step >= 26 ? compact(sumOf(bar)) : ''
    const middle = x + step / 2
    return html`<g
      ><title>${bar.label}: ${caption}</title>${rects}
      <text class="small" x="${fixed(middle)}" y="${fixed(y - 5)}" text-anchor="middle"
        >${above}</text
      >
      <text class="small" x="${fixed(middle)}" y="${bottom + 17}" text-anchor="middle"
        >${at % every === 0 ? bar.label : ''}</text
      ></g
    > `
  })
  const scale = html`<line
      class="axis"
      x1="${PLOT_LEFT}"
      y1="${bottom}"
      x2="${WIDTH - 8}"
      y2="${bottom}"
    />
    <text class="small" x="${PLOT_LEFT - 8}" y="${PLOT_TOP + 4}" text-anchor="end"
      >${compact(most)}</text
    >
    <text class="small" x="${PLOT_LEFT - 8}" y="${bottom + 4}" text-anchor="end">0</text>
    <text class="small" x="${PLOT_LEFT}" y="${bottom + 38}">${axis}</text> `
  return picture({ title, summary, height: bottom + 46 }, [scale, ...columns])
}

const ROW = 22
const LABELS = 140
/** So many fit beside the bars. */
const NAME_COLUMNS = 18

/** Lying bars, stacked, for names of any script. */
export function rowsPlot(
  bars: readonly Bar[],
  { title, summary }: { title: string; summary: string },
): Markup {
  const most = Math.max(1, ...bars.map(sumOf))
  const room = WIDTH - LABELS - 64
  const rows = bars.map((bar, at) => {
    const y = at * ROW + 4
    let x = LABELS
    const rects = bar.parts.map(({ kind, count: amount }) => {
      const width = (amount / most) * room
      x += width
      return amount === 0 ? undefined : rect(kind, x - width, y, Math.max(width, 0.5), ROW - 8)
    })
    const caption = bar.parts.map((part) => `${count(part.count)} ${part.kind}`).join(', ')
    return html`<g>
      <title>${bar.label}: ${caption}</title>
      <text x="${LABELS - 10}" y="${y + 11}" text-anchor="end"
        >${shortened(bar.label, NAME_COLUMNS)}</text
      >${rects} <text class="small" x="${fixed(x + 7)}" y="${y + 11}">${count(sumOf(bar))}</text></g
    > `
  })
  return picture({ title, summary, height: bars.length * ROW + 10 }, rows)
}

const CELL = 34
const CELL_HEIGHT = 24

/** Rows and columns bear the same numbers, and only rows are named: names may be long and of any script. */
export function heatMap(
  { sources, counts }: Matrix,
  {
    title,
    summary,
    rows,
    columns,
  }: { title: string; summary: string; rows: string; columns: string },
): Markup {
  const names = namesOf({ sources, counts })
  const shown = names.map((_, row) => names.map((__, column) => counts[row]?.[column] ?? 0))
  const most = Math.max(1, ...shown.flat())
  const left = LABELS + 28
  const heads = names.map(
    (_, at) =>
      html`<text class="small" x="${left + at * CELL + CELL / 2}" y="40" text-anchor="middle"
        >${at + 1}</text
      >`,
  )
  const lines = shown.map((cells, row) => {
    const y = 48 + row * CELL_HEIGHT
    const name = names[row] ?? ''
    const drawn = cells.map((amount, column) => {
      const x = left + column * CELL
      const other = names[column] ?? ''
      return heatCell(amount, most, x, y, `${name} → ${other}: ${count(amount)}`)
    })
    return html`<g
      ><text x="${left - 24}" y="${y + 16}" text-anchor="end"
        >${shortened(name, NAME_COLUMNS)}<title>${name}</title></text
      >
      <text class="small" x="${left - 8}" y="${y + 16}" text-anchor="end">${row + 1}</text
      >${drawn}</g
    > `
  })
  const width = Math.max(left + names.length * CELL + 8, WIDTH)
  const captions = html`<text class="small" x="${left}" y="18">${columns} →</text>
    <text class="small" x="${left - 24}" y="40" text-anchor="end">${rows} ↓</text> `
  const height = 48 + names.length * CELL_HEIGHT + 6
  return picture({ title, summary, height, width }, [captions, ...heads, ...lines])
}

/** Sources, and the others if there is anything to show for them. */
export function namesOf({ sources, counts }: Matrix): string[] {
  const last = sources.length
  const hasOthers = counts.some((row, at) => (at === last ? row.some(Boolean) : row[last]))
  return hasOthers ? [...sources, 'all others'] : [...sources]
}

/** The share of the darkest shade, which the style sheet chooses so that figures can be read on it. */
function heatCell(amount: number, most: number, x: number, y: number, caption: string): Markup {
  const share = amount === 0 ? 0 : 0.15 + 0.85 * Math.sqrt(amount / most)
  const ink = amount === 0 ? 'small' : 'small on-heat'
  const label = amount === 0 ? '·' : compact(amount)
  const place = html`x="${x + 1}" y="${y + 1}" width="${CELL - 2}" height="${CELL_HEIGHT - 2}"
  rx="3"`
  return html`<g>
    <title>${caption}</title>
    <rect class="heat-ground" ${place} />
    <rect class="heat" style="--share: ${share.toFixed(3)}" ${place} />
    <text class="${ink}" x="${x + CELL / 2}" y="${y + 16}" text-anchor="middle">${label}</text></g
  >`
}

/** `950`, `1.2k`, `34k`, `5.6M`. */
export function compact(amount: number): string {
  if (amount < 1000) return String(amount)
  const [short, unit] = amount < 999_500 ? [amount / 1000, 'k'] : [amount / 1e6, 'M']
  return `${short < 9.95 ? short.toFixed(1) : short.toFixed(0)}${unit}`
}

function sumOf({ parts }: Bar): number {
  return parts.reduce((sum, part) => sum + part.count, 0)
}

function rect(kind: string, x: number, y: number, width: number, height: number): Markup {
  return html`<rect
    class="${kind}"
    x="${fixed(x)}"
    y="${fixed(y)}"
    width="${fixed(width)}"
    height="${fixed(height)}"
  />`
}

function fixed(number: number): string {
  return number.toFixed(1)
}

/** Hundredths, or wider where the similarities lie far apart. */
export function similarityBars({ similarity }: Report, barsMax = 25): Bar[] {
  const width = [1, 2, 5].find((one) => similarity.length / one <= barsMax) ?? 10
  const bars = new Map<number, { near: number; simhash: number }>()
  for (const { from, near, simhash } of similarity) {
    const place = Math.floor((from * 100 + 1e-9) / width) * width
    const bar = bars.get(place) ?? { near: 0, simhash: 0 }
    bars.set(place, { near: bar.near + near, simhash: bar.simhash + simhash })
  }
  return [...bars].map(([place, { near, simhash }]) => ({
    label: (place / 100).toFixed(2),
    parts: [
      { kind: 'near', count: near },
      { kind: 'simhash', count: simhash },
    ],
  }))
}

export function sizeBars({ clusters }: Report): Bar[] {
  return clusters.sizes.map(({ from, to, clusters: amount }) => ({
    label: from === to ? count(from) : `${compact(from)}–${compact(to)}`,
    parts: [{ kind: 'clusters', count: amount }],
  }))
}

export function sourceBars({ sources, otherSources }: Report): Bar[] {
  const others = otherSources.documents > 0 ? [{ source: 'all others', ...otherSources }] : []
  return [...sources, ...others].map(({ source, kept, linked, dropped }) => ({
    label: source,
    parts: [
      { kind: 'kept', count: kept },
      { kind: 'linked', count: linked },
      { kind: 'dropped', count: dropped },
    ],
  }))
}

export function describedSources({ sources }: Report): string {
  return sources
    .slice(0, 5)
    .map(
      ({ source, kept, linked, documents }) =>
        `${source}: ${count(kept + linked)} of ${countOf(documents, 'document')} kept`,
    )
    .join('; ')
}
