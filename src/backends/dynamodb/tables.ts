/**
 * The table: creating it, describing it for CloudFormation, and checking that an existing one is one of ours.
 *
 * Its layout (which, and over how many shards) is an item of the table itself, so that all who open it agree.
 */

import type { KeySchemaElement, TableDescription } from '@aws-sdk/client-dynamodb'

import { PrestigeError } from '../../platform/errors.ts'
import { type DynamoClient, jitter, loadSdk, newClient, type Patience, type Sdk } from './client.ts'
import { explained, mayPass, nameOf } from './errors.ts'
import { type DynamoLocation, readLocation } from './location.ts'

export const SHARDS_DEFAULT = 16
export const SHARDS_MAX = 64
const LAYOUT_VERSION = 1
/** No row of ours has it yet. It is switched on from the beginning, because switching it on later takes an hour. */
const TTL_ATTRIBUTE = 'ttl'
const LAYOUT_KEY = { p: { B: Buffer.from('prestige') }, s: { B: Buffer.from('layout') } }
const KEYS = [
  { AttributeName: 'p', KeyType: 'HASH' as const },
  { AttributeName: 's', KeyType: 'RANGE' as const },
]
const ATTRIBUTES = [
  { AttributeName: 'p', AttributeType: 'B' as const },
  { AttributeName: 's', AttributeType: 'B' as const },
]
const POLL_MS = 500
const POLLS_MAX = 600

export interface TableLayout {
  readonly layout: number
  readonly shards: number
}

export interface CreateTablesOptions {
  /** Partitions that an ordered space is spread over, from 1 to 64 (16). It cannot be changed later. */
  readonly shards?: number | undefined
  /** A DynamoDBClient to use instead of one made for the location. It is not destroyed. */
  readonly client?: DynamoClient | undefined
  readonly sleep?: ((ms: number) => Promise<void>) | undefined
}

export interface CreatedTables {
  readonly table: string
  /** It was not there before. */
  readonly created: boolean
  readonly shards: number
}

export const systemSleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

/** Few requests, far between, each sent until it is answered. */
export class TableRequests {
  readonly location: DynamoLocation
  readonly sdk: Sdk
  readonly #client: DynamoClient
  readonly #patience: Patience

  constructor(sdk: Sdk, client: DynamoClient, location: DynamoLocation, patience: Patience) {
    this.sdk = sdk
    this.#client = client
    this.location = location
    this.#patience = patience
  }

  sleep(ms: number): Promise<void> {
    return this.#patience.sleep(ms)
  }

  /** `undefined` when it fails with this name. */
  async send<T>(command: unknown, unless = ''): Promise<T | undefined> {
    for (let sends = 1; ; sends++) {
      try {
        return (await this.#client.send(command)) as T // safe: callers name the output of their command
      } catch (error) {
        if (nameOf(error) === unless) return undefined
        if (!mayPass(error) || sends >= this.#patience.sendsMax) {
          throw explained(error, this.location)
        }
      }
      await jitter(sends, this.#patience)
    }
  }

  async describe(): Promise<TableDescription | undefined> {
    const command = new this.sdk.DescribeTableCommand({ TableName: this.location.table })
    const unless = 'ResourceNotFoundException'
    return (await this.send<{ Table: TableDescription }>(command, unless))?.Table
  }

  async layout(): Promise<TableLayout | undefined> {
    const TableName = this.location.table
    const command = new this.sdk.GetItemCommand({
      TableName,
      Key: LAYOUT_KEY,
      ConsistentRead: true,
    })
    const found = await this.send<{ Item?: { v?: { B?: Uint8Array } } }>(command)
    const bytes = found?.Item?.v?.B
    return bytes && readLayout(Buffer.from(bytes).toString(), TableName)
  }

  /** Writes the layout, unless somebody was first; returns what is there then. */
  async keepLayout(shards: number): Promise<TableLayout> {
    const wanted: TableLayout = { layout: LAYOUT_VERSION, shards }
    const command = new this.sdk.PutItemCommand({
      TableName: this.location.table,
      Item: { ...LAYOUT_KEY, v: { B: Buffer.from(JSON.stringify(wanted)) } },
      ConditionExpression: 'attribute_not_exists(p)',
    })
    await this.send(command, 'ConditionalCheckFailedException')
    return (await this.layout()) ?? wanted
  }
}

function readLayout(text: string, table: string): TableLayout {
  const found = parsed(text)
  const { layout, shards = 0 } = found
  if (
    layout === LAYOUT_VERSION &&
    Number.isInteger(shards) &&
    shards >= 1 &&
    shards <= SHARDS_MAX
  ) {
    return { layout, shards }
  }
  throw new PrestigeError(
    'FORMAT_UNSUPPORTED',
    `Table ${table} has layout ${text}; this prestige knows layout ${LAYOUT_VERSION}. Open it with the version that made it.`,
  )
}

function parsed(text: string): Partial<TableLayout> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** Refuses a table whose keys are not ours. */
export function checkTable(
  { KeySchema = [], AttributeDefinitions = [] }: TableDescription,
  table: string,
): void {
  const typeOf = ({ AttributeName }: KeySchemaElement) =>
    AttributeDefinitions.find((one) => one.AttributeName === AttributeName)?.AttributeType
  const found = KeySchema.map((key) => `${key.AttributeName} (${key.KeyType}, ${typeOf(key)})`)
  if (found.join(', ') === 'p (HASH, B), s (RANGE, B)') return
  throw new PrestigeError(
    'FORMAT_UNSUPPORTED',
    `Table ${table} was not made for prestige: its key is ${found.join(', ')}, and should be p (HASH, B), s (RANGE, B). Choose another table prefix.`,
  )
}

/** Makes what is missing of the tables of a location, and waits until they can be used. May be called again. */
export async function createTables(
  text: string,
  options: CreateTablesOptions = {},
): Promise<CreatedTables> {
  const location = readLocation(text)
  const shards = shardsOf(options.shards)
  const sdk = await loadSdk()
  const client = options.client ?? newClient(sdk, location)
  const patience = { sleep: options.sleep ?? systemSleep, random: Math.random, sendsMax: 6 }
  const requests = new TableRequests(sdk, client, location, patience)
  try {
    const created = await makeTable(requests)
    await expireByItself(requests)
    const layout = await requests.keepLayout(shards)
    if (options.shards !== undefined && layout.shards !== shards) {
      throw new PrestigeError(
        'SETTINGS_MISMATCH',
        `Table ${location.table} has ${layout.shards} shards, which cannot be changed. Choose another table prefix for ${shards}.`,
      )
    }
    return { table: location.table, created, shards: layout.shards }
  } finally {
    if (!options.client) client.destroy()
  }
}

function shardsOf(shards: number = SHARDS_DEFAULT): number {
  if (Number.isInteger(shards) && shards >= 1 && shards <= SHARDS_MAX) return shards
  throw new PrestigeError('INVALID_OPTIONS', `shards is a whole number from 1 to ${SHARDS_MAX}.`)
}

async function makeTable(requests: TableRequests): Promise<boolean> {
  const { table } = requests.location
  const there = await requests.describe()
  if (!there) {
    const command = new requests.sdk.CreateTableCommand({
      TableName: table,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: ATTRIBUTES,
      KeySchema: KEYS,
    })
    await requests.send(command, 'ResourceInUseException')
  }
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    const found = await requests.describe()
    if (found) checkTable(found, table)
    if (found?.TableStatus === 'ACTIVE' || found?.TableStatus === 'UPDATING') return !there
    await requests.sleep(POLL_MS)
  }
  throw new PrestigeError('BACKEND_UNAVAILABLE', `Table ${table} is not ready. Try again later.`)
}

async function expireByItself(requests: TableRequests): Promise<void> {
  const { sdk } = requests
  const TableName = requests.location.table
  const described = await requests.send<{
    TimeToLiveDescription?: { TimeToLiveStatus?: string }
  }>(new sdk.DescribeTimeToLiveCommand({ TableName }))
  const status = described?.TimeToLiveDescription?.TimeToLiveStatus
  if (status === 'ENABLED' || status === 'ENABLING') return
  const TimeToLiveSpecification = { AttributeName: TTL_ATTRIBUTE, Enabled: true }
  await requests.send(new sdk.UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }))
}

/** The same as a CloudFormation template. */
export function tablesTemplate(text: string): object {
  const { table } = readLocation(text)
  return {
    AWSTemplateFormatVersion: '2010-09-09',
    Description: 'The table of prestige',
    Resources: {
      PrestigeRows: {
        Type: 'AWS::DynamoDB::Table',
        DeletionPolicy: 'Retain',
        UpdateReplacePolicy: 'Retain',
        Properties: {
          TableName: table,
          BillingMode: 'PAY_PER_REQUEST',
          AttributeDefinitions: ATTRIBUTES,
          KeySchema: KEYS,
          TimeToLiveSpecification: { AttributeName: TTL_ATTRIBUTE, Enabled: true },
        },
      },
    },
  }
}
