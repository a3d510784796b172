/** What a document is a duplicate of: by its text, its canonical form, its fingerprints; and passages it shares. */

import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import {
  cell,
  type Cell,
  glance,
  read,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import type { Veto } from '../../compare/index.ts'
import type { Hit } from '../../match/index.ts'
import {
  cutBy,
  type FoundContained,
  findContained,
  type FoundSpan,
  isWhole,
} from './containment.ts'
import type { Method, Named } from './decision.ts'
import type { Engine, NearProbe } from './engine.ts'
import { fromHex, hex, named } from '../names.ts'
import { DIGEST_BYTES, type PreparedDocument } from './prepare.ts'
import { chunks, documents, forms } from '../rows.ts'

export interface Match {
  readonly method: Exclude<Method, 'chunk' | 'semantic'>
  /** Key of the centre. */
  readonly centre: Buffer
  readonly similarity: number
  readonly threshold: number
  /** Where it was found by containment. */
  readonly contained?: FoundContained
}

/** A document that means the same, or that is similar but not the same. */
export interface Like {
  readonly method: 'near' | 'semantic'
  readonly of: Named
  readonly key: string
  readonly similarity: number
  readonly threshold: number
  /** What keeps the two apart. */
  readonly vetoes?: readonly Veto[]
}

export interface Found {
  readonly match: Match | undefined
  readonly spans: readonly FoundSpan[]
  readonly like?: Like | undefined
  /** A document that contains it, or is contained in it. */
  readonly contained?: FoundContained | undefined
  readonly possibleMiss: boolean
  readonly relied: readonly Cell<unknown>[]
}

export function* find(
  document: PreparedDocument,
  self: Buffer | undefined,
  engine: Engine,
  scope: Scope | undefined,
): Transaction<Found> {
  const { exact, canonical, simhash, near } = engine.config
  const spans = yield* overlaps(document, self, engine)
  const form = cell(forms, document.form)
  const [same] = yield* read(form)
  const relied: Cell<unknown>[] = []
  const centre = same && Buffer.from(same.subarray(DIGEST_BYTES))
  if (same && centre && !isSelf(centre, self)) {
    const isSameText = equalBytes(same.subarray(0, DIGEST_BYTES), document.digest)
    const method = isSameText && exact.enabled ? 'exact' : 'canonical'
    const isWanted = isSameText ? exact.enabled || canonical.enabled : canonical.enabled
    const match = { method, centre, similarity: 1, threshold: 1 } as const
    if (isWanted) return foundAs(match, spans, relied)
  }
  let possibleMiss = false
  if (simhash.enabled) {
    const searched = yield* engine.findSimhash(document, self, scope)
    const [hit] = searched.hits
    const threshold = 1 - simhash.distanceMax / 64
    if (hit) {
      relied.push(engine.simhash.representative(hit.probe.partition, hit.id))
      const bits = Math.round((Math.acos(hit.similarity) / Math.PI) * 64)
      const similarity = 1 - bits / 64
      const match = { method: 'simhash', centre: hit.payload, similarity, threshold } as const
      return foundAs(match, spans, relied)
    }
    relied.push(...searched.relied)
    possibleMiss ||= searched.passedOver > 0
  }
  if (!near.enabled) {
    const found = foundAs(undefined, spans, relied, possibleMiss)
    return yield* lookForMeaning(document, self, engine, scope, found)
  }
  const searched = yield* engine.findNear(document, self, scope)
  const [hit] = searched.hits
  const threshold = engine.settings.similarityMin
  if (!hit) {
    relied.push(...searched.relied)
    possibleMiss ||= searched.passedOver > 0
    const like = yield* refusedOf(searched.refused, threshold)
    const found = foundAs(undefined, spans, relied, possibleMiss, like)
    // What guards keep apart stays apart, however much of it is in the other.
    if (like || !engine.containment)
      return yield* lookForMeaning(document, self, engine, scope, found)
    return yield* lookForContainment(document, self, engine, scope, found)
  }
  relied.push(engine.near.representative(hit.probe.partition, hit.id))
  const { similarity } = hit
  const match = { method: 'near', centre: hit.payload, similarity, threshold } as const
  return foundAs(match, spans, relied)
}

/** In one place, so that all have one shape: this is made for every document. */
function foundAs(
  match: Match | undefined,
  spans: readonly FoundSpan[],
  relied: readonly Cell<unknown>[],
  possibleMiss = false,
  like?: Like,
): Found {
  return { match, spans, like, possibleMiss, relied }
}

/** What it is similar to, but not the same as. */
function* refusedOf(
  hit: Hit<NearProbe, Buffer> | undefined,
  threshold: number,
): Transaction<Like | undefined> {
  // What a judge finds too unlikely is no finding.
  if (!hit?.verdict || hit.verdict.vetoes.length === 0) return undefined
  const { payload, similarity, verdict } = hit
  const [row] = yield* glance(cell(documents, payload))
  if (!row) return undefined
  const of = { method: 'near', of: named(row), key: hex(payload) } as const
  return { ...of, similarity, threshold, vetoes: verdict.vetoes }
}

/** What is like nothing as a whole may still be contained in something, or contain it. */
function* lookForContainment(
  document: PreparedDocument,
  self: Buffer | undefined,
  engine: Engine,
  scope: Scope | undefined,
  before: Found,
): Transaction<Found> {
  const { containment, config } = engine
  if (!containment) return before
  const { min: threshold, action } = config.containment
  const { found: all, passedOver } = yield* findContained(containment, document, self, scope)
  const found = { ...before, possibleMiss: before.possibleMiss || passedOver > 0 }
  const [first] = all.map(({ one }) => one)
  const most = action === 'cut' ? cutBy(all) : all.map(({ one }) => one).toSorted(byShare)[0]
  if (!first || !most) return yield* lookForMeaning(document, self, engine, scope, found)
  const isDropped = action === 'cut' ? isWhole(document, most) : most.share >= threshold
  if (action === 'link' || !isDropped) {
    return { ...found, contained: action === 'cut' ? most : first }
  }
  const { key: centre, share: similarity } = most
  const match = { method: 'containment', centre, similarity, threshold, contained: most } as const
  return { ...found, match }
}

function byShare(one: FoundContained, other: FoundContained): number {
  return other.share - one.share
}

/** What is a duplicate of nothing may still mean the same as something. */
function* lookForMeaning(
  document: PreparedDocument,
  self: Buffer | undefined,
  { meaning: meanings }: Engine,
  scope: Scope | undefined,
  found: Found,
): Transaction<Found> {
  const { meaning } = document
  if (!meanings || !meaning) return found
  const searched = yield* meanings.find(meaning, self, scope)
  const relied = [...found.relied, ...searched.relied]
  const possibleMiss = found.possibleMiss || searched.passedOver > 0
  const key = searched.like?.centre
  const [row] = key ? yield* glance(cell(documents, key)) : []
  if (!searched.like || !key || !row) return { ...found, relied, possibleMiss }
  const { similarity } = searched.like
  const threshold = meanings.identity.similarityMin
  const like: Like = { method: 'semantic', of: named(row), key: hex(key), similarity, threshold }
  return { ...found, relied, like }
}

/** A document that has changed is no duplicate of what it was. */
function isSelf(centre: Bytes, self: Buffer | undefined): boolean {
  return self !== undefined && equalBytes(centre, self)
}

/** Passages that other documents have too, neighbours joined. */
function* overlaps(
  document: PreparedDocument,
  self: Buffer | undefined,
  engine: Engine,
): Transaction<FoundSpan[]> {
  if (!engine.config.chunks.enabled || document.chunks.length === 0) return []
  const found = yield* glance(...document.chunks.map(({ hash }) => cell(chunks, hash)))
  const owners = new Map<string, Named>()
  const joined: { start: number; end: number; key: string }[] = []
  let shared = 0
  for (const [at, owner] of found.entries()) {
    const chunk = document.chunks[at]
    if (!owner || !chunk || isSelf(owner, self)) continue
    shared += chunk.end - chunk.start
    const key = hex(owner)
    const last = joined.at(-1)
    if (last && last.end === chunk.start && last.key === key) last.end = chunk.end
    else joined.push({ start: chunk.start, end: chunk.end, key })
  }
  if (shared < engine.config.chunks.shareMin * document.formBytes || shared === 0) return []
  for (const key of new Set(joined.map((span) => span.key))) {
    const [row] = yield* glance(cell(documents, fromHex(key)))
    if (row) owners.set(key, named(row))
  }
  return joined.flatMap(({ start, end, key }) => {
    const of = owners.get(key)
    return of ? [{ start, end, of, key }] : []
  })
}
