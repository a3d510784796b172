/**
 * What the corpus job keeps, row by row. Numbers are big endian; the first byte of a row holds its format (1) in
 * the high half and flags in the low one.
 *
 * A document is known by its key (decision/identity.ts), and its row is its line in the ledger. A cluster is a star: its
 * centre is the document that all others were measured against, its survivor the one that is kept.
 */

import { asBuffer, type Bytes, concat } from '../platform/bytes.ts'
import { cell, rows, type Scope, type Space } from '../backends/index.ts'
import { jsonCodec, ledgerSpaces, type Rank } from '../ledger/index.ts'
import { nearSpaces, rawCodec, spacesOf } from '../match/index.ts'

export { documentKey, type DocumentRow, documents, type Rank, rejects } from '../ledger/index.ts'

export interface ClusterRow {
  /** Document keys in hex. */
  readonly survivor: string
  readonly rank: Rank
  readonly size: number
}

export const near = nearSpaces('dedupe.near')
export const simhash = nearSpaces('dedupe.simhash')
export const meanings = nearSpaces('dedupe.semantic')
/** Under the ids of `near`, whose evidence it is measured by. */
export const containment = nearSpaces('dedupe.containment')
/** Digest of the canonical form (16) → digest of the text (16), document key (16). */
export const forms: Space<Bytes> = rows('dedupe.forms', rawCodec)
/** Partition and row → evidence. */
export const evidences: Space<Bytes> = rows('dedupe.evidence', rawCodec, { immutable: true })
/** Texts that documents are measured by, many in a row (see packs.ts). */
export const packs: Space<Bytes> = rows('dedupe.packs', rawCodec, { ordered: true })
/** Hash of a chunk (16) → document key (16). */
export const chunks: Space<Bytes> = rows('dedupe.chunks', rawCodec)
/** Document key of a centre → ClusterRow, once it has a second member. */
export const clusters: Space<ClusterRow> = rows('dedupe.clusters', jsonCodec('clusters'), {
  ordered: true,
})
/** Document keys of a centre and of a member → run id. */
export const members: Space<Bytes> = rows('dedupe.members', rawCodec, { ordered: true })
/** Run, `/`, shard (4) and position (4) → entries of a batch. */
export const batches: Space<Bytes> = rows('dedupe.batches', rawCodec, { ordered: true })
/** Run, `/`, rank, document key, place and part (see waiting.ts) → a prepared document that waits for its turn. */
export const pending: Space<Bytes> = rows('dedupe.pending', rawCodec, { ordered: true })
/** Run, `/`, shard (4), and position (4) → documents that are decided about again from the state (see phases/replay.ts). */
export const replays: Space<unknown> = rows('dedupe.replays', jsonCodec<unknown>('replays'), {
  ordered: true,
})
/** Run, `/`, part of the hashes (1), shard (4) and piece (4) → hashes of windows (6 each), see passages/count-windows.ts. */
export const passageCounts: Space<Bytes> = rows('dedupe.passages.counts', rawCodec, {
  ordered: true,
})
/** Run, `/`, piece (4) → hashes of the names of files whose documents were counted (6 each). */
export const passageFiles: Space<Bytes> = rows('dedupe.passages.files', rawCodec, { ordered: true })
/** Run, `/`, shard (4) and piece (4) → what is cut from the texts that are kept, see passages/cuts.ts. */
export const passageCuts: Space<unknown> = rows(
  'dedupe.passages.cuts',
  jsonCodec<unknown>('passages'),
  { ordered: true },
)
/**
 * `state` → what fingerprints were made with; `last` → the run begun last; inputs of runs, files that are done, outputs
 * (output/output-rows.ts), and documents whose status another run has changed.
 */
export const states: Space<unknown> = rows('dedupe.states', jsonCodec<unknown>('states'), {
  ordered: true,
})

export const dedupeSpaces: readonly Space<unknown>[] = [
  ...ledgerSpaces,
  ...spacesOf(near),
  ...spacesOf(simhash),
  ...spacesOf(meanings),
  ...spacesOf(containment),
  forms,
  evidences,
  packs,
  chunks,
  clusters,
  members,
  batches,
  pending,
  passageCounts,
  passageFiles,
  passageCuts,
  states,
  replays,
]

/** A document's place in a run. A repeated one was there before, and is not written again. */
export interface BatchEntry {
  readonly position: number
  readonly key: Buffer
  readonly isRepeated: boolean
}

/** Position (4) document key (16) flags (1: repeated). */
const ENTRY_BYTES = 21

export function encodeEntries(entries: readonly BatchEntry[]): Buffer {
  const row = Buffer.allocUnsafe(entries.length * ENTRY_BYTES)
  entries.forEach(({ position, key, isRepeated }, at) => {
    row.writeUInt32BE(position, at * ENTRY_BYTES)
    row.set(key, at * ENTRY_BYTES + 4)
    row[at * ENTRY_BYTES + 20] = isRepeated ? 1 : 0
  })
  return row
}

export function decodeEntries(row: Bytes): BatchEntry[] {
  const bytes = asBuffer(row)
  const entries: BatchEntry[] = []
  for (let at = 0; at < bytes.byteLength; at += ENTRY_BYTES) {
    const key = Buffer.from(bytes.subarray(at + 4, at + 20))
    entries.push({ position: bytes.readUInt32BE(at), key, isRepeated: bytes[at + 20] === 1 })
  }
  return entries
}

export function runPrefix(run: string): Buffer {
  return Buffer.from(`${run}/`)
}

export function shardKey(run: string, shard: number, position?: number): Buffer {
  const numbers = Buffer.allocUnsafe(position === undefined ? 4 : 8)
  numbers.writeUInt32BE(shard)
  if (position !== undefined) numbers.writeUInt32BE(position, 4)
  return concat(runPrefix(run), numbers)
}

/** `touched/`, document key in hex → when. */
export const TOUCHED = 'touched/'

/**
 * Notes that a document of another run is kept no more, or again: outputs that hold it are brought up to date when a
 * run or an undo ends.
 */
export function touch(scope: Scope, key: Bytes): void {
  const name = TOUCHED + asBuffer(key).toString('hex')
  scope.write(cell(states, Buffer.from(name)), scope.id().toString('hex'))
}
