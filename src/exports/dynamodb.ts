/** The subpath `dynamodb`: an engine that any number of machines can share. */

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
