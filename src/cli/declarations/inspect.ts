/** The commands that explain what dedupe decided, and their options. Only data. */

import type { Command, OptionForm } from './index.ts'
import { labelOptionForms } from './label.ts'
import { OUT, QUIET, STATE_INSTEAD } from './shared.ts'

/** Also of the commands that label pairs and tune by them. */
export const inspectOptionForms = {
  ...labelOptionForms,
  line: { type: 'string', value: 'N' },
  wrong: { type: 'string', value: 'N' },
  'near-threshold': { type: 'string', value: 'N' },
  'min-size': { type: 'string', value: 'N' },
  csv: { type: 'boolean' },
  all: { type: 'boolean' },
} as const satisfies Readonly<Record<string, OptionForm>>

const STATE = 'In place of -o: the state, a directory or the URL of a server.'
const BACKEND = 'Another name for --state.'
const FILE = 'Only the document of this file, if several have the id.'
const LINE = 'Only the document of this line, element or row of its file.'

export const inspectCommands = {
  why: {
    operands: 'ID',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Why dedupe kept, dropped or linked a document.',
    details: [
      'Prints what was decided and in which run, by which method and similarity, against which document,',
      'and which is kept instead; both texts side by side; which settings would change the outcome; and',
      'its cluster. Of a document that is kept: the most similar others.',
      '',
      'Texts are read again from the inputs, and are shown only if they have not changed. A document',
      'without an id is called by its file and line: crawl.jsonl#12. Nothing is written.',
    ],
    options: { out: OUT, state: STATE, backend: BACKEND, file: FILE, line: LINE },
    instead: { store: 'For a key of a store: prestige explain KEY. A state: -o DIR, or --state.' },
    examples: [
      'prestige why c00003 -o clean',
      'prestige why crawl.jsonl#12 --state clean/state --json',
    ],
  },
  show: {
    operands: 'ID',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Print the text of a document of dedupe.',
    details: [
      'The text is read again from the input; its place and status go to stderr. With --json, all that is',
      'known of the document.',
    ],
    options: {
      out: OUT,
      state: STATE,
      backend: BACKEND,
      file: FILE,
      line: LINE,
      quiet: 'Print the text only.',
    },
    instead: { store: 'For a key of a store: prestige get KEY. A state: -o DIR, or --state.' },
    examples: ['prestige show c00003 -o clean', 'prestige show c00003 -o clean --json'],
  },
  uncut: {
    operands: '[ID]',
    operandsMin: 0,
    operandsMax: 1,
    summary: 'Print kept documents as they were before --passages cut.',
    details: [
      'Texts are restored from kept/ and runs/RUN/passages.jsonl: the inputs need not be there. Without',
      'ID, all kept documents are printed as JSON lines, with the fields id, source, file and text.',
    ],
    options: { out: OUT, state: STATE, backend: BACKEND, quiet: 'Print the text only.' },
    instead: STATE_INSTEAD,
    examples: ['prestige uncut c00003 -o clean', 'prestige uncut -o clean > original.jsonl'],
  },
  clusters: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'List the largest clusters of duplicates, with their texts.',
    options: {
      out: OUT,
      state: STATE,
      backend: BACKEND,
      limit: 'Number of clusters, up to 1000 (default 20).',
      'min-size': 'Only clusters of so many documents or more (default 2).',
    },
    instead: STATE_INSTEAD,
    examples: ['prestige clusters -o clean', 'prestige clusters -o clean --min-size 10 --json'],
  },
  pairs: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Print the pairs nearest to the threshold, for label and tune.',
    details: [
      'JSON lines (or --csv) with the fields a, b, label (empty), decision and similarity. A decision is',
      'duplicate (at or above the threshold, the least similar first), different (below it, the most',
      'similar first), or refused (similar enough, and kept apart by guards).',
      '',
      'Pairs below the threshold are searched for around --limit documents. The index is made for the',
      'threshold, so most of them are found, and not all. Texts are read again from the inputs.',
    ],
    options: {
      'near-threshold': 'Number of pairs of each decision, up to 1000 (default 20).',
      out: OUT,
      state: STATE,
      backend: BACKEND,
      limit: 'Search around so many documents (default 100000).',
      csv: 'Print CSV in place of JSON lines.',
      quiet: QUIET,
    },
    instead: STATE_INSTEAD,
    examples: [
      'prestige pairs --near-threshold 50 -o clean > pairs.jsonl',
      'prestige label pairs.jsonl -o labels.jsonl',
      'prestige tune --pairs labels.jsonl',
    ],
  },
} as const satisfies Readonly<Record<string, Command>>
