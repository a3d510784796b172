/** The command that asks for labels, and its options. Only data. */

import type { Command, OptionForm } from './index.ts'
import { PROFILE } from './tune.ts'

export const labelOptionForms = {
  inputs: { type: 'boolean' },
} as const satisfies Readonly<Record<string, OptionForm>>

export const labelCommands = {
  label: {
    operands: 'PAIRS | --inputs INPUT...',
    operandsMin: 1,
    operandsMax: Infinity,
    summary: 'Label pairs of texts as duplicates or different, for tune.',
    details: [
      'Shows two texts side by side and asks: y (duplicates), n (different), s (skip), u (undo),',
      'q (quit). The pairs nearest to the threshold come first, in turns from all similarities.',
      '',
      'PAIRS is JSONL, CSV, TSV or Parquet with the fields a and b (or text1 and text2, sentence1 and',
      'sentence2, first and second). With --inputs, pairs are chosen from documents, in the formats of',
      'dedupe; identical texts are left out.',
      '',
      'Every label is appended to the output and synced; tune --pairs reads it. The same command resumes:',
      'pairs with a label are not shown again. Without a terminal, answers are lines of stdin.',
    ],
    shared: ['canonical'],
    options: {
      out: 'The labels, as JSON lines; created, or added to.',
      inputs: 'The operands are documents; choose pairs from them.',
      limit: 'With --inputs: maximum number of pairs (default 200).',
      threshold: 'Show pairs around this Jaccard similarity first (default 0.8).',
      fields: 'Names of the two fields, if they differ: question,other.',
      'text-field': 'With --inputs: field of the text (default text); a.b is b inside a.',
      format: 'auto (by extension), jsonl, parquet, csv, tsv; --inputs: lines, files.',
      profile: PROFILE,
    },
    placeholders: { out: 'FILE', fields: 'A,B' },
    only: [
      { of: ['limit', 'text-field'], with: 'inputs' },
      { of: ['fields'], without: ['inputs'] },
    ],
    examples: [
      'prestige label pairs.jsonl -o labels.jsonl',
      'prestige label --inputs crawl/*.jsonl -o labels.jsonl --threshold 0.7 --limit 100',
      "printf 'y\\nn\\nq\\n' | prestige label pairs.csv -o labels.jsonl --json",
      'prestige tune --pairs labels.jsonl',
    ],
  },
} as const satisfies Readonly<Record<string, Command>>
