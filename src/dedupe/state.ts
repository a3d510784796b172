/**
 * What the job knows from earlier runs, opened: a directory that any number of runs share, or memory.
 *
 * What decides which fingerprints come out is recorded; another config is refused by name, because it would
 * silently find nothing of what is there. While a state holds no documents, any config may be taken.
 */

import type { Backend, Scope, Transaction } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { type Difference, requireSame, type Settings } from '../platform/settings.ts'
import { noteFingerprints } from '../ledger/index.ts'
import type { DedupeConfig } from './config/config.ts'
import { type Context, decideDocument, lookAt, type Made } from './decision/decide-document.ts'
import type { Embedder } from '../semantic/index.ts'
import type { Decision } from './decision/decision.ts'
import { Engine, type EngineOptions } from './decision/engine.ts'
import {
  type DocumentLike,
  type PreparedDocument,
  Preparer,
  type Preparing,
} from './decision/prepare.ts'
import type { Prefer } from './decision/rank.ts'
import type { JobMetrics } from './metrics.ts'
import { isOpen, listRuns } from './runs.ts'
import {
  differencesFrom,
  formVersionOf,
  hasOldMeanings,
  isInUse,
  recordSettings,
  replaceSettings,
  requireNoneOpen,
  settingsOf,
  upgrade,
  withRecorded,
} from './state-settings.ts'
import { VectorsMissing } from './decision/text-vectors.ts'
import { versionOf } from './version.ts'

/** What is written in the same transaction as decisions are. */
export type InTransaction = (scope: Scope, made: readonly Made[]) => Transaction<void>

export interface DecideAs {
  readonly run: string
  readonly session: string
  /** Embedding texts stops when it is aborted, with its reason, and nothing is decided. */
  readonly signal?: AbortSignal | undefined
}

/** Settings of the last run of a state, as what is there was made with; `undefined` in a state without runs. */
export async function lastConfig(backend: Backend): Promise<DedupeConfig | undefined> {
  await upgrade(backend)
  // Until a run has replaced those that it redoes, what is there is theirs.
  const runs = (await listRuns(backend)).filter((run) => !run.redoes || run.hasReplaced)
  const last =
    runs.findLast(isOpen) ?? runs.findLast(({ status }) => status === 'finished') ?? runs.at(-1)
  return last?.config
}

export interface StateOptions {
  readonly prefer?: Prefer | undefined
  /** In place of the model that the config names. */
  readonly embedder?: Embedder | undefined
  /** Bytes that indexes in memory may have; what does not fit is searched on disk. Default: no bound. */
  readonly memory?: number | undefined
  /** Nothing is decided, so no model is needed. */
  readonly compares?: boolean
  /** Other settings than those of the state are no error: `mismatch` names them, and nothing is loaded. */
  readonly defers?: boolean
  readonly metrics?: JobMetrics | undefined
}

export class State {
  readonly config: DedupeConfig
  readonly backend: Backend
  readonly engine: Engine
  readonly preparing: Preparing
  /** Receives every batch of decisions. */
  readonly metrics: JobMetrics | undefined
  readonly #preparer: Preparer
  #hasOldKeys = false
  #turn: Promise<unknown> = Promise.resolve()
  /** What differs from what the documents of the state were fingerprinted with. Then nothing can be decided. */
  mismatch: readonly Difference[] = []

  /** Streams that are known to have begun. */
  readonly streams = new Set<string>()

  private constructor(
    backend: Backend,
    config: DedupeConfig,
    options: EngineOptions,
    metrics: JobMetrics | undefined,
  ) {
    this.metrics = metrics
    this.backend = backend
    this.config = config
    this.engine = new Engine(config, backend.serial, options)
    const { formVersion } = options
    const { valueBytesMax, cellsMax } = backend.limits
    this.preparing = { config, valueBytesMax, cellsMax, formVersion }
    this.#preparer = new Preparer(config, valueBytesMax, cellsMax, formVersion)
  }

  static async open(
    backend: Backend,
    config: DedupeConfig,
    { prefer, embedder, memory, compares = true, defers = false, metrics }: StateOptions = {},
  ): Promise<State> {
    const filled = await withRecorded(backend, config)
    const formVersion = await formVersionOf(backend, config)
    const state = new State(backend, filled, { prefer, formVersion, memory }, metrics)
    const { engine } = state
    if (compares && config.semantic?.enabled) {
      const { Meanings } = await import('./decision/meaning.ts')
      engine.meaning = await Meanings.open(engine.meanings, config.semantic, {
        embedder,
        rowBytesMax: backend.limits.valueBytesMax,
        isOld: await hasOldMeanings(backend),
      })
    }
    try {
      await state.#load(compares, defers)
    } catch (error) {
      await state.release()
      throw error
    }
    return state
  }

  async #load(compares: boolean, defers: boolean): Promise<void> {
    const { backend, engine, settings } = this
    let found = await recordSettings(backend, settings)
    let differences = differencesFrom(found, settings, compares)
    if (differences.length > 0 && !(await isInUse(backend))) {
      await replaceSettings(backend, settings, requireNoneOpen)
      found = await recordSettings(backend, settings)
      differences = differencesFrom(found, settings, compares)
    }
    this.#hasOldKeys = found['firstFormat'] === 1
    this.mismatch = differences
    if (defers && differences.length > 0) return
    requireSame(
      'state',
      differences,
      'Give the stored values to continue with this state, or name another state.',
    )
    await backend.run(noteFingerprints, versionOf(engine))
    await engine.load(backend)
  }

  /** What its fingerprints are made with. */
  get settings(): Settings {
    return settingsOf(this.engine)
  }

  /** Lets a model go that was opened for it. The backend stays open. */
  async release(): Promise<void> {
    await this.engine.meaning?.close()
  }

  /** `place` is the file it is of. */
  prepare(document: DocumentLike, place?: string): PreparedDocument {
    return this.#preparer.prepare(document, place)
  }

  /** Decides about documents in their order, in one transaction. `inTransaction` is done in the same one. */
  async decide(
    prepared: readonly PreparedDocument[],
    { run, session, signal }: DecideAs,
    inTransaction?: InTransaction,
  ): Promise<Decision[]> {
    const context: Context = { engine: this.engine, run, session, hasOldKeys: this.#hasOldKeys }
    if (this.engine.meaning) return this.#decideInTurn(prepared, context, inTransaction, signal)
    return this.#decide(prepared, context, inTransaction)
  }

  /** Texts are embedded ahead, but decided about in the order in which they came. */
  #decideInTurn(
    prepared: readonly PreparedDocument[],
    context: Context,
    inTransaction: InTransaction | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Decision[]> {
    const before = this.#turn
    const ready = this.#withMeanings(prepared, signal)
    ready.catch(() => {})
    const mine = (async () => {
      await before
      const documents = await ready
      // Not in the transaction: what is rolled back is expensive where an index is in memory.
      await this.#supplied(documents, signal, () => this.#lookAtAll(documents))
      return this.#supplied(documents, signal, () =>
        this.#decide(documents, context, inTransaction),
      )
    })()
    this.#turn = mine
    mine.catch(() => {
      // Calls made after a failure has been reported start over.
      if (this.#turn === mine) this.#turn = Promise.resolve()
    })
    return mine
  }

  async #decide(
    prepared: readonly PreparedDocument[],
    context: Context,
    inTransaction: InTransaction | undefined,
  ): Promise<Decision[]> {
    const release = this.engine.evidence.hold(prepared)
    const started = this.metrics ? performance.now() : 0
    let decisions: Decision[]
    try {
      decisions = await this.backend.run(decideAll, prepared, context, inTransaction)
      this.metrics?.onBatch(prepared, decisions, performance.now() - started)
    } catch (error) {
      this.engine.invalidate()
      throw error
    } finally {
      release()
    }
    await this.engine.spill(this.backend)
    return decisions
  }

  async #withMeanings(
    prepared: readonly PreparedDocument[],
    signal: AbortSignal | undefined,
  ): Promise<readonly PreparedDocument[]> {
    const { meaning } = this.engine
    if (!meaning) return prepared
    const looked = await this.#lookAtAll(prepared)
    const duplicates = new Set(prepared.filter((_, at) => looked[at]?.cluster !== undefined))
    return meaning.prepare(prepared, (document) => duplicates.has(document), signal)
  }

  /** One by one: how much a transaction may read has a limit. */
  async #lookAtAll(documents: readonly PreparedDocument[]): Promise<Decision[]> {
    const decisions: Decision[] = []
    for (const document of documents) {
      decisions.push(await this.backend.read(() => lookAt(document, this.engine)))
    }
    requireVectors(documents)
    return decisions
  }

  /** Until it lacks no vectors. Every attempt asks for others, of which there is an end. */
  async #supplied<T>(
    documents: readonly PreparedDocument[],
    signal: AbortSignal | undefined,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const vectors = documents.find(({ meaning }) => meaning)?.meaning?.vectors
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof VectorsMissing) || !vectors) throw error
        await this.engine.meaning?.supply(vectors, signal)
      }
    }
  }

  /** What would be decided, without a trace. */
  async lookAt(prepared: PreparedDocument, signal?: AbortSignal): Promise<Decision> {
    const documents = await this.#withMeanings([prepared], signal)
    const [decision] = await this.#supplied(documents, signal, () => this.#lookAtAll(documents))
    if (decision) return decision
    throw new PrestigeError('BACKEND_UNAVAILABLE', 'Nothing was decided.')
  }

  async close(): Promise<void> {
    try {
      await this.release()
    } finally {
      await this.backend.close()
    }
  }
}

function* decideAll(
  scope: Scope,
  prepared: readonly PreparedDocument[],
  context: Context,
  inTransaction: InTransaction | undefined,
): Transaction<Decision[]> {
  const made: Made[] = []
  const progress = { isRunning: false }
  const { engine } = context
  engine.gather(scope)
  for (const document of prepared) {
    made.push(yield* decideDocument(scope, document, context, progress))
  }
  engine.flush(scope)
  requireVectors(prepared)
  if (inTransaction) yield* inTransaction(scope, made)
  return made.map(({ decision }) => decision)
}

/** Those of a batch are in one place. */
function requireVectors(prepared: readonly PreparedDocument[]): void {
  const vectors = prepared.find(({ meaning }) => meaning)?.meaning?.vectors
  if (vectors && vectors.missing.length > 0) throw new VectorsMissing()
}
