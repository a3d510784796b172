/** The commands of the resolver, and their options. Only data. */

import type { Command, OptionForm } from './index.ts'

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
    summary: 'Lines in, ids out: near duplicates get one id.',
    details: [
      'Lines are read from stdin when no file is given, or -. Every line gives one: id, status,',
      'similarity and what came in, with tabs between. The status is new, match (found similar just',
      'now), known (resolved before), exact (it stands for its id) or, with --lookup, unknown.',
      '',
      'Bad lines (not UTF-8, empty, over 64 MiB; no JSON, no such field) are told with their number,',
      'the rest is resolved, and the exit code is 1. Sums go to stderr at the end.',
      '',
      'Durability is os here: nothing waits for the disk line by line, and all is brought there before',
      'the command ends. LSH_ and VLSH_ variables of the environment are heeded; options win.',
    ],
    options: {
      group: 'Groups never see each other (default: default).',
      threshold: 'Texts of at least this Jaccard similarity are one thing (default 0.8).',
      profile: 'auto (default), or chars, words, codepoints and a width: words-5.',
      preset: 'lsh: 40 bands of 5 rows over 3-character shingles, from 0.6.',
      ttl: 'Forget a cluster this long after its last use: 500ms, 10s, 5m, 2h, 7d.',
      lookup: 'Write nothing; what would be new is unknown.',
      jsonl: 'Every line is a JSON object.',
      'text-field': 'Its field with the text (default text).',
      'id-field': 'Its field to print in place of the line.',
      'group-field': 'Its field with the group.',
      'vector-field': 'Its field with a vector; --threshold is of cosines then.',
      dimensions: 'Numbers in a vector, when the first ones come.',
      strict: 'Stop at the first bad line.',
      stats: 'Read nothing: print what the group looks like.',
      progress: 'Show progress even when stderr is not a terminal.',
      quiet: 'Only the sums.',
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
    summary: 'What was resolved to an id, the representative first.',
    details: ['An id that begins with a dash goes after --.'],
    options: { group: 'The group of the id (default: default).' },
    examples: ['prestige members --group names -- -4fJHr0nXYTnbmYq6Y0DVw'],
  },
} as const satisfies Readonly<Record<string, Command>>
