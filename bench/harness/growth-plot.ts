/** Pictures of how something grows, beside straight lines. */

import type { BoundPoint } from '../bounded-memory.ts'
import type { MemoryPoint } from '../larger-than-memory.ts'

export interface GrowthPoint {
  readonly documents: number
  readonly bytes: number
  readonly cpuSeconds: number
  readonly anonymousBytes: number
}

const WIDTH = 760
const HEIGHT = 300
const PANEL = { width: 300, height: 210, top: 40 }

interface Panel {
  readonly left: number
  readonly title: string
  readonly unit: string
  readonly most: number
  /** Values at the points, and of a straight line at none and at all of the documents. */
  readonly values: readonly number[]
  readonly line: readonly [number, number]
  readonly lineName: string
  /** What the horizontal axis counts. */
  readonly axis: string
}

export function growthPlot(
  points: readonly GrowthPoint[],
  memoryBase: number,
  memoryPerDocument: number,
): string {
  const documents = points.map((point) => point.documents)
  const most = Math.max(...documents)
  const last = points.at(-1)
  const seconds = points.map(({ cpuSeconds }) => cpuSeconds)
  const memory = points.map(({ anonymousBytes }) => anonymousBytes / 1e6)
  const limit = [memoryBase / 1e6, (memoryBase + memoryPerDocument * most) / 1e6] as const
  const time: Panel = {
    left: 60,
    title: 'CPU time',
    unit: 's',
    most: Math.max(...seconds) * 1.1,
    values: seconds,
    line: [0, last?.cpuSeconds ?? 0],
    lineName: 'in proportion to the last',
    axis: 'documents',
  }
  const anonymous: Panel = {
    left: 440,
    title: 'Anonymous memory, at most',
    unit: 'MB',
    most: Math.max(...memory, ...limit) * 1.1,
    values: memory,
    line: limit,
    lineName: 'the limit',
    axis: 'documents',
  }
  return picture('Growth of the corpus job', [time, anonymous], documents)
}

/** Puts and gets a second as a store grows beyond its memory. */
export function memoryPlot(points: readonly MemoryPoint[], memoryBytes: number): string {
  const sizes = points.map(({ fileBytes }) => fileBytes / memoryBytes)
  const panel = (left: number, title: string, values: readonly number[], least: number): Panel => ({
    left,
    title,
    unit: '',
    most: Math.max(...values) * 1.1,
    values,
    line: [least, least],
    lineName: `${least}/s`,
    axis: 'times the memory',
  })
  const gets = panel(
    60,
    'Gets a second',
    points.map((point) => point.getsPerSecond),
    1500,
  )
  const puts = panel(
    440,
    'Puts a second',
    points.map((point) => point.putsPerSecond),
    5000,
  )
  return picture('A store larger than its memory', [gets, puts], sizes)
}

/** CPU and memory of an index with a bound, beside one without. */
export function boundPlot(points: readonly BoundPoint[], bytesMax: number): string {
  const first = points[0]?.cpuMicros ?? 0
  const micros = points.map(({ cpuMicros }) => cpuMicros)
  const memory = points.map(({ bytes }) => bytes / 1e6)
  const time: Panel = {
    left: 60,
    title: 'CPU a document',
    unit: 'µs',
    most: Math.max(...micros, first * 1.5) * 1.1,
    values: micros,
    line: [first * 1.5, first * 1.5],
    lineName: '1.5 times the first, which fits',
    axis: 'documents',
  }
  const held: Panel = {
    left: 440,
    title: 'Memory of the index',
    unit: 'MB',
    most: (bytesMax / 1e6) * 1.2,
    values: memory,
    line: [bytesMax / 1e6, bytesMax / 1e6],
    lineName: 'the bound',
    axis: 'documents',
  }
  const documents = points.map((point) => point.documents)
  return picture('An index with less memory than it needs', [time, held], documents)
}

function picture(title: string, panels: readonly Panel[], counts: readonly number[]): string {
  const most = Math.max(...counts)
  const drawn = panels.map((panel) => panelOf(panel, counts, most))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" font-family="sans-serif" font-size="12">
<title>${title}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>
${drawn.join('\n')}
</svg>
`
}

function panelOf(panel: Panel, documents: readonly number[], most: number): string {
  const { left, title, unit, values, line, lineName, axis } = panel
  const bottom = PANEL.top + PANEL.height
  const x = (count: number) => Math.round(left + (count / (most * 1.05)) * PANEL.width)
  const y = (value: number) => Math.round(bottom - (value / panel.most) * PANEL.height)
  const marks = documents.map((count, at) => {
    const value = values[at] ?? 0
    const [cx, cy] = [x(count), y(value)]
    return `<circle cx="${cx}" cy="${cy}" r="4" fill="#1f5fa8"/><text x="${cx}" y="${cy - 8}" text-anchor="middle">${told(value)} ${unit}</text><text x="${cx}" y="${bottom + 16}" text-anchor="middle">${told(count)}</text>`
  })
  const path = documents.map((count, at) => `${x(count)},${y(values[at] ?? 0)}`).join(' ')
  return `<text x="${left}" y="20" font-weight="bold">${title}</text>
<path d="M${left} ${PANEL.top}V${bottom}H${left + PANEL.width}" fill="none" stroke="black"/>
<line x1="${x(0)}" y1="${y(line[0])}" x2="${x(most)}" y2="${y(line[1])}" stroke="#999" stroke-dasharray="4 4"/>
<polyline points="${path}" fill="none" stroke="#1f5fa8"/>
${marks.join('\n')}
<text x="${left}" y="${bottom + 36}" fill="#555">${axis}; dashed: ${lineName}</text>`
}

function told(value: number): string {
  return value >= 10 ? Math.round(value).toLocaleString('en') : value.toFixed(1)
}

const COLOURS = ['#0550ae', '#bc4c00', '#1a7f37', '#8250df']
const CURVES = { left: 50, top: 50, width: 480, height: 200 }

/** Percent by length, lengths on a logarithmic axis; every second series is dashed. */
export function curvesPlot(
  title: string,
  series: Readonly<Record<string, Readonly<Record<number, number>>>>,
): string {
  const { left, top, width, height } = CURVES
  const lengths = [...new Set(Object.values(series).flatMap((one) => Object.keys(one).map(Number)))]
  const [least, most] = [Math.log(Math.min(...lengths)), Math.log(Math.max(...lengths))]
  const x = (length: number) =>
    Math.round(left + ((Math.log(length) - least) / (most - least)) * width)
  const y = (percent: number) => Math.round(top + height - (percent / 100) * height)
  const drawn = Object.entries(series).map(([name, points], at) => {
    const path = Object.entries(points).map(([length, percent]) => `${x(+length)},${y(percent)}`)
    const style = `stroke="${COLOURS[at >> 1]}"${at % 2 ? ' stroke-dasharray="6 4"' : ''} stroke-width="2"`
    const row = top + 10 + at * 22
    return `<polyline points="${path.join(' ')}" fill="none" ${style}/>
<line x1="550" y1="${row}" x2="580" y2="${row}" ${style}/><text x="586" y="${row + 4}">${name}</text>`
  })
  const marks = lengths
    .filter((length) => /^[125]0+$/.test(String(length)))
    .map(
      (length) =>
        `<text x="${x(length)}" y="${top + height + 16}" text-anchor="middle">${length}</text>`,
    )
  const levels = [0, 50, 90, 100].map(
    (percent) =>
      `<line x1="${left}" y1="${y(percent)}" x2="${left + width}" y2="${y(percent)}" stroke="#ddd"/><text x="${left - 6}" y="${y(percent) + 4}" text-anchor="end">${percent} %</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" font-family="sans-serif" font-size="12">
<title>${title}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>
<text x="${left}" y="24" font-weight="bold">${title}</text>
${[...levels, ...marks, ...drawn].join('\n')}
<text x="${left}" y="${top + height + 36}" fill="#555">characters</text>
</svg>
`
}
