/** What is kept at a location: of which kind, in which namespace, and how much. */

import { namespacesAt, withBackendAt } from '../backends/index.ts'
import { allSpaces, kindsOn, readingOf, settingsSpaces } from './kinds.ts'
import type { KindName, StoredSettings } from './stored-kind.ts'

export interface Stored {
  readonly kind: KindName
  readonly namespace: string
  /** The number of its format. */
  readonly format: unknown
  /** What it was written with. */
  readonly settings: StoredSettings
  /** Of a store keys, contents and bytes; of a resolver groups, clusters and members; and so on. */
  readonly counts: Readonly<Record<string, number>>
}

export interface ListLocationOptions {
  /** Milliseconds to wait for other processes or the server. Default: 30,000; on Redis 10,000. */
  readonly timeoutMs?: number | undefined
}

/**
 * Everything at a location, namespace by namespace. A server looks through all its keys for that, and DynamoDB reads,
 * and charges for, the whole table.
 */
export async function listLocation(
  location: string,
  { timeoutMs }: ListLocationOptions = {},
): Promise<Stored[]> {
  const namespaces = await namespacesAt(location, settingsSpaces, timeoutMs)
  const all: Stored[] = []
  for (const namespace of [...namespaces.keys()].toSorted()) {
    const how = { namespace, timeoutMs, ...readingOf(location) }
    await withBackendAt(location, allSpaces, how, async (backend) => {
      for (const { kind, settings, counts } of await kindsOn(backend)) {
        const { format } = settings
        all.push({ kind, namespace, format, settings, counts: await counts(backend) })
      }
    })
  }
  return all
}
