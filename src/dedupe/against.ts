/**
 * Cleans documents against what is known, and adds nothing to it: for test sets that must not be in a corpus, and
 * corpora that must not be in another. Documents are held against the state only, never against each other.
 *
 * As with a run, everything is decided and held against the ceilings before anything is published.
 */

import { join } from 'node:path'

import { isReject, type ReadingInput, readShard, type Shard } from '../input/index.ts'
import type { Watcher } from './decide-run.ts'
import type { Decision } from './decision.ts'
import { stoppedCleaning, violations } from './guards.ts'
import type { PreparedDocument } from './prepare.ts'
import { writeKept, writeLines, writeWhole } from './publish.ts'
import { refusedReject } from './rejected.ts'
import type { State } from './state.ts'
import { countReject, Counting, type Summary } from './summary.ts'

export interface AgainstOptions {
  readonly shards: readonly Shard[]
  readonly out: string
  readonly reading?: ReadingInput | undefined
  readonly strict?: boolean | undefined
  readonly watcher?: Watcher | undefined
  readonly version?: string | undefined
}

export interface AgainstResult {
  readonly summary: Summary
  readonly files: readonly string[]
  readonly notes: readonly string[]
}

const AT_ONCE = 32

interface Found {
  readonly counting: Counting
  readonly reasons: string[]
  readonly kept: number[][]
  readonly duplicates: object[]
  readonly rejects: object[]
}

export async function cleanAgainst(state: State, options: AgainstOptions): Promise<AgainstResult> {
  const counting = new Counting()
  const found: Found = { counting, reasons: [], kept: [], duplicates: [], rejects: [] }
  options.watcher?.onShards?.(options.shards)
  for (const shard of options.shards) await lookThrough(state, shard, options, found)
  const summary = counting.summary()
  for (const reason of found.reasons) countReject(summary, reason)
  const beyond = violations(summary, state.config)
  if (beyond.length > 0) throw stoppedCleaning(beyond)
  const { out, shards, version = '' } = options
  const published = await writeKept(
    shards,
    join(out, 'kept'),
    async ({ index }) => found.kept[index] ?? [],
  )
  await writeLines(join(out, 'duplicates.jsonl'), found.duplicates)
  await writeLines(join(out, 'rejects.jsonl'), found.rejects)
  const outputs = published.files.map((file) => file.slice(out.length + 1))
  const manifest = { format: 1, against: true, version, config: state.config, outputs, summary }
  await writeWhole(join(out, 'manifest.json'), [`${JSON.stringify(manifest, undefined, 2)}\n`])
  return { summary, ...published }
}

async function lookThrough(
  state: State,
  shard: Shard,
  { reading = {}, strict, watcher = {} }: AgainstOptions,
  found: Found,
): Promise<void> {
  const kept: number[] = []
  found.kept[shard.index] = kept
  for await (const items of readShard(shard, reading)) {
    for (let from = 0; from < items.length; from += AT_ONCE) {
      watcher.signal?.throwIfAborted()
      const prepared: { document: PreparedDocument; position: number }[] = []
      for (const item of items.slice(from, from + AT_ONCE)) {
        if (!isReject(item))
          prepared.push({ document: state.prepare(item), position: item.position })
        else {
          if (strict) throw refusedReject(shard, item)
          found.reasons.push(item.reason)
          found.rejects.push({ file: shard.path, ...item })
        }
      }
      const decisions = await Promise.all(prepared.map(({ document }) => state.lookAt(document)))
      for (const [at, decision] of decisions.entries()) {
        const place = prepared[at]
        if (!place) continue
        found.counting.addDecision(decision, place.document.bytes)
        watcher.onDecision?.(decision)
        if (decision.action !== 'drop') kept.push(place.position)
        if (decision.action !== 'keep') found.duplicates.push(told(decision, shard))
      }
      const bytes = prepared.reduce((sum, { document }) => sum + document.bytes, 0)
      watcher.onProgress?.(prepared.length, bytes)
    }
  }
  watcher.onShard?.(shard)
}

function told(decision: Decision, shard: Shard): object {
  return { ...decision, file: shard.path }
}
