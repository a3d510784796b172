/**
 * Every command and every option, once: arguments are read by this table and help is made from it.
 *
 * Only data, because every start loads it.
 */

import type { StoreInput } from '../index.ts'

export interface OptionForm {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** What stands for the value in help. */
  readonly value?: string
  readonly choices?: readonly string[]
}

type Choices<K extends keyof StoreInput> = readonly Extract<StoreInput[K], string>[]

const canonical = [
  'none',
  'whitespace',
  'ascii-case',
  'unicode',
  'json',
] as const satisfies Choices<'canonical'>
const fidelity = ['own', 'representative'] as const satisfies Choices<'fidelity'>
const onUnreadable = ['error', 'bytes'] as const satisfies Choices<'onUnreadable'>
const gc = ['immediate', 'manual'] as const satisfies Choices<'gc'>
const durability = ['fsync', 'os'] as const satisfies Choices<'durability'>

export const optionForms = {
  store: { type: 'string', short: 's', value: 'LOCATION' },
  namespace: { type: 'string', value: 'NAME' },
  canonical: { type: 'string', value: 'NAME', choices: canonical },
  fidelity: { type: 'string', value: 'NAME', choices: fidelity },
  'on-unreadable': { type: 'string', value: 'NAME', choices: onUnreadable },
  gc: { type: 'string', value: 'NAME', choices: gc },
  durability: { type: 'string', value: 'NAME', choices: durability },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  escaped: { type: 'boolean', short: 'e' },
  quiet: { type: 'boolean', short: 'q' },
  file: { type: 'string', value: 'PATH' },
  ttl: { type: 'string', value: 'TIME' },
  prefix: { type: 'string', value: 'P' },
  after: { type: 'string', value: 'KEY' },
  limit: { type: 'string', value: 'N' },
  print0: { type: 'boolean', short: '0' },
  progress: { type: 'boolean' },
  overwrite: { type: 'boolean' },
  repair: { type: 'boolean' },
  group: { type: 'string', value: 'NAME' },
  threshold: { type: 'string', value: 'X' },
  profile: { type: 'string', value: 'NAME' },
  preset: { type: 'string', value: 'NAME', choices: ['lsh'] },
  lookup: { type: 'boolean' },
  stats: { type: 'boolean' },
  strict: { type: 'boolean' },
  jsonl: { type: 'boolean' },
  'text-field': { type: 'string', value: 'NAME' },
  'id-field': { type: 'string', value: 'NAME' },
  'group-field': { type: 'string', value: 'NAME' },
  'vector-field': { type: 'string', value: 'NAME' },
  dimensions: { type: 'string', value: 'N' },
} as const satisfies Readonly<Record<string, OptionForm>>

export type OptionName = keyof typeof optionForms
export type OptionHelp = Readonly<Partial<Record<OptionName, string>>>

/** What every command understands. */
export const globalOptions = {
  store: 'Directory of the store; or set PRESTIGE_STORE.',
  namespace: 'Part of the store to use; namespaces never see each other.',
  canonical: 'What counts as the same: none, whitespace, ascii-case, unicode, json.',
  fidelity: 'own: every key keeps its own bytes. representative: the first bytes win.',
  'on-unreadable': 'Values --canonical cannot read: error (default), bytes (as they are).',
  gc: 'Content nobody refers to goes: immediate (default), manual (by collect).',
  durability: 'Writes survive: fsync (default, a power failure), os (a crash).',
  json: 'Output, and errors, for machines.',
  help: 'Help for a command.',
  version: 'The version.',
} as const satisfies OptionHelp

export interface Command {
  readonly operands: string
  readonly operandsMin: number
  readonly operandsMax: number
  readonly summary: string
  readonly details?: readonly string[]
  readonly options: OptionHelp
  readonly examples: readonly string[]
}

const ESCAPED = 'Keys are given as `keys` prints them: \\xHH is a byte, \\\\ a backslash.'
const QUIET = 'Say nothing when all is well.'
const PROGRESS = 'Show progress even when stderr is not a terminal.'

export const commands = {
  put: {
    operands: 'KEY [VALUE]',
    operandsMin: 1,
    operandsMax: 2,
    summary: 'Keep a value under a key, and say whether it was seen before.',
    details: ['The value is read from stdin when it is not given, or given as -.'],
    options: {
      file: 'Take the value from a file.',
      ttl: 'Forget the key after this time: 500ms, 10s, 5m, 2h, 7d.',
      escaped: ESCAPED,
      quiet: QUIET,
    },
    examples: [
      'prestige put greeting "hello, world"',
      'prestige put photo --file photo.jpg',
      'curl -s example.org | prestige put page --ttl 1h',
      'prestige put -- -key -value',
    ],
  },
  get: {
    operands: 'KEY',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Print the bytes under a key, and nothing else.',
    options: { escaped: ESCAPED },
    examples: ['prestige get photo > photo.jpg', "prestige get -e 'caf\\xe9'"],
  },
  del: {
    operands: 'KEY...',
    operandsMin: 1,
    operandsMax: Infinity,
    summary: 'Delete keys, and say whether they were there.',
    options: { escaped: ESCAPED, quiet: QUIET },
    examples: ['prestige del greeting photo'],
  },
  has: {
    operands: 'KEY',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Say yes or no; the exit code is 0 or 3.',
    options: { escaped: ESCAPED, quiet: 'Only the exit code.' },
    examples: ['prestige has -q photo && echo there'],
  },
  keys: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'List keys in byte order, one a line.',
    details: [
      'Control characters and bytes that are not UTF-8 are printed as \\xHH, a backslash as \\\\;',
      'other commands read that with -e. With --json a key that is not UTF-8 is {"base64": …}.',
    ],
    options: {
      prefix: 'Only keys that start so.',
      after: 'Only keys after this one.',
      limit: 'At most so many.',
      print0: 'The very bytes of each key, and a NUL after it.',
      escaped: ESCAPED,
    },
    examples: [
      'prestige keys --prefix photos/ --limit 100',
      'prestige keys | while read -r key; do prestige explain -e -- "$key"; done',
    ],
  },
  count: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Print the number of keys.',
    options: { prefix: 'Only keys that start so.', escaped: ESCAPED },
    examples: ['prestige count --prefix photos/'],
  },
  stats: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Keys, contents, bytes, and what deduplication saves.',
    options: {},
    examples: ['prestige stats', 'prestige stats --json'],
  },
  explain: {
    operands: 'KEY',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Why a key points where it points, and who shares its content.',
    options: { limit: 'Name at most so many other keys (default 10).', escaped: ESCAPED },
    examples: ['prestige explain photo'],
  },
  collect: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Reclaim expired keys and contents nobody refers to.',
    options: { quiet: QUIET },
    examples: ['prestige collect'],
  },
  import: {
    operands: 'DIR',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Keep every file below a directory, its path being the key.',
    details: [
      'Regular files only: symbolic links are not followed, and told. Empty directories, times and',
      'permissions are not kept. What cannot be read is told, the rest is imported, and the exit',
      'code is 1.',
      '',
      'Durability is os here: nothing waits for the disk file by file, and the whole store is brought',
      'to the disk once, before the command ends. With --store memory: nothing is kept, and you learn',
      'how much of a directory is duplicated.',
    ],
    options: {
      prefix: 'Put this before every key.',
      progress: PROGRESS,
      escaped: 'The prefix is given as `keys` prints it.',
      quiet: QUIET,
    },
    examples: ['prestige import photos --prefix photos/', 'prestige import . --store memory:'],
  },
  export: {
    operands: 'DIR',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Write every key as a file: what import took in, byte for byte.',
    details: [
      'All keys are checked first: if one is no safe path, or one is the directory of another,',
      'nothing is written. Each file is written aside and moved into place.',
    ],
    options: {
      prefix: 'Only keys that start so; the prefix is taken off.',
      overwrite: 'Write into a directory that is not empty, replacing files of the same name.',
      progress: PROGRESS,
      escaped: 'The prefix is given as `keys` prints it.',
      quiet: QUIET,
    },
    examples: ['prestige export restored --prefix photos/'],
  },
  verify: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Read everything, and say what is wrong.',
    options: {
      repair: 'Mend what can be mended.',
      progress: PROGRESS,
      quiet: QUIET,
    },
    examples: ['prestige verify', 'prestige verify --repair'],
  },
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
      progress: PROGRESS,
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
    summary: 'What was resolved to an id: ids, similarity, time; the representative first.',
    details: ['An id that begins with a dash goes after --.'],
    options: { group: 'The group of the id (default: default).' },
    examples: ['prestige members --group names -- -4fJHr0nXYTnbmYq6Y0DVw'],
  },
} as const satisfies Readonly<Record<string, Command>>

export type CommandName = keyof typeof commands

export function isCommandName(name: string): name is CommandName {
  return Object.hasOwn(commands, name)
}

export function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(optionForms, name)
}
