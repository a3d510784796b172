/** The subpath `dynamodb`: an engine that any number of machines can share, and the spaces it is opened with. */

export {
  type CreatedTables,
  createTables,
  type CreateTablesOptions,
  DynamoBackend,
  type DynamoClient,
  type DynamoOptions,
  openDynamo,
  tablesTemplate,
} from '../backends/dynamodb/index.ts'
export { dedupeSpaces } from '../dedupe/index.ts'
export { ledgerSpaces } from '../ledger/index.ts'
export { fingerprintSpaces } from '../fingerprint-store/index.ts'
export { resolverSpaces } from '../resolve/index.ts'
export { storeSpaces } from '../store/index.ts'
