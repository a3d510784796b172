/**
 * What all operations of one open store share: its engine, how values are prepared and read, and what is left to do
 * after a transaction. Operations are functions on it (operations/); the class Store is their public face.
 */

import type { Bytes } from '../platform/bytes.ts'
import { type Backend, Gate } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { adoptOrphans } from './near/adopt.ts'
import { collectContent } from './collect.ts'
import { ContentCheck } from './content-check.ts'
import type { Reading } from './transactions/get.ts'
import { cleanUp } from './transactions/prerequisites.ts'
import { nearOf } from './near/store-near.ts'
import { Observer } from './observe.ts'
import type { CheckedStoreOptions } from './options.ts'
import type { Preparation } from './prepare.ts'
import {
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
  /** Rows of an older format are there, and settings that promise nothing else. */
  #isOld: boolean

  /** `indexPath`: where an index of meanings is saved. */
  constructor(
    backend: Backend,
    opened: OpenedSettings,
    options: CheckedStoreOptions,
    indexPath?: string,
  ) {
    const { settings, profile } = opened
    const { metrics, tracer, onUnreadable, gc, verifyReads } = options
    const near = nearOf(backend, opened, options.near ?? {})
    const { partBytes } = settings
    const semantic =
      settings.semantic && opened.semantic?.make(backend, settings.semantic, partBytes, indexPath)
    this.settings = settings
    this.namespace = options.namespace ?? ''
    this.#isOld = isOldFormat(settings)
    this.backend = backend
    this.observer = metrics || tracer ? new Observer(metrics, tracer) : undefined
    const sharesForms = sharesFormsOf(settings)
    const check = verifyReads ? new ContentCheck({ profile, sharesForms }) : undefined
    this.reading = { partBytes, check }
    this.preparation = {
      profile,
      onUnreadable,
      gc,
      sharesForms,
      check,
      partBytes,
      keeping: { partBytes, near, semantic },
      sharesNear: (near ?? semantic) !== undefined && settings.fidelity === 'representative',
    }
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

  /** Rebuilding the tables is expensive, and what was refused before it was run leaves nothing in doubt. */
  invalidate(error: unknown): void {
    if (error instanceof PrestigeError && error.kind === 'invalid') return
    this.preparation.keeping.near?.invalidate()
  }

  /** Looks at a content that lost a reference. */
  async collectReleased(digest: Bytes): Promise<void> {
    const { keeping } = this.preparation
    const swept = await cleanUp(() => collectContent(this.backend, digest, keeping))
    if (!swept) return
    this.observer?.count('prestige.gc.deleted_objects_total', 1)
    await this.adopt()
  }

  /** Re-evaluates what was linked to contents that are gone. */
  async adopt(): Promise<void> {
    const { keeping } = this.preparation
    if (keeping.near ?? keeping.semantic) {
      await cleanUp(() => adoptOrphans(this.backend, keeping))
    }
  }

  /** An index that cannot be saved is rebuilt when it is needed, so nothing is lost. */
  async saveIndex(): Promise<void> {
    const { semantic } = this.preparation.keeping
    try {
      if (await semantic?.view.save())
        this.observer?.count('prestige.semantic.index_save_ok_total', 1)
    } catch (error) {
      this.observer?.count('prestige.semantic.index_save_error_total', 1)
      process.emitWarning(`The index of meanings could not be saved: ${String(error)}`)
    }
  }
}
