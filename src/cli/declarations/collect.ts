/** The commands that free space, and their options. Only data. */

import type { Command, OptionForm } from './index.ts'
import { QUIET, WRITES_STORE } from './shared.ts'

export const collectOptionForms = {
  compact: { type: 'boolean' },
} as const satisfies Readonly<Record<string, OptionForm>>

export const collectCommands = {
  collect: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Remove expired keys and unreferenced contents.',
    shared: WRITES_STORE,
    options: { compact: 'Then compact the file, as `compact` does.', quiet: QUIET },
    examples: ['prestige collect', 'prestige collect --compact'],
  },
  compact: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Give free space of the file back to the file system.',
    details: [
      'Writes the file of a directory again without its free pages; this needs room for a second',
      'file meanwhile. Writers wait until it has ended. It is refused while another process has the',
      'directory open. Other engines have no file of their own, and nothing is done.',
    ],
    shared: WRITES_STORE,
    options: { quiet: QUIET },
    examples: ['prestige compact'],
  },
} as const satisfies Readonly<Record<string, Command>>
