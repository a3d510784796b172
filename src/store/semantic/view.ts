/**
 * The index of representatives by meaning: in memory, and in a file beside the store where there is a directory.
 *
 * A view, never a second truth: it follows the journal of changes, and is rebuilt from links and vectors where the
 * journal does not reach back. It only ever reads what is committed. What has changed since it caught up is looked at
 * by the transaction that decides.
 */

import type { Bytes } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  glance,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import {
  type IndexOptions,
  openVectorView,
  type StoredVector,
  type VectorChange,
  type VectorMatch,
  type VectorSource,
  type VectorView,
} from '../../semantic/index.ts'
import { type Head, HEAD_KEY, LinkGraph, nextPlace, sequenceKey } from '../../match/index.ts'
import { type SemanticChange, semanticHeads, semanticJournal, semanticLinks } from './rows.ts'
import type { VectorRows } from './vectors.ts'

export const SEMANTIC_HEAD = cell(semanticHeads, HEAD_KEY)
/** Indexes that are this many changes behind are rebuilt. */
const JOURNAL_KEPT = 10_000
/** A saved index of lists may be so many changes behind, and such a share of its vectors, before it is saved again. */
const FOLLOWED_MAX = JOURNAL_KEPT / 4
const FOLLOWED_SHARE = 100
const PAGE = 100
const NO_NONCE = Buffer.alloc(16)

/** Up to where in the journal something is known. */
export type Position = Head

export const START: Position = { sequence: 0, nonce: NO_NONCE }

interface News {
  readonly changes: readonly VectorChange[]
  readonly end: string
}

export interface ViewWanted {
  readonly embedder: string
  readonly dimensions: number
  readonly index: IndexOptions
  readonly path: string | undefined
}

export class SemanticView implements VectorSource {
  readonly embedder: string
  readonly dimensions: number
  readonly #backend: Backend
  readonly #vectors: VectorRows
  readonly #wanted: ViewWanted
  #view: VectorView | undefined
  #saved: string | undefined
  #busy: Promise<unknown> = Promise.resolve()

  constructor(backend: Backend, vectors: VectorRows, wanted: ViewWanted) {
    this.embedder = wanted.embedder
    this.dimensions = wanted.dimensions
    this.#backend = backend
    this.#vectors = vectors
    this.#wanted = wanted
  }

  /** Everything committed before the call is known when it resolves. */
  async catchUp(): Promise<VectorView> {
    const task = this.#busy.then(() => this.#follow())
    this.#busy = task.catch(() => undefined)
    return task
  }

  async #follow(): Promise<VectorView> {
    const { index, path } = this.#wanted
    const view = this.#view
    if (view) {
      const news = await this.#backend.read((scope) => this.#news(scope, view.position))
      if (news) {
        await view.follow(news.changes, news.end)
        return view
      }
      const end = await this.position()
      const changes = await this.since(view.position)
      if (changes) {
        await view.follow(changes, end)
        return view
      }
    }
    this.#view = await openVectorView(this, { ...index, ...(path !== undefined && { path }) })
    await view?.close()
    return this.#view
  }

  /** The most similar, and up to where in the journal the answer is whole. */
  async search(
    vector: Float32Array,
    k: number,
    similarityMin: number,
  ): Promise<{ readonly matches: readonly VectorMatch[]; readonly seen: Position }> {
    const view = await this.catchUp()
    const seen = positionOf(view.position)
    return { matches: await view.search(vector, k, { threshold: similarityMin }), seen }
  }

  /** Whether something was written. */
  async save(): Promise<boolean> {
    const view = this.#view
    if (!view || this.#wanted.path === undefined || this.#saved === view.position) return false
    if (isCheapToFollow(view)) return false
    const { position } = view
    await view.save()
    this.#saved = position
    return true
  }

  /** Lets go of files. Nothing may be asked afterwards. */
  async close(): Promise<void> {
    await this.#busy
    await this.#view?.close()
    this.#view = undefined
  }

  async count(): Promise<number> {
    return this.#backend.read(countRepresentatives)
  }

  async position(): Promise<string> {
    return nameOf(await this.#backend.read(findHead))
  }

  async *all(): AsyncGenerator<StoredVector> {
    let page: Buffer[] = []
    for await (const { key, value } of this.#backend.scan(semanticLinks.links)) {
      if (value.role !== 'representative') continue
      page.push(key)
      if (page.length < PAGE) continue
      yield* await this.#stored(page)
      page = []
    }
    yield* await this.#stored(page)
  }

  async #stored(ids: readonly Buffer[]): Promise<StoredVector[]> {
    const changes = await this.#backend.read(() => this.#changesOf(ids))
    return changes.flatMap(({ id, vector }) => (vector ? [{ id, vector }] : []))
  }

  /** What has become of these contents. */
  *#changesOf(ids: readonly Buffer[]): Transaction<VectorChange[]> {
    const rows = yield* glance(...ids.map((id) => cell(semanticLinks.links, id)))
    const changes: VectorChange[] = []
    for (const [at, id] of ids.entries()) {
      const isThere = rows[at]?.role === 'representative'
      const vectors = isThere ? yield* this.#vectors.read(id) : undefined
      changes.push({ id, vector: vectors?.pooled })
    }
    return changes
  }

  async since(position: string): Promise<AsyncIterable<VectorChange> | undefined> {
    const { sequence, nonce } = positionOf(position)
    const head = await this.#backend.read(findHead)
    if (head.sequence < sequence || head.sequence - sequence > JOURNAL_KEPT) return undefined
    if (sequence > 0) {
      const [last] = await this.#backend.read(readChanges, sequence, sequence)
      if (!last?.nonce.equals(nonce)) return undefined
    }
    const ids: Buffer[] = []
    for (let from = sequence + 1; from <= head.sequence; from += PAGE) {
      const to = Math.min(head.sequence, from + PAGE - 1)
      for (const change of await this.#backend.read(readChanges, from, to)) {
        if (change === undefined) return undefined
        ids.push(change.id)
      }
    }
    return this.#changes(ids)
  }

  /** The same in one read, where it is little; `undefined` where it is more, or cannot be determined. */
  *#news(scope: ReadScope, position: string): Transaction<News | undefined> {
    const { sequence, nonce } = positionOf(position)
    const head = yield* findHead(scope)
    const end = nameOf(head)
    if (end === position) return { changes: [], end }
    if (head.sequence <= sequence || head.sequence - sequence > PAGE) return undefined
    const [last, ...changes] = yield* readChanges(scope, sequence, head.sequence)
    if (sequence > 0 && !last?.nonce.equals(nonce)) return undefined
    const ids = changes.flatMap((change) => (change ? [change.id] : []))
    if (ids.length < changes.length) return undefined
    return { changes: yield* this.#changesOf(ids), end }
  }

  async *#changes(ids: readonly Buffer[]): AsyncGenerator<VectorChange> {
    for (let from = 0; from < ids.length; from += PAGE) {
      const some = ids.slice(from, from + PAGE)
      yield* await this.#backend.read(() => this.#changesOf(some))
    }
  }

  /** Takes journal rows away that no index needs which is not far behind. */
  async trim(kept: number = JOURNAL_KEPT): Promise<number> {
    const { sequence } = await this.#backend.read(findHead)
    const end = sequenceKey(Math.max(0, sequence - kept))
    let page: Buffer[] = []
    let trimmed = 0
    const take = async () => {
      await this.#backend.run(removeChanges, page)
      trimmed += page.length
      page = []
    }
    for await (const { key } of this.#backend.scan(semanticJournal, { end })) {
      page.push(key)
      if (page.length === PAGE) await take()
    }
    if (page.length > 0) await take()
    return trimmed
  }
}

/** A file of lists has all vectors in it: reading some changes again costs less than writing it. */
function isCheapToFollow({ index, position, savedPosition }: VectorView): boolean {
  if (index.engine !== 'ivf' || savedPosition === undefined) return false
  const behind = positionOf(position).sequence - positionOf(savedPosition).sequence
  return behind >= 0 && behind <= Math.min(FOLLOWED_MAX, index.size / FOLLOWED_SHARE)
}

/** To be called in the transaction that makes a content a representative, or takes it away. */
export function* noteChange(scope: Scope, id: Buffer): Transaction<void> {
  const { sequence, nonce } = yield* nextPlace(scope, semanticHeads)
  scope.write(cell(semanticJournal, sequenceKey(sequence)), { nonce, id })
}

export const semanticGraph = new LinkGraph(semanticLinks, {
  countsRepresentatives: true,
  isRepresentative: ({ role }) => role === 'representative',
  removeFromIndex: noteChange,
})

/** What changed between a position and now; `undefined` where that cannot be determined. Relies on the head. */
export function* changesSince(
  seen: Position,
  changesMax: number,
): Transaction<readonly Buffer[] | undefined> {
  const [head = START] = yield* read(SEMANTIC_HEAD)
  const behind = head.sequence - seen.sequence
  if (behind === 0) return head.nonce.equals(seen.nonce) ? [] : undefined
  if (behind < 0 || behind > changesMax) return undefined
  const changes = yield* glance(
    ...Array.from({ length: behind }, (_, at) =>
      cell(semanticJournal, sequenceKey(seen.sequence + 1 + at)),
    ),
  )
  const found = changes.filter((change) => change !== undefined)
  return found.length === behind ? found.map(({ id }) => id) : undefined
}

function* findHead(_scope: ReadScope): Transaction<Position> {
  return (yield* read(SEMANTIC_HEAD))[0] ?? START
}

function* countRepresentatives(_scope: ReadScope): Transaction<number> {
  return (yield* semanticGraph.readCounts()).representatives
}

function* readChanges(
  _scope: ReadScope,
  from: number,
  to: number,
): Transaction<readonly (SemanticChange | undefined)[]> {
  const cells = Array.from({ length: to - from + 1 }, (_, at) =>
    cell(semanticJournal, sequenceKey(from + at)),
  )
  return yield* glance(...cells)
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* removeChanges(scope: Scope, keys: readonly Bytes[]): Transaction<void> {
  for (const key of keys) scope.remove(cell(semanticJournal, key))
}

function nameOf({ sequence, nonce }: Position): string {
  return `${sequence}:${nonce.toString('hex')}`
}

function positionOf(name: string): Position {
  const [sequence = '', nonce = ''] = name.split(':')
  return { sequence: Number(sequence), nonce: Buffer.from(nonce, 'hex') }
}
