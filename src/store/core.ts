/**
 * What all operations of one open store share: its engine, how values are prepared and read, and what is left to do
 * after a transaction. Operations are functions on it (operations/); the class Store is their public face.
 */

import type { Bytes } from '../platform/bytes.ts'
import { type Backend, Gate } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { adoptOrphans } from './near/adopt.ts'
import { BackgroundCollector } from './background-collector.ts'
import { ChangeFeed, WakingBackend } from './changes/feed.ts'
import { collectContent, removeParts } from './collect.ts'
import { ChunkGarbage } from './contents/chunk-garbage.ts'
import { ContentCheck } from './content-check.ts'
import { Layout } from './contents/layout.ts'
import { Lifecycle } from './lifecycle/lifecycle.ts'
import { Tracking } from './lifecycle/tracking.ts'
import type { Reading } from './transactions/get.ts'
import type { Prepared } from './transactions/put.ts'
import { cleanUp } from './transactions/prerequisites.ts'
import type { Swept } from './transactions/release.ts'
import { nearOf } from './near/store-near.ts'
import { Observer } from './observe.ts'
import type { CheckedStoreOptions } from './options.ts'
import type { Preparation } from './prepare.ts'
import {
  allowMetadata,
  isOldFormat,
  type OpenedSettings,
  raiseFormat,
  sharesFormsOf,
  type StoreSettings,
} from './settings.ts'

export class StoreCore {
  readonly settings: StoreSettings
  readonly namespace: string
  readonly backend: Backend
  readonly gate = new Gate('store')
  readonly preparation: Preparation
  readonly reading: Reading
  readonly observer: Observer | undefined
  readonly lifecycle: Lifecycle
  /** With `gc: 'background'`. */
  readonly background: BackgroundCollector | undefined
  readonly #garbage: ChunkGarbage
  /** Rows of an older format are there, and settings that promise nothing else. */
  #isOld: boolean
  /** Keys may have metadata, as the settings say. */
  #hasMetadata: boolean

  /** `indexPath`: where an index of meanings is saved. */
  constructor(
    backend: Backend,
    opened: OpenedSettings,
    options: CheckedStoreOptions,
    indexPath?: string,
  ) {
    const { settings, profile } = opened
    const { metrics, tracer, onUnreadable, gc, verifyReads } = options
    const layout = new Layout(settings, options.compression ?? 'fast')
    const near = nearOf(backend, opened, layout, options.near ?? {})
    const semantic =
      settings.semantic && opened.semantic?.make(backend, settings.semantic, layout, indexPath)
    this.settings = settings
    this.namespace = options.namespace ?? ''
    this.#isOld = isOldFormat(settings)
    this.#hasMetadata = settings.metadata === true
    const changes = settings.changes && new ChangeFeed(settings.changes)
    this.backend = changes ? new WakingBackend(backend, changes) : backend
    this.#garbage = new ChunkGarbage(this.backend, layout)
    this.observer = metrics || tracer ? new Observer(metrics, tracer) : undefined
    const tracking = new Tracking()
    this.lifecycle = new Lifecycle(this, tracking, options)
    const sharesForms = sharesFormsOf(settings)
    const check = verifyReads ? new ContentCheck({ profile, sharesForms }) : undefined
    this.reading = { layout, check }
    this.preparation = {
      profile,
      onUnreadable,
      gc,
      sharesForms,
      check,
      layout,
      keeping: { layout, near, semantic, tracking, changes },
      defaultTtlMs: options.defaultTtlMs,
      slides: options.expiry === 'sliding',
      sharesNear: (near ?? semantic) !== undefined && settings.fidelity === 'representative',
    }
    this.background = backgroundOf(this, options)
  }

  /** To be awaited before the first write where it is true: see `raise`. */
  get isOld(): boolean {
    return this.#isOld
  }

  /** Before the first write: versions that cannot read what is written then refuse the store by name. */
  async raise(): Promise<void> {
    await raiseFormat(this.backend)
    this.#isOld = false
  }

  /** Before a put that is `sliding` or has `metadata`: what the store has to record before the first of its kind. */
  async announce({ sliding, metadata }: Pick<Prepared, 'sliding' | 'metadata'>): Promise<void> {
    if (sliding) await this.lifecycle.keepSliding()
    if (!metadata || this.#hasMetadata) return
    await allowMetadata(this.backend)
    this.#hasMetadata = true
  }

  /** Rebuilding the tables is expensive, and what was refused before it was run leaves nothing in doubt. */
  invalidate(error: unknown): void {
    if (error instanceof PrestigeError && isHarmless(error)) return
    this.preparation.keeping.near?.invalidate()
  }

  /** Looks at a content that lost a reference, or leaves it to a collector. */
  async afterRelease(digest: Bytes): Promise<void> {
    if (this.preparation.gc === 'immediate') await this.collectReleased(digest)
    else this.background?.noteReleased()
  }

  /** Looks at a content that lost a reference; whether it was the last one. */
  async collectReleased(digest: Bytes): Promise<boolean> {
    const { keeping } = this.preparation
    const swept = await cleanUp(() => collectContent(this.backend, digest, keeping))
    if (!swept) return false
    this.observer?.count('prestige.gc.deleted_objects_total', 1)
    await this.finishSweep(swept)
    return true
  }

  /** What is left to do when a content is gone. */
  async finishSweep({ id, partsLeft }: Swept): Promise<void> {
    if (partsLeft) await cleanUp(() => this.#removeLong(id))
    await this.adopt()
  }

  async #removeLong(id: Bytes): Promise<void> {
    await removeParts(this.backend, id)
    const { gc, layout } = this.preparation
    if (layout.chunks && gc === 'immediate') await this.#garbage.noteRemoved()
  }

  /** Chunks of what `work` removes are collected after it, and not after each content. */
  async inBatch<T>(work: () => Promise<T>): Promise<T> {
    const end = await this.#garbage.inBatch(work)
    await cleanUp(() => this.gate.pass(() => this.#garbage.collectDue()))
    return end
  }

  /** Re-evaluates what was linked to contents that are gone. */
  async adopt(): Promise<void> {
    const { keeping } = this.preparation
    if (keeping.near ?? keeping.semantic) {
      await cleanUp(() => adoptOrphans(this.backend, keeping))
    }
  }

  /** An index that cannot be saved is rebuilt when it is needed, so nothing is lost. */
  async saveIndex(when?: 'close'): Promise<void> {
    const { semantic } = this.preparation.keeping
    const isClosing = when === 'close'
    try {
      if (!(await semantic?.view.save())) return
      this.observer?.count('prestige.semantic.index_save_ok_total')
      if (isClosing) this.observer?.count('prestige.close.vector_save_ok_total')
    } catch (error) {
      this.observer?.count('prestige.semantic.index_save_error_total')
      if (isClosing) this.observer?.count('prestige.close.vector_save_error_total')
      process.emitWarning(`The index of meanings could not be saved: ${String(error)}`)
    }
  }

  async closeBackend(): Promise<void> {
    try {
      await this.preparation.keeping.semantic?.view.close()
      await this.backend.close()
      this.observer?.count('prestige.close.ok_total')
    } catch (error) {
      this.observer?.count('prestige.close.flush_error_total')
      throw error
    }
  }
}

/** What is refused, because of the call or because of what its key has, is refused before anything is written. */
function isHarmless({ kind, code }: PrestigeError): boolean {
  return kind === 'invalid' || code === 'PRECONDITION_FAILED'
}

const GRACE_MS = 60_000
const BUDGET_MS = 100

function backgroundOf(
  core: StoreCore,
  { gc, gcGraceMs, gcBudgetMs, readOnly }: CheckedStoreOptions,
): BackgroundCollector | undefined {
  if (gc !== 'background') {
    if (gcGraceMs === undefined && gcBudgetMs === undefined) return undefined
    const message = `gcGraceMs and gcBudgetMs are for gc: 'background', and this store has gc: '${gc}'.`
    throw new PrestigeError('INVALID_OPTIONS', message)
  }
  if (readOnly) return undefined
  const options = { graceMs: gcGraceMs ?? GRACE_MS, budgetMs: gcBudgetMs ?? BUDGET_MS }
  return new BackgroundCollector(core, options)
}
