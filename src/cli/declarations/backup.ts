/** Commands about backups of a store, and their options. Only data. */

import type { Command, OptionForm } from './index.ts'
import { LOCATION, PROGRESS, QUIET } from './shared.ts'

export const backupOptionForms = {
  backup: { type: 'string', value: 'ID' },
  'read-data': { type: 'boolean' },
  'keep-last': { type: 'string', value: 'N' },
} as const satisfies Readonly<Record<string, OptionForm>>

export const backupCommands = {
  backup: {
    operands: 'TARGET',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Back up a store while others write to it.',
    details: [
      'TARGET is a directory or s3://BUCKET/PREFIX for backups alone. What earlier backups there have is',
      'not written again. Of a directory, a backup is the state of one moment; of Redis and DynamoDB,',
      'each key is as it was at some moment of the backup.',
    ],
    shared: LOCATION,
    options: { progress: PROGRESS, quiet: QUIET },
    examples: ['prestige backup /backups/store', 'prestige backup s3://backups/store --json'],
  },
  backups: {
    operands: 'TARGET',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'List backups, the newest last.',
    options: {},
    examples: ['prestige backups /backups/store'],
  },
  restore: {
    operands: 'TARGET',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Restore a backup into a store, with its settings.',
    details: [
      'A restore that was interrupted leaves a store that cannot be opened; restore the same backup again',
      'to complete it.',
    ],
    shared: [...LOCATION, 'durability'],
    options: {
      backup: 'Id of the backup, or the beginning of it (default: the newest).',
      overwrite: 'Restore into a store that has keys; those of the backup are replaced.',
      progress: PROGRESS,
      quiet: QUIET,
    },
    examples: [
      'prestige restore /backups/store --store ./restored',
      'prestige restore s3://backups/store --backup 20261118 --store redis://127.0.0.1:6379',
    ],
  },
  'check-backup': {
    operands: 'TARGET',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Check that backups can be restored; the exit code is 0 or 4.',
    options: {
      backup: 'Only this backup: its id, or the beginning of it.',
      'read-data': 'Read everything, and compare it with its SHA-256.',
      progress: PROGRESS,
      quiet: QUIET,
    },
    examples: ['prestige check-backup /backups/store --read-data'],
  },
  'forget-backups': {
    operands: 'TARGET',
    operandsMin: 1,
    operandsMax: 1,
    summary: 'Remove all but the newest backups.',
    details: [
      'Data that no backup needs any more is removed once it is a day old: a backup that is running may',
      'be using it.',
    ],
    options: { 'keep-last': 'How many backups stay.', quiet: QUIET },
    examples: ['prestige forget-backups /backups/store --keep-last 30'],
  },
} as const satisfies Readonly<Record<string, Command>>
