/**
 * From a text or a vector to the representatives it is similar to: candidates of all bands, ranked by the estimate of
 * the whole signature, measured exactly; the most similar first, of equals the oldest.
 *
 * Invariant: the answer depends on the representatives that are there, never on the order in which they came.
 * Measuring ends when no candidate left can be more similar than the last of the hits that are wanted.
 *
 * Whoever uses a matcher says how signatures are made (scheme), what is kept with a representative (payload) and what
 * it is measured by (evidence). A candidate whose evidence is in memory costs no read unless it is similar enough.
 */

import { asBuffer, type Bytes, latin1 } from '../platform/bytes.ts'
import {
  type Cell,
  type Codec,
  glance,
  read,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { EvidenceCache } from './evidence-cache.ts'
import type { Judgement, Verdict } from './judgement.ts'
import type { MatchIndex } from './match-index.ts'
import type { Representative } from './rows.ts'
import type { Probe, SignatureScheme } from './scheme/scheme.ts'

type AnyProbe = Probe<unknown, unknown>

/** A representative and what is kept with it. */
export interface Kept<Payload> {
  readonly row: Representative
  readonly payload: Payload
}

export interface Candidate<P extends AnyProbe, Payload> extends Kept<Payload> {
  readonly probe: P
  readonly id: Buffer
  readonly estimate: number
}

/** What was found out about a candidate. */
export interface Measurement {
  readonly similarity: number
  /** Of one that is similar enough, where more than similarity decides. */
  readonly verdict?: Verdict | undefined
}

export interface Hit<P extends AnyProbe, Payload> extends Candidate<P, Payload>, Measurement {}

export interface MatchPolicy<P extends AnyProbe, Payload> {
  /** What is at least so similar is a hit. */
  readonly similarityMin: number
  /**
   * What a representative is measured by; `undefined`: it cannot be measured, and is no hit. Without this, signatures
   * are all there is, and estimates are exact.
   */
  readEvidence?(candidate: Candidate<P, Payload>): Transaction<P['own'] | undefined>
  /** What decides about those that are similar enough. Default: similarity alone. */
  readonly judgement?: Judgement<P['own']> | undefined
}

/** What is asked of one search, where it differs from the policy. */
export interface Wanted<P extends AnyProbe, Payload> {
  readonly similarityMin?: number | undefined
  /** How many hits are wanted (1): the best so many are found, whatever else is. */
  readonly hitsMax?: number | undefined
  /** Nothing but the best hit is of interest: what is less similar than one that was found is not judged. Not with `measured`. */
  readonly onlyBest?: boolean | undefined
  /** Whether a candidate may be a hit: it may have expired. */
  counts?(candidate: Candidate<P, Payload>): boolean
  /** What an earlier search for the same probes has found out, by candidate. This one adds its own. */
  readonly measured?: Map<string, Measurement> | undefined
  /** Those that are similar but not the same are hits as well, with their verdicts. */
  readonly takesRefused?: boolean | undefined
  /** Whether evidence that is not in memory is too much to be read now. */
  defers?(candidate: Candidate<P, Payload>): boolean
}

export interface Searched<P extends AnyProbe, Payload> {
  /** What is the same among those measured, the most similar first. */
  readonly hits: readonly Hit<P, Payload>[]
  /** The most similar of those that are not the same although they are similar enough. */
  readonly refused: Hit<P, Payload> | undefined
  readonly candidates: number
  readonly compared: number
  /** Candidates that were not measured because of `defers`. */
  readonly deferred: number
  readonly passedOver: number
  /** What "there is nothing" relies on. */
  readonly relied: readonly Cell<unknown>[]
}

export class Matcher<P extends AnyProbe, Payload> {
  /** Rows as bytes, for those who check or count them. */
  readonly index: MatchIndex<P['signature']>
  readonly similarityMin: number
  readonly #scheme: SignatureScheme<P['signature'], P['own']>
  readonly #payloads: Codec<Payload>
  readonly #policy: MatchPolicy<P, Payload>
  /** Only where bodies run one after another: elsewhere they must ask for the same cells when run again. */
  readonly #cache: EvidenceCache<P['own']> | undefined

  constructor(
    index: MatchIndex<P['signature']>,
    scheme: SignatureScheme<P['signature'], P['own']>,
    payloads: Codec<Payload>,
    policy: MatchPolicy<P, Payload>,
  ) {
    this.index = index
    this.similarityMin = policy.similarityMin
    this.#scheme = scheme
    this.#payloads = payloads
    this.#policy = policy
    this.#cache = index.isSerial && policy.readEvidence ? new EvidenceCache() : undefined
  }

  /** Relies on nothing yet: that is up to who decides by it. `scope` is given by those who may write. */
  *find(
    probes: readonly P[],
    scope: Scope | undefined,
    wanted: Wanted<P, Payload> = {},
  ): Transaction<Searched<P, Payload>> {
    const { similarityMin = this.similarityMin, hitsMax = 1 } = wanted
    const estimateMin = this.#scheme.estimateMin(similarityMin)
    const relied: Cell<unknown>[] = []
    const ranked: { readonly probe: P; readonly id: Buffer; readonly estimate: number }[] = []
    let passedOver = 0
    for (const probe of probes) {
      const found = yield* this.index.find(probe.partition, probe.signature, estimateMin, scope)
      for (const { id, estimate } of found.candidates) ranked.push({ probe, id, estimate })
      relied.push(...found.relied)
      passedOver += found.passedOver
    }
    if (probes.length > 1) ranked.sort((one, other) => other.estimate - one.estimate)
    const hits: Hit<P, Payload>[] = []
    let refused: Hit<P, Payload> | undefined
    let least = similarityMin
    let compared = 0
    let deferred = 0
    for (const { probe, id, estimate } of ranked) {
      if (this.#scheme.similarityMax(estimate) < least) break
      const enough = wanted.onlyBest && !wanted.measured ? least : similarityMin
      let found = this.#fromMemory(probe, id, enough, wanted.measured)
      if (found && found.similarity < enough) {
        compared++
        continue
      }
      const [row] = yield* glance(this.representative(probe.partition, id))
      if (!row) continue
      const candidate = { probe, id, estimate, row, payload: this.#payloads.decode(row.payload) }
      if (wanted.counts && !wanted.counts(candidate)) continue
      if (!found && wanted.defers?.(candidate)) {
        deferred++
        continue
      }
      found ??= yield* this.#measure(candidate, enough, wanted.measured)
      compared++
      if (!found || found.similarity < enough) continue
      const { similarity, verdict } = found
      const hit = { probe, id, estimate, row, payload: candidate.payload, similarity, verdict }
      if (verdict?.isSame === false && !wanted.takesRefused) {
        if (!refused || byRank(hit, refused) < 0) refused = hit
        continue
      }
      hits.push(hit)
      if (hits.length > 1) hits.sort(byRank)
      least = hits[hitsMax - 1]?.similarity ?? similarityMin
    }
    return { hits, refused, candidates: ranked.length, compared, deferred, passedOver, relied }
  }

  /** The similarity of two representatives that one probe has found; `undefined`: they are not the same. */
  *between(
    first: Candidate<P, Payload>,
    second: Candidate<P, Payload>,
  ): Transaction<number | undefined> {
    const one = yield* this.#evidence(first)
    const other = yield* this.#evidence(second)
    if (one === undefined || other === undefined) return undefined
    const { similarity, verdict } = this.#compare(one, other, this.similarityMin)
    return similarity >= this.similarityMin && verdict?.isSame !== false ? similarity : undefined
  }

  /** What a hit relies on: the row that goes when the representative does. */
  representative(partition: Bytes, id: Bytes): Cell<Representative> {
    return this.index.representative(partition, id)
  }

  *read(partition: Bytes, id: Bytes): Transaction<Kept<Payload> | undefined> {
    const [row] = yield* read(this.representative(partition, id))
    return row && { row, payload: this.#payloads.decode(row.payload) }
  }

  /** As `read`, without relying on it. */
  *glance(partition: Bytes, id: Bytes): Transaction<Kept<Payload> | undefined> {
    const [row] = yield* glance(this.representative(partition, id))
    return row && { row, payload: this.#payloads.decode(row.payload) }
  }

  /** `probe`: of what it stands for, by the profile of the partition. */
  *insert(
    scope: Scope,
    partition: Buffer,
    id: Buffer,
    { signature }: P,
    payload: Payload,
  ): Transaction<void> {
    yield* this.index.insert(scope, partition, id, signature, this.#bytesOf(payload))
  }

  /** Keeps a representative that is like nothing but itself: no search finds it. */
  keep(scope: Scope, partition: Buffer, id: Buffer, payload: Payload): void {
    this.index.keep(scope, partition, id, this.#bytesOf(payload))
  }

  /** No search finds it any more, but its row stays, with another payload. */
  *retire(scope: Scope, partition: Buffer, id: Buffer, payload: Payload): Transaction<void> {
    yield* this.index.retire(scope, partition, id, this.#bytesOf(payload))
  }

  /** Gives a representative another payload. */
  update(scope: Scope, partition: Bytes, id: Bytes, old: Representative, payload: Payload): void {
    this.index.update(scope, partition, id, old, this.#bytesOf(payload))
  }

  #fromMemory(
    probe: P,
    id: Buffer,
    least: number,
    measured: ReadonlyMap<string, Measurement> | undefined,
  ): Measurement | undefined {
    const known = this.#cache?.get(id)
    if (known === undefined) return measured?.get(latin1(id))
    return this.#compare(probe.own, known, least)
  }

  #compare(own: P['own'], other: P['own'], least: number): Measurement {
    const similarity = this.#scheme.similarity(own, other, least)
    const { judgement } = this.#policy
    if (!judgement || similarity < least) return { similarity }
    return { similarity, verdict: judgement(own, other) }
  }

  *#measure(
    candidate: Candidate<P, Payload>,
    least: number,
    measured: Map<string, Measurement> | undefined,
  ): Transaction<Measurement | undefined> {
    if (!this.#policy.readEvidence) return { similarity: candidate.estimate }
    const evidence = yield* this.#policy.readEvidence(candidate)
    const { id, probe } = candidate
    const found = evidence === undefined ? undefined : this.#compare(probe.own, evidence, least)
    // Elsewhere than on serial engines, what cannot be read may have been rewritten meanwhile: the next try reads again.
    if (found || this.index.isSerial) measured?.set(latin1(id), found ?? { similarity: 0 })
    if (evidence === undefined) return undefined
    // Only now is it known what it weighs.
    this.#cache?.keep(id, evidence, this.#scheme.weight(evidence))
    return found
  }

  *#evidence(candidate: Candidate<P, Payload>): Transaction<P['own'] | undefined> {
    const known = this.#cache?.get(candidate.id)
    if (known !== undefined || !this.#policy.readEvidence) return known
    return yield* this.#policy.readEvidence(candidate)
  }

  #bytesOf(payload: Payload): Buffer {
    return asBuffer(this.#payloads.encode(payload))
  }
}

/** The most similar first, of equals the oldest. */
function byRank(one: Hit<AnyProbe, unknown>, other: Hit<AnyProbe, unknown>): number {
  return other.similarity - one.similarity || one.id.compare(other.id)
}
