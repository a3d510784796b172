/**
 * Where a cell is: which item of the one table, and what is in it.
 *
 * An item has a partition key `p`, a sort key `s`, the version `n` of the commit that wrote it (8 bytes) and its
 * bytes `v` (missing if there are none). Partition keys begin with `1`, the namespace (its length, its name), the
 * space (its length, its name) and a letter:
 *
 *     ordered rows    o, shard (1)              sort key: 1, key
 *     other rows      u, key                    sort key: 0
 *     tallies         t, shard (1), group       sort key: 0; one number an attribute, named c and the rest of the key
 *
 * A scan merges the shards of a space, so that no partition takes all its writes. Which shard a row is in goes by a
 * hash of its key or, where a space says that rows are scanned by what their keys begin with, of that beginning:
 * such a scan asks one shard. Tallies of one group (the first 16 bytes of longer keys) are one item a shard, because
 * a transaction is paid for by the item; a reader sums the shards.
 */

import type { AttributeValue } from '@aws-sdk/client-dynamodb'

import { asBuffer, type Bytes, concat, EMPTY, latin1 } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Space } from '../contract.ts'
import type { Versioned } from '../kit/optimistic.ts'

export type Item = Record<string, AttributeValue>

/** The address of one item. */
export interface Address {
  /** One string an address: what maps of items are keyed by. */
  readonly name: string
  readonly key: Item
}

const FORMAT = 1
const ORDERED = 0x6f
const UNORDERED = 0x75
const TALLIES = 0x74
const ALONE = Buffer.of(0)
const ROW = Buffer.of(1)
const GROUP_BYTES = 16

/** A sort key has 1024 bytes, one of which is ours. */
export const KEY_BYTES_MAX = 1023
/** An item has 400 KiB, keys and names of attributes included. */
export const VALUE_BYTES_MAX = 384 * 1024
export const ITEMS_MAX = 100
/** A transaction has 4 MiB; what is counted is rounded, so some is left. */
export const TRANSACTION_BYTES_MAX = 3_900_000
export const ITEM_OVERHEAD_BYTES = 200

export class Layout {
  readonly shards: number
  readonly #prefix: Buffer
  readonly #heads = new Map<string, Buffer>()
  readonly #gatherBytes = new Map<string, number | undefined>()

  /** A space is known by its name: where it was declared says how its rows are spread, whoever asks for them. */
  constructor(namespacePrefix: Buffer, shards: number, spaces: readonly Space<unknown>[]) {
    this.#prefix = namespacePrefix
    this.shards = shards
    for (const { name, gatherBytes } of spaces) this.#gatherBytes.set(name, gatherBytes)
  }

  row(space: Space<unknown>, key: Bytes): Address {
    const head = this.#head(space, space.ordered ? ORDERED : UNORDERED)
    if (!space.ordered) return addressOf(concat(head, key), ALONE)
    return addressOf(concat(head, Buffer.of(this.#shardOf(space, key))), concat(ROW, key))
  }

  /** The partitions of an ordered space that may hold rows of a range. */
  partitions(space: Space<unknown>, start: Bytes, end: Bytes | undefined): Buffer[] {
    const head = this.#head(space, ORDERED)
    const gatherBytes = this.#gathered(space)
    const isGathered =
      gatherBytes !== undefined &&
      start.byteLength >= gatherBytes &&
      end !== undefined &&
      isWithin(start.subarray(0, gatherBytes), end)
    const shards = isGathered
      ? [this.#shardOf(space, start)]
      : Array.from({ length: this.shards }, (_, shard) => shard)
    return shards.map((shard) => concat(head, Buffer.of(shard)))
  }

  tally(space: Space<unknown>, key: Bytes, shard: number): Address {
    const head = concat(this.#head(space, TALLIES), Buffer.of(shard))
    return addressOf(concat(head, groupOf(key)), ALONE)
  }

  /** What the partition keys of a space that is not ordered begin with. */
  head(space: Space<unknown>): Buffer {
    return this.#head(space, space.kind === 'tallies' ? TALLIES : UNORDERED)
  }

  #gathered({ name, gatherBytes }: Space<unknown>): number | undefined {
    return this.#gatherBytes.has(name) ? this.#gatherBytes.get(name) : gatherBytes
  }

  #shardOf(space: Space<unknown>, key: Bytes): number {
    const gatherBytes = this.#gathered(space)
    const hashed = gatherBytes === undefined ? key : key.subarray(0, gatherBytes)
    return hashOf(hashed) % this.shards
  }

  #head({ name }: Space<unknown>, letter: number): Buffer {
    const known = this.#heads.get(`${letter} ${name}`)
    if (known) return known
    const bytes = Buffer.from(name)
    const made = Buffer.concat([
      Buffer.of(FORMAT),
      this.#prefix,
      Buffer.of(bytes.byteLength),
      bytes,
      Buffer.of(letter),
    ])
    this.#heads.set(`${letter} ${name}`, made)
    return made
  }
}

/** Every key from the prefix itself up to (and without) the end starts with the prefix. */
function isWithin(prefix: Bytes, end: Bytes): boolean {
  const top = asBuffer(end).subarray(0, prefix.byteLength)
  if (top.equals(prefix)) return true
  // The end of a prefix is the prefix with its last byte that can grow grown, and nothing behind it.
  for (let at = prefix.byteLength - 1; at >= 0; at--) {
    if (prefix[at] === 0xff) continue
    const grown = Buffer.from(prefix.subarray(0, at + 1))
    grown.writeUInt8(grown.readUInt8(at) + 1, at)
    return grown.equals(end)
  }
  return false
}

/** FNV-1a, finished so that its low bits depend on all bytes. Stored with every row: it never changes. */
export function hashOf(bytes: Bytes): number {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

function addressOf(partition: Buffer, sort: Buffer): Address {
  return {
    name: `${latin1(partition)}/${latin1(sort)}`,
    key: { p: { B: partition }, s: { B: sort } },
  }
}

export function nameOfItem({ p, s }: Item): string {
  return `${latin1(p?.B ?? EMPTY)}/${latin1(s?.B ?? EMPTY)}`
}

function groupOf(key: Bytes): Bytes {
  return key.byteLength > GROUP_BYTES ? key.subarray(0, GROUP_BYTES) : EMPTY
}

/** The attribute of a tally within the item of its group. */
export function tallyName(key: Bytes): string {
  const rest = key.byteLength > GROUP_BYTES ? key.subarray(GROUP_BYTES) : key
  return `c${latin1(rest)}`
}

export function bytesOfVersion(version: string): Buffer {
  return Buffer.from(version, 'latin1')
}

export function itemOf({ key }: Address, bytes: Bytes, version: string): Item {
  const item: Item = { ...key, n: { B: bytesOfVersion(version) } }
  if (bytes.byteLength > 0) item['v'] = { B: bytes }
  return item
}

/** What a row's item holds. One without a version was not written by prestige. */
export function versionedOf(item: Item): Versioned {
  const version = item['n']?.B
  if (version === undefined) {
    throw new PrestigeError(
      'CONTENT_CORRUPT',
      'An item of the table has no version: something else than prestige has written to it.',
    )
  }
  return { bytes: item['v']?.B ?? EMPTY, version: latin1(version) }
}

/** Tallies within one item, by the whole keys they have; `rest` is its partition key without the head. */
export function talliesOf(item: Item, rest: Buffer): [key: Buffer, value: number][] {
  const group = rest.subarray(1)
  return Object.entries(item).flatMap(([name, value]) =>
    name.startsWith('c') && value.N !== undefined
      ? [[concat(group, Buffer.from(name.slice(1), 'latin1')), Number(value.N)]]
      : [],
  )
}

/** The sum of a tally over the items of its shards; `undefined` if none of them has it. */
export function sumOf(items: readonly (Item | undefined)[], key: Bytes): number | undefined {
  const name = tallyName(key)
  let sum: number | undefined
  for (const item of items) {
    const text = item?.[name]?.N
    if (text !== undefined) sum = (sum ?? 0) + Number(text)
  }
  return sum
}
