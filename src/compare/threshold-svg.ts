/**
 * A tuning as one picture: precision, recall and F1 over the threshold, and the curve of the chosen bands
 * where bands find the pairs.
 *
 * The SVG stands by itself: nothing is loaded, nothing runs, and it is legible on light and dark pages. The same
 * tuning gives the same bytes.
 */

import { type Banding, collisionProbability } from '../fingerprint/index.ts'
import type { ThresholdScore, ThresholdTuning } from './tune.ts'

const WIDTH = 720
const HEIGHT = 460
const LEFT = 64
const RIGHT = 24
const TOP = 76
const BOTTOM = 96
const PLOT_WIDTH = WIDTH - LEFT - RIGHT
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM

// Colours that differ in lightness too, with dashes of their own: distinguishable without colour.
const STYLE = `
    .page { fill: #ffffff } text { fill: #24292f; font: 13px sans-serif }
    .title { font-size: 17px; font-weight: bold } .small { font-size: 12px }
    .grid { stroke: #d0d7de; stroke-width: 1 } .axis { stroke: #57606a; stroke-width: 1 }
    .curve { fill: none; stroke-width: 2.2; stroke-linejoin: round }
    .precision { stroke: #0550ae } .recall { stroke: #bc4c00; stroke-dasharray: 8 4 }
    .f1 { stroke: #1a7f37; stroke-dasharray: 2 3 }
    .found { stroke: #8250df; stroke-dasharray: 10 3 2 3 }
    .chosen { stroke: #cf222e; stroke-width: 1.5 }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117 } text { fill: #e6edf3 }
      .grid { stroke: #30363d } .axis { stroke: #8b949e }
      .precision { stroke: #79c0ff } .recall { stroke: #ffa657 } .f1 { stroke: #7ee787 }
      .found { stroke: #d2a8ff } .chosen { stroke: #ff7b72 }
    }
  `

type Point = readonly [x: number, y: number]

export function thresholdSvg(
  tuning: ThresholdTuning & { readonly banding?: Banding | undefined },
): string {
  const { pairs, threshold, banding } = tuning
  const title = 'Which threshold tells duplicates from the rest?'
  const summary =
    `${pairs} pairs, ${tuning.duplicates} of them duplicates. Threshold ${threshold}: ` +
    `precision ${decimal(tuning.chosen.precision.value)}, recall ${decimal(tuning.chosen.recall.value)}.`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" ` +
      `height="${HEIGHT}" role="img" aria-labelledby="title summary">`,
    `  <title id="title">${title}</title>`,
    `  <desc id="summary">${summary}</desc>`,
    `  <style>${STYLE}</style>`,
    `  <rect class="page" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    `  <text class="title" x="${LEFT}" y="30">${title}</text>`,
    `  <text class="small" x="${LEFT}" y="52">${summary}</text>`,
    ...grid(),
    ...(banding ? [curve('found', collisions(banding))] : []),
    ...(['precision', 'recall', 'f1'] as const).map((kind) =>
      curve(kind, scorePoints(tuning.thresholds, kind)),
    ),
    ...chosenMark(threshold),
    ...legend([
      ['precision', 'precision'],
      ['recall', 'recall'],
      ['f1', 'F1'],
      ...(banding
        ? ([['found', `found by ${banding.bands} bands of ${banding.rows} rows`]] as const)
        : []),
    ]),
    '</svg>',
    '',
  ].join('\n')
}

function collisions({ bands, rows }: Banding): Point[] {
  return Array.from({ length: 101 }, (_, percent): Point => [
    percent / 100,
    collisionProbability(percent / 100, bands, rows),
  ])
}

function scorePoints(
  scores: readonly ThresholdScore[],
  kind: 'precision' | 'recall' | 'f1',
): Point[] {
  return scores.flatMap((score): Point[] => {
    const { value } = score[kind]
    return value === undefined ? [] : [[score.threshold, value]]
  })
}

const decimal = (value: number | undefined) => (value === undefined ? '–' : value.toFixed(3))
const xOf = (share: number) => (LEFT + share * PLOT_WIDTH).toFixed(1)
const yOf = (share: number) => (TOP + (1 - share) * PLOT_HEIGHT).toFixed(1)

function curve(name: string, points: readonly Point[]): string {
  const path = points.map(([x, y]) => `${xOf(x)},${yOf(y)}`).join(' ')
  return `  <polyline class="curve ${name}" points="${path}"/>`
}

function grid(): string[] {
  const lines: string[] = []
  for (let fifth = 0; fifth <= 5; fifth++) {
    const share = fifth / 5
    const [x, y] = [xOf(share), yOf(share)]
    lines.push(
      `  <line class="grid" x1="${x}" y1="${yOf(0)}" x2="${x}" y2="${yOf(1)}"/>`,
      `  <line class="grid" x1="${xOf(0)}" y1="${y}" x2="${xOf(1)}" y2="${y}"/>`,
      `  <text x="${x}" y="${TOP + PLOT_HEIGHT + 18}" text-anchor="middle">${share.toFixed(1)}</text>`,
      `  <text x="${LEFT - 8}" y="${Number(y) + 4}" text-anchor="end">${share.toFixed(1)}</text>`,
    )
  }
  const middle = TOP + PLOT_HEIGHT / 2
  return [
    ...lines,
    `  <line class="axis" x1="${xOf(0)}" y1="${yOf(0)}" x2="${xOf(1)}" y2="${yOf(0)}"/>`,
    `  <line class="axis" x1="${xOf(0)}" y1="${yOf(0)}" x2="${xOf(0)}" y2="${yOf(1)}"/>`,
    `  <text x="${LEFT + PLOT_WIDTH / 2}" y="${TOP + PLOT_HEIGHT + 40}" text-anchor="middle">threshold, and similarity of a pair</text>`,
    `  <text x="18" y="${middle}" text-anchor="middle" transform="rotate(-90 18 ${middle})">share of pairs</text>`,
  ]
}

function chosenMark(threshold: number): string[] {
  const x = xOf(threshold)
  // Near the right edge the label would leave the picture.
  const [anchor, gap] = threshold > 0.8 ? ['end', -6] : ['start', 6]
  return [
    `  <line class="chosen" x1="${x}" y1="${yOf(0)}" x2="${x}" y2="${yOf(1)}"/>`,
    `  <text class="small" x="${(Number(x) + gap).toFixed(1)}" y="${TOP - 6}" text-anchor="${anchor}">threshold ${threshold}</text>`,
  ]
}

function legend(entries: readonly (readonly [name: string, label: string])[]): string[] {
  const y = HEIGHT - 20
  return entries.flatMap(([name, label], at) => {
    const x = LEFT + at * 130
    return [
      `  <line class="curve ${name}" x1="${x}" y1="${y - 4}" x2="${x + 30}" y2="${y - 4}"/>`,
      `  <text x="${x + 38}" y="${y}">${label}</text>`,
    ]
  })
}
