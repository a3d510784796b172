/** Commands that delete, find and count keys of a store. Only data. */

import type { Command } from './index.ts'
import { ESCAPED, QUIET, READS_STORE, WRITES_STORE } from './shared.ts'

export const keyCommands = {
  del: {
    operands: '[KEY...]',
    operandsMin: 0,
    operandsMax: Infinity,
    summary: 'Delete keys, or all keys with a prefix.',
    shared: WRITES_STORE,
    options: {
      prefix: 'Delete all keys with this prefix, and print how many.',
      'dry-run': 'With --prefix: delete nothing, only count.',
      escaped: ESCAPED,
      quiet: QUIET,
    },
    only: [
      { of: ['prefix'], operands: 0, hint: 'Give KEY..., or --prefix P.' },
      { of: ['dry-run'], with: 'prefix' },
    ],
    examples: ['prestige del greeting photo', 'prestige del --prefix photos/ --dry-run'],
  },
  clear: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Delete all keys of a store.',
    details: ['Values go with their last key; with --gc manual, at the next collect.'],
    shared: WRITES_STORE,
    options: {
      yes: 'Confirm that all keys are to be deleted.',
      'dry-run': 'Delete nothing, only count.',
      quiet: QUIET,
    },
    examples: ['prestige clear --dry-run', 'prestige clear --yes'],
  },
  has: {
    operands: 'KEY',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Print whether a key exists; the exit code is 0 or 3.',
    shared: READS_STORE,
    options: { escaped: ESCAPED, quiet: 'Print nothing; see the exit code.' },
    examples: ['prestige has -q photo && echo there'],
  },
  keys: {
    operands: '[add|list|remove NAME]',
    operandsMin: 0,
    operandsMax: 2,
    summary: 'List keys in byte order, one per line; or manage API keys.',
    details: [
      'add NAME, list and remove NAME are about API keys, which callers of prestige serve need; --keys',
      'names the file that has them. A new API key is printed once, and kept as a hash alone. Where several',
      'keys have the name, remove takes the id that list shows.',
      '',
      'Control characters and bytes that are not UTF-8 are printed as \\xHH, a backslash as \\\\;',
      'other commands read that with -e. With --json a key that is not UTF-8 is {"base64": …}.',
    ],
    shared: READS_STORE,
    options: {
      prefix: 'Only keys with this prefix.',
      after: 'Only keys after this one.',
      limit: 'Maximum number of keys.',
      print0: 'Print the bytes of each key, followed by a NUL.',
      escaped: ESCAPED,
      keys: 'With add, list and remove: the file of API keys.',
      scope: 'With add: read (default), write or admin.',
      namespaces: 'With add: the only namespaces it may use; "" is the unnamed one.',
      'requests-per-second': 'With add: the most requests, on average.',
      'bytes-per-second': 'With add: the most bytes received and sent, on average.',
    },
    only: [
      { of: ['keys'], first: ['add', 'list', 'remove'] },
      {
        of: ['scope', 'namespaces', 'requests-per-second', 'bytes-per-second'],
        first: ['add'],
      },
      { of: [...READS_STORE, 'prefix', 'after', 'limit', 'print0', 'escaped'], operands: 0 },
    ],
    examples: [
      'prestige keys add indexer --scope write --keys keys.json',
      'prestige keys --prefix photos/ --limit 100',
      'prestige keys | while read -r key; do prestige explain -e -- "$key"; done',
    ],
  },
  count: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Print the number of keys.',
    shared: READS_STORE,
    options: { prefix: 'Only keys with this prefix.', escaped: ESCAPED },
    examples: ['prestige count --prefix photos/'],
  },
} as const satisfies Readonly<Record<string, Command>>
