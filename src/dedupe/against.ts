/**
 * Cleans documents against what is known, and adds nothing to it: for test sets that must not be in a corpus, and
 * corpora that must not be in another. Documents are held against the state only, never against each other.
 *
 * As with a run, everything is decided and held against the ceilings before anything is published.
 */

import { AtomicFile, writeWhole } from '../platform/atomic-file.ts'
import { rm, rmdir } from '../platform/files.ts'
import { join, relative } from '../platform/paths.ts'
import {
  type CutSpans,
  type Document,
  isReject,
  type ReadingInput,
  readShard,
  type Reject,
  type Shard,
} from '../input/index.ts'
import type { Decision } from './decision/decision.ts'
import type { JobEvents } from './phases/decide-run.ts'
import { stoppedCleaning, violations } from './phases/guards.ts'
import { removeLeftovers } from './output/leftovers.ts'
import { outputLines, outputNames, requireNoLinks, requireOwnNames } from './output/output-names.ts'
import { rejectLine, writeLines } from './output/publish.ts'
import { copyParts, groupsOf, writingOf } from './output/write-kept.ts'
import { OUTPUTS_FILE, recordPath, RECORDS, RUNS_FOLDER, showRecords } from './output/records.ts'
import { refusedReject } from './phases/rejected.ts'
import { RejectBudget, RejectedShards } from './phases/rejects.ts'
import { newRunName } from './runs.ts'
import type { State } from './state.ts'
import { countReject, Counting, type Summary } from './phases/summary.ts'
import { requireTarget, UNFINISHED } from './output/target.ts'

export interface AgainstOptions {
  readonly shards: readonly Shard[]
  readonly out: string
  readonly reading?: ReadingInput | undefined
  readonly strict?: boolean | undefined
  readonly watcher?: JobEvents | undefined
  readonly version?: string | undefined
}

export interface AgainstResult {
  readonly summary: Summary
  readonly files: readonly string[]
  readonly notes: readonly string[]
  /** Set if an input could not be read, or if most of it was rejected. */
  readonly rejection?: string | undefined
}

const AT_ONCE = 32
/** Nothing is ever superseded: there is no such record. */
const AGAINST_RECORDS = RECORDS.filter((name) => name !== 'superseded.jsonl')

/** What was found so far. Lines go to files, written aside: only numbers stay in memory. */
interface Found {
  readonly counting: Counting
  readonly reasons: Map<string, number>
  readonly kept: { readonly positions: number[]; readonly cuts: Map<number, CutSpans> }[]
  readonly budget: RejectBudget
  readonly rejected: RejectedShards
  unrecorded: number
  readonly duplicates: AtomicFile
  readonly rejects: AtomicFile
}

export async function cleanAgainst(state: State, options: AgainstOptions): Promise<AgainstResult> {
  const { out, shards, watcher, version = '' } = options
  await requireTarget(out, false)
  await requireOwnNames(out, shards, () => false)
  await requireNoLinks(out, outputNames(shards))
  const name = newRunName(state.backend.now())
  await removeLeftovers(out, shards, name)
  const found = await openFound(out, name)
  try {
    watcher?.onShards?.(shards)
    for (const shard of shards) await lookThrough(state, shard, options, found)
    const summary = summaryOf(found)
    const beyond = violations(summary, state.config)
    if (beyond.length > 0) throw stoppedCleaning(beyond)
    await writeWhole(join(out, UNFINISHED), [])
    await writeLines(
      recordPath(out, name, OUTPUTS_FILE),
      outputLines(shards, ({ index }) => found.kept[index]?.positions ?? []),
    )
    const published = await writeKept(options, found)
    await found.duplicates.close()
    await found.rejects.close()
    const outputs = published.files.map((file) => relative(out, file))
    const manifest = { format: 1, against: true, version, config: state.config, outputs, summary }
    const manifestFile = recordPath(out, name, 'manifest.json')
    await writeWhole(manifestFile, [`${JSON.stringify(manifest, undefined, 2)}\n`])
    await showRecords(out, name, AGAINST_RECORDS)
    await rm(join(out, UNFINISHED), { force: true })
    return { summary, ...published, rejection: found.rejected.message(shards) }
  } catch (error) {
    await found.duplicates.abort()
    await found.rejects.abort()
    // Only where nothing was written to them.
    for (const folder of [recordPath(out, name, ''), join(out, RUNS_FOLDER)]) {
      await rmdir(folder).catch(() => undefined)
    }
    throw error
  }
}

async function writeKept(
  { shards, out, reading }: AgainstOptions,
  { kept }: Found,
): Promise<Pick<AgainstResult, 'files' | 'notes'>> {
  const notes = new Set<string>()
  const files = new Set<string>()
  for (const group of groupsOf(shards)) {
    const parts = group.map((shard) => {
      const { positions, cuts } = kept[shard.index] ?? nothing()
      return { shard, ids: [], positions, cuts }
    })
    const copied = await copyParts(join(out, 'kept'), parts, writingOf({ reading }))
    if (copied.path !== undefined) files.add(copied.path)
    for (const note of copied.notes) notes.add(note)
  }
  return { files: [...files], notes: [...notes] }
}

async function openFound(out: string, name: string): Promise<Found> {
  const openRecord = (record: string) =>
    AtomicFile.open(recordPath(out, name, record), { makesDirectory: true })
  const duplicates = await openRecord('duplicates.jsonl')
  const rejects = await openRecord('rejects.jsonl')
  return {
    counting: new Counting(),
    reasons: new Map(),
    kept: [],
    budget: new RejectBudget(),
    rejected: new RejectedShards(),
    unrecorded: 0,
    duplicates,
    rejects,
  }
}

function summaryOf(found: Found): Summary {
  const { counting, reasons } = found
  const summary = counting.summary()
  for (const [reason, count] of reasons) countReject(summary, reason, count)
  summary.rejectsUnrecorded = found.unrecorded
  return summary
}

async function lookThrough(
  state: State,
  shard: Shard,
  { reading = {}, strict, watcher = {} }: AgainstOptions,
  found: Found,
): Promise<void> {
  found.kept[shard.index] = nothing()
  for await (const items of readShard(shard, reading)) {
    for (let from = 0; from < items.length; from += AT_ONCE) {
      watcher.signal?.throwIfAborted()
      const documents: Document[] = []
      for (const item of items.slice(from, from + AT_ONCE)) {
        if (!isReject(item)) documents.push(item)
        else if (strict) throw refusedReject(shard, item)
        else await writeReject(found, shard, item)
      }
      await lookAtAll(state, shard, documents, watcher, found)
    }
  }
  watcher.onShard?.(shard)
}

async function writeReject(found: Found, shard: Shard, reject: Reject): Promise<void> {
  found.reasons.set(reject.reason, (found.reasons.get(reject.reason) ?? 0) + 1)
  const isRecorded = found.budget.allows(reject)
  found.rejected.addReject(shard.index, reject.reason, 1, isRecorded ? reject : undefined)
  if (!isRecorded) found.unrecorded++
  else await found.rejects.write(`${JSON.stringify(rejectLine(shard, reject))}\n`)
}

async function lookAtAll(
  state: State,
  shard: Shard,
  documents: readonly Document[],
  watcher: JobEvents,
  found: Found,
): Promise<void> {
  const prepared = documents.map((document) => state.prepare(document))
  const decisions = await Promise.all(
    prepared.map((document) => state.lookAt(document, watcher.signal)),
  )
  for (const [at, decision] of decisions.entries()) {
    const { position } = documents[at] ?? {}
    if (position === undefined) continue
    found.rejected.addDocument(shard.index)
    found.counting.addDecision(decision, prepared[at]?.bytes ?? 0)
    watcher.onDecision?.(decision)
    const kept = found.kept[shard.index]
    if (decision.action !== 'drop') kept?.positions.push(position)
    if (decision.cut) kept?.cuts.set(position, placesOf(decision))
    if (decision.action !== 'keep') {
      const { path: file } = shard.files?.[position] ?? shard
      await found.duplicates.write(`${JSON.stringify({ ...decision, file })}\n`)
    }
  }
  const bytes = prepared.reduce((sum, document) => sum + document.bytes, 0)
  watcher.onProgress?.(prepared.length, bytes)
}

function nothing(): Found['kept'][number] {
  return { positions: [], cuts: new Map() }
}

function placesOf({ spans = [] }: Decision): CutSpans {
  return spans.map(({ start, end }) => [start, end] as const)
}
