/** Charts as SVG: each has a name and says its figures in words. */

import type { ComponentChildren, JSX } from 'preact'

import { short } from './format.ts'

const WIDTH = 480
const MARGIN = { left: 44, right: 10, top: 10, bottom: 24 }

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Scale {
  readonly x: (value: number) => number
  readonly y: (value: number) => number
}

export interface PlotProps {
  readonly label: string
  readonly summary: string
  readonly height?: number
  readonly from: Point
  readonly to: Point
  readonly xTicks?: readonly { readonly at: number; readonly text: string }[]
  readonly yTicks?: readonly number[]
  readonly yText?: (value: number) => string
  readonly children: (scale: Scale) => ComponentChildren
}

/** Axes, and whatever is drawn between them. */
export function Plot(props: PlotProps): JSX.Element {
  const { label, summary, height = 200, from, to, xTicks = [], yTicks = [], yText = short } = props
  const bottom = height - MARGIN.bottom
  const right = WIDTH - MARGIN.right
  const scale: Scale = {
    x: (value) => MARGIN.left + ((value - from.x) / (to.x - from.x || 1)) * (right - MARGIN.left),
    y: (value) => bottom - ((value - from.y) / (to.y - from.y || 1)) * (bottom - MARGIN.top),
  }
  return (
    <svg class="plot" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={label}>
      <desc>{summary}</desc>
      {yTicks.map((tick) => (
        <g key={tick}>
          <line class="grid" x1={MARGIN.left} x2={right} y1={scale.y(tick)} y2={scale.y(tick)} />
          <text x={MARGIN.left - 6} y={scale.y(tick) + 4} text-anchor="end">
            {yText(tick)}
          </text>
        </g>
      ))}
      <line class="axis" x1={MARGIN.left} x2={right} y1={bottom} y2={bottom} />
      {xTicks.map(({ at, text }) => (
        <text key={at} x={scale.x(at)} y={height - 6} text-anchor="middle">
          {text}
        </text>
      ))}
      {props.children(scale)}
    </svg>
  )
}

export function linePath(points: readonly Point[], { x, y }: Scale): string {
  return points
    .map((point, at) => `${at === 0 ? 'M' : 'L'}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`)
    .join('')
}

/** The area between two lines of the same length. */
export function bandPath(low: readonly Point[], high: readonly Point[], scale: Scale): string {
  if (low.length === 0) return ''
  return `${linePath(low, scale)}${linePath(high.toReversed(), scale).replace('M', 'L')}Z`
}

export const shareTicks: readonly { readonly at: number; readonly text: string }[] = [
  0, 0.2, 0.4, 0.6, 0.8, 1,
].map((at) => ({ at, text: at.toFixed(1) }))

/** A line over time with the area below it. */
export function Growth({
  label,
  points,
  text,
  tone,
}: {
  readonly label: string
  readonly points: readonly Point[]
  readonly text: (value: number) => string
  readonly tone: string
}): JSX.Element {
  const values = points.map(({ y }) => y)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const spread = high - low
  const from = { x: points[0]?.x ?? 0, y: low - spread * 0.12 - (spread === 0 ? 1 : 0) }
  const to = { x: points.at(-1)?.x ?? 1, y: high + spread * 0.12 + (spread === 0 ? 1 : 0) }
  const last = points.at(-1)
  const [width, height] = [240, 56]
  const scale: Scale = {
    x: (value) => 2 + ((value - from.x) / (to.x - from.x || 1)) * (width - 8),
    y: (value) => height - 2 - ((value - from.y) / (to.y - from.y)) * (height - 6),
  }
  const line = linePath(points, scale)
  return (
    <figure class={`growth tone-${tone}`}>
      <figcaption>
        <span>{label}</span>
        <strong>{last ? text(last.y) : '–'}</strong>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${label} over time`}>
        {points.length > 1 && (
          <>
            <path class="area" d={`${line}L${scale.x(to.x)} ${height}L2 ${height}Z`} />
            <path class="line" d={line} />
          </>
        )}
        {last && <circle cx={scale.x(last.x)} cy={scale.y(last.y)} r="3" />}
      </svg>
    </figure>
  )
}

export interface BarPart {
  readonly kind: string
  readonly count: number
}

/** Columns, stacked. */
export function Columns({
  label,
  bars,
  kinds,
}: {
  readonly label: string
  readonly bars: readonly { readonly name: string; readonly parts: readonly BarPart[] }[]
  readonly kinds: string
}): JSX.Element {
  const sums = bars.map(({ parts }) => parts.reduce((sum, { count }) => sum + count, 0))
  const most = Math.max(1, ...sums)
  const every = Math.ceil(bars.length / 8)
  const ticks = bars
    .map(({ name }, at) => ({ at: at + 0.5, text: name }))
    .filter((_, at) => at % every === 0)
  const summary = `${kinds}: ${bars.map(({ name }, at) => `${name} ${sums[at]}`).join(', ')}`
  const slots = Math.max(bars.length, 6)
  return (
    <Plot
      label={label}
      summary={summary}
      height={170}
      from={{ x: 0, y: 0 }}
      to={{ x: slots, y: most * 1.08 }}
      xTicks={ticks}
      yTicks={most > 1 ? [0, Math.round(most / 2), most] : [0, most]}
    >
      {({ x, y }) => bars.map(({ name, parts }, at) => stack(name, parts, at, { x, y }))}
    </Plot>
  )
}

function stack(name: string, parts: readonly BarPart[], at: number, { x, y }: Scale): JSX.Element {
  let below = 0
  const rects = parts.map(({ kind, count }) => {
    const [top, bottom] = [y(below + count), y(below)]
    below += count
    const left = x(at + 0.12)
    return (
      <rect
        key={kind}
        class={`fill-${kind}`}
        x={left}
        y={top}
        width={x(at + 0.88) - left}
        height={bottom - top}
        rx="1.5"
      />
    )
  })
  return (
    <g key={name}>
      <title>{`${name}: ${parts.map(({ kind, count }) => `${count} ${kind}`).join(', ')}`}</title>
      {rects}
    </g>
  )
}

/** Parts of a whole, as one bar. */
export function Shares({
  parts,
  label,
}: {
  readonly parts: readonly BarPart[]
  readonly label: string
}): JSX.Element {
  const summary = parts.map(({ kind, count }) => `${count} ${kind}`).join(', ')
  const whole = parts.reduce((sum, { count }) => sum + count, 0) || 1
  let left = 0
  return (
    <svg
      class="shares"
      viewBox="0 0 100 6"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${summary}`}
    >
      <rect class="ground" width="100" height="6" />
      {parts.map(({ kind, count }) => {
        const width = (count / whole) * 100
        left += width
        return <rect key={kind} class={`fill-${kind}`} x={left - width} width={width} height="6" />
      })}
    </svg>
  )
}
