/** The command that reads a ledger. Only data. */

import type { Command, OptionForm } from './index.ts'
import { LOCATION } from './shared.ts'

const statuses = ['accepted', 'rejected', 'duplicate', 'superseded', 'failed', 'claimed'] as const

export const ledgerOptionForms = {
  since: { type: 'string', value: 'TIME' },
  until: { type: 'string', value: 'TIME' },
  status: { type: 'string', value: 'STATUS', choices: statuses },
  'older-than': { type: 'string', value: 'TIME' },
} as const satisfies Readonly<Record<string, OptionForm>>

export const ledgerCommands = {
  ledger: {
    operands: 'get ID|list|stats|prune',
    operandsMin: 1,
    operandsMax: 2,
    summary: 'Show which documents were processed, by which run, and how.',
    details: [
      'get: the ledger lines of all documents with this id; the exit code is 3 if there is none.',
      'list: the ledger lines of a source, of a run, or all, in a fixed order that is not that of time.',
      'Of the state of dedupe, list --status rejected shows input that was no document, and why.',
      'prune: remove lines from before a time; of the state of dedupe, documents with their',
      'fingerprints, but for those that newer documents were dropped, linked or cut for. Such a',
      'document is new when it comes again. Files that dedupe has written are not changed.',
      'stats: the number of ledger lines of each status, and all runs.',
      'The location is that of a ledger, or the state of dedupe.',
    ],
    shared: LOCATION,
    options: {
      source: 'Only documents of this source.',
      run: 'With list and stats: only this run.',
      after: 'With list: only lines after the one of this document.',
      limit: 'With list: maximum number of lines.',
      since: 'With list: only from then on: 2026-01-31, 2026-01-31T12:00:00Z, 90d (ago).',
      until: 'With list: only before this time.',
      status: 'With list: accepted, rejected, duplicate, superseded, failed or claimed.',
      'older-than': 'With prune: what is older than 90d, say, or from before a date.',
      'dry-run': 'With prune: remove nothing, only count.',
      cascade: 'With prune, of a state: also newer documents that rely on older ones.',
      escaped: 'Ids are given as they are printed: \\xHH is a byte, \\\\ a backslash.',
    },
    only: [
      { of: ['run'], first: ['list', 'stats'] },
      { of: ['after', 'limit', 'since', 'until', 'status'], first: ['list'] },
      { of: ['older-than', 'dry-run', 'cascade'], first: ['prune'] },
    ],
    examples: [
      'prestige ledger get page-17',
      'prestige ledger list --run nightly --json',
      'prestige ledger list --since 2026-01-01 --until 2026-02-01',
      'prestige ledger stats --source web',
      'prestige ledger prune --older-than 90d --dry-run',
    ],
  },
} as const satisfies Readonly<Record<string, Command>>
