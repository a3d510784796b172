/** The commands that print numbers of a store. Only data. */

import type { Command, OptionForm } from './index.ts'
import { READS_STORE } from './shared.ts'

export const statsOptionForms = {
  watch: { type: 'boolean', value: 'SECONDS', isValueOptional: true },
} as const satisfies Readonly<Record<string, OptionForm>>

export const statsCommands = {
  stats: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Print numbers of keys, contents and bytes, and bytes saved.',
    details: ['With --watch and --json: one object a line.'],
    shared: READS_STORE,
    options: { watch: 'One line with the current numbers, every 2 seconds, until stopped.' },
    examples: ['prestige stats', 'prestige stats --json', 'prestige stats --watch=10'],
  },
  health: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Print totals, what waits for collect, and ages of contents.',
    details: [
      'For monitors: costs the same however large the store is, and counts up to 1000 of what waits.',
      'The exit code is 0 if the store could be read.',
    ],
    shared: READS_STORE,
    options: {},
    examples: ['prestige health', 'prestige health --json'],
  },
} as const satisfies Readonly<Record<string, Command>>
