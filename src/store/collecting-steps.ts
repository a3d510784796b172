/**
 * What is collected, in slices. `collect()` runs all of them to their end; the background collector rests between slices,
 * and may stop after any of them. A further kind of garbage is a further step.
 */

import { type Backend, idTime, ID_BYTES } from '../backends/index.ts'
import type { Bytes } from '../platform/bytes.ts'
import { PrestigeError } from '../platform/errors.ts'
import { isTrimDue, trimChanges } from './changes/trim.ts'
import { collectContent, removeParts, STAGING_LEASE_MS } from './collect.ts'
import { hasMuchGarbage } from './contents/chunk-garbage.ts'
import { chunkSlices } from './contents/collect-chunks.ts'
import { heldBases } from './contents/delta-rows.ts'
import { adoptingSlices } from './near/adopt.ts'
import { expiries, expiryKey, released, staged } from './rows.ts'
import type { Keeping } from './transactions/release.ts'
import { removeExpired } from './transactions/remove.ts'

export interface Collected {
  readonly expiredKeys: number
  readonly contents: number
  readonly contentBytes: number
  /** Parts of large values whose put never ended. */
  readonly abandonedParts: number
  /** Chunks of long values that no value has any more, and their bytes. */
  readonly chunks: number
  readonly chunkBytes: number
  /** Changes that are not kept any longer. */
  readonly changes: number
}

export interface CollectingHow {
  readonly backend: Backend
  readonly keeping: Keeping
  /** A content that was released later than this stays, for a put that may follow. */
  readonly releasedBefore: number
  /** Contents or keys of a slice. */
  readonly atOnce: number
  /** Also what is only worth a search over many rows if it is not done often: little garbage in chunks. */
  readonly isThorough: boolean
}

/** Yields after every slice what that has collected: nothing, where it has only looked. */
export type CollectingStep = (how: CollectingHow) => AsyncGenerator<Partial<Collected>>

/** Transactions of one slice: engines with one writer commit them as one group, of a few milliseconds. */
export const AT_ONCE = 64
/** Notes of contents that may be put again are only looked at. */
const NOTES_AT_ONCE = 1024

export const collectingSteps: readonly CollectingStep[] = [
  expiredKeys,
  releasedContents,
  abandonedParts,
  unreachableChunks,
  orphans,
  oldChanges,
]

/** Everything that nobody can reach any more. */
export async function collectAll(backend: Backend, keeping: Keeping): Promise<Collected> {
  let all = NOTHING
  const how = { backend, keeping, releasedBefore: Infinity, atOnce: AT_ONCE, isThorough: true }
  for (const step of collectingSteps) {
    for await (const slice of step(how)) all = sumOf(all, slice)
  }
  return all
}

const NOTHING: Collected = {
  expiredKeys: 0,
  contents: 0,
  contentBytes: 0,
  abandonedParts: 0,
  chunks: 0,
  chunkBytes: 0,
  changes: 0,
}

export function sumOf(one: Collected, other: Partial<Collected>): Collected {
  return {
    expiredKeys: one.expiredKeys + (other.expiredKeys ?? 0),
    contents: one.contents + (other.contents ?? 0),
    contentBytes: one.contentBytes + (other.contentBytes ?? 0),
    abandonedParts: one.abandonedParts + (other.abandonedParts ?? 0),
    chunks: one.chunks + (other.chunks ?? 0),
    chunkBytes: one.chunkBytes + (other.chunkBytes ?? 0),
    changes: one.changes + (other.changes ?? 0),
  }
}

/**
 * Only to know whether to begin: there may be nothing to collect in what it has seen. What has no note, or is noted where
 * it may stay for long, is left to a thorough pass.
 */
export async function hasNotes(backend: Backend, keeping: Keeping): Promise<boolean> {
  const { changes, layout, near, semantic } = keeping
  for await (const _row of backend.scan(released, { limit: 1 })) return true
  for await (const _row of backend.scan(staged, { limit: 1 })) return true
  for await (const _row of backend.scan(expiries, { end: expiredUntil(backend), limit: 1 })) {
    return true
  }
  if (near?.canCompare) {
    for await (const _row of backend.scan(near.graph.spaces.orphaned, { limit: 1 })) return true
  }
  if (semantic) {
    for await (const _row of backend.scan(semantic.graph.spaces.orphaned, { limit: 1 })) return true
  }
  if (layout.chunks && (await hasMuchGarbage(backend))) return true
  if (layout.deltas) for await (const _row of backend.scan(heldBases, { limit: 1 })) return true
  return changes ? backend.read(isTrimDue, changes.settings) : false
}

async function* expiredKeys({ backend, keeping }: CollectingHow): ReturnType<CollectingStep> {
  const rows = backend.scan(expiries, { end: expiredUntil(backend) })
  for await (const slice of slicesOf(rows, AT_ONCE)) {
    const removals = slice.map(({ key: row }) => {
      const removal = { key: row.subarray(6), gc: 'manual' as const, keeping }
      return backend.run(removeExpired, removal)
    })
    yield { expiredKeys: (await all(removals)).filter(({ existed }) => existed).length }
  }
}

function expiredUntil(backend: Backend): Buffer {
  return expiryKey(Math.floor(backend.now()) + 1, Buffer.alloc(0))
}

/** A content that cannot be read does not keep the others from being collected: it is reported after them. */
async function* releasedContents(how: CollectingHow): ReturnType<CollectingStep> {
  // `atOnce` may be another one for each slice.
  const { backend, keeping, releasedBefore } = how
  let unreadable: unknown
  const collect = async (digest: Bytes) => {
    try {
      return await collectContent(backend, digest, keeping)
    } catch (error) {
      if (!(error instanceof PrestigeError) || error.kind !== 'corrupt') throw error
      unreadable ??= error
      return undefined
    }
  }
  for await (const notes of slicesOf(backend.scan(released), NOTES_AT_ONCE)) {
    const due = notes.filter(({ value }) => isBefore(value, releasedBefore))
    for (let from = 0; from < due.length;) {
      const slice = due.slice(from, from + how.atOnce)
      from += slice.length
      const swept = (await all(slice.map(({ key }) => collect(key)))).filter((one) => one)
      const contentBytes = swept.reduce((sum, one) => sum + (one?.bytes ?? 0), 0)
      yield { contents: swept.length, contentBytes }
    }
    if (due.length === 0) yield {}
  }
  if (unreadable !== undefined) throw unreadable
}

/** A note is an id, which begins with its time. What is no note is left to be dropped. */
function isBefore(note: Bytes, time: number): boolean {
  return note.byteLength !== ID_BYTES || idTime(note) <= time
}

async function* abandonedParts({ backend }: CollectingHow): ReturnType<CollectingStep> {
  const before = backend.now() - STAGING_LEASE_MS
  for await (const { key: id, value } of backend.scan(staged)) {
    if (!value.buried && (value.renewedAt ?? idTime(id)) > before) continue
    yield { abandonedParts: await removeParts(backend, id) }
  }
}

/** After the contents whose chunks they may be. */
async function* unreachableChunks(how: CollectingHow): ReturnType<CollectingStep> {
  const { backend, keeping, isThorough } = how
  if (!isThorough && !(await hasMuchGarbage(backend))) return
  yield* chunkSlices(backend, keeping.layout)
}

/** Contents that were linked to one that is gone; and the room that those have left in the indexes. */
async function* orphans({ backend, keeping }: CollectingHow): ReturnType<CollectingStep> {
  for await (const _count of adoptingSlices(backend, keeping)) yield {}
  await keeping.near?.trim(backend)
  await keeping.semantic?.view.trim()
  yield {}
}

/** After all that adds to them. */
async function* oldChanges({ backend, keeping }: CollectingHow): ReturnType<CollectingStep> {
  if (!keeping.changes) return
  for await (const changes of trimChanges(backend, keeping.changes)) yield { changes }
}

async function* slicesOf<T>(rows: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let slice: T[] = []
  for await (const row of rows) {
    slice.push(row)
    if (slice.length < size) continue
    yield slice
    slice = []
  }
  if (slice.length > 0) yield slice
}

/** Waits for all of them, also where one has failed: nothing goes on behind the back of whoever closes the store. */
async function all<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work)
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}
