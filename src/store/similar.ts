/** What in the store is like a value, without keeping it. */

import { equalBytes } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { type Backend, cell, glance, type Transaction } from '../backends/index.ts'
import {
  type Contained,
  type Containment,
  type ContainmentIndex,
  containmentOf,
} from '../match/index.ts'
import { digestOf } from '../fingerprint/index.ts'
import type { NearValue, NotCompared, StoreNear } from './near/store-near.ts'
import { refuseUnknown, type StoreValue, valueBytes } from './prepare.ts'
import { type ContentOrigin, originOf } from './receipt.ts'
import type { Keeping } from './transactions/release.ts'
import type { Payload } from './near/rows.ts'
import { digests, type Known } from './rows.ts'
import type { StoreSemantic } from './semantic/store-semantic.ts'
import type { SemanticVeto } from './semantic/arbiter.ts'

export interface SimilarOptions {
  /** At most so many, the most similar first (10). */
  readonly limit?: number | undefined
  /**
   * Only what is at least so similar (the store's own threshold). Below the store's threshold, what is there may
   * be missed.
   */
  readonly threshold?: number | undefined
  /**
   * Of stores with `near: { containment }`: what contains the value or is contained in it (false). `threshold` is the
   * minimum share then.
   */
  readonly containment?: boolean | undefined
  /**
   * Also what is similar but not the same, by guards, reranker or judge, with its `vetoes` (false). Containment is not
   * judged, and leaves nothing out.
   */
  readonly vetoed?: boolean | undefined
}

/** A representative that a value is like. */
export interface Similar extends ContentOrigin {
  /** Measured exactly. */
  readonly similarity: number
  readonly bytes: number
  /** What speaks against the two being the same; empty where nothing does. With `vetoed` alone there is anything. */
  readonly vetoes?: readonly SemanticVeto[]
  /** Where containment was asked for: `similarity` is the greater share. */
  readonly containment?: Containment
}

const DEFAULT_LIMIT = 10

export async function similarTo(
  backend: Backend,
  { near, semantic }: Pick<Keeping, 'near' | 'semantic'>,
  value: StoreValue,
  options: SimilarOptions,
): Promise<Similar[]> {
  refuseUnknown(options, ['limit', 'threshold', 'containment', 'vetoed'])
  const settings = semantic?.settings ?? near?.settings
  if (!settings) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      "This store finds identical bytes only. Open a new one with dedup: 'near' or 'semantic' to ask for what is similar.",
    )
  }
  const { containment = false, vetoed = false } = options
  if (typeof vetoed !== 'boolean')
    throw refusal(`vetoed: must be true or false, not ${String(vetoed)}.`)
  if (containment && !near)
    throw refusal("containment is for stores with dedup: 'near' or 'hybrid'.")
  const least = containment ? near?.settings.containment?.min : settings.similarityMin
  const { limit = DEFAULT_LIMIT, threshold = least ?? settings.similarityMin } = options
  if (!(Number.isInteger(limit) && limit >= 1))
    throw refusal(`limit: must be a whole number from 1, not ${limit}.`)
  if (!(threshold > 0 && threshold <= 1)) {
    throw refusal(`threshold: must be a number greater than 0 and at most 1, not ${threshold}.`)
  }
  const wanted = { limit, similarityMin: threshold, vetoed }
  const bytes = valueBytes(value)
  if (containment && near) return containedIn(backend, near, bytes, wanted)
  if (semantic) return meaningLike(semantic, bytes, wanted)
  return near ? nearLike(backend, near, bytes, wanted) : []
}

interface Wanted {
  readonly limit: number
  readonly similarityMin: number
  readonly vetoed: boolean
}

function nearLike(
  backend: Backend,
  near: StoreNear,
  value: Buffer,
  { limit, similarityMin, vetoed }: Wanted,
): Promise<Similar[]> {
  const prepared = near.prepare(value)
  if (typeof prepared === 'string') throw notCompared(prepared)
  return backend.read(function* (): Transaction<Similar[]> {
    const wanted = { similarityMin, hitsMax: limit, takesRefused: vetoed }
    const { hits } = yield* near.search(prepared, undefined, wanted)
    const found: Similar[] = []
    for (const { similarity, id, payload, verdict } of hits.slice(0, limit)) {
      const [known] = yield* glance(cell(digests, payload.digest))
      // Contents never change, so nothing seen here has to be unchanged at the end. Swept since it was found, where reads are not from one moment.
      if (!known || !equalBytes(known.id, id)) continue
      const vetoes = verdict && { vetoes: verdict.vetoes }
      found.push({ similarity, ...originOf(known), bytes: known.bytes, ...vetoes })
    }
    return found
  })
}

async function containedIn(
  backend: Backend,
  near: StoreNear,
  value: Buffer,
  { limit, similarityMin: min }: Wanted,
): Promise<Similar[]> {
  const prepared = near.prepare(value)
  if (typeof prepared === 'string') throw notCompared(prepared)
  return backend.read(function* (): Transaction<Similar[]> {
    return yield* withOrigins(yield* contained(near, prepared, { min }), limit)
  })
}

/** What contains the content of a key, or is contained in it. */
export function containmentsOf(
  backend: Backend,
  near: StoreNear,
  known: Known,
): Promise<Similar[]> {
  return backend.read(function* (): Transaction<Similar[]> {
    const { id, bytes } = known
    const text = yield* near.valueOf(id, bytes)
    const value = text && near.prepare(text)
    if (value === undefined || typeof value === 'string') return []
    const counts = (other: { readonly id: Buffer }) => !equalBytes(other.id, id)
    return yield* withOrigins(yield* contained(near, value, { counts }), DEFAULT_LIMIT)
  })
}

function* contained(
  { containment }: StoreNear,
  value: NearValue,
  wanted: Parameters<ContainmentIndex<Payload>['find']>[2],
): Transaction<readonly Contained<Payload>[]> {
  if (containment) return (yield* containment.find(value.contained, undefined, wanted)).found
  throw refusal(
    'This store does not look for containment. Open a new one with near: { containment: {} } to ask for it.',
  )
}

function* withOrigins(all: readonly Contained<Payload>[], limit: number): Transaction<Similar[]> {
  const found: Similar[] = []
  for (const { id, payload, ...shared } of all) {
    const [known] = yield* glance(cell(digests, payload.digest))
    if (!known || !equalBytes(known.id, id) || found.length === limit) continue
    const similarity = Math.max(shared.share, shared.shareOfOther)
    const containment = containmentOf(shared)
    found.push({ similarity, ...originOf(known), bytes: known.bytes, containment })
  }
  return found
}

/**
 * By meaning, as a put would be compared: by guards, reranker and judge. What they keep apart takes no place among
 * those that are wanted. Nothing of the question is kept.
 */
async function meaningLike(
  semantic: StoreSemantic,
  value: Buffer,
  { limit, similarityMin, vetoed }: Wanted,
): Promise<Similar[]> {
  const read = semantic.textOf(value)
  if (typeof read === 'string') throw notCompared(read)
  const { text } = read
  const vectors = await semantic.vectorsFor(text)
  if (vectors === 'too-large') throw notCompared(vectors)
  if (!vectors) return []
  const searched = vetoed ? limit : Math.max(limit, semantic.searchK)
  const wanted = { least: similarityMin, limit: searched }
  const { matches } = await semantic.candidates(vectors, undefined, wanted)
  const own = semantic.arbiter.asking(text, digestOf(value))
  const found: Similar[] = []
  for (const { similarity, id, digest, known } of matches) {
    const other = await semantic.textIn({ id, digest, bytes: known.bytes })
    // Swept meanwhile, or damaged, which is for verify to say.
    if (other === undefined) continue
    const vetoes = await semantic.arbiter.vetoes(own, { id, text: other, similarity })
    if (vetoes.length > 0 && !vetoed) continue
    found.push({ similarity, ...originOf(known), bytes: known.bytes, vetoes })
    if (found.length === limit) break
  }
  return found
}

function notCompared(why: NotCompared): PrestigeError {
  return new PrestigeError(
    'UNREADABLE_VALUE',
    why === 'too-large'
      ? 'The value is too long to be compared.'
      : 'Only texts are compared, and the value is not valid UTF-8.',
  )
}

function refusal(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}
