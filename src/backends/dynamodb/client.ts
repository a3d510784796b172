/**
 * The requests prestige makes of DynamoDB, and how often each is sent.
 *
 * The client is an optional peer, loaded when a location is opened. Its own retries are off: what may be sent again,
 * and for how long, is decided here, because a commit must be the very same request every time.
 */

import type * as AwsSdk from '@aws-sdk/client-dynamodb'
import type {
  BatchGetItemCommandInput,
  BatchGetItemCommandOutput,
  QueryCommandInput,
  QueryCommandOutput,
  ScanCommandInput,
  ScanCommandOutput,
  TransactGetItemsCommandInput,
  TransactGetItemsCommandOutput,
  TransactWriteItemsCommandInput,
} from '@aws-sdk/client-dynamodb'

import { PrestigeError } from '../../platform/errors.ts'
import { explained, isPassingReason, mayPass, reasonsOf } from './errors.ts'
import type { DynamoLocation } from './location.ts'

export type Sdk = typeof AwsSdk

/** What is needed of a DynamoDBClient. */
export interface DynamoClient {
  send(command: unknown): Promise<unknown>
  destroy(): void
}

export interface Patience {
  readonly sleep: (ms: number) => Promise<void>
  /** From 0 up to 1. */
  readonly random: () => number
  readonly sendsMax: number
}

const BACKOFF_MS = 25
const BACKOFF_MS_MAX = 5000
const CONNECT_MS_MAX = 3000
const REQUEST_MS_MAX = 20_000
const SOCKETS_MAX = 64

export async function loadSdk(): Promise<Sdk> {
  try {
    return await import('@aws-sdk/client-dynamodb')
  } catch (error) {
    throw new PrestigeError(
      'PACKAGE_MISSING',
      'A dynamodb:// location needs a package that is not installed: npm install @aws-sdk/client-dynamodb',
      { cause: error },
    )
  }
}

export function newClient(sdk: Sdk, { region, endpoint, timeoutMs }: DynamoLocation): DynamoClient {
  const client = new sdk.DynamoDBClient({
    region,
    ...(endpoint !== undefined && { endpoint }),
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: Math.min(CONNECT_MS_MAX, timeoutMs),
      requestTimeout: Math.min(REQUEST_MS_MAX, timeoutMs),
      throwOnRequestTimeout: true,
      httpAgent: { keepAlive: true, maxSockets: SOCKETS_MAX },
      httpsAgent: { keepAlive: true, maxSockets: SOCKETS_MAX },
    },
  })
  return {
    send: (command) => client.send(command as never), // safe: only commands of the same package get here
    destroy: () => client.destroy(),
  }
}

/** Full jitter: any time up to a bound that doubles. */
export function jitter(attempt: number, { sleep, random }: Patience): Promise<void> {
  return sleep(random() * Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** attempt))
}

export class Requests {
  readonly location: DynamoLocation
  readonly patience: Patience
  readonly #client: DynamoClient
  readonly #sdk: Sdk

  constructor(sdk: Sdk, client: DynamoClient, location: DynamoLocation, patience: Patience) {
    this.#sdk = sdk
    this.#client = client
    this.location = location
    this.patience = patience
  }

  batchGet(input: BatchGetItemCommandInput): Promise<BatchGetItemCommandOutput> {
    return this.#untilAnswered(() => new this.#sdk.BatchGetItemCommand(input))
  }

  query(input: QueryCommandInput): Promise<QueryCommandOutput> {
    return this.#untilAnswered(() => new this.#sdk.QueryCommand(input))
  }

  scan(input: ScanCommandInput): Promise<ScanCommandOutput> {
    return this.#untilAnswered(() => new this.#sdk.ScanCommand(input))
  }

  transactGet(input: TransactGetItemsCommandInput): Promise<TransactGetItemsCommandOutput> {
    return this.#untilAnswered(() => new this.#sdk.TransactGetItemsCommand(input))
  }

  /** Once, and what it fails with is the client's own error: the group of a commit knows what to make of it. */
  async transactWrite(input: TransactWriteItemsCommandInput): Promise<void> {
    await this.#client.send(new this.#sdk.TransactWriteItemsCommand(input))
  }

  destroy(): void {
    this.#client.destroy()
  }

  async #untilAnswered<T>(command: () => unknown): Promise<T> {
    for (let sends = 1; ; sends++) {
      try {
        return (await this.#client.send(command())) as T // safe: the output that belongs to the command
      } catch (error) {
        const passes = mayPass(error) || reasonsOf(error)?.some(isPassingReason) === true
        if (!passes || sends >= this.patience.sendsMax) throw explained(error, this.location)
      }
      await jitter(sends, this.patience)
    }
  }
}
