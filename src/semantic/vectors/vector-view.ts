/**
 * An index kept beside the vectors it is a view of: loaded from its file if that can be trusted, brought up to date
 * from the journal, or made again from rows. It is never a second truth.
 *
 * The source is whoever keeps the vectors: a store, later. It says what there is, and what has changed since a
 * position that it gave out itself.
 */

import type { Bytes } from '../../platform/bytes.ts'
import { openGraph, GraphIndex } from './graph-index.ts'
import { engineFor, loadIndex, type SavableIndex, saveIndex, type Unusable } from './index-file.ts'
import { IvfIndex } from './ivf-index.ts'
import { type IndexOptions, type CheckedIndexOptions, readIndexOptions } from './options.ts'
import { FileNumbers } from './row-numbers.ts'
import { ScanIndex } from './scan-index.ts'
import { type SearchOptions, turns, type VectorMatch } from './vector-index.ts'

const TURN_MS = 10

export interface StoredVector {
  /** 16 bytes. */
  readonly id: Bytes
  readonly vector: Float32Array
}

/** A vector came (or became another), or went. */
export type VectorChange = StoredVector | { readonly id: Bytes; readonly vector: undefined }

export interface VectorSource {
  /** The id of the embedder of all these vectors. */
  readonly embedder: string
  readonly dimensions: number
  /** How many there are, about: with engine auto it chooses the engine. */
  count(): Promise<number>
  /** Where the journal ends now. */
  position(): Promise<string>
  /** Everything there is. */
  all(): AsyncIterable<StoredVector>
  /** What changed since, in order; `undefined` where the journal does not reach back so far, or was another. */
  since(position: string): Promise<AsyncIterable<VectorChange> | undefined>
}

export interface ViewOptions extends IndexOptions {
  /** Where the index is kept. Without it, in memory alone. */
  readonly path?: string | undefined
}

export async function openVectorIndex(
  dimensions: number,
  options: IndexOptions & { readonly expected?: number } = {},
): Promise<SavableIndex> {
  const { expected = 0, ...rest } = options
  return newIndex(dimensions, readIndexOptions(rest), expected)
}

async function newIndex(
  dimensions: number,
  options: CheckedIndexOptions,
  count: number,
  path?: string,
): Promise<SavableIndex> {
  const engine = engineFor(options, count)
  if (engine === 'scan') return new ScanIndex({ dimensions })
  if (engine === 'ivf') {
    const numbers = path === undefined ? undefined : new FileNumbers(dimensions, path)
    return new IvfIndex({ ...options, dimensions, ...(numbers && { numbers }) })
  }
  return new GraphIndex(dimensions, await openGraph(dimensions, options), options)
}

export async function openVectorView(
  source: VectorSource,
  options: ViewOptions = {},
): Promise<VectorView> {
  const { path, ...rest } = options
  const read = readIndexOptions(rest)
  const { embedder, dimensions } = source
  const loaded =
    path === undefined ? undefined : await loadIndex(path, { embedder, dimensions, options: read })
  if (loaded && 'index' in loaded) {
    // The end first: what changes meanwhile lies behind it, is seen twice, and does no harm.
    const end = await source.position()
    const changes = await source.since(loaded.position)
    if (changes) {
      const view = new VectorView(source, path, loaded.index, loaded.position, undefined)
      await view.follow(changes, end)
      return view
    }
    if (loaded.index instanceof IvfIndex) await loaded.index.close()
  }
  const why = loaded && ('unusable' in loaded ? loaded.unusable : 'other journal')
  // The end of the journal first: what changes while rows are read is in the journal behind it, and seen again.
  const position = await source.position()
  const index = await newIndex(dimensions, read, await source.count(), path)
  const view = new VectorView(source, path, index, position, why)
  const fill = () => view.follow(source.all(), position)
  await (index instanceof IvfIndex ? index.load(fill) : fill())
  const end = await source.position()
  const behind = await source.since(position)
  if (behind) await view.follow(behind, end)
  return view
}

export class VectorView {
  readonly index: SavableIndex
  /** Why the saved index was not used; `undefined` where it was, or where there is no file. */
  readonly rebuiltBecause: Unusable | 'other journal' | undefined
  readonly #source: VectorSource
  readonly #path: string | undefined
  #position: string
  #savedPosition: string | undefined
  #saving: Promise<void> = Promise.resolve()

  constructor(
    source: VectorSource,
    path: string | undefined,
    index: SavableIndex,
    position: string,
    rebuiltBecause: Unusable | 'other journal' | undefined,
  ) {
    this.#source = source
    this.#path = path
    this.index = index
    this.#position = position
    this.rebuiltBecause = rebuiltBecause
    if (path !== undefined && rebuiltBecause === undefined) this.#savedPosition = position
  }

  /** Up to where in the journal it knows everything. A decision looks at what is behind it by itself. */
  get position(): string {
    return this.#position
  }

  /** The position that its file stands for; `undefined` where there is no file of it. */
  get savedPosition(): string | undefined {
    return this.#savedPosition
  }

  /** Takes in changes up to a position. A change that is known already does no harm. */
  apply(changes: Iterable<VectorChange>, position: string): void {
    for (const change of changes) this.#take(change)
    this.#position = position
  }

  async follow(
    changes: AsyncIterable<VectorChange> | Iterable<VectorChange>,
    position: string,
  ): Promise<void> {
    const turn = turns(TURN_MS)
    for await (const change of changes) {
      this.#take(change)
      await turn()
    }
    this.#position = position
  }

  #take({ id, vector }: VectorChange): void {
    if (vector === undefined) this.index.remove(id)
    else this.index.add(id, vector)
  }

  search(vector: Float32Array, k: number, options?: SearchOptions): Promise<VectorMatch[]> {
    return this.index.search(vector, k, options)
  }

  /** Lets go of files. Nothing may be asked afterwards. */
  async close(): Promise<void> {
    await this.#saving
    if (this.index instanceof IvfIndex) await this.index.close()
  }

  /** Writes the index to its file, one time after another. Without a path nothing is written. */
  save(): Promise<void> {
    const path = this.#path
    if (path === undefined) return Promise.resolve()
    const saved = this.#saving.then(() => this.#write(path))
    this.#saving = saved.catch(() => undefined)
    return saved
  }
  async #write(path: string): Promise<void> {
    const position = this.#position
    await saveIndex(this.index, path, { embedder: this.#source.embedder, position })
    this.#savedPosition = position
  }
}
