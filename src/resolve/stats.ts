/** What a group looks like: how many clusters, how large, and what the index may have missed. */

import { type Bytes, endOfPrefix, latin1 } from '../platform/bytes.ts'
import { type Backend, cell, read, type Transaction } from '../backends/index.ts'
import { type FullBucket, shapesOf, type TableBytes } from '../fingerprint/index.ts'
import { MERGES_MAX } from './resolve.ts'
import {
  aliases,
  members,
  oldRowOf,
  publicId,
  resolutions,
  type Resolved,
  resolverTallies,
  tallyKey,
  type TallyName,
} from './rows.ts'
import { groupKeyOf, TextKind, type VectorKind } from './subject.ts'

export interface StatsOptions {
  /** How many of the largest clusters to name (10). */
  readonly largest?: number | undefined
}

export interface Cluster {
  readonly id: string
  /** The representative counts. */
  readonly size: number
}

export interface GroupStats {
  readonly clusters: number
  /** Inputs that were found to be near duplicates of a representative. */
  readonly members: number
  /** Clusters that turned out to be one with another. */
  readonly merged: number
  /** New ones that were found new although full buckets were passed over: near duplicates may have been missed. */
  readonly possibleMisses: number
  readonly largest: readonly Cluster[]
  /** Of the tables in memory; absent where there are none. */
  readonly tables?: {
    readonly bytes: TableBytes
    readonly fullestBuckets: readonly FullBucket[]
  }
}

const NAMES: readonly TallyName[] = ['clusters', 'members', 'merged', 'passedOver']

type AnyKind = TextKind | VectorKind

export async function statsOf(
  backend: Backend,
  kinds: readonly AnyKind[],
  group: string,
  { largest = 10 }: StatsOptions,
): Promise<GroupStats> {
  const sums = { clusters: 0, members: 0, merged: 0, passedOver: 0 }
  const clusters: Cluster[] = []
  const bytes = { buckets: 0, signatures: 0, ids: 0 }
  const fullest: FullBucket[] = []
  let hasTables = false
  for (const kind of kinds) {
    const groupKey = groupKeyOf(kind.name, group)
    const counted = await backend.read(countsOf, groupKey)
    NAMES.forEach((name, at) => (sums[name] += counted[at] ?? 0))
    clusters.push(...(await largestOf(backend, groupKey, largest)))
    for (const partition of partitionsOf(kind, group)) {
      const table = await backend.read(function* () {
        return yield* kind.matcher.index.stats(partition)
      })
      if (!table) continue
      hasTables = true
      bytes.buckets += table.bytes.buckets
      bytes.signatures += table.bytes.signatures
      bytes.ids += table.bytes.ids
      fullest.push(...table.fullestBuckets)
    }
  }
  const { passedOver: possibleMisses, ...counts } = sums
  fullest.sort((one, other) => other.size - one.size)
  return {
    ...counts,
    possibleMisses,
    largest: clusters.toSorted((one, other) => other.size - one.size).slice(0, largest),
    ...(hasTables && { tables: { bytes, fullestBuckets: fullest.slice(0, 10) } }),
  }
}

function partitionsOf(kind: AnyKind, group: string): Buffer[] {
  if (!(kind instanceof TextKind)) return [kind.partition(group)]
  return shapesOf(kind.profile).map(({ name }) => kind.partition(group, name))
}

function* countsOf(_scope: unknown, groupKey: Bytes): Transaction<readonly (number | undefined)[]> {
  return yield* read(...NAMES.map((name) => cell(resolverTallies, tallyKey(groupKey, name))))
}

/** The largest clusters that have members. What was merged counts where it was merged into. */
async function largestOf(backend: Backend, groupKey: Buffer, limit: number): Promise<Cluster[]> {
  const range = { start: groupKey, end: endOfPrefix(groupKey) }
  const membersOf = new Map<string, number>()
  for await (const { key } of backend.scan(members, range)) {
    const row = latin1(key.subarray(16, 32))
    membersOf.set(row, (membersOf.get(row) ?? 0) + 1)
  }
  const older = new Map<string, string>()
  for await (const { key, value } of backend.scan(aliases, range)) {
    older.set(latin1(oldRowOf(key)), latin1(value.into))
  }
  const sizes = new Map<string, number>()
  for (const row of older.keys()) addTo(sizes, rootOf(older, row), 1)
  for (const [row, size] of membersOf) addTo(sizes, rootOf(older, row), size)
  const top = [...sizes].toSorted(([, one], [, other]) => other - one).slice(0, limit)
  const wanted = new Map(top)
  const named: Cluster[] = []
  if (wanted.size === 0) return named
  for await (const { value } of backend.scan(resolutions, range)) {
    const size = sizeOf(wanted, value)
    if (size !== undefined) named.push({ id: publicId(value.id), size: size + 1 })
  }
  return named
}

function addTo(sizes: Map<string, number>, row: string, count: number): void {
  sizes.set(row, (sizes.get(row) ?? 0) + count)
}

function rootOf(older: ReadonlyMap<string, string>, row: string): string {
  let root = row
  for (let merges = 0; merges < MERGES_MAX; merges++) {
    const next = older.get(root)
    if (next === undefined) return root
    root = next
  }
  return root
}

function sizeOf(wanted: ReadonlyMap<string, number>, resolved: Resolved): number | undefined {
  return resolved.isRepresentative ? wanted.get(latin1(resolved.row)) : undefined
}
