/** An engine on DynamoDB, that any number of machines can share. */

import { PrestigeError } from '../../platform/errors.ts'
import { RowCache } from '../kit/cached.ts'
import type { BackendOptions } from '../contract.ts'
import { checkedRandom, systemRandom } from '../kit/ids.ts'
import { namespacePrefix } from '../kit/namespace.ts'
import { checkedTimeout } from '../kit/request-span.ts'
import { DynamoBackend } from './backend.ts'
import type { Retrying, Tappable } from '../kit/optimistic.ts'
import {
  type DynamoClient,
  loadSdk,
  newClient,
  type Patience,
  Requests,
  type Sdk,
} from './client.ts'
import { type DynamoLocation, readLocation } from './location.ts'
import { checkTable, SHARDS_DEFAULT, systemSleep, TableRequests } from './tables.ts'

export { DynamoBackend } from './backend.ts'
export type { DynamoClient } from './client.ts'
export {
  createTables,
  type CreatedTables,
  type CreateTablesOptions,
  tablesTemplate,
} from './tables.ts'

export interface DynamoOptions extends BackendOptions, Tappable, Retrying {
  /** `false`: a table that nothing was put into is an error. The table itself is never made here. */
  readonly create?: boolean | undefined
  /** Not to be given: DynamoDB acknowledges nothing that is not durable. */
  readonly durability?: string | undefined
  /** A DynamoDBClient to use instead of one made for the location. It is destroyed when the backend is closed. */
  readonly client?: DynamoClient | undefined
  /** Total time to wait for an answer, retries included (30,000). Takes precedence over `?timeoutMs=`. */
  readonly timeoutMs?: number | undefined
  readonly sleep?: ((ms: number) => Promise<void>) | undefined
}

const SENDS_MAX = 12
/** Whoever opens wants to know soon. */
const OPENING_SENDS_MAX = 4

/** Opens the table of a location such as `dynamodb://eu-central-1/corpus`. */
export async function openDynamo(text: string, options: DynamoOptions): Promise<DynamoBackend> {
  const read = readLocation(text)
  const location = { ...read, timeoutMs: checkedTimeout(options.timeoutMs) ?? read.timeoutMs }
  namespacePrefix(options.namespace) // refused before anything is opened
  if (options.durability !== undefined) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      'durability cannot be used here: what DynamoDB acknowledges is always durable.',
    )
  }
  const sdk = await loadSdk()
  const client = options.client ?? newClient(sdk, location)
  const random = checkedRandom(options.random ?? systemRandom)
  const patience: Patience = {
    sleep: options.sleep ?? systemSleep,
    random: () => Buffer.from(random(6)).readUIntBE(0, 6) / 2 ** 48,
    sendsMax: SENDS_MAX,
  }
  try {
    const shards = await openTable(sdk, client, location, patience, options.create)
    const cache = await cacheOf(location, options)
    const own = { ...options, tap: tapOf(cache?.rows, options.tap) }
    const requests = new Requests(sdk, client, location, patience)
    return new DynamoBackend(requests, shards, own, () => cache?.close() ?? Promise.resolve())
  } catch (error) {
    if (!options.client) client.destroy()
    throw error
  }
}

interface Cache {
  readonly rows: RowCache
  close(): Promise<void>
}

async function cacheOf(
  { cacheBytes, cache, region, table }: DynamoLocation,
  { namespace = '' }: DynamoOptions,
): Promise<Cache | undefined> {
  if (cacheBytes === 0) return undefined
  if (cache === undefined) {
    return { rows: new RowCache({ bytesMax: cacheBytes }), close: () => Promise.resolve() }
  }
  const { RedisRows } = await import('../redis/index.ts')
  const shared = await RedisRows.open(cache, `${region}/${table}/${namespace}`)
  return { rows: new RowCache({ bytesMax: cacheBytes, shared }), close: () => shared.close() }
}

/** Whoever taps stands between the decisions and the cache. */
function tapOf(rows: RowCache | undefined, tap: Tappable['tap']): Tappable['tap'] {
  if (!rows) return tap
  return (engine) => {
    const cached = rows.before(engine)
    return tap?.(cached) ?? cached
  }
}

/** Over how many shards its ordered spaces are spread. */
async function openTable(
  sdk: Sdk,
  client: DynamoClient,
  location: DynamoLocation,
  patience: Patience,
  create = true,
): Promise<number> {
  const few = { ...patience, sendsMax: OPENING_SENDS_MAX }
  const requests = new TableRequests(sdk, client, location, few)
  const { table, region, shown } = location
  const found = await requests.describe()
  if (!found || found.TableStatus === 'DELETING') {
    throw new PrestigeError(
      'STORE_NOT_FOUND',
      `There is no table ${table} in ${region}. Make it: prestige dynamodb create-tables '${shown}'`,
    )
  }
  checkTable(found, table)
  if (found.TableStatus === 'CREATING') {
    throw new PrestigeError('BACKEND_UNAVAILABLE', `Table ${table} is being made. Try again soon.`)
  }
  const layout = await requests.layout()
  if (layout) return layout.shards
  if (!create) throw new PrestigeError('STORE_NOT_FOUND', `Table ${table} is empty.`)
  return (await requests.keepLayout(SHARDS_DEFAULT)).shards
}
