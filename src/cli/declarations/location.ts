/** The command about what is kept at a location. Only data. */

import type { Command } from './index.ts'

export const locationCommands = {
  list: {
    operands: '[LOCATION]',
    operandsMin: 0,
    operandsMax: 1,
    summary: 'List what is kept at a location, in all namespaces.',
    details: [
      'Kind (store, resolver, ledger, or state of dedupe), format, counts and namespace of each.',
      'LOCATION is that of --store if it is not given. On DynamoDB the whole table is read.',
    ],
    options: {},
    examples: ['prestige list ./store', 'prestige list redis://127.0.0.1:6379 --json'],
  },
} as const satisfies Readonly<Record<string, Command>>
