/**
 * Keeps a view within the memory it may have: seals its tables when they are full, and merges segments when there are
 * many. To be called between transactions, as often as one likes.
 */

import type { Backend } from '../../backends/index.ts'
import type { NearSpaces } from '../rows.ts'
import type { SignatureLayout } from '../scheme/scheme.ts'
import type { NearView } from '../view.ts'
import { mergeLast, type Sealing, sealTail } from './seal.ts'

/** 4,080 bytes, which are one page of LMDB with its head. */
const PAGE_ENTRIES = 510

/** Memory that the near-duplicate index may have. */
export interface MemoryBound {
  readonly bytesMax: number
  /** Entries in a page of a segment. */
  readonly pageEntries?: number | undefined
}

export class Spill<Signature> {
  readonly #view: NearView<Signature>
  readonly #sealing: Omit<Sealing<Signature>, 'backend'>
  #underWay: Promise<void> | undefined

  constructor(
    view: NearView<Signature>,
    spaces: NearSpaces,
    scheme: SignatureLayout<Signature>,
    { bytesMax, pageEntries = PAGE_ENTRIES }: MemoryBound,
  ) {
    this.#view = view
    this.#sealing = { spaces, scheme, bytesMax, pageEntries }
  }

  /** Seals tables that are full. */
  async run(backend: Backend): Promise<void> {
    if (!this.#view.isFull) return
    await this.seal(backend)
  }

  /** Seals the tables, however little is in them. One at a time. */
  async seal(backend: Backend): Promise<void> {
    this.#underWay ??= this.#seal({ ...this.#sealing, backend }).finally(() => {
      this.#underWay = undefined
    })
    try {
      await this.#underWay
    } catch (error) {
      this.#view.invalidate()
      throw error
    }
  }

  async #seal(sealing: Sealing<Signature>): Promise<void> {
    const view = this.#view
    const refresh = () => sealing.backend.read(() => view.adopt())
    for (;;) {
      const isSealed = await sealTail(sealing, view.sealed, view.sequence)
      await refresh()
      if (!isSealed || !view.isFull) break
    }
    while (await mergeLast(sealing, view.sealed)) await refresh()
  }
}
