/** `dynamodb create-tables LOCATION` makes the table of a location, or says what would be made. */

import { createTables, tablesTemplate } from '../../backends/dynamodb/index.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { print, printJson } from '../print/output.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [what, location] = invocation.operands
  if (what !== 'create-tables' || location === undefined) {
    throw usageFailure('Usage: prestige dynamodb create-tables dynamodb://REGION/TABLE-PREFIX')
  }
  if (invocation.flag('dry-run')) {
    await print(`${JSON.stringify(tablesTemplate(location), undefined, 2)}\n`)
    return 0
  }
  const made = await createTables(location, { shards: invocation.wholeNumber('shards') })
  if (invocation.flag('json')) await printJson(made)
  else if (!invocation.flag('quiet')) {
    const { table, created, shards } = made
    await print(`${created ? 'created' : 'exists already'}: table ${table}, ${shards} shards\n`)
  }
  return 0
}
