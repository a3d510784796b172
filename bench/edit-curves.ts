/**
 * Which edits of a text are found as near duplicates, by script, kind and length, at the default threshold?
 *
 * One JSON line a script and profile; with a directory in `PRESTIGE_TEXTS` (UTF-8 files NAME.txt, each a long running
 * text) those are measured too. Also counted: unrelated pieces above the threshold, and how often a search has to look
 * under a second width. `bench/results/edit-curves/` gets a plot for each script.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { ShingleProfile } from '../src/fingerprint/index.ts'
import { Editor, type EditName, measured, searchedSimilarity } from '../test/texts/edits.ts'
import { randomOf, type ScriptText, scriptTexts } from '../test/texts/script-texts.ts'
import { curvesPlot } from './harness/growth-plot.ts'

const THRESHOLD = 0.8
const LENGTHS = [50, 100, 150, 200, 230, 300, 500, 1000, 2000, 5000, 20_000]
const EDITS: readonly EditName[] = [
  'one typo',
  '5 % of words',
  'sentence added',
  'sentence removed',
  'ends cut',
  'paragraph moved',
]
const PROFILES: readonly ShingleProfile[] = ['adaptive', 'auto', 'chars-5', 'words-5']
const PLOTTED = ['one typo', '5 % of words'] as const
const PLOTS = fileURLToPath(new URL('./results/edit-curves/', import.meta.url))
/** Edited characters for each cell, so that long texts do not take all the time. */
const EFFORT = 400_000
const SAMPLES = { least: 20, most: 200 }
const UNRELATED_PAIRS = 10_000
const UNRELATED_LENGTHS = [50, 100, 300, 1000, 5000]
/** Where nothing separates words, a word is this many characters. */
const WORD_LENGTHS: Readonly<Record<string, number>> = { zh: 2, ja: 2, th: 4, hex: 4, base64: 4 }

type Line = Readonly<Record<string, unknown>>
type Curve = Record<number, number>

function realTexts(directory: string): ScriptText[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.txt'))
    .toSorted()
    .map((file) => {
      const name = file.replace(/\.txt$/, '')
      const text = readFileSync(join(directory, file), 'utf8')
      return { name, text, wordLength: WORD_LENGTHS[name] }
    })
}

/** Percent found, and percent of texts that are looked for under more than one width. */
function curves(source: ScriptText, profile: ShingleProfile, scale: number) {
  const editor = new Editor(source, randomOf(1))
  const found: Record<string, Curve> = Object.fromEntries(EDITS.map((name) => [name, {}]))
  const secondProbes: Curve = {}
  const widths: Record<number, string> = {}
  for (const length of LENGTHS) {
    if (editor.length < length * 2) continue
    const wanted = Math.min(SAMPLES.most, Math.max(SAMPLES.least, EFFORT / length))
    const samples = Math.max(1, Math.round(wanted * scale))
    const hits = new Map<EditName, number>()
    const chosen = new Map<string, number>()
    let probes = 0
    for (let sample = 0; sample < samples; sample++) {
      const text = editor.piece(length)
      const stored = measured(text, profile, THRESHOLD)
      probes += stored.profiles.length - 1
      chosen.set(stored.profiles[0], (chosen.get(stored.profiles[0]) ?? 0) + 1)
      for (const edit of EDITS) {
        const asked = measured(editor.edit(text, edit), profile, THRESHOLD)
        if (searchedSimilarity(stored, asked) >= THRESHOLD)
          hits.set(edit, (hits.get(edit) ?? 0) + 1)
      }
    }
    for (const edit of EDITS) found[edit]![length] = percent(hits.get(edit) ?? 0, samples)
    secondProbes[length] = percent(probes, samples)
    widths[length] = [...chosen].toSorted(([, one], [, other]) => other - one)[0]?.[0] ?? ''
  }
  return { found, secondProbes, widths }
}

const percent = (part: number, whole: number) => Math.round((1000 * part) / whole) / 10

/** Pairs of pieces that have nothing in common but the language: how many are above the threshold, and the highest. */
function unrelated(source: ScriptText, profile: ShingleProfile, scale: number) {
  const editor = new Editor(source, randomOf(2))
  const pairs: Record<number, number> = {}
  const above: Record<number, number> = {}
  const highest: Record<number, number> = {}
  for (const length of UNRELATED_LENGTHS) {
    const pieces = Math.min(150, Math.floor(editor.length / length))
    const taken = Array.from({ length: pieces }, (_, at) =>
      measured(editor.pieceAt(at * length, length), profile, THRESHOLD),
    )
    const most = Math.round(UNRELATED_PAIRS * scale)
    pairs[length] = above[length] = highest[length] = 0
    taken.forEach((stored, at) => {
      for (const asked of taken.slice(at + 1)) {
        if (pairs[length]! >= most) return
        const similarity = searchedSimilarity(stored, asked)
        pairs[length]!++
        if (similarity >= THRESHOLD) above[length]!++
        highest[length] = Math.max(highest[length]!, Math.round(similarity * 1000) / 1000)
      }
    })
  }
  return { pairs, above, highest }
}

export function benchEditCurves(scale: number, only: string, print: (line: Line) => void): void {
  const directory = process.env['PRESTIGE_TEXTS']
  const sources: Readonly<Record<string, readonly ScriptText[]>> = {
    generated: scriptTexts(20_261_117, 600_000),
    real: directory === undefined ? [] : realTexts(directory),
  }
  mkdirSync(PLOTS, { recursive: true })
  for (const [from, texts] of Object.entries(sources)) {
    for (const source of texts) {
      if (`${from} ${source.name}`.includes(only)) benchSource(source, from, scale, print)
    }
  }
}

function benchSource(
  source: ScriptText,
  from: string,
  scale: number,
  print: (line: Line) => void,
): void {
  const { name } = source
  const series: Record<string, Curve> = {}
  for (const profile of PROFILES) {
    const measuredCurves = curves(source, profile, scale)
    const others = profile === 'adaptive' ? { unrelated: unrelated(source, profile, scale) } : {}
    for (const edit of PLOTTED) series[`${profile}, ${edit}`] = measuredCurves.found[edit]!
    print({ bench: 'edit-curves', case: name, from, profile, ...measuredCurves, ...others })
  }
  const title = `${name} (${from}): edited texts found at ${THRESHOLD}, by length`
  if (scale >= 1) writeFileSync(join(PLOTS, `${from}-${name}.svg`), curvesPlot(title, series))
}
