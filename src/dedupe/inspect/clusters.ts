/** Clusters of a state, whatever runs they are of. It only reads, and holds no more than is asked for. */

import { endOfPrefix } from '../../platform/bytes.ts'
import { type Backend, cell, read, type Transaction } from '../../backends/index.ts'
import { fromHex, hex } from '../names.ts'
import { Top } from '../phases/bounded.ts'
import { type ClusterRow, clusters, members } from '../rows.ts'
import { countOption } from './count-option.ts'
import { type DocumentInfo, infoOf } from './document-info.ts'
import { documentsOfKeys, type StoredDocument } from './find-documents.ts'
import { type FoundText, textsOf } from './texts.ts'

export interface ClusteredDocument extends DocumentInfo {
  /** How it was found to belong to the cluster. */
  readonly method: string
  /** To the centre. */
  readonly similarity: number
}

export interface DocumentCluster {
  /** The document that all others were measured against. */
  readonly centre: DocumentInfo
  /** The document that is kept. */
  readonly survivor: DocumentInfo
  /** Documents in it, the centre among them. */
  readonly size: number
  /** The first of the others. */
  readonly members: readonly ClusteredDocument[]
}

export interface ClustersOptions {
  /** How many, the largest first, up to 1000. Default: 20. */
  readonly limit?: number | undefined
  /** Smaller clusters are left out. Default: 2. */
  readonly sizeMin?: number | undefined
  /** How many members of each. Default: 5. */
  readonly membersMax?: number | undefined
  /** Only clusters that documents of this run have joined. Default: of all runs. */
  readonly run?: string | undefined
}

const CLUSTERS_MAX = 1000
const KEY_BYTES = 16
const LIMIT = 20
const MEMBERS = 5

interface Sized {
  readonly key: string
  readonly row: ClusterRow
}

/** With texts. */
export async function largestClusters(
  backend: Backend,
  options: ClustersOptions = {},
): Promise<DocumentCluster[]> {
  const limit = countOption('limit', options.limit, { max: CLUSTERS_MAX, unsaid: LIMIT })
  const sizeMin = countOption('sizeMin', options.sizeMin, { min: 2, unsaid: 2 })
  const membersMax = countOption('membersMax', options.membersMax, { max: 1000, unsaid: MEMBERS })
  const { run } = options
  const joined = run === undefined ? undefined : await joinedBy(backend, run)
  const found = await largestStored(backend, limit, sizeMin, membersMax, joined)
  const texts = await textsOf(backend, found.flatMap(documentsIn))
  return found.flatMap((one) => clusterInfo(one, texts) ?? [])
}

/** Keys of the clusters that have members of a run. */
async function joinedBy(backend: Backend, run: string): Promise<ReadonlySet<string>> {
  const joined = new Set<string>()
  for await (const { key, value } of backend.scan(members)) {
    if (Buffer.from(value).toString() === run) joined.add(hex(key.subarray(0, KEY_BYTES)))
  }
  return joined
}

/** The same as they are stored. `among`: only these keys. */
export async function largestStored(
  backend: Backend,
  limit: number,
  sizeMin: number,
  membersMax: number,
  among?: ReadonlySet<string>,
): Promise<StoredCluster[]> {
  const top = new Top<Sized>(limit, bySize)
  for await (const { key, value: row } of backend.scan(clusters)) {
    if (row.size < sizeMin || (among && !among.has(hex(key)))) continue
    top.add({ key: hex(key), row })
  }
  const found: StoredCluster[] = []
  for (const { key, row } of top.items) {
    found.push(await storedCluster(backend, key, row, membersMax))
  }
  return found
}

function bySize(one: Sized, other: Sized): number {
  return other.row.size - one.row.size || (one.key < other.key ? -1 : 1)
}

/** A cluster as it is stored. */
export interface StoredCluster {
  readonly centre: StoredDocument | undefined
  readonly survivor: StoredDocument | undefined
  readonly size: number
  readonly members: readonly StoredDocument[]
}

/** The cluster around a document; `undefined` where it is alone. */
export async function clusterAround(
  backend: Backend,
  key: string,
  membersMax: number = MEMBERS,
): Promise<StoredCluster | undefined> {
  const row = await backend.read(clusterAt, key)
  return row && storedCluster(backend, key, row, membersMax)
}

async function storedCluster(
  backend: Backend,
  key: string,
  { survivor, size }: ClusterRow,
  membersMax: number,
): Promise<StoredCluster> {
  const prefix = fromHex(key)
  const found: StoredDocument[] = []
  for await (const { key: at } of backend.scan(members, {
    start: prefix,
    end: endOfPrefix(prefix),
  })) {
    if (found.length >= membersMax) break
    const name = hex(at.subarray(KEY_BYTES))
    const member = (await documentsOfKeys(backend, [name])).get(name)
    // It may have changed since, and belong elsewhere.
    if (member?.row.cluster === key) found.push(member)
  }
  const heads = await documentsOfKeys(backend, [key, survivor])
  return { centre: heads.get(key), survivor: heads.get(survivor), size, members: found }
}

export function documentsIn({
  centre,
  survivor,
  members: others,
}: StoredCluster): StoredDocument[] {
  return [centre, survivor, ...others].filter((one) => one !== undefined)
}

/** `undefined` if its centre is not there, which only damage can bring about. */
export function clusterInfo(
  { centre, survivor, size, members: others }: StoredCluster,
  texts: ReadonlyMap<string, FoundText>,
): DocumentCluster | undefined {
  if (!centre) return undefined
  const info = (one: StoredDocument) => infoOf(one, texts.get(hex(one.key)))
  return {
    centre: info(centre),
    survivor: info(survivor ?? centre),
    size,
    members: others.map((one) => {
      const { method = '', similarity = 1 } = one.row
      return { ...info(one), method, similarity }
    }),
  }
}

function* clusterAt(_scope: unknown, key: string): Transaction<ClusterRow | undefined> {
  return (yield* read(cell(clusters, fromHex(key))))[0]
}
