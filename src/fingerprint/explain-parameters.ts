/** Says what bands will find and what they will cost, with the curve as a plot for a terminal. */

import {
  type Banding,
  collisionProbability,
  falsePositiveArea,
  requireBanding,
  requireShare,
} from './bands.ts'

export interface Explained extends Banding {
  readonly slots: number
  readonly threshold: number
}

const COLUMNS = 51
const LINES = 11

export function explainParameters(parameters: Explained): string {
  const { slots, threshold, bands, rows } = parameters
  requireBanding(parameters, slots)
  requireShare(threshold, 'threshold')
  const at = (similarity: number) => percent(collisionProbability(similarity, bands, rows))
  const near = Math.min(1, threshold + 0.05)
  const far = Math.max(0, threshold - 0.2)
  return [
    `${bands} bands of ${rows} rows use ${bands * rows} of ${slots} slots.`,
    `Of pairs as similar as ${threshold} they find ${at(threshold)}, of ${round(near)} ${at(near)}.`,
    `Of pairs as similar as ${round(far)} they also look at ${at(far)} needlessly;`,
    `over all similarities below ${threshold} that is ${percent(falsePositiveArea(threshold, parameters) / threshold)} on average.`,
    '',
    ...plot(parameters),
  ].join('\n')
}

const round = (value: number) => String(Math.round(value * 100) / 100)
const percent = (share: number) =>
  `${(share * 100).toFixed(share > 0.99 || share < 0.01 ? 2 : 1)} %`

/** Similarity from left to right, probability from bottom to top; the threshold stands as a line. */
function plot({ threshold, bands, rows }: Explained): string[] {
  const wall = Math.round(threshold * (COLUMNS - 1))
  const heights = Array.from({ length: COLUMNS }, (_, column) =>
    Math.round(collisionProbability(column / (COLUMNS - 1), bands, rows) * (LINES - 1)),
  )
  const lines = Array.from({ length: LINES }, (_, line) => {
    const height = LINES - 1 - line
    const cells = heights.map((own, column) => {
      if (own === height) return '●'
      return column === wall ? '│' : ' '
    })
    return `${String(height * 10).padStart(4)} % ┤${cells.join('').trimEnd()}`
  })
  const axis = `${' '.repeat(7)}└${'─'.repeat(COLUMNS)}`
  const marks = Array.from({ length: 6 }, (_, mark) => (mark / 5).toFixed(1).padEnd(10)).join('')
  return [...lines, axis, `${' '.repeat(8)}${marks.trimEnd()}  similarity`]
}
