/** The commands about the life of keys, and their options. Only data. */

import type { Command, OptionForm, OptionHelp } from './index.ts'
import { QUIET, WRITES_STORE } from './shared.ts'

export const lifecycleOptionForms = {
  'idle-for': { type: 'string', value: 'TIME' },
  'to-bytes': { type: 'string', value: 'SIZE' },
  'to-keys': { type: 'string', value: 'N' },
  'max-bytes': { type: 'string', value: 'SIZE' },
  'max-keys': { type: 'string', value: 'N' },
  sliding: { type: 'boolean' },
  'if-absent': { type: 'boolean' },
  'if-match': { type: 'string', value: 'DIGEST' },
} as const satisfies Readonly<Record<string, OptionForm>>

const ESCAPED = 'Keys are given as `keys` prints them: \\xHH is a byte, \\\\ a backslash.'
const DRY_RUN = 'Delete nothing; list keys that would go and the bytes each frees.'

/** What `put` takes. */
export const lifecycleOfPut = {
  sliding: 'With --ttl: after its last read, not after it was put.',
  'if-absent': 'Only if the key is not there.',
  'if-match': 'Only if the value of the key has this SHA-256, in hex.',
  'max-bytes': 'Then evict the least recently used keys above this size: 500MiB, 2GiB.',
  'max-keys': 'Then evict the least recently used keys above this number.',
} as const satisfies OptionHelp

export const lifecycleCommands = {
  prune: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Delete keys that were put, or last used, too long ago.',
    details: [
      'Pinned keys stay. A key frees no bytes as long as another one has the same value.',
      '--idle-for needs a store that records uses: one that was opened with --max-bytes or --max-keys.',
    ],
    shared: WRITES_STORE,
    options: {
      'older-than': 'Only keys put before: an age (90d, 12h) or a date (2026-01-31).',
      'idle-for': 'Only keys not used for so long: 12h, 30d.',
      prefix: 'Only keys with this prefix.',
      'dry-run': DRY_RUN,
      escaped: 'The prefix is given as `keys` prints it.',
      quiet: QUIET,
    },
    examples: [
      'prestige prune --older-than 90d --dry-run',
      'prestige prune --idle-for 7d --prefix cache/',
    ],
  },
  evict: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Delete least recently used keys until a store is small enough.',
    details: [
      'Pinned keys stay. A store that has recorded no uses begins to, and takes the time at which a key',
      'was put for its last use.',
    ],
    shared: WRITES_STORE,
    options: {
      'to-bytes': 'Until contents take at most so much: 500MiB, 2GiB, or a number of bytes.',
      'to-keys': 'Until there are at most so many keys.',
      'dry-run': DRY_RUN,
      quiet: QUIET,
    },
    examples: ['prestige evict --to-bytes 2GiB', 'prestige evict --to-keys 100000 --dry-run'],
  },
  pin: {
    operands: 'KEY...',
    operandsMin: 1,
    operandsMax: Infinity,
    summary: 'Exempt keys from eviction and pruning.',
    details: ['A pin survives overwriting, and goes when its key is deleted or expires.'],
    shared: WRITES_STORE,
    options: {
      'dry-run': 'Change nothing; only print which keys exist.',
      escaped: ESCAPED,
      quiet: QUIET,
    },
    examples: ['prestige pin config logo'],
  },
  unpin: {
    operands: 'KEY...',
    operandsMin: 1,
    operandsMax: Infinity,
    summary: 'Let pinned keys be evicted and pruned again.',
    shared: WRITES_STORE,
    options: {
      'dry-run': 'Change nothing; only print which keys exist.',
      escaped: ESCAPED,
      quiet: QUIET,
    },
    examples: ['prestige unpin logo'],
  },
} as const satisfies Readonly<Record<string, Command>>
