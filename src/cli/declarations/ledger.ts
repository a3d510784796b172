/** The command that reads a ledger. Only data. */

import type { Command } from './index.ts'
import { LOCATION } from './shared.ts'

export const ledgerCommands = {
  ledger: {
    operands: 'get ID | list | stats',
    operandsMin: 1,
    operandsMax: 2,
    summary: 'Show which documents were processed, by which run, and how.',
    details: [
      'get: the ledger lines of all documents with this id; the exit code is 3 if there is none.',
      'list: the ledger lines of a source or of a run, in a fixed order.',
      'stats: the number of ledger lines of each status, and all runs.',
      'The location is that of a ledger, or the state of dedupe.',
    ],
    shared: LOCATION,
    options: {
      source: 'Only documents of this source.',
      run: 'With list and stats: only this run.',
      after: 'With list: only lines after the one of this document.',
      limit: 'With list: maximum number of lines.',
      escaped: 'Ids are given as they are printed: \\xHH is a byte, \\\\ a backslash.',
    },
    only: [
      { of: ['run'], first: ['list', 'stats'] },
      { of: ['after', 'limit'], first: ['list'] },
    ],
    examples: [
      'prestige ledger get page-17',
      'prestige ledger list --run nightly --json',
      'prestige ledger stats --source web',
    ],
  },
} as const satisfies Readonly<Record<string, Command>>
