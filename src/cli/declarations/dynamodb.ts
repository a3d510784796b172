/** The command about tables of DynamoDB, and its options. Only data. */

import type { Command, OptionForm } from './index.ts'
import { QUIET } from './shared.ts'

export const dynamoOptionForms = {
  'dry-run': { type: 'boolean', short: 'n' },
  shards: { type: 'string', value: 'N' },
} as const satisfies Readonly<Record<string, OptionForm>>

export const dynamoCommands = {
  dynamodb: {
    operands: 'create-tables URL',
    operandsMin: 1,
    operandsMax: 2,
    summary: 'Create the table of a store on DynamoDB.',
    details: [
      'URL is the location of a store: dynamodb://REGION/TABLE-PREFIX. Waits until the table is ready;',
      'an existing table is not changed. Credentials come from the environment, as for other AWS',
      'tools: AWS_ACCESS_KEY_ID, AWS_PROFILE, a role.',
    ],
    options: {
      'dry-run': 'Create nothing; print a CloudFormation template.',
      shards: 'Partitions for listings, 1 to 64 (default 16). Cannot be changed later.',
      quiet: QUIET,
    },
    only: [{ of: ['shards', 'quiet'], without: ['dry-run'] }],
    examples: [
      'prestige dynamodb create-tables dynamodb://eu-central-1/corpus',
      'prestige dynamodb create-tables dynamodb://eu-central-1/corpus --dry-run > tables.json',
    ],
  },
} as const satisfies Readonly<Record<string, Command>>
