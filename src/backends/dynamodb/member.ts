/**
 * One commit as the items it is made of, and whether it can share a request with others.
 *
 * An item appears once in a transaction: a cell that is relied on and written is one conditional write, one that is
 * only relied on is a condition by itself.
 */

import type { TransactWriteItem } from '@aws-sdk/client-dynamodb'

import { type Bytes, copyOf } from '../../platform/bytes.ts'
import type { Space } from '../contract.ts'
import { cellName } from '../kit/draft.ts'
import type { Commit, CommitOutcome, Versioned } from '../kit/optimistic.ts'
import {
  type Address,
  bytesOfVersion,
  ITEM_OVERHEAD_BYTES,
  itemOf,
  KEY_BYTES_MAX,
  type Layout,
  tallyName,
} from './layout.ts'

/** What a commit does with one cell. */
export interface Deed {
  readonly address: Address
  readonly cell: string
  /** What it must hold; `undefined` within: nothing. */
  check?: { readonly version: string | undefined }
  /** What it will hold; `undefined` within: nothing. */
  write?: { readonly bytes: Bytes | undefined; readonly version: string }
}

/** What a commit adds to the tallies of one group; which shard is left to whoever sends it. */
export interface TallyDeed {
  readonly space: Space<unknown>
  readonly key: Bytes
  readonly sums: Map<string, number>
}

/** A commit on its way. */
export interface Member {
  readonly commit: Commit
  readonly deeds: ReadonlyMap<string, Deed>
  readonly tallies: ReadonlyMap<string, TallyDeed>
  readonly bytes: number
  /** When it was first sent: a token is good for ten minutes after that. */
  firstSentAt: number | undefined
  /** How often others, or too much traffic, were in its way. */
  setbacks: number
  /** It was refused for its form, and is sent by itself to see whether it is the guilty one. */
  isAlone: boolean
  settle: Settle | undefined
}

export interface Settle {
  readonly resolve: (outcome: CommitOutcome) => void
  readonly reject: (error: unknown) => void
}

export function memberOf(layout: Layout, commit: Commit): Member {
  const deeds = new Map<string, Deed>()
  const deedAt = (space: Space<unknown>, key: Bytes): Deed => {
    const address = layout.row(space, key)
    const known = deeds.get(address.name)
    if (known) return known
    const made: Deed = { address, cell: cellName(space, key) }
    deeds.set(address.name, made)
    return made
  }
  for (const { space, key, version } of commit.checks) {
    // What is too long to be kept is not there, and never will be.
    if (key.byteLength <= KEY_BYTES_MAX) deedAt(space, key).check = { version }
  }
  let bytes = 0
  for (const { space, key, bytes: value } of commit.writes) {
    deedAt(space, key).write = { bytes: value, version: commit.version }
    bytes += value?.byteLength ?? 0
  }
  for (const { address } of deeds.values()) bytes += address.name.length + ITEM_OVERHEAD_BYTES
  const tallies = talliesOf(layout, commit)
  const settle = undefined
  const fresh = { firstSentAt: undefined, setbacks: 0, isAlone: false, settle }
  return { commit, deeds, tallies, bytes, ...fresh }
}

function talliesOf(layout: Layout, { additions }: Commit): Map<string, TallyDeed> {
  const all = new Map<string, TallyDeed>()
  for (const { space, key, delta } of additions) {
    const { name } = layout.tally(space, key, 0)
    const deed = all.get(name) ?? { space, key, sums: new Map<string, number>() }
    all.set(name, deed)
    const attribute = tallyName(key)
    deed.sums.set(attribute, (deed.sums.get(attribute) ?? 0) + delta)
  }
  return all
}

/** The item of a request that does this, to be refused with what is there. */
export function itemOfDeed(TableName: string, { address, check, write }: Deed): TransactWriteItem {
  const condition = check && {
    ...conditionOf(check.version),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  }
  if (!write) {
    const { ConditionExpression = 'attribute_not_exists(p)', ...rest } = condition ?? {}
    return { ConditionCheck: { TableName, Key: address.key, ConditionExpression, ...rest } }
  }
  const { bytes, version } = write
  if (!bytes) return { Delete: { TableName, Key: address.key, ...condition } }
  return { Put: { TableName, Item: itemOf(address, bytes, version), ...condition } }
}

function conditionOf(version: string | undefined) {
  if (version === undefined) return { ConditionExpression: 'attribute_not_exists(p)' }
  return {
    ConditionExpression: 'n = :n',
    ExpressionAttributeValues: { ':n': { B: bytesOfVersion(version) } },
  }
}

export function itemOfTally(
  TableName: string,
  { key }: Address,
  sums: ReadonlyMap<string, number>,
): TransactWriteItem {
  const names: Record<string, string> = {}
  const values: Record<string, { N: string }> = {}
  const terms: string[] = []
  for (const [name, sum] of sums) {
    const at = terms.length
    names[`#${at}`] = name
    values[`:${at}`] = { N: String(sum) }
    terms.push(`#${at} :${at}`)
  }
  return {
    Update: {
      TableName,
      Key: key,
      UpdateExpression: `ADD ${terms.join(', ')}`,
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: values,
    },
  }
}

/** What a cell holds once this was done; a copy, because the caller's bytes are only lent. */
export function after({ write }: Deed): Versioned | undefined {
  if (!write?.bytes) return undefined
  return { bytes: copyOf(write.bytes), version: write.version }
}
