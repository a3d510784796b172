/** The commands of the resolver, and their options. Only data. */

import type { Command, OptionForm } from './index.ts'
import { PROGRESS, USES_RESOLVER } from './shared.ts'

export const resolverOptionForms = {
  group: { type: 'string', value: 'NAME' },
  preset: { type: 'string', value: 'NAME', choices: ['lsh'] },
  lookup: { type: 'boolean' },
  stats: { type: 'boolean' },
  jsonl: { type: 'boolean' },
  'group-field': { type: 'string', value: 'NAME' },
  'vector-field': { type: 'string', value: 'NAME' },
  dimensions: { type: 'string', value: 'N' },
} as const satisfies Readonly<Record<string, OptionForm>>

export const resolverCommands = {
  resolve: {
    operands: '[FILE...]',
    operandsMin: 0,
    operandsMax: Infinity,
    summary: 'Assign an id to each line; near duplicates get the same id.',
    details: [
      'Without FILE, or with -, lines are read from stdin. For each line it prints id, status,',
      'similarity and the line, separated by tabs. The status is new, match (similar to a known',
      'text), known (resolved before), exact (it is the representative of its id) or, with --lookup,',
      'unknown.',
      '',
      'Invalid lines (not UTF-8, empty, over 64 MiB; not JSON, missing field) are reported with their',
      'number, all others are resolved, and the exit code is 1. Totals go to stderr at the end.',
      '',
      'The default durability is os: everything is flushed to disk once, before the command ends.',
      'LSH_ and VLSH_ environment variables are used; options take precedence.',
    ],
    shared: USES_RESOLVER,
    options: {
      group: 'Group to use; groups are independent of each other (default: default).',
      threshold: 'Minimum Jaccard similarity of texts with one id (default 0.8).',
      precision: 'A judge decides, and this share of what it matches is right.',
      judge: 'With --precision: a judge made by tune, in place of the built-in one.',
      'no-guards': 'Match texts even if numbers, names or denials differ.',
      profile: 'adaptive (default), auto, chars, words, codepoints; a width: words-5.',
      preset: 'lsh: 40 bands of 5 rows over 3-character shingles, from 0.6.',
      ttl: 'A cluster expires this long after its last use: 500ms, 10s, 5m, 2h, 7d.',
      lookup: 'Write nothing; the status of texts that are not known is unknown.',
      jsonl: 'Every line is a JSON object.',
      'text-field': 'With --jsonl: field of the text (default text).',
      'id-field': 'With --jsonl: field to print instead of the line.',
      'group-field': 'With --jsonl: field of the group.',
      'vector-field': 'With --jsonl: field of a vector; --threshold is a cosine then.',
      dimensions: 'Dimensions of vectors; needed for the first ones.',
      strict: 'Stop at the first invalid line.',
      stats: 'Read no lines; print statistics of the group.',
      progress: PROGRESS,
      quiet: 'Print totals only.',
    },
    only: [
      { of: ['text-field', 'id-field', 'group-field', 'vector-field'], with: 'jsonl' },
      { of: ['dimensions'], with: 'vector-field' },
      { of: ['jsonl', 'lookup', 'strict', 'progress', 'quiet'], without: ['stats'] },
    ],
    instead: {
      dedup: 'It finds near duplicates, and with --vector-field similar vectors.',
    },
    examples: [
      'prestige resolve names.txt --group names | cut -f1 | sort | uniq -c',
      'prestige resolve --store memory: --threshold 0.7 < titles.txt',
      'prestige resolve posts.jsonl --jsonl --text-field body --id-field id --json',
      'prestige resolve --stats --group names',
    ],
  },
  members: {
    operands: 'ID',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'List texts that were resolved to an id, the representative first.',
    details: ['An id that begins with a dash goes after --.'],
    shared: USES_RESOLVER,
    options: { group: 'The group of the id (default: default).' },
    examples: ['prestige members --group names -- -4fJHr0nXYTnbmYq6Y0DVw'],
  },
} as const satisfies Readonly<Record<string, Command>>
