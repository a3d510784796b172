/** Pieces of input that were no documents, found by what may be their id. */

import type { Backend } from '../../backends/index.ts'
import { type Reject, unitOf } from '../../input/index.ts'
import { type DocumentFilter, isSameFile } from './document-info.ts'
import { rejectsIn } from '../phases/rejects.ts'
import { listRuns, readRun } from '../runs.ts'

export interface RejectedPiece extends Pick<Reject, 'line' | 'reason' | 'message' | 'sample'> {
  readonly run: string
  readonly file: string
  /** What `line` counts, where that is not lines: elements of a JSON array, or rows of Parquet. */
  readonly unit?: 'element' | 'row'
}

const FOUND_MAX = 10

/**
 * A document without an id is called by its file and line, `crawl.jsonl#12`, or by its file. What was rejected is found by
 * that, or because the beginning of it that is recorded has the id as a string.
 */
export async function rejectsOf(
  backend: Backend,
  id: string,
  { file: wanted, line: wantedLine }: DocumentFilter = {},
): Promise<RejectedPiece[]> {
  const found: RejectedPiece[] = []
  const quoted = JSON.stringify(id)
  for (const head of await listRuns(backend)) {
    if (head.status === 'undone') continue
    const { shards } = await backend.read(readRun, head)
    for await (const { shard, reject } of rejectsIn(backend, head.id)) {
      if (!reject) continue
      const { line, reason, message, sample, path } = reject
      const file = path ?? shards[shard]?.path ?? ''
      const unit = unitOf(shards[shard]?.format ?? 'jsonl')
      if (wanted !== undefined && !isSameFile(wanted, file)) continue
      if (wantedLine !== undefined && wantedLine !== line) continue
      const isMeant = id === `${file}#${line}` || id === path || sample.includes(quoted)
      if (isMeant) found.push({ run: head.id, file, line, ...unit, reason, message, sample })
      if (found.length === FOUND_MAX) return found
    }
  }
  return found
}
