/** What a document matches: by its canonical form, its SimHash, its MinHash; and which of its chunks are known. */

import { type Bytes, equalBytes } from '../platform/bytes.ts'
import {
  cell,
  type Cell,
  type Codec,
  glance,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { cosineFromBits } from '../fingerprint/index.ts'
import {
  type IndexOptions,
  Matcher,
  MatchIndex,
  rawCodec,
  type SimHashProbe,
  SimHashScheme,
  type SketchProbe,
  SketchScheme,
} from '../match/index.ts'
import type { Prepared } from './prepare.ts'
import {
  type FingerprintRow,
  fingerprints,
  hashes,
  type Holders,
  minhashNear,
  NOBODY,
  simhashNear,
} from './rows.ts'
import type { FingerprintsSettings } from './settings.ts'

const SIMHASH_BITS = 64
/** Two SimHashes within three bits share one of four sixteen-bit bands. */
const SIMHASH_BANDING = { bands: 4, rows: 16 }
/** Rows that are being removed are found as well, and passed over. */
const SPARE_HITS = 16

export function minhashScheme({ minhash }: FingerprintsSettings): SketchScheme {
  return new SketchScheme(minhash.slots, minhash)
}

export function simhashScheme(): SimHashScheme {
  return new SimHashScheme(SIMHASH_BITS, SIMHASH_BANDING, 0)
}

/** What documents are found by. */
export class Indexes {
  readonly minhash: Matcher<SketchProbe, Bytes>
  readonly simhash: Matcher<SimHashProbe, Bytes>
  readonly retentionMs: number

  constructor(settings: FingerprintsSettings, limits: IndexOptions, retentionMs: number) {
    const sketches = minhashScheme(settings)
    const { similarityMin } = settings.minhash
    const payloads: Codec<Bytes> = rawCodec
    const minhashIndex = new MatchIndex(minhashNear, sketches, limits)
    this.minhash = new Matcher(minhashIndex, sketches, payloads, { similarityMin })
    const bits = simhashScheme()
    const simhashIndex = new MatchIndex(simhashNear, bits, limits)
    const cosineMin = cosineFromBits(settings.distanceMax, SIMHASH_BITS)
    this.simhash = new Matcher(simhashIndex, bits, payloads, { similarityMin: cosineMin })
    this.retentionMs = retentionMs
  }

  get all(): readonly Pick<MatchIndex<never>, 'load' | 'keepSnapshot' | 'trim' | 'invalidate'>[] {
    return [this.minhash.index, this.simhash.index]
  }

  invalidate(): void {
    for (const index of this.all) index.invalidate()
  }
}

/** A document that matches, and how. */
export interface FingerprintMatch {
  readonly id: string
  readonly source?: string
  readonly language?: string
  /** Milliseconds since 1970: when its fingerprints were added. */
  readonly at: number
  /** `canonical`: the same text but for case, white space and the like. */
  readonly method: 'canonical' | 'simhash' | 'minhash' | 'chunks'
  /** 0 to 1: of MinHashes estimated, of SimHashes the share of equal bits, of chunks the share that it has too. */
  readonly similarity: number
  /** Of SimHashes: bits that differ. */
  readonly distance?: number
  /** Of chunks: how many it has too. */
  readonly shared?: number
}

export interface Searched {
  readonly matches: readonly FingerprintMatch[]
  /** Something similar may have been passed over, because too many documents are alike. */
  readonly possibleMiss: boolean
  /** What "nothing matches", or no method before that of the match does, relies on. */
  readonly relied: readonly Cell<unknown>[]
}

export interface Search {
  /** Given by those who may write. */
  readonly scope: Scope | undefined
  readonly now: number
  /** The row of the document itself, which is no match. */
  readonly self?: Bytes | undefined
  /** So many matches of each method; `first`: the first of all is enough. */
  readonly limit: number | 'first'
}

export function* search(indexes: Indexes, prepared: Prepared, how: Search): Transaction<Searched> {
  const { limit } = how
  const max = limit === 'first' ? 1 : limit
  const isEnough = (matches: readonly unknown[]) => limit === 'first' && matches.length > 0
  const relied: Cell<unknown>[] = []
  const matches = yield* sameForm(indexes, prepared.form, how, max, relied)
  if (isEnough(matches)) return { matches, possibleMiss: false, relied }
  const hitsMax = max + SPARE_HITS
  const { scope } = how
  const bits = yield* indexes.simhash.find(prepared.simhash, scope, { hitsMax })
  const byBits = yield* live(indexes, bits.hits, how, max, ({ similarity: cosine }) => {
    const distance = Math.round((Math.acos(Math.min(1, cosine)) / Math.PI) * SIMHASH_BITS)
    return { method: 'simhash', similarity: 1 - distance / SIMHASH_BITS, distance }
  })
  matches.push(...byBits)
  if (isEnough(matches)) return { matches, possibleMiss: false, relied }
  relied.push(...bits.relied)
  const sketches = yield* indexes.minhash.find(prepared.minhash, scope, { hitsMax })
  const bySketch = yield* live(indexes, sketches.hits, how, max, ({ similarity }) => {
    return { method: 'minhash', similarity }
  })
  matches.push(...bySketch)
  if (!isEnough(matches)) relied.push(...sketches.relied)
  return { matches, possibleMiss: bits.passedOver + sketches.passedOver > 0, relied }
}

function* sameForm(
  indexes: Indexes,
  form: Buffer | undefined,
  how: Search,
  max: number,
  relied: Cell<unknown>[],
): Transaction<FingerprintMatch[]> {
  if (!form) return []
  const place = cell(hashes, form)
  const [holders = NOBODY] = yield* glance(place)
  relied.push(place)
  const hits = holders.rows.map((id) => ({ id }))
  return yield* live(indexes, hits, how, max, () => ({ method: 'canonical', similarity: 1 }))
}

/** Of rows that were found, those that count, as matches. */
function* live<Hit extends { readonly id: Buffer }>(
  indexes: Indexes,
  hits: readonly Hit[],
  how: Search,
  max: number,
  say: (hit: Hit) => Pick<FingerprintMatch, 'method' | 'similarity' | 'distance'>,
): Transaction<FingerprintMatch[]> {
  const matches: FingerprintMatch[] = []
  const seen = new Set<string>()
  for (const hit of hits) {
    if (matches.length >= max) break
    const name = hit.id.toString('latin1')
    if (seen.has(name) || (how.self && equalBytes(how.self, hit.id))) continue
    seen.add(name)
    const row = yield* liveRow(indexes, hit.id, how)
    if (row) matches.push({ ...shownRow(row), ...say(hit) })
  }
  return matches
}

/** Whoever decides by it relies on it: it may be removed, or, if it is too old, be added again. */
export function* liveRow(
  { retentionMs }: Indexes,
  id: Bytes,
  { scope, now }: Pick<Search, 'scope' | 'now'>,
): Transaction<FingerprintRow | undefined> {
  const place = cell(fingerprints, id)
  const [row] = yield* glance(place)
  // What is gone never comes back under its number.
  if (!row || row.isGone) return undefined
  scope?.rely(place)
  return isRemembered(row, now, retentionMs) ? row : undefined
}

export function isRemembered({ at }: FingerprintRow, now: number, retentionMs: number): boolean {
  return at + retentionMs > now
}

export function shownRow({ id, source, language, at }: FingerprintRow): {
  readonly id: string
  readonly source?: string
  readonly language?: string
  readonly at: number
} {
  return {
    id,
    ...(source !== undefined && { source }),
    ...(language !== undefined && { language }),
    at,
  }
}

/** Which of many rows count, each looked up once. */
export class LiveRows {
  readonly #indexes: Indexes
  readonly #now: number
  readonly #known = new Map<string, FingerprintRow | undefined>()

  constructor(indexes: Indexes, now: number) {
    this.#indexes = indexes
    this.#now = now
  }

  *get(id: Buffer): Transaction<FingerprintRow | undefined> {
    const name = id.toString('latin1')
    if (this.#known.has(name)) return this.#known.get(name)
    const row = yield* liveRow(this.#indexes, id, { scope: undefined, now: this.#now })
    this.#known.set(name, row)
    return row
  }

  /** Whether another than `self` has it. */
  *anyOf({ isCommon, rows }: Holders, self: Buffer): Transaction<boolean> {
    if (isCommon) return true
    for (const id of rows) if (!equalBytes(id, self) && (yield* this.get(id))) return true
    return false
  }
}

export interface KnownChunks {
  /** How many of the hashes are known. */
  readonly known: number
  /** How many of them each document has. */
  readonly shared: readonly { readonly row: FingerprintRow; readonly count: number }[]
}

/** Which of some chunks others have. */
export function* searchChunks(
  scope: ReadScope,
  indexes: Indexes,
  wanted: readonly Buffer[],
): Transaction<KnownChunks> {
  const found = yield* glance(...wanted.map((hash) => cell(hashes, hash)))
  const live = new LiveRows(indexes, scope.now())
  const shared = new Map<string, { row: FingerprintRow; count: number }>()
  let known = 0
  for (const holders of found) {
    if (!holders) continue
    let isKnown = holders.isCommon
    for (const id of holders.rows) {
      const row = yield* live.get(id)
      if (!row) continue
      isKnown = true
      shared.set(row.id, { row, count: (shared.get(row.id)?.count ?? 0) + 1 })
    }
    if (isKnown) known++
  }
  return { known, shared: [...shared.values()] }
}
