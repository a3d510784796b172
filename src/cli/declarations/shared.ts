/** Options that several commands share, and which command takes which. Only data. */

import type { Command, OptionHelp } from './index.ts'

/** Every command takes these. */
export const globalOptions = {
  json: 'Print results and errors as JSON.',
  help: 'Help for a command.',
  version: 'The version.',
} as const satisfies OptionHelp

/** A command takes those of them that have an effect on it; it refuses the others. */
export const storeOptions = {
  store: 'A directory, redis://… or dynamodb://…; or set PRESTIGE_STORE.',
  namespace: 'Part of the store to use; namespaces are independent of each other.',
  canonical: 'Form: none, whitespace, ascii-case, unicode, unaccented, json.',
  dedup: 'Find duplicates: exact, near (similar texts), semantic, hybrid.',
  threshold: 'With near: minimum Jaccard similarity, above 0 to 1 (new store: 0.8).',
  precision: 'With near: a judge decides, and this share of what it links is right.',
  judge: 'With --precision: a judge made by tune, in place of the built-in one.',
  'no-guards': 'With near: link texts even if numbers, names or denials differ.',
  'no-deltas': 'With near: keep whole what is linked, not as what differs.',
  model: 'With semantic: one of `prestige models`, or a directory.',
  'semantic-threshold': 'With semantic: minimum cosine, above 0 to 1; see tune --semantic.',
  fidelity: 'own: every key its own bytes. representative: the first bytes.',
  'on-unreadable': 'Values --canonical cannot parse: error (default), bytes (as they are).',
  gc: 'Remove unreferenced content: immediate (default), manual (by collect).',
  compression: 'Compress values of 4 KiB and more: fast (default), small, none.',
  'chunk-from': 'Cut longer values into chunks (new store: 65536), or none.',
  'chunk-size': 'Bytes of a chunk, a power of two (new store: 8192).',
  durability: 'Writes survive: fsync (default) a power failure, os a process crash.',
} as const satisfies OptionHelp

export const LOCATION = ['store', 'namespace'] as const
/** Settings are compared with those of the store, which must be the same. */
export const STORE_SETTINGS = [
  'canonical',
  'dedup',
  'threshold',
  'precision',
  'judge',
  'no-guards',
  'no-deltas',
  'model',
  'semantic-threshold',
  'fidelity',
  'on-unreadable',
  'gc',
  'compression',
  'chunk-from',
  'chunk-size',
] as const
export const READS_STORE = [...LOCATION, ...STORE_SETTINGS] as const
export const WRITES_STORE = [...READS_STORE, 'durability'] as const
export const USES_RESOLVER = [...LOCATION, 'canonical', 'durability'] as const

/** For commands that work on the state of a corpus job. */
export const STATE_INSTEAD = {
  store: 'A state is given with -o DIR, or --state LOCATION.',
} as const satisfies Command['instead']

export const ESCAPED = 'Keys are given as `keys` prints them: \\xHH is a byte, \\\\ a backslash.'
export const OUT = 'The directory of the outputs of dedupe; its state is DIR/state.'
export const QUIET = 'Print errors only.'
export const PROGRESS = 'Show progress even when stderr is not a terminal.'
