/** A resolver as archives, verification and listing see it. */

import { type Bytes, concat, equalBytes } from '../platform/bytes.ts'
import { type Backend, cell, read, type Transaction } from '../backends/index.ts'
import {
  CONTAINMENT_LIMITS,
  ContainmentScheme,
  type PortableIndex,
  portableIndex,
  type Representative,
  requireJournal,
  TextScheme,
  BitLayout,
} from '../match/index.ts'
import { containmentPartitionOf } from './containment.ts'
import {
  type Alias,
  aliases,
  payloadCodec,
  evidenceKey,
  evidences,
  expiries,
  expiryKey,
  groups,
  leftovers,
  type Member,
  memberKey,
  members,
  resolutions,
  type Resolved,
  resolverSpaces,
  resolverTallies,
  settings,
  tallyKey,
  textContainment,
  textNear,
  vectorNear,
} from './rows.ts'
import { indexOptionsOf } from './resolver.ts'
import type { ResolverSettings } from './settings.ts'

const ID = 16

function* representativeAt(partition: Bytes, row: Bytes): Transaction<Representative | undefined> {
  const key = concat(partition, row)
  const [text, vector] = yield* read(
    cell(textNear.representatives, key),
    cell(vectorNear.representatives, key),
  )
  return text ?? vector
}

function* isLeftOver(partition: Bytes, row: Bytes): Transaction<boolean> {
  const [leftover] = yield* read(cell(leftovers, concat(partition, row)))
  return leftover !== undefined
}

function* checkResolution(key: Buffer, resolved: Resolved): Transaction<string | undefined> {
  const { partition, row, id, isRepresentative } = resolved
  const representative = yield* representativeAt(partition, row)
  if (!representative)
    return (yield* isLeftOver(partition, row)) ? undefined : 'its representative is missing'
  const payload = payloadCodec.decode(representative.payload)
  if (!equalBytes(payload.id, id)) return 'it names another id than its representative has'
  if (isRepresentative) {
    return payload.isContainable ? yield* checkFingerprints(key, partition, row) : undefined
  }
  const place = memberKey(key.subarray(0, ID), row, key.subarray(ID))
  const [member] = yield* read(cell(members, place))
  return member ? undefined : 'it is not among the members of its representative'
}

function* checkFingerprints(
  key: Buffer,
  partition: Bytes,
  row: Bytes,
): Transaction<string | undefined> {
  const place = concat(containmentPartitionOf(key.subarray(0, ID)), row)
  const [found] = yield* read(cell(textContainment.representatives, place))
  if (found && equalBytes(found.payload, partition)) return undefined
  return 'the fingerprints of its representative are missing from the index of containment'
}

function* checkContained(
  key: Buffer,
  { payload }: Representative,
): Transaction<string | undefined> {
  const [found] = yield* read(cell(textNear.representatives, concat(payload, key.subarray(ID))))
  const isOf = found && payloadCodec.decode(found.payload).isContainable
  return isOf ? undefined : 'its representative is missing, or is not in the index of containment'
}

function* checkMember(key: Buffer, _member: Member): Transaction<string | undefined> {
  const [groupKey, row, input] = [
    key.subarray(0, ID),
    key.subarray(ID, 2 * ID),
    key.subarray(2 * ID),
  ]
  const [resolved] = yield* read(cell(resolutions, concat(groupKey, input)))
  return resolved && equalBytes(resolved.row, row) ? undefined : 'its resolution is missing'
}

function* checkRepresentative(key: Buffer, row: Representative): Transaction<string | undefined> {
  const { parts, expiresAt } = payloadCodec.decode(row.payload)
  const [partition, id] = [key.subarray(0, ID), key.subarray(ID)]
  const found = yield* read(
    ...Array.from({ length: parts }, (_, part) =>
      cell(evidences, evidenceKey(partition, id, part)),
    ),
  )
  if (found.includes(undefined)) return 'its evidence is missing'
  if (expiresAt === undefined) return undefined
  const [expiry] = yield* read(cell(expiries, expiryKey(expiresAt, partition, id)))
  return expiry ? undefined : 'its row of expiry is missing'
}

function* checkAlias(_key: Buffer, { partition, into }: Alias): Transaction<string | undefined> {
  if (yield* representativeAt(partition, into)) return undefined
  return (yield* isLeftOver(partition, into)) ? undefined : 'what it was merged into is missing'
}

function* checkExpiry(key: Buffer, _groupKey: Bytes): Transaction<string | undefined> {
  const row = yield* representativeAt(key.subarray(6, 6 + ID), key.subarray(6 + ID))
  const expiresAt = row && payloadCodec.decode(row.payload).expiresAt
  return expiresAt === key.readUIntBE(0, 6) ? undefined : 'what it is of does not expire then'
}

/** All groups together. */
async function countsOf(
  backend: Backend,
): Promise<{ groups: number; clusters: number; members: number }> {
  const sums = { groups: 0, clusters: 0, members: 0 }
  for await (const { key: groupKey } of backend.scan(groups)) {
    const [clusters = 0, inputs = 0] = await backend.read(function* () {
      return yield* read(
        cell(resolverTallies, tallyKey(groupKey, 'clusters')),
        cell(resolverTallies, tallyKey(groupKey, 'members')),
      )
    })
    sums.groups++
    sums.clusters += clusters
    sums.members += inputs
  }
  return sums
}

async function indexesOf(backend: Backend, stored: object): Promise<PortableIndex[]> {
  const { text, containment, vector } = stored as ResolverSettings // safe: openers write nothing else, and format was checked
  const options = indexOptionsOf(backend.serial, {})
  const indexes = [portableIndex(textNear, new TextScheme(text.slots, text), options)]
  if (vector) {
    const layout = new BitLayout(vector.bits, vector)
    indexes.push(portableIndex(vectorNear, layout, { ...options, hasPages: true }))
  }
  if (containment) {
    requireJournal(backend.serial)
    const { serial } = options
    const limits = { serial, ...CONTAINMENT_LIMITS }
    indexes.push(portableIndex(textContainment, new ContainmentScheme(), limits))
  }
  return indexes
}

const isNamed = (name: string) => (tally: Buffer) => tally.subarray(ID).toString() === name

export const storedResolver = {
  kind: 'resolver',
  spaces: resolverSpaces,
  settings: cell(settings, Buffer.from('resolver')),
  keptSettings: (value: object): string => JSON.stringify(value),
  indexes: indexesOf,
  counts: countsOf,
  checks: [
    { space: textNear.representatives, check: checkRepresentative },
    { space: vectorNear.representatives, check: checkRepresentative },
    { space: textContainment.representatives, check: checkContained },
    { space: resolutions, check: checkResolution },
    { space: members, check: checkMember },
    { space: aliases, check: checkAlias },
    { space: expiries, check: checkExpiry },
  ],
  tallyChecks: [
    {
      space: members,
      tallies: resolverTallies,
      counts: (key: Buffer) => [[tallyKey(key.subarray(0, ID), 'members'), 1]] as const,
      owns: isNamed('members'),
    },
    {
      space: aliases,
      tallies: resolverTallies,
      counts: (key: Buffer) => [[tallyKey(key.subarray(0, ID), 'merged'), 1]] as const,
      owns: isNamed('merged'),
    },
  ],
} as const
