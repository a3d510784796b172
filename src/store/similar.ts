/** What in the store is like a value, without keeping it. */

import { equalBytes } from '../bytes.ts'
import { PrestigeError } from '../errors.ts'
import { type Backend, cell, glance, type Transaction } from '../backends/contract.ts'
import type { StoreNear } from './near.ts'
import { decodePayload } from './near-rows.ts'
import { refuseUnknown, type Value, valueBytes } from './prepare.ts'
import { type Origin, originOf } from './receipt.ts'
import { digests } from './rows.ts'

export interface SimilarOptions {
  /** At most so many, the most similar first (10). */
  readonly limit?: number | undefined
  /**
   * Only what is at least so similar (the store's own threshold). Below the store's threshold, what is there may
   * be missed.
   */
  readonly similarityMin?: number | undefined
}

/** A representative that a value is like. */
export interface Similar extends Origin {
  /** Measured exactly. */
  readonly similarity: number
  readonly bytes: number
}

const DEFAULT_LIMIT = 10

export async function similarTo(
  backend: Backend,
  near: StoreNear | undefined,
  value: Value,
  options: SimilarOptions,
): Promise<Similar[]> {
  refuseUnknown(options, ['limit', 'similarityMin'])
  if (!near) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      "This store finds identical bytes only. Open a new one with dedup: 'near' to ask for what is similar.",
    )
  }
  const { limit = DEFAULT_LIMIT, similarityMin = near.settings.similarityMin } = options
  if (!(Number.isInteger(limit) && limit >= 1)) throw refusal(`limit is a whole number from 1.`)
  if (!(similarityMin > 0 && similarityMin <= 1)) {
    throw refusal(`similarityMin is greater than 0 and at most 1.`)
  }
  const prepared = near.prepare(valueBytes(value))
  if (typeof prepared === 'string') {
    throw new PrestigeError(
      'UNREADABLE_VALUE',
      prepared === 'too-large'
        ? 'The value is too long to be compared.'
        : 'Only texts are compared, and the value is not valid UTF-8.',
    )
  }
  return backend.read(function* (): Transaction<Similar[]> {
    const { hits } = yield* near.search(prepared, undefined, { similarityMin, hitsMax: limit })
    const found: Similar[] = []
    for (const { similarity, id, row } of hits.slice(0, limit)) {
      const [known] = yield* glance(cell(digests, decodePayload(row.payload).digest))
      // Contents never change, so nothing seen here has to be unchanged at the end. Swept since it was found, where reads are not from one moment.
      if (!known || !equalBytes(known.id, id)) continue
      found.push({ similarity, ...originOf(known), bytes: known.bytes })
    }
    return found
  })
}

function refusal(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}
