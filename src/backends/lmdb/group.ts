/**
 * The transactions that share one commit. They run one after another, each seeing the writes of those before it.
 */

import { performance } from 'node:perf_hooks'

import type { Bytes } from '../../platform/bytes.ts'
import type { Space } from '../contract.ts'
import type { Addition, Draft } from '../kit/draft.ts'
import type { Durability } from './options.ts'
import type { LmdbTable, PrefixedKeys } from './table.ts'

/** One transaction waiting for its group. */
export interface Job {
  readonly durability: Durability
  /** When it gives up waiting for the lock of the directory, by `performance.now()`. */
  readonly deadline: number
  readonly timeoutMs: number
  /** Runs the body inside the open write transaction and returns what it recorded. Throws what the body throws. */
  drive(): Draft
  /** What its keys begin with. */
  readonly prefix: Buffer
  done(): void
  failed(error: unknown): void
}

export interface Settled {
  readonly job: Job
  readonly failure: { readonly error: unknown } | undefined
}

interface Sum {
  readonly prefix: Buffer
  readonly space: Space<number>
  readonly key: Bytes
  delta: number
}

const GROUP_JOBS_MAX = 512
const GROUP_BYTES_MAX = 8 * 1024 * 1024
/** A group ends after some milliseconds or megabytes, so that the event loop stays responsive. */
const GROUP_MS_MAX = 10

export class Group {
  /** The jobs that were run, in their order. */
  readonly settled: Settled[] = []
  readonly #keys: PrefixedKeys
  readonly #table: (space: Space<unknown>) => LmdbTable
  readonly #isDurable: boolean
  readonly #sums: Sum[] = []
  #bytes = 0

  constructor(
    keys: PrefixedKeys,
    table: (space: Space<unknown>) => LmdbTable,
    durability: Durability,
  ) {
    this.#keys = keys
    this.#table = table
    this.#isDurable = durability === 'fsync'
  }

  /** Runs jobs from the head of the queue; they leave it once their fate is known. */
  run(queue: readonly Job[], jobsMax = GROUP_JOBS_MAX): void {
    const started = performance.now()
    for (const job of queue) {
      this.#runOne(job)
      if (this.settled.length >= jobsMax || this.#bytes > GROUP_BYTES_MAX) break
      if (performance.now() - started > GROUP_MS_MAX) break
    }
    for (const sum of this.#sums) this.#addUp(sum)
  }

  /** A body that throws has recorded nothing that counts; an engine that throws takes the group with it. */
  #runOne(job: Job): void {
    this.#keys.prefix = job.prefix
    let draft: Draft
    try {
      draft = job.drive()
    } catch (error) {
      this.settled.push({ job, failure: { error } })
      return
    }
    this.settled.push({ job, failure: undefined })
    for (const addition of draft.additions) addTo(this.#sums, job.prefix, addition)
    for (const { space, key, bytes } of draft.finalWrites()) {
      this.#write(this.#table(space), key, bytes)
      this.#bytes += bytes?.byteLength ?? 0
    }
  }

  #write(table: LmdbTable, key: Bytes, bytes: Bytes | undefined): void {
    if (this.#isDurable) table.keep(key, bytes)
    else table.write(key, bytes)
  }

  #addUp({ prefix, space, key, delta }: Sum): void {
    this.#keys.prefix = prefix
    const table = this.#table(space)
    const current = table.get(key)
    const sum = (current ? space.codec.decode(current) : 0) + delta
    this.#write(table, key, space.codec.encode(sum))
  }
}

/**
 * Additions of a whole group are summed first: a tally costs one write a group, not one a put. The few
 * tallies there are are constants, so looking for the same key object is enough; one that is missed is
 * only added by itself.
 */
function addTo(sums: Sum[], prefix: Buffer, { space, key, delta }: Addition): void {
  for (const sum of sums) {
    if (sum.key !== key || sum.prefix !== prefix || sum.space !== space) continue
    sum.delta += delta
    return
  }
  sums.push({ prefix, space, key, delta })
}
