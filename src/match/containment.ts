/**
 * Finds the kept texts that contain a text, or are contained in it, and what they share.
 *
 * Candidates come from an index of winnowed fingerprints (scheme/containment.ts), which follows its journal as the index
 * of near duplicates does. Each is measured by its whole text. Fingerprints of more than 200 texts are passed over, and
 * 32 candidates are measured at most: `passedOver` says whether something may have been missed.
 *
 * What is missed besides: passages of fewer than 17 units; and of texts beyond some 600 KB, short ones.
 */

import type { Bytes } from '../platform/bytes.ts'
import type { Codec, Scope, Transaction } from '../backends/index.ts'
import { type Passage, PassageText } from '../compare/index.ts'
import type { Fingerprints } from '../fingerprint/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { MatchIndex } from './match-index.ts'
import { type Candidate, Matcher } from './matcher.ts'
import type { NearSpaces } from './rows.ts'
import {
  CONTAINMENT_LIMITS,
  containmentPartition,
  type ContainmentProbe,
  ContainmentScheme,
  type Shared,
  sharedBy,
} from './scheme/containment.ts'

/** A text that contains the one asked about, or is contained in it. */
export interface Contained<Payload> extends Shared {
  readonly id: Buffer
  readonly payload: Payload
}

/** How much of two texts is in the other, and where. Places are bytes of the texts as they were given. */
export interface Containment {
  /** The share of the text asked about that the other has: from 0 to 1. */
  readonly share: number
  /** The share of the other that the text asked about has. */
  readonly shareOfOther: number
  readonly spans: readonly Passage[]
  readonly spansOfOther: readonly Passage[]
}

export function containmentOf({
  share,
  shareOfOther,
  passages: spans,
  passagesOfOther: spansOfOther,
}: Shared): Containment {
  return { share, shareOfOther, spans, spansOfOther }
}

export interface ContainedFound<Payload> {
  /** The one with the greatest share first; of equals, the oldest. */
  readonly found: readonly Contained<Payload>[]
  /** Fingerprints of too many texts, and candidates there was no room for. */
  readonly passedOver: number
}

export interface ContainmentPolicy<Payload> {
  /** Texts of different owners never meet. */
  readonly owner: string
  /** The share of either text that must be in the other: above 0, up to 1. */
  readonly min: number
  readonly payloads: Codec<Payload>
  /** The text of one that was found, as it was given; `undefined`: it cannot be compared. */
  readText(id: Buffer, payload: Payload): Transaction<Bytes | undefined>
}

export const CONTAINMENT_MIN = 0.8

export class ContainmentIndex<Payload> {
  readonly index: MatchIndex<Fingerprints>
  readonly partition: Buffer
  readonly #matcher: Matcher<ContainmentProbe, Payload>
  readonly #policy: ContainmentPolicy<Payload>

  constructor(spaces: NearSpaces, serial: boolean, policy: ContainmentPolicy<Payload>) {
    requireJournal(serial)
    const scheme = new ContainmentScheme()
    this.#policy = policy
    this.partition = containmentPartition(policy.owner)
    this.index = new MatchIndex(spaces, scheme, { serial, ...CONTAINMENT_LIMITS })
    this.#matcher = new Matcher(this.index, scheme, policy.payloads, {
      similarityMin: policy.min,
      readEvidence: (candidate) => this.#evidence(candidate),
    })
  }

  /** `undefined`: the text has too few words to be found. `partition`: of one of several groups of an owner. */
  probeOf(
    text: Bytes,
    signature: Fingerprints,
    partition: Buffer = this.partition,
  ): ContainmentProbe | undefined {
    if (signature.hashes.length === 0) return undefined
    return { partition, signature, own: new PassageText(text) }
  }

  /** `scope` is given by those who may write; `counts`: whether one may be found. */
  *find(
    probe: ContainmentProbe | undefined,
    scope: Scope | undefined,
    wanted: {
      readonly min?: number | undefined
      readonly counts?:
        | ((found: { readonly id: Buffer; readonly payload: Payload }) => boolean)
        | undefined
    } = {},
  ): Transaction<ContainedFound<Payload>> {
    if (!probe) return { found: [], passedOver: 0 }
    const { hits, passedOver } = yield* this.#matcher.find([probe], scope, {
      similarityMin: wanted.min,
      hitsMax: CONTAINMENT_LIMITS.candidatesMax,
      ...(wanted.counts && { counts: wanted.counts }),
    })
    const found: Contained<Payload>[] = []
    for (const { id, payload } of hits) {
      const text = yield* this.#policy.readText(id, payload)
      if (text) found.push({ id, payload, ...sharedBy(probe.own, new PassageText(text)) })
    }
    return { found, passedOver }
  }

  *insert(scope: Scope, id: Buffer, probe: ContainmentProbe, payload: Payload): Transaction<void> {
    yield* this.#matcher.insert(scope, probe.partition, id, probe, payload)
  }

  /** Whether it was there. */
  *remove(scope: Scope, id: Buffer, partition: Buffer = this.partition): Transaction<boolean> {
    return yield* this.index.remove(scope, partition, id)
  }

  *#evidence({
    id,
    payload,
  }: Candidate<ContainmentProbe, Payload>): Transaction<PassageText | undefined> {
    const text = yield* this.#policy.readText(id, payload)
    return text && new PassageText(text)
  }
}

/** Views in memory decide, so bodies must run one after another. To be asked before anything is kept. */
export function requireJournal(serial: boolean): void {
  if (serial) return
  throw new PrestigeError(
    'INVALID_OPTIONS',
    'containment needs an embedded engine: a directory, or memory. On Redis and DynamoDB, leave it out.',
  )
}
