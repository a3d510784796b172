/**
 * Every command and every option, once: arguments are read by this table and help is made from it.
 *
 * Only data, because every start loads it.
 */

import type { StoreOptions } from '../../index.ts'
import type { KindName } from '../../location/index.ts'
import { resolverCommands, resolverOptionForms } from './resolver.ts'
import { changesCommands, changesOptionForms } from './changes.ts'
import { collectCommands, collectOptionForms } from './collect.ts'
import { corpusCommands, corpusOptionForms } from './corpus.ts'
import { semanticCommands } from './semantic.ts'
import { ledgerCommands, ledgerOptionForms } from './ledger.ts'
import { dynamoCommands, dynamoOptionForms } from './dynamodb.ts'
import { inspectCommands, inspectOptionForms } from './inspect.ts'
import { keyCommands } from './keys.ts'
import { backupCommands, backupOptionForms } from './backup.ts'
import { labelCommands } from './label.ts'
import { serverCommands, serverOptionForms } from './server.ts'
import { statsCommands, statsOptionForms } from './stats.ts'
import { lifecycleCommands, lifecycleOfPut, lifecycleOptionForms } from './lifecycle.ts'
import { PROFILE, SLOTS, tuneCommands, tuneOptionForms } from './tune.ts'
import { ESCAPED, LOCATION, PROGRESS, QUIET } from './shared.ts'
import { READS_STORE, STORE_SETTINGS, WRITES_STORE } from './shared.ts'

export { globalOptions, storeOptions } from './shared.ts'

export interface OptionForm {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** The placeholder of the value in help. */
  readonly value?: string
  readonly choices?: readonly string[]
  /** It may be given with `=VALUE`, or alone. */
  readonly isValueOptional?: boolean
}

type Choices<K extends keyof StoreOptions> = readonly Extract<StoreOptions[K], string>[]

const canonical = [
  'none',
  'whitespace',
  'ascii-case',
  'unicode',
  'unaccented',
  'json',
] as const satisfies Choices<'canonical'>
const dedup = ['exact', 'near', 'semantic', 'hybrid'] as const satisfies Choices<'dedup'>
const fidelity = ['own', 'representative'] as const satisfies Choices<'fidelity'>
const onUnreadable = ['error', 'bytes'] as const satisfies Choices<'onUnreadable'>
const gc = ['immediate', 'background', 'manual', 'never'] as const satisfies Choices<'gc'>
const durability = ['fsync', 'os'] as const satisfies Choices<'durability'>
const kinds: readonly KindName[] = ['store', 'resolver', 'ledger', 'state', 'fingerprints']

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
  compression: { type: 'string', value: 'NAME', choices: ['none', 'fast', 'small'] },
  'chunk-from': { type: 'string', value: 'BYTES' },
  'chunk-size': { type: 'string', value: 'BYTES' },
  'no-deltas': { type: 'boolean' },
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
  yes: { type: 'boolean', short: 'y' },
  progress: { type: 'boolean' },
  overwrite: { type: 'boolean' },
  archive: { type: 'boolean' },
  kind: { type: 'string', value: 'NAME', choices: kinds },
  repair: { type: 'boolean' },
  salvage: { type: 'string', value: 'DIRECTORY' },
  text: { type: 'boolean' },
  profile: { type: 'string', value: 'P' },
  threshold: { type: 'string', value: 'T' },
  vetoed: { type: 'boolean' },
  slots: { type: 'string', value: 'N' },
  bands: { type: 'string', value: 'N' },
  rows: { type: 'string', value: 'N' },
  ...backupOptionForms,
  ...tuneOptionForms,
  ...resolverOptionForms,
  ...changesOptionForms,
  ...collectOptionForms,
  ...corpusOptionForms,
  ...dynamoOptionForms,
  ...inspectOptionForms,
  ...ledgerOptionForms,
  ...serverOptionForms,
  ...statsOptionForms,
  ...lifecycleOptionForms,
} as const satisfies Readonly<Record<string, OptionForm>>

export type OptionName = keyof typeof optionForms
export type OptionHelp = Readonly<Partial<Record<OptionName, string>>>

export interface Command {
  readonly operands: string
  readonly operandsMin: number
  readonly operandsMax: number
  readonly summary: string
  readonly details?: readonly string[]
  /** Options that are described for all commands, and that this one takes. */
  readonly shared?: readonly OptionName[]
  readonly options: OptionHelp
  /** Placeholders of values that are something else here than for other commands. */
  readonly placeholders?: OptionHelp
  /** Options that have an effect in some calls only. In others they are refused. */
  readonly only?: readonly Condition[]
  /** Other names of its options, as other tools have them. */
  readonly aliases?: Readonly<Partial<Record<OptionName, OptionName>>>
  /** What to use in place of options that it does not take, whether or not other commands do. */
  readonly instead?: Readonly<Record<string, string>>
  readonly examples: readonly string[]
}

/** `of` has an effect only if all that is said here is so. */
export interface Condition {
  readonly of: readonly OptionName[]
  readonly with?: OptionName
  readonly without?: readonly OptionName[]
  readonly operands?: number
  /** What the first operand may be. */
  readonly first?: readonly string[]
  /** What to type. */
  readonly hint?: string
}

/** Of two texts, explain takes these as well. */
const OF_TEXTS = new Set<string>(['canonical', 'threshold', 'judge', 'precision', 'no-guards'])

export const commands = {
  put: {
    operands: 'KEY [VALUE]',
    operandsMin: 1,
    operandsMax: 2,
    summary: 'Store a value under a key, and report whether it is a duplicate.',
    details: ['Without VALUE, or with -, the value is read from stdin.'],
    shared: WRITES_STORE,
    only: [{ of: ['sliding'], with: 'ttl' }],
    options: {
      file: 'Read the value from a file.',
      ttl: 'The key expires after this time: 500ms, 10s, 5m, 2h, 7d.',
      ...lifecycleOfPut,
      escaped: ESCAPED,
      progress: PROGRESS,
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
    shared: READS_STORE,
    options: { escaped: ESCAPED, progress: PROGRESS },
    examples: ['prestige get photo > photo.jpg', "prestige get -e 'caf\\xe9'"],
  },
  ...keyCommands,
  ...statsCommands,
  explain: {
    operands: 'KEY | A B',
    operandsMin: 1,
    operandsMax: 2,
    summary: 'Why a key was deduplicated; or how similar two texts are.',
    details: [
      'With one operand: the content that a key refers to, how it was matched, and other keys that',
      'share the content.',
      '',
      'With two: A and B are files, one of which may be - for stdin, or texts with --text. Prints them',
      'side by side, with their similarity, whether they are duplicates at the threshold, and the',
      'bands that they share. No store is needed. --canonical is unicode by default: differences in',
      'case, width and white space are ignored.',
    ],
    shared: READS_STORE,
    options: {
      limit: 'Most other keys, or shingles and passages of each kind (default 10).',
      escaped: ESCAPED,
      text: 'A and B are texts, not files.',
      profile: PROFILE,
      threshold: 'Minimum Jaccard similarity of duplicates (default 0.8).',
      slots: SLOTS,
      bands: 'Bands of a sketch, with --rows; by default derived from the threshold.',
      rows: 'Rows of a band.',
      judge: 'What a judge says and why: a file made by tune, default, or default-semantic.',
      precision: 'With --judge: decide so that this precision is promised.',
    },
    only: [
      {
        of: ['text', 'profile', 'slots', 'bands', 'rows', 'judge', 'precision', 'no-guards'],
        operands: 2,
        hint: 'It is for comparing two texts: prestige explain A B.',
      },
      { of: ['precision'], with: 'judge' },
      {
        of: [...READS_STORE.filter((name) => !OF_TEXTS.has(name)), 'escaped'],
        operands: 1,
        hint: 'It is for a key of a store: prestige explain KEY.',
      },
    ],
    examples: [
      'prestige explain photo',
      'prestige explain draft.txt final.txt --threshold 0.7',
      'prestige explain --text "hello, world" "Hello world!" --json',
      'prestige explain a.txt b.txt --judge default --precision 0.9',
      'curl -s example.org | prestige explain page.html -',
    ],
  },
  similar: {
    operands: '[TEXT]',
    operandsMin: 0,
    operandsMax: 1,
    summary: 'List contents similar to a text, in a near or semantic store.',
    details: [
      'Without TEXT, or with -, the text is read from stdin. Of similar texts, the representative is',
      "listed. Below the store's own --threshold, results may be incomplete. What is similar and not the",
      'same, such as another amount, is left out without --vetoed.',
    ],
    shared: READS_STORE,
    options: {
      file: 'Read the text from a file.',
      limit: 'Maximum number of results (default 10).',
      threshold: "Minimum similarity of results (default: the store's own).",
      vetoed: 'Also list what is similar but not the same, with the reason.',
    },
    examples: ['prestige similar --file letter.txt', 'prestige similar "hello, world" --limit 3'],
  },
  ...changesCommands,
  ...collectCommands,
  ...lifecycleCommands,
  import: {
    operands: 'DIR',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Store every file below a directory; its path is the key.',
    details: [
      'Only regular files are imported. Symbolic links are reported and not followed. Empty',
      'directories, times and permissions are not stored. Files that cannot be read are reported, all',
      'others are imported, and the exit code is 1.',
      '',
      'The default durability is os: the store is flushed to disk once, before the command ends. With',
      '--store memory: nothing is stored; the output shows how much of a directory is duplicated.',
    ],
    shared: WRITES_STORE,
    options: {
      prefix: 'Put this before every key.',
      archive: 'Import an archive that export wrote: a file, s3://BUCKET/KEY or - for stdin.',
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
    summary: 'Write every key as a file, with the bytes that were imported.',
    details: [
      'With --archive, a store, resolver, ledger, state of dedupe or fingerprints is written as one file.',
      '',
      'All keys are checked first. If one is not a safe path, or is the directory of another, nothing',
      'is written. Each file is written under a temporary name and renamed.',
    ],
    shared: READS_STORE,
    options: {
      prefix: 'Only keys with this prefix, which is removed.',
      overwrite: 'Write into a directory that is not empty, replacing files of the same name.',
      archive: 'Write one archive for import --archive: a file, s3://BUCKET/KEY or - for stdout.',
      kind: 'With --archive: store, resolver, ledger, state or fingerprints.',
      progress: PROGRESS,
      escaped: 'The prefix is given as `keys` prints it.',
      quiet: QUIET,
    },
    only: [{ of: STORE_SETTINGS, without: ['archive'] }],
    examples: [
      'prestige export restored --prefix photos/',
      'prestige export --archive store.archive',
      'prestige export --archive s3://backups/monday.archive --store clean/state',
    ],
  },
  verify: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Read everything at a location, and report damage.',
    details: [
      'Stores, resolvers, ledgers, states of dedupe, fingerprints. Only stores are repaired or salvaged.',
    ],
    shared: WRITES_STORE,
    options: {
      repair: 'Repair what can be repaired.',
      salvage: 'Copy all intact values into a new store; list those that are lost.',
      progress: PROGRESS,
      quiet: QUIET,
    },
    only: [{ of: [...STORE_SETTINGS, 'durability'], without: ['salvage'] }],
    examples: ['prestige verify', 'prestige verify --repair', 'prestige verify --salvage ./copy'],
  },
  list: {
    operands: '[LOCATION]',
    operandsMin: 0,
    operandsMax: 1,
    summary: 'List what is stored at a location, in all namespaces.',
    details: [
      'Kind (store, resolver, ledger, state of dedupe, fingerprints), format, counts, namespace of each.',
      'Without LOCATION, that of --store. On DynamoDB the whole table is read.',
    ],
    shared: LOCATION,
    options: {},
    examples: ['prestige list ./store', 'prestige list redis://127.0.0.1:6379 --json'],
  },
  ...backupCommands,
  ...labelCommands,
  ...tuneCommands,
  ...semanticCommands,
  ...resolverCommands,
  ...corpusCommands,
  ...inspectCommands,
  ...ledgerCommands,
  ...serverCommands,
  ...dynamoCommands,
} as const satisfies Readonly<Record<string, Command>>

export type CommandName = keyof typeof commands

export function isCommandName(name: string): name is CommandName {
  return Object.hasOwn(commands, name)
}

export function isOptionName(name: string): name is OptionName {
  return Object.hasOwn(optionForms, name)
}
