/**
 * Where an adapter gets its store from. Factories of other libraries return at once and opening takes time, so a store
 * named by its location is opened with the first call.
 *
 * Invariant: who opened a store closes it. A store that was given stays open.
 */

import { PrestigeError } from '../platform/errors.ts'
import { LazilyOpened } from '../platform/lazily-opened.ts'
import { openStore, type Store, type StoreOptions } from '../store/index.ts'

/** A store that is open, or the location of one. */
export interface StoreSource {
  /** A store that is open already. It is not closed with the adapter. */
  readonly store?: Store | undefined
  /** Where the store is, as for `openStore`: a directory, `memory:`, `redis://…`. Opened with the first call. */
  readonly location?: string | undefined
  /** Options of `openStore`; with `location`. */
  readonly open?: StoreOptions | undefined
}

export class OpenedStore {
  readonly #given: Store | undefined
  readonly #opened: LazilyOpened<Store>
  #isClosed = false

  constructor({ store, location, open }: StoreSource) {
    if ((store === undefined) === (location === undefined)) {
      throw refused('Give either store or location.')
    }
    if (store && open) throw refused('open goes with location; the store is open already.')
    this.#given = store
    this.#opened = new LazilyOpened(() => openStore(location ?? '', open))
  }

  async get(): Promise<Store> {
    if (!this.#isClosed) return this.#given ?? this.#opened.get()
    throw new PrestigeError('BACKEND_CLOSED', 'The adapter is closed. Make another one.')
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#opened.close()
  }
}

function refused(message: string): PrestigeError {
  return new PrestigeError('INVALID_OPTIONS', message)
}
