/**
 * The pairs nearest to the threshold on both sides: duplicates with the least similarity, documents that were kept
 * with the most, and documents that only guards keep apart. They are what a person should look at.
 *
 * Duplicates and refused pairs are in the rows of documents. Pairs below the threshold were decided about by nobody:
 * they are searched for with the index, whose bands are made for the threshold, so most are found, and not all.
 * The same state gives the same pairs.
 */

import type { Backend, Transaction } from '../../backends/index.ts'
import type { RowVeto } from '../../ledger/index.ts'
import { decodeCentre } from '../decision/centre-row.ts'
import { hex } from '../names.ts'
import { Top } from '../phases/bounded.ts'
import { documents } from '../rows.ts'
import type { State } from '../state.ts'
import { countOption } from './count-option.ts'
import { type DocumentInfo, infoOf } from './document-info.ts'
import { documentsOfKeys, type StoredDocument } from './find-documents.ts'
import { nearestTo } from './nearest.ts'
import { textsOf } from './texts.ts'

/** `refused`: similar enough, and kept apart by guards. */
export type CloseDecision = 'duplicate' | 'different' | 'refused'

export interface CloseCall {
  readonly a: DocumentInfo
  readonly b: DocumentInfo
  readonly decision: CloseDecision
  readonly similarity: number
  readonly vetoes?: readonly RowVeto[]
}

export interface CloseCalls {
  /** Of each decision, those nearest to the threshold first; of refused ones, the most similar. */
  readonly calls: readonly CloseCall[]
  readonly threshold: number
  /** Documents that others are measured against, and how many of them were searched for. */
  readonly representatives: number
  readonly searched: number
}

export interface CloseCallsOptions {
  /** How many of each decision, up to 1000. Default: 20. */
  readonly count?: number | undefined
  /** Pairs below the threshold are searched for around so many documents. Default: 100,000. */
  readonly searchedMax?: number | undefined
  /** Stops when it is aborted, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
}

const CLOSE_CALLS_MAX = 1000
const COUNT = 20
const SEARCHED_MAX = 100_000
/** Estimates are a few hundredths off, and a pair is found from both sides: more are measured than are wanted. */
const MEASURED_PER_CALL = 16
/** Estimates further below the threshold are passed over. */
const BELOW = 0.2

/** Keys in hex. */
interface Pair {
  readonly a: string
  readonly b: string
  readonly similarity: number
  readonly vetoes?: readonly RowVeto[] | undefined
}

interface Found {
  readonly duplicates: readonly Pair[]
  readonly refused: readonly Pair[]
  /** Their similarities are estimates. */
  readonly below: readonly Pair[]
  readonly representatives: number
  readonly searched: number
}

/** With texts. */
export async function closeCalls(
  state: State,
  options: CloseCallsOptions = {},
): Promise<CloseCalls> {
  const count = countOption('count', options.count, { max: CLOSE_CALLS_MAX, unsaid: COUNT })
  const threshold = state.engine.settings.similarityMin
  const found = await scanned(state, count, options)
  const measured = await measuredOf(state, found.below, options.signal)
  const different = new Top<Pair>(count, mostSimilar)
  for (const pair of measured) if (pair.similarity < threshold) different.add(pair)
  const refused = new Top<Pair>(count, mostSimilar)
  const known = new Set<string>()
  for (const pair of [...found.refused, ...measured]) {
    const name = [pair.a, pair.b].toSorted().join()
    if (!pair.vetoes || pair.similarity < threshold || known.has(name)) continue
    known.add(name)
    refused.add(pair)
  }
  const { backend } = state
  const { representatives, searched } = found
  const calls = [
    ...(await withTexts(backend, 'duplicate', found.duplicates)),
    ...(await withTexts(backend, 'different', different.items)),
    ...(await withTexts(backend, 'refused', refused.items)),
  ]
  return { calls, threshold, representatives, searched }
}

function mostSimilar(one: Pair, other: Pair): number {
  return other.similarity - one.similarity || byKeys(one, other)
}

function leastSimilar(one: Pair, other: Pair): number {
  return one.similarity - other.similarity || byKeys(one, other)
}

function byKeys(one: Pair, other: Pair): number {
  return one.a + one.b < other.a + other.b ? -1 : 1
}

async function scanned(
  state: State,
  count: number,
  { searchedMax: asked, signal }: CloseCallsOptions,
): Promise<Found> {
  const searchedMax = countOption('searchedMax', asked, { min: 0, unsaid: SEARCHED_MAX })
  const threshold = state.engine.settings.similarityMin
  const duplicates = new Top<Pair>(count, leastSimilar)
  const refused = new Top<Pair>(count, mostSimilar)
  const distance = ({ similarity }: Pair) => Math.abs(similarity - threshold)
  const below = new Top<Pair>(
    count * MEASURED_PER_CALL,
    (one, other) => distance(one) - distance(other) || byKeys(one, other),
  )
  let representatives = 0
  let searched = 0
  // Keys are hashes, so the first documents are a sample of all.
  for await (const { key, value: row } of state.backend.scan(documents)) {
    signal?.throwIfAborted()
    const { method, similarity, cluster, like, vetoes, centre } = row
    const a = hex(key)
    if (method === 'near' && similarity !== undefined) {
      if (cluster !== undefined) duplicates.add({ a, b: cluster, similarity })
      else if (like !== undefined && vetoes) refused.add({ a, b: like, similarity, vetoes })
    }
    const place = centre && decodeCentre(centre).near
    if (!place) continue
    representatives++
    if (searched >= searchedMax) continue
    searched++
    for (const pair of await state.backend.read(() => candidatesOf(state, a, place))) {
      below.add(pair)
    }
  }
  return {
    duplicates: duplicates.items,
    refused: refused.items,
    below: below.items,
    representatives,
    searched,
  }
}

/** Other documents that are about as similar as the threshold asks for, by estimate. */
function* candidatesOf(
  { engine }: State,
  a: string,
  [partition, own]: readonly [Buffer, Buffer],
): Transaction<Pair[]> {
  const { index, similarityMin } = engine.near
  const signature = yield* index.signatureOf(partition, own)
  if (signature === undefined) return []
  const estimateMin = Math.max(0, similarityMin - BELOW)
  const { candidates } = yield* index.find(partition, signature, estimateMin, undefined)
  const pairs: Pair[] = []
  for (const { id, estimate } of candidates) {
    if (id.equals(own)) continue
    const other = yield* engine.near.glance(partition, id)
    if (!other) continue
    // In one order, whichever of the two is searched for.
    const [first, second] = [a, hex(other.payload)].toSorted()
    if (first !== undefined && second !== undefined)
      pairs.push({ a: first, b: second, similarity: estimate })
  }
  return pairs
}

/** Exactly, and with guards. Pairs of which no text can be read are left out. */
async function measuredOf(
  state: State,
  pairs: readonly Pair[],
  signal: AbortSignal | undefined,
): Promise<Pair[]> {
  const others = new Map<string, Set<string>>()
  for (const { a, b } of pairs) others.set(a, (others.get(a) ?? new Set()).add(b))
  const stored = await documentsOfKeys(state.backend, others.keys())
  const texts = await textsOf(state.backend, stored.values())
  const measured: Pair[] = []
  for (const [a, wanted] of others) {
    signal?.throwIfAborted()
    const document = stored.get(a)
    const text = texts.get(a)?.text
    if (!document || text === undefined) continue
    const isWanted = (key: string) => wanted.has(key)
    for (const { key: b, similarity, vetoes } of await nearestTo(
      state,
      document,
      text,
      wanted.size,
      isWanted,
    )) {
      measured.push({ a, b, similarity, ...(vetoes.length > 0 && { vetoes }) })
    }
  }
  return measured
}

async function withTexts(
  backend: Backend,
  decision: CloseDecision,
  pairs: readonly Pair[],
): Promise<CloseCall[]> {
  const stored = await documentsOfKeys(
    backend,
    pairs.flatMap(({ a, b }) => [a, b]),
  )
  const texts = await textsOf(backend, stored.values())
  const info = (one: StoredDocument) => infoOf(one, texts.get(hex(one.key)))
  return pairs.flatMap(({ a, b, similarity, vetoes }) => {
    const [first, second] = [stored.get(a), stored.get(b)]
    if (!first || !second) return []
    const about = { decision, similarity, ...(vetoes && { vetoes }) }
    return [{ a: info(first), b: info(second), ...about }]
  })
}
