/** The commands about embedding models, and their options. Only data. */

import type { Command } from './index.ts'
import { LOCATION, PROGRESS, QUIET } from './shared.ts'

export const semanticCommands = {
  models: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'List embedding models, and whether they are installed and intact.',
    details: [
      'Models are npm packages; prestige downloads nothing. Digests of installed files are checked, and',
      'a file that differs from the published one is not used.',
    ],
    options: { quiet: 'Print nothing; the exit code is 0 if a model can be used, else 3.' },
    examples: ['prestige models', 'prestige models --json'],
  },
  reembed: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Change the embedding model of a semantic store.',
    details: [
      'Every text gets vectors of the new model, and all are compared again; keys and values do not',
      'change. If it is stopped, the same command resumes it. No other process should use the store.',
      'Similarities differ between models: find a threshold with tune --semantic --model NAME.',
    ],
    shared: [...LOCATION, 'model', 'semantic-threshold'],
    options: { progress: PROGRESS, quiet: QUIET },
    examples: ['prestige reembed --model gte-small --semantic-threshold 0.95', 'prestige reembed'],
  },
} as const satisfies Readonly<Record<string, Command>>
