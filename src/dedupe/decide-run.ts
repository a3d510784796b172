/**
 * The first half of a run: every document of every shard is decided about, in the order of the input, or, where
 * order must not matter, in the order of their rank.
 *
 * What was decided and how far a shard has come are one transaction, so a run that was cut off goes on where it
 * stopped: nothing is lost, doubled or decided differently.
 */

import { deserialize, serialize } from 'node:v8'

import { asBuffer, endOfPrefix } from '../bytes.ts'
import { cell, read, type Scope, type Transaction } from '../backends/contract.ts'
import { PrestigeError } from '../errors.ts'
import type { Reject, Shard } from '../input/document.ts'
import type { ReadingInput } from '../input/index.ts'
import { BatchSize } from './batch-size.ts'
import type { Made } from './decide.ts'
import type { Decision } from './decision.ts'
import type { PreparedDocument } from './prepare.ts'
import { rankOf } from './rank.ts'
import {
  type BatchEntry,
  batches,
  documentKey,
  encodeEntries,
  pending,
  progress,
  type Rank,
  rejects,
  runPrefix,
  shardKey,
} from './rows.ts'
import { decodeProgress, encodeProgress, progressOf, type RunRow } from './runs.ts'
import { type Batch, batchesOf } from './shard-batches.ts'
import { preparedAhead, type Work } from './shard-pool.ts'
import type { State } from './state.ts'

const UNDER_WAY_MAX = 4

export interface Watcher {
  readonly signal?: AbortSignal | undefined
  /** Threads that read and prepare ahead; 0: none but this one. */
  readonly threads?: number | undefined
  /** Called with every decision, in the order in which they are made. */
  onDecision?(decision: Decision): void
  /** Documents read, and bytes of their texts, since it was called last. */
  onProgress?(documents: number, bytes: number): void
  /** What will be read, before any of it is. */
  onShards?(shards: readonly Shard[]): void
  /** A shard was read to its end, now or before the run was cut off. */
  onShard?(shard: Shard): void
  onPhase?(phase: 'reading' | 'deciding' | 'publishing', run: string): void
}

export interface DecideOptions {
  readonly reading: ReadingInput
  readonly watcher: Watcher
  /** The first reject is thrown. */
  readonly strict: boolean
}

export async function decideRun(
  state: State,
  run: RunRow,
  { reading, watcher, strict }: DecideOptions,
): Promise<void> {
  watcher.onShards?.(run.shards)
  watcher.onPhase?.('reading', run.id)
  const under: Promise<void>[] = []
  const { orderIndependent } = run.config
  try {
    for await (const batch of batchesLeft(state, run, { reading, watcher, strict })) {
      watcher.signal?.throwIfAborted()
      const work = orderIndependent
        ? letWait(state, run, batch, watcher)
        : decideBatch(state, run.id, batch, watcher)
      work.catch(() => {})
      under.push(work)
      if (under.length >= UNDER_WAY_MAX) await under.shift()
      const shard = batch.isLast ? run.shards[batch.shard] : undefined
      if (shard) watcher.onShard?.(shard)
    }
    await Promise.all(under)
  } catch (error) {
    // Who hears of the failure may take the run back at once: by then nothing must be under way.
    await Promise.allSettled(under)
    throw error
  }
  if (orderIndependent) await decidePending(state, run, watcher)
}

/** What is not decided about yet, in the order of the input. */
async function* batchesLeft(
  state: State,
  run: RunRow,
  { reading, watcher, strict }: DecideOptions,
): AsyncGenerator<Batch> {
  const left: Work[] = []
  for (const shard of run.shards) {
    const { positions, isDone } = await progressOf(state.backend, run.id, shard.index)
    if (isDone) watcher.onShard?.(shard)
    else left.push({ shard, reading: { ...reading, resume: positions }, strict })
  }
  const { threads = 0 } = watcher
  if (threads > 0) yield* preparedAhead(run.config, left, threads)
  else for (const one of left) yield* batchesOf(state, one.shard, one.reading, one.strict)
}

async function decideBatch(
  state: State,
  run: string,
  batch: Batch,
  watcher: Watcher,
): Promise<void> {
  const documents = batch.placed.map(({ document }) => document)
  const decisions = await state.decide(documents, { run, session: run }, (scope, made) =>
    keepBatch(scope, run, batch, made),
  )
  for (const decision of decisions) watcher.onDecision?.(decision)
  tellProgress(batch, watcher)
}

function* keepBatch(
  scope: Scope,
  run: string,
  batch: Batch,
  made: readonly Made[],
): Transaction<void> {
  const { shard, placed, rejected } = batch
  yield* advance(scope, run, batch)
  const entries = placed.flatMap(({ position }, at) => entryOf(position, made[at]))
  const [first] = entries
  if (first) {
    scope.write(cell(batches, shardKey(run, shard, first.position)), encodeEntries(entries))
  }
  keepRejects(scope, run, shard, rejected)
}

function entryOf(position: number, made: Made | undefined): BatchEntry[] {
  return made ? [{ position, key: made.key, isRepeated: made.decision.isRepeated === true }] : []
}

/** Batches of a shard are kept one after another, by one process, or not at all. */
function* advance(
  scope: Scope,
  run: string,
  { shard, from, upTo, isLast }: Batch,
): Transaction<void> {
  const place = cell(progress, shardKey(run, shard))
  const [found] = yield* read(place)
  const { positions, isDone } = decodeProgress(found)
  scope.rely(place)
  if (isDone || positions !== from) {
    const message = `Run ${run} has come further than this process took it: another one works on it. Let one of them go on alone.`
    throw new PrestigeError('CONTENDED', message)
  }
  scope.write(place, encodeProgress({ positions: upTo, isDone: isLast }))
}

function keepRejects(scope: Scope, run: string, shard: number, rejected: readonly Reject[]): void {
  for (const reject of rejected) {
    scope.write(cell(rejects, shardKey(run, shard, reject.position)), reject)
  }
}

interface Waiting {
  readonly document: PreparedDocument
  readonly shard: number
  readonly position: number
}

async function letWait(
  state: State,
  { id, config }: RunRow,
  batch: Batch,
  watcher: Watcher,
): Promise<void> {
  await state.backend.run(wait, id, batch, (one: PreparedDocument) => rankOf(one, config))
  tellProgress(batch, watcher)
}

function tellProgress({ placed }: Batch, watcher: Watcher): void {
  const bytes = placed.reduce((sum, { document }) => sum + document.bytes, 0)
  watcher.onProgress?.(placed.length, bytes)
}

/** Prepared documents wait until all are there, in the order in which they will be decided about. */
function* wait(
  scope: Scope,
  run: string,
  batch: Batch,
  rank: (document: PreparedDocument) => Rank,
): Transaction<void> {
  const { shard, placed, rejected } = batch
  yield* advance(scope, run, batch)
  for (const { document, position } of placed) {
    const key = pendingKey(run, rank(document), document, shard, position)
    const waiting: Waiting = { document, shard, position }
    scope.write(cell(pending, key), serialize(waiting))
  }
  keepRejects(scope, run, shard, rejected)
}

/** The best first; of equals, whatever their order, the same one. */
function pendingKey(
  run: string,
  rank: Rank,
  { id, digest }: PreparedDocument,
  shard: number,
  position: number,
): Buffer {
  const numbers = Buffer.allocUnsafe(rank.length * 8)
  rank.forEach((number, at) => numbers.set(descending(number), at * 8))
  const place = Buffer.allocUnsafe(8)
  place.writeUInt32BE(shard)
  place.writeUInt32BE(position, 4)
  return Buffer.concat([runPrefix(run), numbers, documentKey(id), digest, place])
}

/** Eight bytes that sort the other way round than the numbers do. */
function descending(number: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeDoubleBE(number === 0 ? 0 : number)
  // Negative numbers sort the other way round as they are; of the others all bits but the sign are turned.
  if ((bytes[0] ?? 0) < 0x80)
    bytes.forEach((byte, at) => (bytes[at] = byte ^ (at === 0 ? 0x7f : 0xff)))
  return bytes
}

async function decidePending(state: State, run: RunRow, watcher: Watcher): Promise<void> {
  watcher.onPhase?.('deciding', run.id)
  const prefix = runPrefix(run.id)
  let page: { key: Buffer; waiting: Waiting }[] = []
  const size = new BatchSize()
  const take = async () => {
    size.clear()
    const documents = page.map(({ waiting }) => waiting.document)
    const taken = page
    page = []
    const session = { run: run.id, session: run.id }
    const decisions = await state.decide(documents, session, (scope, made) =>
      keepPlaces(scope, run.id, taken, made),
    )
    for (const decision of decisions) watcher.onDecision?.(decision)
    watcher.signal?.throwIfAborted()
  }
  const range = { start: prefix, end: endOfPrefix(prefix) }
  for await (const { key, value } of state.backend.scan(pending, range)) {
    // safe: only `wait` writes these rows
    const waiting = deserialize(asBuffer(value)) as Waiting
    page.push({ key, waiting })
    if (size.add(waiting.document.bytes)) await take()
  }
  if (page.length > 0) await take()
}

// oxlint-disable-next-line require-yield -- it only writes
function* keepPlaces(
  scope: Scope,
  run: string,
  taken: readonly { readonly key: Buffer; readonly waiting: Waiting }[],
  made: readonly Made[],
): Transaction<void> {
  for (const [at, { key, waiting }] of taken.entries()) {
    const { shard, position } = waiting
    const entries = encodeEntries(entryOf(position, made[at]))
    scope.write(cell(batches, shardKey(run, shard, position)), entries)
    scope.remove(cell(pending, key))
  }
}
