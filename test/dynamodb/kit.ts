/** What the tests of dynamodb share: backends on a server, with a client as good or bad as is wanted. */

import { loadSdk, newClient } from '../../src/backends/dynamodb/client.ts'
import { createTables, type DynamoBackend, openDynamo } from '../../src/backends/dynamodb/index.ts'
import { readLocation } from '../../src/backends/dynamodb/location.ts'
import type { BackendOptions } from '../../src/backends/contract.ts'
import { ALL_FAULTS, type DynamoFaults, FaultyClient } from './faulty-client.ts'

/** Waits a hundredth of what it should: what is tested is what happens, not how long it takes. */
export const hurriedSleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms / 100)
  })

export interface Faulty {
  readonly backend: DynamoBackend
  readonly client: FaultyClient
}

/** Opens without faults; they begin when it is open. */
export async function openFaulty(
  location: string,
  options: BackendOptions,
  seed: number,
  faults: DynamoFaults = ALL_FAULTS,
): Promise<Faulty> {
  const own = newClient(await loadSdk(), readLocation(location))
  const client = new FaultyClient(own, seed)
  const backend = await openDynamo(location, { ...options, client, sleep: hurriedSleep })
  client.faults = faults
  return { backend, client }
}

export async function newTable(location: string, shards = 16): Promise<string> {
  await createTables(location, { shards })
  return location
}
