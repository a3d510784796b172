/** The command that chooses thresholds, and its options. Only data. */

import type { Command, OptionForm } from './index.ts'

export const PROFILE = 'adaptive (default), auto, chars, words or codepoints, or words-3.'
export const SLOTS = 'Slots of a sketch, 64 to 512 in steps of 16 (default 128).'

export const tuneOptionForms = {
  pairs: { type: 'string', value: 'FILE' },
  fields: { type: 'string', value: 'A,B,LABEL' },
  svg: { type: 'string', value: 'FILE' },
  precision: { type: 'string', value: 'P' },
  judge: { type: 'string', value: 'FILE' },
  'no-guards': { type: 'boolean' },
  'recall-min': { type: 'string', value: 'R' },
} as const satisfies Readonly<Record<string, OptionForm>>

export const tuneCommands = {
  tune: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Choose a threshold, or fit a judge, from labelled pairs of texts.',
    details: [
      'Pairs are JSON lines, CSV or TSV, with the fields a, b and label (or text1 and text2, sentence1',
      'and sentence2, question1 and question2, first and second). A label is 1 or 0, yes or no, true or',
      'false, duplicate or different; pairs without one are proposed for labelling. No store is needed.',
      '',
      'The threshold with the best F1 is chosen, or the one for --precision or --recall-min. A precision',
      'is promised with a confidence of 95 % for other pairs of the same kind; where the pairs do not',
      'prove it, tune fails with PRECISION_UNPROVEN and prints what is missing.',
      'Brackets are 95 % intervals: with few pairs they are wide, and the figures are unreliable.',
      '',
      '--judge fits a model to the pairs that weighs characters, words, lengths and guards (and',
      'meaning, with --semantic), and writes it to a file.',
    ],
    shared: ['canonical', 'model'],
    options: {
      pairs: 'The labelled pairs; - is stdin.',
      fields: 'Names of the fields, if they differ; a.b is b inside a.',
      precision: 'Choose the lowest threshold that is proven to have this precision.',
      'recall-min': 'Choose the highest threshold with this recall.',
      profile: PROFILE,
      slots: SLOTS,
      semantic: 'Tune semantic similarity, with a model (--model) and guards.',
      judge: 'Fit a judge, and write it to this file.',
      wrong: 'List so many wrong pairs of each kind (default 10; 1000 in JSON).',
      svg: 'Draw the curves into this file.',
    },
    only: [
      { of: ['model'], with: 'semantic' },
      { of: ['profile', 'slots', 'canonical'], without: ['semantic', 'judge'] },
    ],
    examples: [
      'prestige tune --pairs pairs.jsonl --svg threshold.svg',
      'prestige tune --pairs pairs.tsv --fields question,other,same --precision 0.95',
      'prestige tune --pairs pairs.csv --judge judge.json --precision 0.9',
      'prestige tune --pairs - --profile words-3 --json < pairs.jsonl',
      'prestige tune --semantic --pairs pairs.jsonl --precision 0.9',
    ],
  },
} as const satisfies Readonly<Record<string, Command>>
