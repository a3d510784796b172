/**
 * What do a put and a resolved text cost on DynamoDB, in requests and in CPU of this process, beside requests written
 * by hand for the same end over the same client?
 *
 * The hand-written put sends its transaction at once, and a second one if the content turns out to be known; it keeps
 * an entry, a digest, a reference and the content, and counts nothing. The hand-written resolving reads its row and
 * its 14 buckets in one request and writes them with the row and the text in another. Both send one request a step,
 * 64 documents in flight. The server runs in a process of its own, whose time is not counted.
 */

import { createHash } from 'node:crypto'

import {
  BatchGetItemCommand,
  CreateTableCommand,
  DynamoDBClient,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb'
import { openResolver, openStore } from 'prestige-dedup'
import { createTables, type DynamoClient } from 'prestige-dedup/dynamodb'

import { dynamoIsHere, type DynamoServer, startDynamo } from '../test/servers/dynamodb.ts'
import type { Bench, Place, Sample } from './harness/bench.ts'
import { hashedKeys, randomNumbers, type Repeats, scaled, values } from './harness/data.ts'
import { inFlight, measure } from './harness/measure.ts'

const FLIGHT = 64
const BANDS = 14
const WARM = 300
const TABLE = 'by-hand'

async function withServer(work: (server: DynamoServer) => Promise<Sample>): Promise<Sample> {
  const server = await startDynamo()
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

/** Every request of this process, whoever sends it. */
function countRequests(): () => number {
  let count = 0
  // oxlint-disable-next-line typescript/unbound-method -- called on the client below
  const { send } = DynamoDBClient.prototype
  DynamoDBClient.prototype.send = function (this: DynamoClient, ...args: unknown[]) {
    count++
    return Reflect.apply(send, this, args)
  } as typeof send
  return () => count
}

async function counted(
  place: Place,
  ops: number,
  warm: () => Promise<void>,
  work: () => Promise<void>,
): Promise<Sample> {
  const requests = countRequests()
  await warm()
  const before = requests()
  const sample = await measure({ ops, place }, work)
  return { ...sample, requests: requests() - before }
}

interface Puts {
  readonly keys: Buffer[]
  readonly values: Buffer[]
}

function putsOf(count: number, repeats: Repeats, family: string, seed: number): Puts {
  return { keys: hashedKeys(count, family), values: values(count, 1024, repeats, seed) }
}

const putOurs = (repeats: Repeats) => (place: Place) =>
  withServer(async (server) => {
    const location = server.location()
    await createTables(location)
    const store = await openStore(location)
    const all = ({ keys, values }: Puts) =>
      inFlight(FLIGHT, keys.length, (at) => store.put(keys[at]!, values[at]!))
    const count = scaled(4000, place.scale)
    const load = putsOf(count, repeats, 'user', 1)
    const sample = await counted(
      place,
      count,
      () => all(putsOf(WARM, repeats, 'warm', 2)),
      () => all(load),
    )
    await store.close()
    return sample
  })

async function openByHand({ port }: DynamoServer): Promise<DynamoDBClient> {
  const client = new DynamoDBClient({
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${port}`,
    requestHandler: { httpAgent: { keepAlive: true, maxSockets: FLIGHT } },
  })
  await client.send(
    new CreateTableCommand({
      TableName: TABLE,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'k', AttributeType: 'B' }],
      KeySchema: [{ AttributeName: 'k', KeyType: 'HASH' }],
    }),
  )
  return client
}

const keyOf = (space: string, key: Buffer) => ({
  k: { B: Buffer.concat([Buffer.from(space), key]) },
})

/** Tries it as new; if its digest is there, links to what it names. */
async function putByHand(client: DynamoDBClient, key: Buffer, value: Buffer): Promise<void> {
  const digest = createHash('sha256').update(value).digest()
  const put = (Item: object, rest: object = {}) => ({ Put: { TableName: TABLE, Item, ...rest } })
  const rows = [
    put({ ...keyOf('e', key), d: { B: digest } }),
    put(keyOf('r', Buffer.concat([digest, key]))),
  ]
  const isNew = {
    ConditionExpression: 'attribute_not_exists(k)',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
  const TransactItems = [
    ...rows,
    put(keyOf('d', digest), isNew),
    put({ ...keyOf('c', digest), v: { B: value } }),
  ]
  try {
    await client.send(new TransactWriteItemsCommand({ TransactItems } as never))
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'TransactionCanceledException') throw error
    const ConditionExpression = 'attribute_exists(k)'
    const check = { TableName: TABLE, Key: keyOf('d', digest), ConditionExpression }
    const linked = [...rows, { ConditionCheck: check }]
    await client.send(new TransactWriteItemsCommand({ TransactItems: linked } as never))
  }
}

const putReference = (repeats: Repeats) => (place: Place) =>
  withServer(async (server) => {
    const client = await openByHand(server)
    const all = ({ keys, values }: Puts) =>
      inFlight(FLIGHT, keys.length, (at) => putByHand(client, keys[at]!, values[at]!))
    const count = scaled(4000, place.scale)
    const load = putsOf(count, repeats, 'user', 1)
    const sample = await counted(
      place,
      count,
      () => all(putsOf(WARM, repeats, 'warm', 2)),
      () => all(load),
    )
    client.destroy()
    return sample
  })

function texts(count: number, seed: number): string[] {
  const pick = randomNumbers(seed)
  const word = () => Array.from({ length: 7 }, () => String.fromCharCode(97 + pick(26))).join('')
  return Array.from({ length: count }, () => Array.from({ length: 40 }, word).join(' '))
}

async function resolveOurs(place: Place): Promise<Sample> {
  return withServer(async (server) => {
    const location = server.location()
    await createTables(location)
    const resolver = await openResolver(location, { bands: BANDS, rows: 9, threshold: 0.8 })
    const all = (asked: readonly string[]) =>
      inFlight(FLIGHT, asked.length, (at) => resolver.resolve('texts', asked[at]!))
    const count = scaled(2000, place.scale)
    const asked = texts(count, 1)
    const sample = await counted(
      place,
      count,
      () => all(texts(WARM, 2)),
      () => all(asked),
    )
    await resolver.close()
    return sample
  })
}

/** The buckets are made up: what counts is how many there are. */
async function resolveByHand(client: DynamoDBClient, text: string): Promise<void> {
  const digest = createHash('sha256').update(text).digest()
  const id = digest.subarray(0, 16)
  const buckets = Array.from({ length: BANDS }, (_, band) =>
    keyOf('b', Buffer.concat([Buffer.of(band), digest.subarray(band, band + 8)])),
  )
  const Keys = [keyOf('r', id), ...buckets]
  const RequestItems = { [TABLE]: { Keys, ConsistentRead: true } }
  const { Responses } = await client.send(new BatchGetItemCommand({ RequestItems }))
  if (Responses?.[TABLE]?.length) throw new Error('A new text was known.')
  const ConditionExpression = 'attribute_not_exists(k)'
  const TransactItems = [
    { Put: { TableName: TABLE, Item: { ...keyOf('r', id), i: { B: id } }, ConditionExpression } },
    { Put: { TableName: TABLE, Item: { ...keyOf('t', id), v: { B: Buffer.from(text) } } } },
    ...buckets.map((key) => ({
      Put: { TableName: TABLE, Item: { ...key, i: { B: id } }, ConditionExpression },
    })),
  ]
  await client.send(new TransactWriteItemsCommand({ TransactItems }))
}

async function resolveReference(place: Place): Promise<Sample> {
  return withServer(async (server) => {
    const client = await openByHand(server)
    const all = (asked: readonly string[]) =>
      inFlight(FLIGHT, asked.length, (at) => resolveByHand(client, asked[at]!))
    const count = scaled(2000, place.scale)
    const asked = texts(count, 1)
    const sample = await counted(
      place,
      count,
      () => all(texts(WARM, 2)),
      () => all(asked),
    )
    client.destroy()
    return sample
  })
}

const putCase = (repeats: Repeats) => ({
  name: `put, 1 KiB, ${repeats === 'half' ? 'half duplicates' : 'all new'}, ${FLIGHT} in flight`,
  ours: { run: putOurs(repeats) },
  reference: { name: 'by hand, a request a step', run: putReference(repeats) },
  limits: { ratioMax: 1, requestsPerOpMax: 1.3 },
})

export const bench: Bench = {
  name: 'dynamodb',
  question: 'What do puts and resolved texts cost on DynamoDB, beside requests written by hand?',
  skip: () => (dynamoIsHere() ? undefined : 'there is no DynamoDB server for this machine'),
  cases: [
    putCase('half'),
    putCase('none'),
    {
      name: `resolve, new, ${BANDS} bands, ${FLIGHT} in flight`,
      ours: { run: resolveOurs },
      reference: { name: 'by hand, a request a step', run: resolveReference },
      limits: { ratioMax: 1, requestsPerOpMax: 1.5 },
    },
  ],
}
