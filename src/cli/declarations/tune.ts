/** The command that chooses thresholds, and its options. Only data. */

import type { Command } from './index.ts'

export const PROFILE =
  'Shingles: adaptive (default), auto, chars, words, codepoints; with a width: words-3.'
export const SLOTS = 'Slots of a sketch, 64 to 512 in steps of 16 (default 128).'

export const tuneCommands = {
  tune: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Choose a threshold, bands and rows from labelled pairs of texts.',
    details: [
      'Pairs are JSON lines with a, b and label (or text1 and text2, sentence1 and sentence2, first and',
      'second), or columns separated by tabs with their names in the first line. A label is 1 or 0,',
      'true or false, "duplicate" or "different". No store is needed.',
      '',
      'The threshold with the best F1 is chosen, or the one for --precision-min or --recall-min.',
      'Brackets are 95 % intervals: with few pairs they are wide, and the figures are unreliable.',
    ],
    shared: ['canonical', 'model'],
    options: {
      pairs: 'The labelled pairs; - is stdin.',
      fields: 'Names of the fields, if they differ; a.b is b inside a.',
      'precision-min': 'Choose the lowest threshold with this precision.',
      'recall-min': 'Choose the highest threshold with this recall.',
      profile: PROFILE,
      slots: SLOTS,
      semantic: 'Tune semantic similarity, with a model (--model) and guards.',
      svg: 'Draw the curves into this file.',
    },
    only: [
      { of: ['model'], with: 'semantic' },
      { of: ['profile', 'slots', 'canonical'], without: ['semantic'] },
    ],
    examples: [
      'prestige tune --pairs pairs.jsonl --svg threshold.svg',
      'prestige tune --pairs pairs.tsv --fields question,other,same --precision-min 0.95',
      'prestige tune --pairs - --profile words-3 --json < pairs.jsonl',
      'prestige tune --semantic --pairs pairs.jsonl --precision-min 0.98',
    ],
  },
} as const satisfies Readonly<Record<string, Command>>
