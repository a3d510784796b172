/**
 * What must hold of a store's rows after every single commit, checked on the simulated engine's own state.
 * Throws with the name of the invariant that broke.
 */

import { createHash } from 'node:crypto'

import type { Bytes } from '../../src/platform/bytes.ts'
import type { Space } from '../../src/backends/contract.ts'
import { changeHeads, changeJournal } from '../../src/store/changes/rows.ts'
import {
  type ChunkRow,
  chunks,
  packs,
  rawOf,
  type RecipePart,
  recipes,
} from '../../src/store/contents/chunk-rows.ts'
import {
  deltaBases,
  deltaIn,
  deltas,
  heldBases,
  valueOf,
} from '../../src/store/contents/delta-rows.ts'
import type { Layout } from '../../src/store/contents/layout.ts'
import {
  contents,
  digests,
  type Entry,
  entries,
  expiries,
  type Form,
  forms,
  type Known,
  members,
  refs,
  released,
  staged,
  storeTallies,
} from '../../src/store/rows.ts'

const NAMESPACE_BYTES = 1

/** All rows of one moment. A key begins with its namespace. */
export interface RowSource {
  rows(space: Space<unknown>): readonly { readonly key: Buffer; readonly bytes: Bytes }[]
}

export function fail(message: string): never {
  throw new Error(`Invariant broken: ${message}`)
}

export function table<V>(world: RowSource, space: Space<V>): Map<string, V> {
  const found = new Map<string, V>()
  for (const { key, bytes } of world.rows(space)) {
    found.set(key.subarray(NAMESPACE_BYTES).toString('latin1'), space.codec.decode(bytes))
  }
  return found
}

export const latin1 = (bytes: Bytes) => Buffer.from(bytes).toString('latin1')

interface How {
  readonly layout: Layout
  readonly canonicalise: (bytes: Bytes) => Bytes
  readonly sharesForms: boolean
}

export function checkInvariants(world: RowSource, how: How): void {
  const entryOf = table(world, entries)
  const knownOf = table(world, digests)
  const references = table(world, refs)
  const stagedOf = table(world, staged)
  checkEntries(entryOf, knownOf, references, table(world, expiries))
  const chunked = new Chunked(world)
  const hidden = new Map<string, unknown>([...stagedOf, ...table(world, heldBases)])
  checkContents(knownOf, contentsOf(world, chunked, how.layout), hidden, how)
  checkForms(knownOf, table(world, forms), table(world, members))
  const tallies = table(world, storeTallies)
  checkTallies(tallies, entryOf, knownOf)
  chunked.checkTallies(tallies, knownOf, how.layout)
  checkFeed(world, entryOf)
}

/** Of a store that records changes: all of them, replayed, give its keys. Numbers have no gap. */
function checkFeed(world: RowSource, entryOf: Map<string, Entry>): void {
  const head = table(world, changeHeads).get('journal')
  if (!head) return
  const replica = new Map<string, string>()
  let last = 0
  for (const [number, change] of table(world, changeJournal)) {
    const sequence = Buffer.from(number, 'latin1').readUIntBE(0, 6)
    if (sequence !== ++last) fail(`change ${last} is missing`)
    const { kind, key, digest, transaction } = change
    if (transaction > sequence) fail(`change ${sequence} is before its transaction`)
    const isGone = ['delete', 'evict', 'expire'].includes(kind)
    if (!isGone) replica.set(latin1(key), latin1(digest))
    else if (!replica.delete(latin1(key))) fail(`change ${sequence} removes what is not there`)
  }
  if (head.sequence !== last) fail(`the head is at ${head.sequence}, the last change is ${last}`)
  if (replica.size !== entryOf.size) fail('the feed has other keys than the store')
  for (const [key, entry] of entryOf) {
    if (replica.get(key) !== latin1(entry.exact ?? entry.digest)) fail(`the feed misses ${key}`)
  }
}

function checkEntries(
  entryOf: Map<string, Entry>,
  knownOf: Map<string, Known>,
  references: Map<string, Bytes>,
  expiring: Map<string, Bytes>,
): void {
  for (const [key, entry] of entryOf) {
    const known = knownOf.get(latin1(entry.digest)) ?? fail(`entry ${key} has no digests row`)
    if (!known.id.equals(entry.id)) fail(`entry ${key} and its digests row name other contents`)
    if (known.bytes !== entry.bytes) fail(`entry ${key} has another length than its content`)
    if (!references.has(latin1(entry.id) + key)) fail(`entry ${key} has no reference row`)
    if (entry.expiresAt !== undefined) {
      const time = Buffer.alloc(6)
      time.writeUIntBE(entry.expiresAt, 0, 6)
      if (!expiring.has(latin1(time) + key)) fail(`entry ${key} has no expiries row`)
    }
  }
  for (const name of references.keys()) {
    const entry = entryOf.get(name.slice(16)) ?? fail('a reference row has no entry')
    if (latin1(entry.id) !== name.slice(0, 16)) fail('a reference row names another content')
  }
  const timed = [...entryOf.values()].filter((entry) => entry.expiresAt !== undefined)
  if (expiring.size !== timed.length) fail('there is an expiries row without its entry')
}

/** The bytes of every content, however it is kept. */
export function contentsOf(
  world: RowSource,
  chunked: Chunked,
  layout: Layout,
): Map<string, Buffer[]> {
  const byId = chunked.contents()
  for (const [name, bytes] of table(world, contents)) {
    const id = name.slice(0, 16)
    byId.set(id, [...(byId.get(id) ?? []), Buffer.from(layout.valueIn(bytes))])
  }
  addDeltas(world, byId)
  return byId
}

/** Each is of a content that is no delta, and has the row by which that is kept for it. */
function addDeltas(world: RowSource, byId: Map<string, Buffer[]>): void {
  const reverse = table(world, deltaBases)
  const rows = table(world, deltas)
  for (const [id, row] of rows) {
    const delta = deltaIn(row) ?? fail('a delta cannot be read')
    const base = latin1(delta.base)
    if (rows.has(base)) fail('a delta is of a delta')
    if (byId.has(id)) fail('a content is a delta and a row of its own')
    if (!reverse.has(base + id)) fail('nothing keeps the base of a delta')
    byId.set(id, [valueOf(delta, Buffer.concat(byId.get(base) ?? fail('a base is gone')))])
  }
  if (reverse.size !== rows.size) fail('a base is kept for a delta that is none')
}

function checkContents(
  knownOf: Map<string, Known>,
  byId: Map<string, Buffer[]>,
  stagedOf: Map<string, unknown>,
  how: How,
): void {
  const seen = new Set<string>()
  for (const [digest, known] of knownOf) {
    const id = latin1(known.id)
    if (seen.has(id)) fail('two digests name one content')
    seen.add(id)
    const whole = Buffer.concat(byId.get(id) ?? fail('a digests row has no content'))
    if (whole.length !== known.bytes) fail('a content has another length than its digests row says')
    const hashed = how.sharesForms ? how.canonicalise(whole) : whole
    const actual = createHash('sha256')
      .update(hashed)
      .digest('latin1' as 'binary')
    if (actual !== digest) fail('a content does not have the digest it is known by')
    if (stagedOf.has(id)) fail('a visible content is still staged')
  }
  for (const id of byId.keys()) {
    if (!seen.has(id) && !stagedOf.has(id)) fail('a content is neither known nor staged')
  }
}

/** Recipes, chunks and packs: whatever a recipe names is there, visible or not. */
export class Chunked {
  readonly #recipes: Map<string, RecipePart>
  readonly #chunks: Map<string, ChunkRow>
  readonly #packs: Map<string, Bytes>

  constructor(world: RowSource) {
    this.#recipes = table(world, recipes)
    this.#chunks = table(world, chunks)
    this.#packs = table(world, packs)
    const pointedAt = new Set<string>()
    for (const [digest, row] of this.#chunks) {
      pointedAt.add(latin1(row.pack))
      if (latin1(createHash('sha256').update(this.#bytes(row)).digest()) !== digest)
        fail('a chunk does not have its digest')
    }
    for (const id of this.#packs.keys()) {
      if (!pointedAt.has(id)) fail('nothing points into a pack')
    }
  }

  #bytes({ pack, offset, bytes }: ChunkRow): Bytes {
    const row = this.#packs.get(latin1(pack)) ?? fail('a chunk points at a pack that is gone')
    return rawOf(row).subarray(offset, offset + bytes)
  }

  /** The bytes of every content that has a recipe. */
  contents(): Map<string, Buffer[]> {
    const byId = new Map<string, Buffer[]>()
    for (const [name, { offset, chunks: refs }] of this.#recipes) {
      const id = name.slice(0, 16)
      const before = byId.get(id) ?? []
      if (Buffer.concat(before).length !== offset) fail('a part begins where none ends')
      const own = refs.map(({ digest }) =>
        this.#bytes(
          this.#chunks.get(latin1(digest)) ?? fail('a recipe names a chunk that is gone'),
        ),
      )
      byId.set(id, [...before, Buffer.concat(own)])
    }
    return byId
  }

  /** Chunks that no recipe names. */
  garbage(): number {
    const named = new Set<string>()
    for (const { chunks: refs } of this.#recipes.values())
      for (const { digest } of refs) named.add(latin1(digest))
    return [...this.#chunks.keys()].filter((digest) => !named.has(digest)).length
  }

  checkTallies(tally: Map<string, number>, knownOf: Map<string, Known>, layout: Layout): void {
    if (!layout.chunks) return
    const sum = (all: Iterable<number>) => [...all].reduce((one, other) => one + other, 0)
    const long = [...knownOf.values()].filter(({ bytes }) => layout.isLong(bytes))
    const expected = {
      chunkedBytes: sum(long.map(({ bytes }) => bytes)),
      chunkBytes: sum([...this.#chunks.values()].map(({ bytes }) => bytes)),
      packBytes: sum([...this.#packs.values()].map(({ byteLength }) => byteLength)),
    }
    for (const [name, count] of Object.entries(expected)) {
      if ((tally.get(name) ?? 0) !== count)
        fail(`tally ${name} is ${tally.get(name)}, and should be ${count}`)
    }
  }
}

function checkForms(
  knownOf: Map<string, Known>,
  formOf: Map<string, Form>,
  memberOf: Map<string, Bytes>,
): void {
  let withForm = 0
  for (const [digest, { id, form }] of knownOf) {
    if (!form) continue
    withForm++
    const member =
      memberOf.get(latin1(form) + latin1(id)) ?? fail('a content is no member of its form')
    if (latin1(member) !== digest) fail('a member row names another digest')
    if (!formOf.has(latin1(form))) fail('a content has a form that is not there')
  }
  if (memberOf.size !== withForm) fail('there is a member row without its content')
  for (const [canonical, form] of formOf) {
    if (!memberOf.has(canonical + latin1(form.id)))
      fail('a form has a representative that is no member')
  }
}

function checkTallies(
  tally: Map<string, number>,
  entryOf: Map<string, Entry>,
  knownOf: Map<string, Known>,
): void {
  const all = [...entryOf.values()]
  const expected = {
    keys: all.length,
    keysWithExpiry: all.filter((entry) => entry.expiresAt !== undefined).length,
    valueBytes: all.reduce((sum, entry) => sum + entry.bytes, 0),
    contents: knownOf.size,
    contentBytes: [...knownOf.values()].reduce((sum, known) => sum + known.bytes, 0),
  }
  for (const [name, count] of Object.entries(expected)) {
    if ((tally.get(name) ?? 0) !== count)
      fail(`tally ${name} is ${tally.get(name)}, and should be ${count}`)
  }
}

/** After everything has ended and a collector has run, nothing unneeded may be left. */
export function checkNothingLeft(world: RowSource): void {
  const referenced = new Set([...table(world, refs).keys()].map((name) => name.slice(0, 16)))
  for (const known of table(world, digests).values()) {
    if (!referenced.has(latin1(known.id))) fail('a content nobody refers to was not collected')
  }
  if (table(world, released).size > 0) fail('a released note was left behind')
  if (table(world, staged).size > 0) fail('staged parts were left behind')
  if (table(world, heldBases).size > 0) fail('a base that no delta needs was left behind')
  if (new Chunked(world).garbage() > 0) fail('chunks were left behind')
}
