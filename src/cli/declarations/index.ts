/**
 * Every command and every option, once: arguments are read by this table and help is made from it.
 *
 * Only data, because every start loads it.
 */

import type { StoreInput } from '../../index.ts'
import { resolverCommands, resolverOptionForms } from './resolver.ts'
import { corpusCommands, corpusOptionForms } from './corpus.ts'
import { semanticCommands } from './semantic.ts'
import { dynamoCommands, dynamoOptionForms } from './dynamodb.ts'

export interface OptionForm {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** What stands for the value in help. */
  readonly value?: string
  readonly choices?: readonly string[]
  /** It may be given with `=VALUE`, or alone. */
  readonly isValueOptional?: boolean
}

type Choices<K extends keyof StoreInput> = readonly Extract<StoreInput[K], string>[]

const canonical = [
  'none',
  'whitespace',
  'ascii-case',
  'unicode',
  'json',
] as const satisfies Choices<'canonical'>
const dedup = ['exact', 'near', 'semantic', 'hybrid'] as const satisfies Choices<'dedup'>
const fidelity = ['own', 'representative'] as const satisfies Choices<'fidelity'>
const onUnreadable = ['error', 'bytes'] as const satisfies Choices<'onUnreadable'>
const gc = ['immediate', 'manual'] as const satisfies Choices<'gc'>
const durability = ['fsync', 'os'] as const satisfies Choices<'durability'>

export const optionForms = {
  store: { type: 'string', short: 's', value: 'LOCATION' },
  namespace: { type: 'string', value: 'NAME' },
  canonical: { type: 'string', value: 'NAME', choices: canonical },
  dedup: { type: 'string', value: 'NAME', choices: dedup },
  model: { type: 'string', value: 'NAME' },
  'semantic-threshold': { type: 'string', value: 'T' },
  semantic: { type: 'boolean' },
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
  archive: { type: 'boolean' },
  repair: { type: 'boolean' },
  salvage: { type: 'string', value: 'DIRECTORY' },
  text: { type: 'boolean' },
  profile: { type: 'string', value: 'P' },
  threshold: { type: 'string', value: 'T' },
  slots: { type: 'string', value: 'N' },
  bands: { type: 'string', value: 'N' },
  rows: { type: 'string', value: 'N' },
  pairs: { type: 'string', value: 'FILE' },
  fields: { type: 'string', value: 'A,B,LABEL' },
  svg: { type: 'string', value: 'FILE' },
  'precision-min': { type: 'string', value: 'P' },
  'recall-min': { type: 'string', value: 'R' },
  ...resolverOptionForms,
  ...corpusOptionForms,
  ...dynamoOptionForms,
} as const satisfies Readonly<Record<string, OptionForm>>

export type OptionName = keyof typeof optionForms
export type OptionHelp = Readonly<Partial<Record<OptionName, string>>>

/** What every command understands. */
export const globalOptions = {
  store: 'Directory of the store, or redis://HOST:PORT; or set PRESTIGE_STORE.',
  namespace: 'Part of the store to use; namespaces never see each other.',
  canonical: 'What counts as the same: none, whitespace, ascii-case, unicode, json.',
  dedup: 'Find exact bytes, near (texts alike), semantic (meaning) or hybrid.',
  threshold: 'Minimum similarity of near duplicates, above 0, up to 1 (default 0.8).',
  model: 'Model of meanings: one of `prestige models`, or a directory.',
  'semantic-threshold': 'Minimum similarity in meaning. Find yours with tune --semantic.',
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
const PROFILE = 'How texts are cut: auto (default), chars, words, codepoints; words-3.'
const SLOTS = 'Slots of a sketch, 64 to 512 in steps of 16 (default 128).'

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
    operands: 'KEY | A B',
    operandsMin: 1,
    operandsMax: 2,
    summary: 'Why a key points where it points; or what two texts share.',
    details: [
      'With one operand: why a key of the store points where it points, and who shares its content.',
      '',
      'With two: A and B are files, one of which may be - for stdin, or texts with --text. They are',
      'shown side by side, with how similar they are, whether that makes them duplicates, and which',
      'bands would have found them. No store is needed. --canonical is unicode by default: case,',
      'width and white space do not count.',
    ],
    options: {
      limit: 'Name at most so many other keys, or shingles of a kind (default 10).',
      escaped: ESCAPED,
      text: 'A and B are texts, not files.',
      profile: PROFILE,
      threshold: 'Texts at least so similar are duplicates (default 0.8).',
      slots: SLOTS,
      bands: 'Bands of a sketch, with --rows; by default the threshold chooses both.',
      rows: 'Rows of a band.',
    },
    examples: [
      'prestige explain photo',
      'prestige explain draft.txt final.txt --threshold 0.7',
      'prestige explain --text "hello, world" "Hello world!" --json',
      'curl -s example.org | prestige explain page.html -',
    ],
  },
  similar: {
    operands: '[TEXT]',
    operandsMin: 0,
    operandsMax: 1,
    summary: 'List what is like a text in a store with dedup near or semantic.',
    details: [
      'The text is read from stdin when it is not given, or given as -. Of texts that are alike, the',
      "first one kept is listed. Below the store's own threshold, some may be missed.",
    ],
    options: {
      file: 'Take the text from a file.',
      limit: 'At most so many (default 10).',
      threshold: "Only what is at least so similar (the store's own threshold).",
    },
    examples: ['prestige similar --file letter.txt', 'prestige similar "hello, world" --limit 3'],
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
      archive: 'Take in an archive that export made, of whatever engine (- for stdin).',
      progress: PROGRESS,
      escaped: 'The prefix is given as `keys` prints it.',
      quiet: QUIET,
    },
    examples: [
      'prestige import photos --prefix photos/',
      'prestige import . --store memory:',
      'prestige import --archive store.archive --store redis://127.0.0.1:6379',
    ],
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
      archive: 'Write one archive of the whole store, for import --archive (- for stdout).',
      progress: PROGRESS,
      escaped: 'The prefix is given as `keys` prints it.',
      quiet: QUIET,
    },
    examples: [
      'prestige export restored --prefix photos/',
      'prestige export --archive store.archive',
    ],
  },
  verify: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Read everything, and say what is wrong.',
    options: {
      repair: 'Mend what can be mended.',
      salvage: 'Copy all that is readable and right into a new store; list what is lost.',
      progress: PROGRESS,
      quiet: QUIET,
    },
    examples: ['prestige verify', 'prestige verify --repair', 'prestige verify --salvage ./copy'],
  },
  tune: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Choose a threshold, bands and rows by labelled pairs of texts.',
    details: [
      'Pairs are JSON, an object a line, with a, b and label (or text1 and text2, sentence1 and',
      'sentence2, first and second); or columns separated by tabs, their names in the first line.',
      'A label is 1 or 0, true or false, "duplicate" or "different". No store is needed.',
      '',
      'The threshold with the best F1 is taken, unless told what matters more. What is in brackets',
      'is the 95 % interval: with few pairs it is wide, and the figures mean little.',
    ],
    options: {
      pairs: 'The labelled pairs; - is stdin.',
      fields: 'Names of the fields, where they are others; a.b is b inside a.',
      'precision-min': 'The lowest threshold at which so many of those found are duplicates.',
      'recall-min': 'The highest threshold at which so many duplicates are found.',
      profile: PROFILE,
      slots: SLOTS,
      semantic: 'Of likeness in meaning, by a model (--model); guards are asked as well.',
      svg: 'Draw the curves into this file.',
    },
    examples: [
      'prestige tune --pairs pairs.jsonl --svg threshold.svg',
      'prestige tune --pairs pairs.tsv --fields question,other,same --precision-min 0.95',
      'prestige tune --pairs - --profile words-3 --json < pairs.jsonl',
      'prestige tune --semantic --pairs pairs.jsonl --precision-min 0.98',
    ],
  },
  ...semanticCommands,
  ...resolverCommands,
  ...corpusCommands,
  ledger: {
    operands: 'get ID | list | stats',
    operandsMin: 1,
    operandsMax: 2,
    summary: 'Which documents were processed, in which run, and how they ended.',
    details: [
      'get: the line of a document; the exit code is 3 if there is none.',
      'list: the lines of a source or of a run, one a line, in an order that never changes.',
      'stats: how many lines there are of each status, and all runs.',
    ],
    options: {
      source: 'Of list and stats: lines of this source.',
      run: 'Of list and stats: what this run made of its documents.',
      after: 'Of list: only lines after that of this document.',
      limit: 'Of list: at most so many.',
      escaped: 'Ids are given as they are printed: \\xHH is a byte, \\\\ a backslash.',
    },
    examples: [
      'prestige ledger get page-17',
      'prestige ledger list --run nightly --json',
      'prestige ledger stats --source web',
    ],
  },
  ...dynamoCommands,
} as const satisfies Readonly<Record<string, Command>>

export type CommandName = keyof typeof commands

export function isCommandName(name: string): name is CommandName {
  return Object.hasOwn(commands, name)
}

export function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(optionForms, name)
}
