/** A DynamoDB that is gone is reported within `timeoutMs`, and the store can be closed. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { loadSdk, newClient } from '../../src/backends/dynamodb/client.ts'
import { openDynamo } from '../../src/backends/dynamodb/index.ts'
import { readLocation } from '../../src/backends/dynamodb/location.ts'
import { openStore } from '../../src/store/open.ts'
import { storeSpaces } from '../../src/store/rows.ts'
import { dynamoIsHere, type DynamoServer, startDynamo } from '../servers/dynamodb.ts'
import { newTable } from './kit.ts'

describe.skipIf(!dynamoIsHere())('an outage', () => {
  let server: DynamoServer
  beforeAll(async () => {
    server = await startDynamo()
  })
  afterAll(() => server.stop())

  it.each([
    ['never answers', () => new Promise<never>(() => {})],
    [
      'cannot be reached, time and again',
      () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' })),
    ],
  ])('of a server that %s: put, get and keys fail by name, close finishes', async (_, outage) => {
    const location = await newTable(server.location())
    const own = newClient(await loadSdk(), readLocation(location))
    let isOut = false
    const client = {
      send: (command: unknown) => (isOut ? outage() : own.send(command)),
      destroy: () => own.destroy(),
    }
    const options = { spaces: storeSpaces, client, timeoutMs: 200 }
    const store = await openStore(await openDynamo(location, options))
    await store.put('a', 'value')
    isOut = true
    const gone = { code: 'BACKEND_UNAVAILABLE', retryable: true }
    await expect(store.put('b', 'other')).rejects.toMatchObject(gone)
    await expect(store.get('a')).rejects.toMatchObject(gone)
    await expect(store.keys()[Symbol.asyncIterator]().next()).rejects.toMatchObject(gone)
    await store.close()
  })

  it.each(['0', 'soon', '700000'])('is not waited for with timeoutMs=%s', (timeoutMs) => {
    expect(() => readLocation(`dynamodb://eu-west-1/x?timeoutMs=${timeoutMs}`)).toThrow('timeoutMs')
  })
})
