/** The command about tables of DynamoDB, and its options. Only data. */

import type { Command, OptionForm } from './index.ts'

export const dynamoOptionForms = {
  'dry-run': { type: 'boolean' },
  shards: { type: 'string', value: 'N' },
} as const satisfies Readonly<Record<string, OptionForm>>

export const dynamoCommands = {
  dynamodb: {
    operands: 'create-tables URL',
    operandsMin: 1,
    operandsMax: 2,
    summary: 'Make the table of a store on DynamoDB.',
    details: [
      'URL is the location of a store: dynamodb://REGION/TABLE-PREFIX. It waits until the table can be',
      'used; what is there already is left as it is. Credentials come',
      'from the environment, as for everything of AWS: AWS_ACCESS_KEY_ID, AWS_PROFILE, a role.',
    ],
    options: {
      'dry-run': 'Make nothing; print it as a CloudFormation template.',
      shards: 'Partitions that listings are spread over, 1 to 64 (16); for good.',
      quiet: 'Say nothing when all is well.',
    },
    examples: [
      'prestige dynamodb create-tables dynamodb://eu-central-1/corpus',
      'prestige dynamodb create-tables dynamodb://eu-central-1/corpus --dry-run > tables.json',
    ],
  },
} as const satisfies Readonly<Record<string, Command>>
