/** The commands of meanings, and their options. Only data. */

import type { Command } from './index.ts'

export const semanticCommands = {
  models: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'List models of meaning, and whether they are installed and sound.',
    details: [
      'Models come with npm packages, and nothing is ever downloaded. The digests of those that are',
      'installed are checked: a file that is not what its authors published is never used.',
    ],
    options: { quiet: 'Say nothing; the exit code is 0 if a model can be used, else 3.' },
    examples: ['prestige models', 'prestige models --json'],
  },
  reembed: {
    operands: '',
    operandsMin: 0,
    operandsMax: 0,
    summary: 'Give a store that compares meanings another model.',
    details: [
      'Every text gets vectors of the new model, and all are compared anew; keys and bytes stay as',
      'they are. It may be stopped, and goes on where it was. Nobody else should use the store.',
      'Another model has other similarities: find its threshold with tune --semantic --model NAME.',
    ],
    options: {
      progress: 'Show progress even when stderr is not a terminal.',
      quiet: 'Say nothing when all is well.',
    },
    examples: ['prestige reembed --model gte-small --semantic-threshold 0.95', 'prestige reembed'],
  },
} as const satisfies Readonly<Record<string, Command>>
