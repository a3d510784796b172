/** The command that lists changes of keys, and its options. Only data. */

import type { Command, OptionForm } from './index.ts'
import { WRITES_STORE } from './shared.ts'

export const changesOptionForms = {
  follow: { type: 'boolean', short: 'f' },
  'kept-for': { type: 'string', value: 'TIME' },
  'max-changes': { type: 'string', value: 'N' },
} as const satisfies Readonly<Record<string, OptionForm>>

export const changesCommands = {
  changes: {
    operands: '[on|off]',
    operandsMin: 0,
    operandsMax: 1,
    summary: 'List changes of keys in commit order; or turn that on or off.',
    details: [
      'One line per change: its cursor, when, what (put, put again for known values, link, delete,',
      'evict, expire), the SHA-256 of the value, and the key. The last cursor is printed to stderr.',
      '',
      'on: record changes from now on. A store that exists must not be open anywhere else, and must',
      'be a directory. off: remove what was recorded, and record nothing.',
    ],
    shared: WRITES_STORE,
    options: {
      after: 'Only changes after this cursor. Fails if they are not kept any more.',
      follow: 'Wait for further changes until interrupted.',
      prefix: 'Only changes of keys with this prefix.',
      limit: 'Maximum number of changes.',
      escaped: 'The prefix is given as `keys` prints it.',
      'kept-for': 'With on: how long changes are kept (default 7d).',
      'max-changes': 'With on: how many changes are kept (default 1000000).',
    },
    placeholders: { after: 'CURSOR' },
    only: [
      { of: ['kept-for', 'max-changes'], first: ['on'] },
      { of: ['after', 'follow', 'prefix', 'limit', 'escaped'], operands: 0 },
    ],
    examples: [
      'prestige changes on --kept-for 30d',
      'prestige changes --json --follow',
      'prestige changes --after 1204-6f1e9a0c55d2b7e3',
    ],
  },
} as const satisfies Readonly<Record<string, Command>>
