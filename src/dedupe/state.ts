/**
 * What the job knows from earlier runs, opened: a directory that any number of runs share, or memory.
 *
 * What decides which fingerprints come out is recorded; another config is refused by name, because it would
 * silently find nothing of what is there.
 */

import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { readGuards } from '../compare/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { differencesOf, requireFormat, requireSame, type Settings } from '../platform/settings.ts'
import { findSettings, writeJobSettings } from '../ledger/index.ts'
import { DEFAULT_PROFILE, type ShingleProfile, WINNOWING_VERSION } from '../fingerprint/index.ts'
import { judgeName, recordedGuards, type TextNearSettings } from '../match/index.ts'
import type { DedupeConfig } from './config/config.ts'
import { type Context, decideDocument, lookAt, type Made } from './decision/decide-document.ts'
import type { Embedder } from '../semantic/index.ts'
import type { Decision } from './decision/decision.ts'
import { Engine, type EngineOptions, recordedVersion } from './decision/engine.ts'
import {
  type DocumentLike,
  nearSettingsOf,
  type PreparedDocument,
  Preparer,
  type Preparing,
} from './decision/prepare.ts'
import type { Prefer } from './decision/rank.ts'
import { states } from './rows.ts'
import { listRuns } from './runs.ts'
import { VectorsMissing } from './decision/text-vectors.ts'
import { upgradeRows } from './upgrade.ts'

/** What fingerprints were made with: where it is, there is a state. */
export const SETTINGS = cell(states, Buffer.from('state'))
/** 2 had no packs of texts. */
const FORMAT_VERSION = 3

/** What is written in the same transaction as decisions are. */
export type InTransaction = (scope: Scope, made: readonly Made[]) => Transaction<void>

export interface DecideAs {
  readonly run: string
  readonly session: string
  /** Embedding texts stops when it is aborted, with its reason, and nothing is decided. */
  readonly signal?: AbortSignal | undefined
}

/** Settings of the last run of a state; `undefined` in a state without runs. */
export async function lastConfig(backend: Backend): Promise<DedupeConfig | undefined> {
  await upgrade(backend)
  return (await listRuns(backend)).at(-1)?.config
}

/** Only a state that is there may be opened. */
export async function requireState(backend: Backend): Promise<void> {
  if ((await backend.read(readState)) !== undefined) return
  throw new PrestigeError(
    'STORE_NOT_FOUND',
    'There is no state of this namespace at this location.',
  )
}

export interface StateOptions {
  readonly prefer?: Prefer | undefined
  /** In place of the model that the config names. */
  readonly embedder?: Embedder | undefined
  /** Bytes that indexes in memory may have; what does not fit is searched on disk. Default: no bound. */
  readonly memory?: number | undefined
  /** Nothing is decided, so no model is needed. */
  readonly compares?: boolean
}

export class State {
  readonly config: DedupeConfig
  readonly backend: Backend
  readonly engine: Engine
  readonly preparing: Preparing
  readonly #preparer: Preparer
  #hasOldKeys = false
  #turn: Promise<unknown> = Promise.resolve()

  /** Streams that are known to have begun. */
  readonly streams = new Set<string>()

  private constructor(backend: Backend, config: DedupeConfig, options: EngineOptions) {
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
    { prefer, embedder, memory, compares = true }: StateOptions = {},
  ): Promise<State> {
    const filled = await withRecorded(backend, config)
    const formVersion = await formVersionOf(backend)
    const state = new State(backend, filled, { prefer, formVersion, memory })
    const { engine } = state
    if (compares && config.semantic?.enabled) {
      const { Meanings } = await import('./decision/meaning.ts')
      const stored = Object(await backend.read(readState))['semantic']
      engine.meaning = await Meanings.open(engine.meanings, config.semantic, {
        embedder,
        rowBytesMax: backend.limits.valueBytesMax,
        isOld: stored instanceof Object && !('headBytes' in stored),
      })
    }
    try {
      await state.#load(compares)
    } catch (error) {
      await state.release()
      throw error
    }
    return state
  }

  async #load(compares: boolean): Promise<void> {
    const { backend, engine } = this
    const wanted = settingsOf(engine)
    const found = await backend.run(keepSettings, wanted)
    requireFormat('state', found['format'], [FORMAT_VERSION])
    this.#hasOldKeys = found['firstFormat'] === 1
    // States from before there were meanings or containment have no such settings.
    const comparable = ({
      semantic = false,
      containment = false,
      ...others
    }: Settings): Settings => {
      const all = { ...others, containment, near: withGuards(others['near']) }
      return compares ? { ...all, semantic } : all
    }
    requireSame(
      'state',
      differencesOf(comparable(found), comparable(wanted)),
      'Give the stored values to continue with this state, or name another state.',
    )
    await engine.load(backend)
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
    let decisions: Decision[]
    try {
      decisions = await this.backend.run(decideAll, prepared, context, inTransaction)
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
  for (const document of prepared) {
    made.push(yield* decideDocument(scope, document, context, progress))
  }
  requireVectors(prepared)
  if (inTransaction) yield* inTransaction(scope, made)
  return made.map(({ decision }) => decision)
}

/** Those of a batch are in one place. */
function requireVectors(prepared: readonly PreparedDocument[]): void {
  const vectors = prepared.find(({ meaning }) => meaning)?.meaning?.vectors
  if (vectors && vectors.missing.length > 0) throw new VectorsMissing()
}

/** What was not said is as the state has it: defaults may have been others when it was made. */
async function withRecorded(backend: Backend, config: DedupeConfig): Promise<DedupeConfig> {
  await upgrade(backend)
  const found = await backend.read(readState)
  const { near, simhash } = config
  // safe: settingsOf wrote them
  const recorded = (found ?? {}) as {
    near?: TextNearSettings | false
    simhash?: ShingleProfile | false
  }
  const as = recorded.near || nearSettingsOf(config)
  return {
    ...config,
    near: {
      ...near,
      profile: near.profile ?? as.profile,
      evidence: near.evidence ?? as.evidence,
      threshold: near.threshold ?? as.similarityMin,
      guards: guardsOf(near, as),
      precision: near.precision ?? as.judge?.precision,
      judge: near.judge ?? as.judge?.model,
    },
    simhash: { ...simhash, profile: simhash.profile ?? (recorded.simhash || DEFAULT_PROFILE) },
  }
}

function guardsOf({ guards, evidence }: DedupeConfig['near'], as: TextNearSettings) {
  if (guards !== undefined) return guards && readGuards(guards, 'near')
  return evidence === undefined || evidence === as.evidence ? recordedGuards(as) : undefined
}

/** States from before there were guards have none. */
function withGuards(near: unknown): unknown {
  // safe: settingsOf wrote them
  return near && { ...near, guards: recordedGuards(near), ...judgeName(near) }
}

/** A profile's name means the version that a state has. */
async function formVersionOf(backend: Backend): Promise<number | undefined> {
  const form = (await backend.read(readState))?.['canonical']
  return typeof form === 'string' ? recordedVersion(form) : undefined
}

function settingsOf({ config, form, settings, meaning, containment }: Engine): Settings {
  const { simhash, chunks, near } = config
  return {
    format: FORMAT_VERSION,
    canonical: form,
    near: near.enabled && settings,
    simhash: simhash.enabled && simhash.profile,
    chunks: chunks.enabled && chunks.bytes,
    // Absent where they are not looked for, as in states from before they were.
    containment: containment ? WINNOWING_VERSION : undefined,
    semantic: meaning?.identity,
  }
}

function* keepSettings(scope: Scope, wanted: Settings): Transaction<Settings> {
  const [found] = yield* read(SETTINGS)
  // safe: only this function and those of an upgrade write the row
  if (found !== undefined) return found as Settings
  if ((yield* findSettings(scope)) !== undefined) throw ledgerThere()
  writeJobSettings(scope, false)
  scope.write(SETTINGS, wanted)
  return wanted
}

function* readState(_scope: ReadScope): Transaction<Settings | undefined> {
  return (yield* read(SETTINGS))[0] as Settings | undefined // safe: as in keepSettings
}

/** States of older formats are brought to this one, whole or, after a crash, by whoever opens the state next. */
async function upgrade(backend: Backend): Promise<void> {
  const settings = await backend.read(readState)
  const format = settings?.['format']
  if (!settings || (format === FORMAT_VERSION && !settings['isUpgrading'])) return
  if (format === 2 && !settings['isUpgrading']) {
    // Only later rows differ: from here on, older versions refuse the state.
    await backend.run(writeSettings, { ...settings, format: FORMAT_VERSION })
    return
  }
  if (format !== 1 && !settings['isUpgrading']) return
  // First of all: from here on, older versions refuse the state.
  const next = { ...settings, format: FORMAT_VERSION, firstFormat: 1 }
  await backend.run(writeSettings, { ...next, isUpgrading: true })
  await upgradeRows(backend)
  await backend.run(writeSettings, { ...next, isUpgrading: undefined })
}

// oxlint-disable-next-line require-yield -- it only writes
function* writeSettings(scope: Scope, settings: Settings): Transaction<void> {
  scope.write(SETTINGS, settings)
  if (settings['isUpgrading'] === undefined) writeJobSettings(scope, settings['firstFormat'] === 1)
}

function ledgerThere(): PrestigeError {
  return new PrestigeError(
    'SETTINGS_MISMATCH',
    'There is a ledger at this location, and the state of a corpus job has one of its own. Give the job another location or namespace.',
  )
}
