/**
 * Things of which one text contains the other, or most of it: a reply with what it quotes, an article with its excerpt.
 *
 * Only representatives are found. What is found never changes an id, so it is looked for behind the transaction that
 * decides, and nobody waits for it. The payload is the partition of the representative (16), under whose row its
 * fingerprints are.
 */

import { asBuffer, type Bytes, equalBytes } from '../platform/bytes.ts'
import type { Codec, ReadScope, Scope, Transaction } from '../backends/index.ts'
import { fingerprintsOf } from '../fingerprint/index.ts'
import {
  type Containment,
  ContainmentIndex,
  containmentOf,
  containmentPartition,
  type ContainmentProbe,
  type Matcher,
  originalOf,
  type TextProbe,
} from '../match/index.ts'
import { type Ended, readEvidence } from './resolve.ts'
import { type Payload, publicId, textContainment } from './rows.ts'

/** Another thing that contains a text, or is contained in it, and where. */
export interface ContainedThing extends Containment {
  readonly id: string
}

const CONTAINED_MAX = 5

const partitions: Codec<Buffer> = {
  encode: (partition) => partition,
  decode: (bytes) => asBuffer(bytes),
}

/** Where the fingerprints of a group are. */
export function containmentPartitionOf(groupKey: Bytes): Buffer {
  return containmentPartition('resolver', asBuffer(groupKey).toString('hex'))
}

export class ResolverContainment {
  readonly #found: ContainmentIndex<Buffer>
  readonly #matcher: Matcher<TextProbe, Payload>

  constructor(matcher: Matcher<TextProbe, Payload>, min: number, serial: boolean) {
    this.#matcher = matcher
    this.#found = new ContainmentIndex(textContainment, serial, {
      owner: 'resolver',
      min,
      payloads: partitions,
      *readText(row, partition) {
        const kept = yield* matcher.glance(partition, row)
        return kept && originalOf(yield* readEvidence(partition, row, kept.payload.parts))
      },
    })
  }

  get index(): ContainmentIndex<Buffer>['index'] {
    return this.#found.index
  }

  /** `undefined`: the text is too short to be found. */
  probeOf(groupKey: Buffer, text: Bytes): ContainmentProbe | undefined {
    return this.#found.probeOf(text, fingerprintsOf(text), containmentPartitionOf(groupKey))
  }

  *insert(
    scope: Scope,
    row: Buffer,
    probe: ContainmentProbe,
    partition: Buffer,
  ): Transaction<void> {
    yield* this.#found.insert(scope, row, probe, partition)
  }

  *remove(scope: Scope, groupKey: Buffer, row: Buffer): Transaction<void> {
    yield* this.#found.remove(scope, row, containmentPartitionOf(groupKey))
  }

  /** Other things than the one it is, those with the greatest share first. */
  *thingsOf(
    scope: ReadScope,
    probe: ContainmentProbe | undefined,
    { id, representative, row: own }: Ended,
  ): Transaction<ContainedThing[]> {
    // What it is itself need not be measured.
    const counts = (other: { readonly id: Buffer }) => !own?.equals(other.id)
    const { found } = yield* this.#found.find(probe, undefined, { counts })
    const things: ContainedThing[] = []
    for (const { id: row, payload: partition, ...shared } of found) {
      const kept = yield* this.#matcher.glance(partition, row)
      if (!kept || things.length === CONTAINED_MAX) continue
      const { payload } = kept
      const isOwn = equalBytes(payload.id, id) || equalBytes(payload.id, representative)
      const isOver = payload.expiresAt !== undefined && payload.expiresAt <= scope.now()
      if (isOwn || isOver) continue
      things.push({ id: publicId(payload.id), ...containmentOf(shared) })
    }
    return things
  }
}
