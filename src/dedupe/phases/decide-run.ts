/**
 * The first half of a run: every document of every shard is decided about, in the order of the input, or, where
 * order must not matter, in the order of their rank.
 *
 * What was decided and how far a shard has come are one transaction, so a run that was cut off goes on where it
 * stopped: nothing is lost, doubled or decided differently.
 */

import { endOfPrefix } from '../../platform/bytes.ts'
import { cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Document, ReadingInput, Reject, Shard } from '../../input/index.ts'
import {
  finishShard,
  noteProgress,
  readShardValue,
  shardCell,
  shardValue,
} from '../../ledger/index.ts'
import { BatchSize, SmallTransactions } from './batch-size.ts'
import type { Made } from '../decision/decide-document.ts'
import { keepPacks, writePacks } from './keep-packs.ts'
import { type Pack, Packer } from '../decision/packs.ts'
import type { Decision } from '../decision/decision.ts'
import { deciding, type Held, type Leases, requireGoingOn } from './leases.ts'
import type { PreparedDocument } from '../decision/prepare.ts'
import { rankOf } from '../decision/rank.ts'
import { keepRejects, SHARD_REJECTS_MAX } from './rejects.ts'
import {
  type BatchEntry,
  batches,
  encodeEntries,
  pending,
  type Rank,
  runPrefix,
  shardKey,
} from '../rows.ts'
import type { RunRow } from '../runs.ts'
import { type Batch, batchesOf, itemOf, partsOf, weightOf } from './shard-batches.ts'
import { type Replay, replayOf } from './replay.ts'
import { preparedAhead, type Work } from './shard-pool.ts'
import type { State } from '../state.ts'
import {
  decodeWaiting,
  encodeWaiting,
  pendingKey,
  waitingBytes,
  type WaitingRows,
} from './waiting.ts'

/** One is decided about while the next is prepared. More would only be held in memory. */
const UNDER_WAY_MAX = 2
const LANES = 4

export interface JobEvents {
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
  /** The run goes on already, or was cut off: this worker works along. */
  onJoin?(run: string): void
  onPhase?(phase: 'reading' | 'deciding' | 'publishing', run: string): void
}

export interface DecideOptions {
  readonly reading: ReadingInput
  readonly watcher: JobEvents
  /** The first reject is thrown. */
  readonly strict: boolean
  readonly leases: Leases
}

/** Returns when everything is decided about, by this worker or others. */
export async function decideRun(state: State, run: RunRow, options: DecideOptions): Promise<void> {
  const { watcher, leases } = options
  watcher.onShards?.(run.shards)
  watcher.onPhase?.('reading', run.id)
  const { orderIndependent } = run.config
  // Where every step is a round trip, several shards at once; but in one row where the order counts.
  const onShardDone = oncePerShard(run, watcher)
  const lanes = orderIndependent && !state.backend.serial ? LANES : 1
  await Promise.all(
    Array.from({ length: lanes }, () => readShards(state, run, options, onShardDone)),
  )
  if (!orderIndependent) return
  for (;;) {
    const held = await leases.take(deciding(run.shards.length))
    if (held === 'done') return
    if (held === 'held') await leases.wait(watcher.signal)
    else {
      await leases.use(held, async () => {
        await decidePending(state, run, held, watcher)
        leases.lose(held)
      })
    }
    watcher.signal?.throwIfAborted()
  }
}

/** Takes shard after shard, until all are done. */
async function readShards(
  state: State,
  run: RunRow,
  options: DecideOptions,
  onShardDone: (shard: number) => void,
): Promise<void> {
  const { watcher, leases } = options
  const { orderIndependent } = run.config
  const underWayMax = state.backend.serial ? UNDER_WAY_MAX : 1
  const under: Promise<unknown>[] = []
  const waitForWork = async () => (await Promise.all(under.splice(0))).length > 0
  try {
    for await (const { held, batch } of batchesLeft(
      state,
      run,
      options,
      waitForWork,
      onShardDone,
    )) {
      watcher.signal?.throwIfAborted()
      if (held.isLost) continue
      const work = leases.use(held, async () => {
        await (orderIndependent
          ? enqueuePending(state, run, held, batch)
          : decideBatch(state, held, batch, watcher))
        reportProgress(batch, watcher)
        if (batch.isLast) leases.lose(held)
      })
      work.catch(() => {})
      under.push(work)
      if (under.length >= underWayMax) await under.shift()
      if (batch.isLast) onShardDone(held.shard)
    }
  } finally {
    await Promise.allSettled(under)
  }
}

interface HeldWork extends Work {
  readonly held: Held
}

interface HeldBatch {
  readonly held: Held
  readonly batch: Batch
}

/** What is not decided about yet, in the order of the input. Ends when all shards are done, by whomever. */
async function* batchesLeft(
  state: State,
  run: RunRow,
  { reading, watcher, strict, leases }: DecideOptions,
  waitForWork: () => Promise<boolean>,
  onShardDone: (shard: number) => void,
): AsyncGenerator<HeldBatch> {
  // What waits for its turn is packed when that comes.
  const packing = run.config.orderIndependent ? undefined : run.number
  let isAllDone = false
  const next = async (): Promise<HeldWork | undefined> => {
    const found = await leases.free(run.shards.length, onShardDone)
    isAllDone = found === 'all-done'
    const shard = typeof found === 'string' ? undefined : run.shards[found.shard]
    if (typeof found === 'string' || !shard) return undefined
    const resume = numberIn(found.progress, 'positions')
    found.path = shard.path
    const replay = await replayOf(state.backend, run, shard.index, resume)
    return { held: found, shard, reading: { ...reading, resume }, strict, run: packing, replay }
  }
  for (;;) {
    const { threads = 0 } = watcher
    if (threads > 0) {
      for await (const { work, batch } of preparedAhead(state.preparing, next, threads))
        yield { held: work.held, batch }
    } else {
      for (let one = await next(); one; one = await next()) {
        const { shard, replay } = one
        const items = replay && itemsOf(replay)
        for await (const batch of batchesOf(state, shard, one.reading, strict, packing, items)) {
          yield { held: one.held, batch }
          if (one.held.isLost) break
        }
      }
    }
    const wasUnderWay = await waitForWork()
    if (isAllDone) return
    watcher.signal?.throwIfAborted()
    if (!wasUnderWay) await leases.wait(watcher.signal)
  }
}

async function* itemsOf(replay: Replay): AsyncGenerator<readonly (Document | Reject)[]> {
  for await (const items of replay) yield items.map(itemOf)
}

/** Reports every shard once, whoever has read it to its end. */
function oncePerShard(run: RunRow, watcher: JobEvents): (index: number) => void {
  const reported = new Set<number>()
  return (index) => {
    const shard = run.shards[index]
    if (shard && !reported.has(index)) watcher.onShard?.(shard)
    reported.add(index)
  }
}

async function decideBatch(
  state: State,
  held: Held,
  batch: Batch,
  watcher: JobEvents,
): Promise<void> {
  const { run } = held
  if (!state.backend.serial) await keepPacks(state.backend, held, batch.packs)
  const { cellsOf, cellsMax } = new SmallTransactions(state)
  // One after another: of two copies the first is kept.
  for (const part of state.backend.serial ? [batch] : partsOf(batch, cellsOf, cellsMax)) {
    const documents = part.placed.map(({ document }) => document)
    const as = { run, session: run, signal: watcher.signal }
    const decisions = await state.decide(documents, as, (scope, made) =>
      keepBatch(scope, held, part, made),
    )
    for (const decision of decisions) watcher.onDecision?.(decision)
  }
}

function* keepBatch(
  scope: Scope,
  held: Held,
  batch: Batch,
  made: readonly Made[],
): Transaction<void> {
  const { placed, rejected, packs } = batch
  const { run, shard } = held
  const recorded = yield* advance(scope, held, batch)
  const entries = placed.flatMap(({ position }, at) => entryOf(position, made[at]))
  const [first] = entries
  if (first) {
    scope.write(cell(batches, shardKey(run, shard, first.position)), encodeEntries(entries))
  }
  writePacks(
    scope,
    packs,
    placed.map(({ document }) => document),
    made,
  )
  keepRejects(scope, held, rejected, recorded)
}

function entryOf(position: number, made: Made | undefined): BatchEntry[] {
  return made ? [{ position, key: made.key, isRepeated: made.decision.isRepeated === true }] : []
}

/**
 * Batches of a shard are kept one after another, by who has leased it, while the run goes on; or not at all. Returns
 * how many rejects of the shard are recorded so far.
 */
function* advance(scope: Scope, held: Held, batch: Batch): Transaction<number> {
  const { from, upTo, isLast, rejected } = batch
  yield* requireGoingOn(held)
  const [row] = yield* read(shardCell(held.run, held.shard))
  const before = readShardValue(row?.value ?? '')
  const recorded = numberIn(before, 'rejects')
  const rejectCount = Math.min(recorded + rejected.length, SHARD_REJECTS_MAX)
  const value = shardValue({ positions: upTo, ...(rejectCount > 0 && { rejects: rejectCount }) })
  if (isLast) yield* finishShard(scope, held, value)
  else yield* noteProgress(scope, held, value)
  if (numberIn(before, 'positions') !== from) throw outOfStep(held.run)
  return recorded
}

function numberIn(noted: unknown, name: 'positions' | 'rejects'): number {
  return Number(Reflect.get(Object(noted), name) ?? 0)
}

/** A batch whose end was never known was kept after all, or one before it was not. */
function outOfStep(run: string): PrestigeError {
  const message = `Run ${run} is not where this process took it to be. Give the same command again to go on.`
  return new PrestigeError('CONTENDED', message)
}

async function enqueuePending(
  { backend }: State,
  { config }: RunRow,
  held: Held,
  batch: Batch,
): Promise<void> {
  const { valueBytesMax } = backend.limits
  const rank = (one: PreparedDocument) => rankOf(one, config)
  const parts = backend.serial ? [batch] : partsOf(batch, waitingBytes, valueBytesMax)
  for (const part of parts) await backend.run(wait, held, part, rank, valueBytesMax)
}

function reportProgress({ placed }: Batch, watcher: JobEvents): void {
  const bytes = placed.reduce((sum, { document }) => sum + document.bytes, 0)
  watcher.onProgress?.(placed.length, bytes)
}

/** Prepared documents wait until all are there, in the order in which they will be decided about. */
function* wait(
  scope: Scope,
  held: Held,
  batch: Batch,
  rank: (document: PreparedDocument) => Rank,
  valueBytesMax: number,
): Transaction<void> {
  const { run, shard } = held
  const recorded = yield* advance(scope, held, batch)
  for (const { document, position } of batch.placed) {
    const key = pendingKey(run, rank(document), document, shard, position)
    for (const row of encodeWaiting(key, { document, shard, position }, valueBytesMax)) {
      scope.write(cell(pending, row.key), row.value)
    }
  }
  keepRejects(scope, held, batch.rejected, recorded)
}

async function decidePending(
  state: State,
  run: RunRow,
  held: Held,
  watcher: JobEvents,
): Promise<void> {
  watcher.onPhase?.('deciding', run.id)
  const prefix = runPrefix(run.id)
  let before = held.progress
  let page: WaitingRows[] = []
  const size = new BatchSize()
  const packer = new Packer({ run: run.number, isInOrderOfRank: true })
  const small = new SmallTransactions(state)
  const take = async () => {
    size.clear()
    small.clear()
    const documents = page.map(({ waiting }) => waiting.document)
    const packs = packer.take()
    if (!state.backend.serial) await keepPacks(state.backend, held, packs)
    const taken = page
    const after = taken.at(-1)?.keys[0]?.toString('hex')
    page = []
    const as = { run: run.id, session: run.id, signal: watcher.signal }
    const decisions = await state.decide(documents, as, (scope, made) =>
      keepPlaces(scope, held, { taken, before, after, packs }, made),
    )
    before = after
    for (const decision of decisions) watcher.onDecision?.(decision)
    watcher.signal?.throwIfAborted()
  }
  const range = { start: prefix, end: endOfPrefix(prefix) }
  for await (const rows of decodeWaiting(state.backend.scan(pending, range))) {
    const { document } = rows.waiting
    if (!state.backend.serial && !small.hasRoomFor(document)) await take()
    page.push(rows)
    small.add(document)
    packer.add(document, rows.waiting.shard, rows.waiting.position)
    if (size.add(weightOf(document))) await take()
  }
  if (page.length > 0) await take()
  await state.backend.run(finishShard, held, '')
}

interface Taken {
  readonly taken: readonly WaitingRows[]
  /** What was decided about last before, and what is now. */
  readonly before: unknown
  readonly after: string | undefined
  readonly packs: readonly Pack[]
}

function* keepPlaces(
  scope: Scope,
  held: Held,
  { taken, before, after, packs }: Taken,
  made: readonly Made[],
): Transaction<void> {
  const { run } = held
  yield* requireGoingOn(held)
  const [noted] = yield* read(shardCell(run, held.shard))
  yield* noteProgress(scope, held, shardValue(after))
  if (readShardValue(noted?.value ?? '') !== before) throw outOfStep(run)
  writePacks(
    scope,
    packs,
    taken.map(({ waiting }) => waiting.document),
    made,
  )
  for (const [at, { keys, waiting }] of taken.entries()) {
    const { shard, position } = waiting
    const entries = encodeEntries(entryOf(position, made[at]))
    scope.write(cell(batches, shardKey(run, shard, position)), entries)
    for (const key of keys) scope.remove(cell(pending, key))
  }
}
