/**
 * What must be true of the rows of a resolver that keeps texts, whoever wrote them, in whatever order, and
 * whatever failed meanwhile. Written from the rows alone: it shares nothing with the resolver but the codecs and
 * the measure itself, and looks at all pairs.
 */

import { createHash } from 'node:crypto'

import { canonicalProfile } from '../../src/canonical/index.ts'
import {
  jaccard,
  shapesOf,
  shingleHashes,
  type ShingleProfile,
} from '../../src/fingerprint/index.ts'
import type { Representative } from '../../src/match/rows.ts'
import { partitionKey } from '../../src/match/settings.ts'
import {
  aliases,
  evidences,
  expiries,
  expiryKey,
  leftovers,
  members,
  payloadCodec,
  type Payload,
  resolutions,
  resolverTallies,
  textNear,
} from '../../src/resolve/rows.ts'
import type { ResolverSettings } from '../../src/index.ts'
import { groupKeyOf } from '../../src/resolve/subject.ts'
import { latin1, type RowsOf } from './tables.ts'

export interface AuditOptions {
  readonly settings: ResolverSettings
  readonly groups: readonly string[]
  readonly now?: number
  /** Texts that may have been resolved: members are measured again. */
  readonly inputs?: readonly string[]
  /** Whether two representatives (rows) may both be there although they are near duplicates. */
  readonly mayMiss?: (shelf: string, first: string, second: string) => boolean
}

interface Standing {
  readonly name: string
  readonly shelf: string
  readonly row: string
  readonly tenant: string
  readonly payload: Payload
  readonly kept: Representative
  readonly text: string
  readonly hashes: Uint32Array
}

export class Audit {
  readonly problems: string[] = []
  readonly standing = new Map<string, Standing>()
  readonly #rowsOf: RowsOf
  readonly #options: AuditOptions
  readonly #shelves = new Map<string, { profile: ShingleProfile; tenant: string }>()

  constructor(rowsOf: RowsOf, options: AuditOptions) {
    this.#rowsOf = rowsOf
    this.#options = options
    const { slots, hashVersion, profile } = options.settings.text
    for (const group of options.groups) {
      const tenant = latin1(groupKeyOf('text', group))
      for (const { name: one } of shapesOf(profile)) {
        const shelf = partitionKey('shelf', group, one, String(slots), hashVersion)
        this.#shelves.set(latin1(shelf), { profile: one, tenant })
      }
    }
    this.#representatives()
    this.#members()
    if (options.inputs) this.#measure(options.inputs)
    this.#merges()
    this.#pairs()
    this.#tallies()
    this.#journal()
    this.#buckets()
  }

  get live(): Standing[] {
    const now = this.#options.now ?? 0
    return [...this.standing.values()].filter(
      ({ payload: { mergedInto, expiresAt } }) =>
        mergedInto === undefined && (expiresAt === undefined || expiresAt > now),
    )
  }

  #say(problem: string): void {
    this.problems.push(problem)
  }

  #representatives(): void {
    const evidence = this.#rowsOf(evidences)
    const expiring = this.#rowsOf(expiries)
    let parts = 0
    let timed = 0
    for (const [name, kept] of this.#rowsOf(textNear.representatives)) {
      const shelf = name.slice(0, 16)
      const payload = payloadCodec.decode(kept.payload)
      const place = this.#shelves.get(shelf)
      if (!place) {
        this.#say('a representative is on a shelf of no group')
        continue
      }
      const found = Array.from({ length: payload.parts }, (_, part) =>
        evidence.get(part === 0 ? name : name + latin1(Buffer.of(part >>> 8, part & 255))),
      )
      parts += payload.parts
      if (found.includes(undefined)) this.#say('a representative has no evidence')
      const text = Buffer.concat(found.map((part) => part ?? Buffer.alloc(0))).subarray(1)
      const hashes = hashesOf(canonicalOf(text.toString()), place.profile)
      const row = name.slice(16)
      const { tenant } = place
      const shown = text.toString()
      this.standing.set(row, { name, shelf, row, tenant, payload, kept, text: shown, hashes })
      if (payload.expiresAt === undefined) continue
      timed++
      const key = expiryKey(payload.expiresAt, binary(shelf), binary(row))
      const owner = expiring.get(latin1(key))
      if (!owner || latin1(owner) !== tenant) this.#say('a representative has no expiries row')
    }
    if (evidence.size !== parts) this.#say(`${evidence.size} rows of evidence for ${parts} parts`)
    if (expiring.size !== timed) this.#say(`${expiring.size} expiries for ${timed} that expire`)
  }

  #members(): void {
    const isLeft = new Set([...this.#rowsOf(leftovers).keys()].map((name) => name.slice(16)))
    const memberOf = this.#rowsOf(members)
    let count = 0
    for (const [name, resolved] of this.#rowsOf(resolutions)) {
      const [tenant, input] = [name.slice(0, 16), name.slice(16)]
      const row = latin1(resolved.row)
      const standing = this.standing.get(row)
      if (!standing && !(isLeft.has(row) && !resolved.isRepresentative)) {
        this.#say('a resolution has no representative')
      }
      if (standing && latin1(resolved.id) !== latin1(standing.payload.id)) {
        this.#say('a resolution names another id than its representative')
      }
      if (resolved.isRepresentative) continue
      count++
      const member = memberOf.get(tenant + row + input)
      if (!member) this.#say('an input is no member of what it was resolved to')
      else if (member.similarity !== resolved.similarity) this.#say('two similarities of one input')
      if (resolved.similarity < this.#options.settings.text.threshold) {
        this.#say(`a member is only ${resolved.similarity} like its representative`)
      }
    }
    if (memberOf.size !== count) this.#say(`${memberOf.size} member rows for ${count} members`)
  }

  /** Every member is as like its representative as is said. */
  #measure(inputs: readonly string[]): void {
    const textOf = new Map<string, string>()
    for (const text of inputs) {
      const digest = createHash('sha256').update(text).digest()
      textOf.set(latin1(digest.subarray(0, 16)), text)
    }
    for (const [name, resolved] of this.#rowsOf(resolutions)) {
      const standing = this.standing.get(latin1(resolved.row))
      const text = textOf.get(name.slice(16))
      if (text === undefined) this.#say('something was resolved that nobody gave')
      if (!standing || text === undefined || resolved.isRepresentative) continue
      const { profile } = this.#shelves.get(standing.shelf)!
      const hashes = hashesOf(canonicalOf(text), profile)
      const similarity = likeness(hashes, standing.hashes)
      if (similarity === resolved.similarity) continue
      this.#say(`a member is ${similarity} like its representative, not ${resolved.similarity}`)
    }
  }

  #merges(): void {
    const aliasOf = this.#rowsOf(aliases)
    const isLeft = new Set([...this.#rowsOf(leftovers).keys()].map((name) => name.slice(16)))
    let merged = 0
    for (const { payload, tenant, row, hashes, kept } of this.standing.values()) {
      if (!payload.mergedInto) continue
      merged++
      if (kept.sequence !== 0) this.#say('a merged representative is still in the index')
      const name = tenant + latin1(payload.mergedInto.id) + latin1(payload.id) + row
      const alias = aliasOf.get(name)
      const older = alias && this.standing.get(latin1(alias.into))
      if (!alias) this.#say('a merged representative has no alias')
      else if (!older && !isLeft.has(latin1(alias.into))) this.#say('it was merged into nothing')
      if (!older) continue
      if (older.row >= row) this.#say('an older one was merged into a younger one')
      const similarity = jaccard(older.hashes, hashes)
      if (similarity !== payload.mergedInto.similarity) this.#say('merged at another similarity')
      if (similarity < this.#options.settings.text.threshold) this.#say('merged, and not alike')
    }
    if (aliasOf.size !== merged) this.#say(`${aliasOf.size} aliases for ${merged} merged`)
  }

  /** Brute force: no two that are there are near duplicates of one another. */
  #pairs(): void {
    const { settings, mayMiss = () => false } = this.#options
    const live = this.live
    live.forEach((first, at) => {
      for (const second of live.slice(at + 1)) {
        if (first.tenant !== second.tenant) continue
        const similarity = this.#similarity(first, second)
        if (similarity < settings.text.threshold) continue
        if (mayMiss(first.shelf, first.row, second.row)) continue
        this.#say(`two representatives are ${similarity} alike: ${first.text} | ${second.text}`)
      }
    })
  }

  /** Those of different profiles are near duplicates if they are by either. */
  #similarity(first: Standing, second: Standing): number {
    if (first.shelf === second.shelf) return likeness(first.hashes, second.hashes)
    const by = ({ shelf }: Standing) => {
      const { profile } = this.#shelves.get(shelf)!
      return likeness(hashesOf(first.text, profile), hashesOf(second.text, profile))
    }
    return Math.min(by(first), by(second))
  }

  #tallies(): void {
    const tally = this.#rowsOf(resolverTallies)
    for (const group of this.#options.groups) {
      const tenant = latin1(groupKeyOf('text', group))
      const own = [...this.standing.values()].filter((one) => one.tenant === tenant)
      const merged = own.filter(({ payload }) => payload.mergedInto).length
      const memberRows = [...this.#rowsOf(members).keys()].filter((name) => name.startsWith(tenant))
      const expected = { clusters: own.length - merged, merged, members: memberRows.length }
      for (const [name, count] of Object.entries(expected)) {
        const told = tally.get(tenant + name) ?? 0
        if (told !== count) this.#say(`tally ${name} is ${told}, and should be ${count}`)
      }
    }
  }

  #journal(): void {
    const journal = this.#rowsOf(textNear.journal)
    const inserted = new Map<string, string>()
    for (const [number, change] of journal) {
      if (change.kind === 'insert') inserted.set(latin1(change.id), number)
    }
    for (const { row, kept, payload } of this.standing.values()) {
      const number = inserted.get(row)
      inserted.delete(row)
      if (kept.sequence === 0) continue
      if (number === undefined) this.#say('a representative is not in the journal')
      else if (Buffer.from(number, 'latin1').readUIntBE(0, 6) !== kept.sequence) {
        this.#say('a representative has another number in the journal')
      }
      if (payload.mergedInto) this.#say('a merged representative is in the journal')
    }
    if (inserted.size > 0) this.#say('the journal inserts what is not there')
  }

  #buckets(): void {
    for (const bucket of this.#rowsOf(textNear.buckets).values()) {
      if (!bucket.isFull && bucket.ids.byteLength === 0) this.#say('an empty bucket was left')
      for (let at = 0; at < bucket.ids.byteLength; at += 16) {
        const standing = this.standing.get(latin1(bucket.ids.subarray(at, at + 16)))
        if (!standing || standing.payload.mergedInto) this.#say('a bucket names what is not there')
      }
    }
  }
}

const canonical = canonicalProfile('unicode')
const forms = new Map<string, string>()
const cut = new Map<string, Uint32Array>()

/** Schedules audit the same few texts again and again. */
function hashesOf(text: string, profile: ShingleProfile): Uint32Array {
  const name = `${profile} ${text}`
  const hashes = cut.get(name) ?? shingleHashes(text, profile)
  if (cut.size < 5000) cut.set(name, hashes)
  return hashes
}

function canonicalOf(text: string): string {
  const form = forms.get(text) ?? Buffer.from(canonical.canonicalise(Buffer.from(text))).toString()
  if (forms.size < 5000) forms.set(text, form)
  return form
}

/** As near duplicates are measured: sets of fewer than four shingles are the same or they are not. */
export function likeness(first: Uint32Array, second: Uint32Array): number {
  const similarity = jaccard(first, second)
  return Math.min(first.length, second.length) < 4 && similarity < 1 ? 0 : similarity
}

function binary(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}
