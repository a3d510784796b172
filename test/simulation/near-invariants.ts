/**
 * What must hold of near duplicates after every single commit: whatever is linked is similar enough to what it is
 * linked to, no two representatives are near duplicates that a search could have found, and no row hangs in the air.
 */

import type { SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { computeBands, jaccard, shingleHashes, sketchOf } from '../../src/fingerprint/index.ts'
import { bucketKey } from '../../src/match/rows.ts'
import type { Layout } from '../../src/store/contents/layout.ts'
import { decodePayload, decodeSimilarity, nearLinks, storeNear } from '../../src/store/near/rows.ts'
import { digests, refs } from '../../src/store/rows.ts'
import type { Store } from '../../src/store/store.ts'
import { Chunked, contentsOf, fail, latin1, table } from './invariants.ts'

const PROFILE = 'words-1'
const THRESHOLD = 0.85
const SLOTS = 64
const BANDS = 16
const ROWS = 1

/** Long enough for a text to be kept as a delta. */
const words = (letter: string) =>
  Array.from({ length: 20 }, (_, at) => `${letter}${at}`.repeat(6).padEnd(15, letter))
function text(letter: string, ...replaced: readonly number[]): string {
  return words(letter)
    .map((word, at) => (replaced.includes(at) ? `x${word}` : word))
    .join(' ')
}

/**
 * `a` is like each of its variants (0.905), and they are not like one another (0.818): who is linked to whom depends
 * on who came first. Some differ in case only; one is in parts; two cannot be compared.
 */
export const NEAR_VALUES = [
  text('a'),
  text('a', 1),
  text('a', 2),
  text('a', 3),
  text('a', 1, 2),
  text('a').toUpperCase(),
  text('b'),
  `${text('a', 4)}${' '.repeat(1200)}`,
  '',
  'short',
]

export function nearOptions(world: SimulatedWorld) {
  const one = <T>(...choices: readonly T[]) => choices[Math.floor(world.random() * choices.length)]!
  const canonical = one('none', 'none', 'unicode')
  const fidelity = canonical === 'none' ? one('own', 'own', 'representative') : 'own'
  const gc = one('immediate', 'manual')
  // With room for one, most buckets are full soon.
  const bucketMax = one(20, 20, 1)
  const near = { profile: PROFILE, slots: SLOTS, bands: BANDS, rows: ROWS, bucketMax } as const
  const dedup = 'near' as const
  return {
    dedup,
    canonical,
    fidelity,
    gc,
    near: { threshold: THRESHOLD, guards: false as const, ...near },
  }
}

const canonical = (value: string) => value.trim().toLowerCase()
const similarities = new Map<string, number>()

function similarity(one: string, other: string): number {
  const name = `${canonical(one)}\n${canonical(other)}`
  const known = similarities.get(name)
  if (known !== undefined) return known
  const [first, second] = [one, other].map((value) => shingleHashes(canonical(value), PROFILE))
  const isSmall = Math.min(first!.length, second!.length) < 4
  const measured = jaccard(first!, second!)
  const found = isSmall && measured < 1 ? 0 : measured
  similarities.set(name, found)
  return found
}

/** Whether a value may have been answered by another, where bytes are shared. */
export function isNear(put?: string, seen?: string): boolean {
  if (put === undefined || seen === undefined) return put === seen
  return put === seen || similarity(put, seen) >= THRESHOLD
}

const bands = new Map<string, Uint32Array>()

function bandsOf(value: string): Uint32Array {
  const known = bands.get(value)
  if (known) return known
  const { slots } = sketchOf(canonical(value), { profile: PROFILE, slots: SLOTS })
  const made = computeBands(slots, BANDS, ROWS)
  bands.set(value, made)
  return made
}

interface Rows {
  readonly idOf: Map<string, string>
  readonly linkOf: Map<string, ReturnType<typeof nearLinks.links.codec.decode>>
  readonly buckets: Map<string, ReturnType<typeof storeNear.buckets.codec.decode>>
  readonly gone: Map<string, unknown>
}

export class NearInvariants {
  readonly #sharesNear: boolean
  readonly #layout: Layout
  /** Of all contents that ever were: what is gone may still be linked to. */
  readonly #texts = new Map<string, string>()

  constructor(sharesNear: boolean, layout: Layout) {
    this.#sharesNear = sharesNear
    this.#layout = layout
  }

  check(world: SimulatedWorld): void {
    const known = table(world, digests)
    const idOf = new Map([...known].map(([digest, { id }]) => [latin1(id), digest]))
    this.#remember(world, idOf)
    const rows = {
      idOf,
      linkOf: table(world, nearLinks.links),
      buckets: table(world, storeNear.buckets),
      gone: table(world, nearLinks.orphaned),
    }
    this.#checkLinks(world, rows)
    this.#checkRepresentatives(world, rows)
    this.#checkReferences(world)
  }

  /** Nothing waits any more, and verify agrees. */
  async checkEnd(world: SimulatedWorld, store: Store): Promise<void> {
    if (table(world, nearLinks.orphaned).size > 0) fail('a note of an orphan was left behind')
    const { problems, notes } = await store.verify()
    if (problems.length > 0 || notes.length > 0) {
      fail(`verify found ${JSON.stringify([problems[0], notes])}`)
    }
  }

  #remember(world: SimulatedWorld, idOf: Map<string, string>): void {
    const missing = [...idOf.keys()].filter((id) => !this.#texts.has(id))
    if (missing.length === 0) return
    const byId = contentsOf(world, new Chunked(world), this.#layout)
    for (const id of missing) {
      this.#texts.set(id, Buffer.concat(byId.get(id) ?? fail('a content is gone')).toString())
    }
  }

  #text(id: string): string {
    return this.#texts.get(id) ?? fail('something is linked to a content that never was')
  }

  #checkLinks(world: SimulatedWorld, { idOf, linkOf, gone }: Rows): void {
    const back = table(world, nearLinks.linked)
    let count = 0
    for (const [id, digest] of idOf) {
      const isEmpty = canonical(this.#text(id)) === ''
      if (linkOf.has(id) === isEmpty) fail(`a content ${isEmpty ? 'has a' : 'has no'} link`)
      const { to } = linkOf.get(id) ?? {}
      if (!to) continue
      count++
      const target = latin1(to.id)
      const row = back.get(target + id)
      if (!row || latin1(row) !== digest) fail('a link is not listed')
      const measured = similarity(this.#text(id), this.#text(target))
      if (measured < THRESHOLD) fail('a content is linked to one it is not like')
      if (measured !== to.similarity) fail('a link tells another similarity')
      const isThere = linkOf.has(target) && !linkOf.get(target)?.to && idOf.has(target)
      if (!isThere && !gone.has(target)) fail('a content is linked to what is gone, unnoted')
    }
    for (const id of linkOf.keys()) if (!idOf.has(id)) fail('there is a link without its content')
    if (back.size !== count) fail('there is a row of linked without its link')
    const tally = table(world, nearLinks.tallies).get('links') ?? 0
    if (tally !== count) fail(`tally links is ${tally}, and should be ${count}`)
  }

  #checkRepresentatives(world: SimulatedWorld, { idOf, linkOf, buckets }: Rows): void {
    const representatives = table(world, storeNear.representatives)
    const ids: { id: string; group: Buffer }[] = []
    for (const [id, { to, group }] of linkOf) {
      if (to) continue
      ids.push({ id, group })
      const row = representatives.get(latin1(group) + id) ?? fail('a representative has no row')
      if (latin1(decodePayload(row.payload).digest) !== idOf.get(id)) fail('a payload is wrong')
    }
    if (representatives.size !== ids.length) fail('there is a representative without its link')
    const isThere = new Set(ids.map(({ id }) => id))
    for (const { ids: named } of buckets.values()) {
      for (let at = 0; at < named.byteLength; at += 16) {
        if (!isThere.has(latin1(named.subarray(at, at + 16)))) fail('a bucket names what is gone')
      }
    }
    ids.forEach((one, at) => {
      this.#checkBuckets(one, buckets)
      for (const other of ids.slice(at + 1)) this.#checkPair(one, other, buckets)
    })
  }

  #bucketsOf({ id, group }: { id: string; group: Buffer }): string[] {
    const all = bandsOf(this.#text(id))
    return Array.from(all, (hash, band) => latin1(bucketKey(group, band, hash)))
  }

  #checkBuckets(one: { id: string; group: Buffer }, buckets: Rows['buckets']): void {
    for (const name of this.#bucketsOf(one)) {
      const bucket = buckets.get(name)
      if (!bucket?.isFull && !latin1(bucket?.ids ?? Buffer.alloc(0)).includes(one.id)) {
        fail('a representative is missing from a bucket')
      }
    }
  }

  #checkPair(
    one: { id: string; group: Buffer },
    other: { id: string; group: Buffer },
    buckets: Rows['buckets'],
  ): void {
    if (similarity(this.#text(one.id), this.#text(other.id)) < THRESHOLD) return
    const others = new Set(this.#bucketsOf(other))
    const isShared = this.#bucketsOf(one).some(
      (name) => others.has(name) && !buckets.get(name)?.isFull,
    )
    if (isShared) fail('two near duplicates were both taken for new')
  }

  #checkReferences(world: SimulatedWorld): void {
    for (const value of table(world, refs).values()) {
      const told = decodeSimilarity(value)
      if (value.byteLength > 0 && !this.#sharesNear) fail('a reference tells a similarity')
      if (told !== undefined && told < THRESHOLD) fail('a similarity is below the threshold')
    }
  }
}
