/** The conformance suite on a real server. */

import { afterAll, beforeAll, describe, it } from 'vitest'

import { describeBackend } from '../../src/backends/conformance/index.ts'
import { openDynamo } from '../../src/backends/dynamodb/index.ts'
import { dynamoIsHere, type DynamoServer, startDynamo } from '../servers/dynamodb.ts'
import { subject } from '../subjects.ts'
import { newTable } from './kit.ts'

describe.skipIf(!dynamoIsHere())('on a server', () => {
  let server: DynamoServer
  beforeAll(async () => {
    server = await startDynamo()
  })
  afterAll(() => server.stop())

  const newPlace = () => newTable(server.location())
  describeBackend({ describe, it }, subject('dynamodb', newPlace, openDynamo))
})
