/** The conformance suite on a real server. */

import { afterAll, beforeAll, describe, it } from 'vitest'

import { describeBackend } from '../../src/backends/conformance.ts'
import { createTables, openDynamo } from '../../src/backends/dynamodb/index.ts'
import { dynamoIsHere, type DynamoServer, startDynamo } from '../servers/dynamodb.ts'
import { subject } from '../subjects.ts'

describe.skipIf(!dynamoIsHere())('on a server', () => {
  let server: DynamoServer
  beforeAll(async () => {
    server = await startDynamo()
  })
  afterAll(() => server.stop())

  const newPlace = (shards: number) => async () => {
    const location = server.location()
    await createTables(location, { shards })
    return location
  }
  describeBackend({ describe, it }, subject('dynamodb', newPlace(16), openDynamo))
  describeBackend({ describe, it }, subject('dynamodb, one shard', newPlace(1), openDynamo))
})
