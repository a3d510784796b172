/**
 * Checks a link graph, whatever its method: every content that is compared has a row, and what is linked is listed
 * among those of its representative and as similar to it as recorded. A method adds what only it knows.
 *
 * Contents never change; who is linked to whom is read at one moment. A repair removes a content's rows and decides
 * about it as a put or a collection would.
 */

import { recipeKey } from '../contents/chunk-rows.ts'
import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import {
  cell,
  ID_BYTES,
  read,
  type ReadScope,
  type Scope,
  type Space,
  type Transaction,
} from '../../backends/index.ts'
import { DIGEST_BYTES } from '../../fingerprint/index.ts'
import type { Link, LinkCounts, LinkGraph, LinkSpaces, LinkTarget } from '../../match/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { hex } from '../receipt.ts'
import type { Known } from '../rows.ts'
import { decoded, knownOf, raw, twin } from './raw.ts'
import { checkTallies } from './tallies.ts'
import type { Walk } from './walk.ts'

/** A content to check. */
export interface Subject {
  readonly id: Buffer
  readonly digest: Buffer
  readonly bytes: number
}

export type LinkProblem =
  | 'row-unreadable'
  | 'link-missing'
  | 'link-wrong'
  | 'link-orphaned'
  | 'linked-missing'
  | 'index-wrong'
  | 'vectors-missing'

/** What the checks of all methods say of a content. */
export const LINK_MESSAGES = {
  'link-orphaned': 'is linked to what is no representative, and no collector would notice.',
  'linked-missing': 'is not listed among those linked to its representative.',
} as const

export interface LinkRows {
  readonly links: Space<Bytes>
  readonly linked: Space<Bytes>
  readonly orphaned: Space<Bytes>
}

/** The rows as verify reads them: as bytes first, as those of raw.ts are. */
export function linkRows({ links, linked, orphaned }: LinkSpaces<Link>): LinkRows {
  return { links: twin(links), linked: twin(linked), orphaned: twin(orphaned) }
}

export abstract class LinkCheck<L extends Link, S extends Subject> {
  readonly walk: Walk
  readonly graph: LinkGraph<L>
  readonly rows: LinkRows

  constructor(walk: Walk, graph: LinkGraph<L>) {
    this.walk = walk
    this.graph = graph
    this.rows = linkRows(graph.spaces)
  }

  /** What is said of a content with a problem. */
  protected abstract readonly messages: Readonly<Partial<Record<LinkProblem, string>>>
  /** The problem of a content for which a row is needed that cannot be read. */
  protected abstract readonly unreadable: LinkProblem
  /** The least similarity that a link can record. */
  protected abstract readonly similarityLeast: number
  /** `undefined`: it is damaged or gone, which other checks report. */
  protected abstract subjectOf(digest: Buffer, known: Known): Promise<S | undefined>
  /** Whether a content without a row should have one. */
  protected abstract isMissing(subject: S): Transaction<boolean>
  /** What is wrong with a content itself, whatever it is linked to. */
  protected abstract ownProblem(subject: S, link: L): Transaction<LinkProblem | undefined>
  /** Whether a content is as similar to a representative as recorded. */
  protected abstract isConfirmed(subject: S, to: LinkTarget, target: L): Transaction<boolean>
  /** Re-evaluates a content; `undefined` where that is not possible. */
  protected abstract repairOf(
    subject: S,
    problem: LinkProblem,
  ): (() => Promise<boolean>) | undefined
  /** Removes a content from the index if its row cannot be read. */
  protected abstract removeFromIndex(scope: Scope, id: Buffer, subject?: S): Transaction<void>

  /** `undefined` for a row that is missing and for one that nobody can have written. */
  linkOf(bytes: Bytes | undefined): L | undefined {
    const { links, unlinkedBytes } = this.graph.spaces
    const link = decoded(bytes, (row) => links.codec.decode(row))
    if (!link?.to) return bytes?.byteLength === unlinkedBytes ? link : undefined
    const { similarity, firstKey } = link.to
    const isPossible = similarity >= this.similarityLeast && similarity <= 1
    return isPossible && firstKey.byteLength > 0 ? link : undefined
  }

  async checkContents(): Promise<void> {
    for await (const { key: digest, value } of this.walk.scan(raw.digests)) {
      const known = knownOf(value)
      if (known && digest.byteLength === DIGEST_BYTES) await this.#examine(digest, known)
    }
  }

  async #examine(digest: Buffer, known: Known): Promise<void> {
    const subject = await this.subjectOf(digest, known)
    const problem = subject && (await this.#problemOf(subject))
    if (!subject || !problem) return
    const { id } = subject
    const mend =
      problem === 'linked-missing'
        ? () => this.walk.backend.run((scope) => this.#writeReverse(scope, subject))
        : this.repairOf(subject, problem)
    const message = `Content ${hex(id)} ${this.messages[problem] ?? ''}`
    await this.walk.found(problem, message, await this.walk.keysOf(id), mend)
  }

  async #problemOf(subject: S): Promise<LinkProblem | undefined> {
    try {
      return await this.walk.backend.read(() => this.#problem(subject))
    } catch (error) {
      // A row it needs cannot be read; where rows can be listed, that has been reported.
      if (!(error instanceof PrestigeError) || error.code !== 'CONTENT_CORRUPT') throw error
      return this.unreadable
    }
  }

  /** At one moment. */
  *#problem(subject: S): Transaction<LinkProblem | undefined> {
    const { id, digest } = subject
    const [listed, bytes] = yield* read(cell(raw.digests, digest), cell(this.rows.links, id))
    const known = knownOf(listed)
    if (!known || !equalBytes(known.id, id)) return undefined
    if (!bytes) return (yield* this.isMissing(subject)) ? 'link-missing' : undefined
    const link = this.linkOf(bytes)
    if (!link) return 'row-unreadable'
    const own = yield* this.ownProblem(subject, link)
    return own || !link.to ? own : yield* this.#linkProblem(subject, link.to)
  }

  *#linkProblem(subject: S, to: LinkTarget): Transaction<LinkProblem | undefined> {
    const [back, orphan, target] = yield* read(
      cell(this.rows.linked, Buffer.concat([to.id, subject.id])),
      cell(this.rows.orphaned, to.id),
      cell(this.rows.links, to.id),
    )
    if (!back || !equalBytes(back, subject.digest)) return 'linked-missing'
    // It waits for the collector; what it is linked to may well be gone.
    if (orphan) return undefined
    const other = this.linkOf(target)
    if (!other || !this.graph.isRepresentative(other)) return 'link-orphaned'
    return (yield* this.isConfirmed(subject, to, other)) ? undefined : 'link-wrong'
  }

  *#writeReverse(scope: Scope, { id, digest }: Subject): Transaction<boolean> {
    const [bytes] = yield* read(cell(this.rows.links, id))
    const to = this.linkOf(bytes)?.to
    if (to) scope.write(this.graph.reverse(to.id, id), digest)
    return true
  }

  /** Removes a content from links and index, even if its row cannot be read. */
  *removeContent(scope: Scope, id: Buffer, subject?: S): Transaction<boolean> {
    const [bytes] = yield* read(cell(this.rows.links, id))
    const link = this.linkOf(bytes)
    if (link) {
      yield* this.graph.remove(scope, id, link)
    } else {
      if (bytes) scope.remove(cell(this.rows.links, id))
      yield* this.removeFromIndex(scope, id, subject)
    }
    // Reverse rows may be missing as well, and are written when the contents they are of are checked.
    if (!link?.to) this.graph.noteOrphans(scope, id)
    return true
  }

  /** Rows that depend on others. Rows of contents that are there have been looked at. */
  async checkRows(): Promise<void> {
    const { links, linked, orphaned } = this.rows
    for await (const id of this.#keysOf(links, ID_BYTES, 'is not the id of a content.')) {
      const isOfNothing = (scope: ReadScope) => this.#isOfNothing(scope, id)
      const repair = (scope: Scope) => this.removeContent(scope, id)
      await this.walk.foundWrong(links, id, 'is of a content that is gone.', isOfNothing, {
        repair,
      })
    }
    for await (const key of this.#keysOf(linked, 2 * ID_BYTES, 'is not two contents.')) {
      const isUnlinked = () => this.#isUnlinked(key)
      const why = 'is of a content that is not linked there.'
      await this.walk.foundWrong(linked, key, why, isUnlinked)
    }
    await this.checkNotes(orphaned)
  }

  /** A note for what is gone, or has nothing linked to it, is no problem: the collector drops it. */
  async checkNotes(space: Space<Bytes>): Promise<void> {
    for await (const _id of this.#keysOf(space, ID_BYTES, 'is not the id of a content.'));
  }

  /** Keys of a space, but for those of another length, which are reported. */
  async *#keysOf(space: Space<Bytes>, bytes: number, whyNot: string): AsyncGenerator<Buffer> {
    for await (const { key } of this.walk.scan(space)) {
      if (key.byteLength === bytes) yield key
      else await this.walk.foundUnaccounted(space, key, whyNot)
    }
  }

  /** A content is swept together with its link, so its first row is there as long as it has one. */
  *#isOfNothing(scope: ReadScope, id: Buffer): Transaction<boolean> {
    const cells = [
      cell(this.rows.links, id),
      cell(raw.contents, id),
      cell(raw.recipes, recipeKey(id, 0)),
      cell(raw.deltas, id),
    ]
    const [link, ...parts] = yield* read(...cells)
    // Rows that never change must be named, or one swept between the two reads would look gone.
    scope.rely(...cells)
    return link !== undefined && parts.every((part) => part === undefined)
  }

  *#isUnlinked(key: Buffer): Transaction<boolean> {
    const id = key.subarray(ID_BYTES)
    const [row, bytes] = yield* read(cell(this.rows.linked, key), cell(this.rows.links, id))
    if (row === undefined) return false
    const link = this.linkOf(bytes)
    // An unreadable link may well be this one.
    if (bytes && !link) return false
    return !link?.to || !equalBytes(link.to.id, key.subarray(0, ID_BYTES))
  }

  /** `title`: what messages call the tallies. */
  async checkTallies(title: string): Promise<void> {
    const { graph, rows } = this
    const countsOf = (bytes: Bytes) => {
      const link = this.linkOf(bytes)
      return link ? graph.countsOf(link) : NOTHING
    }
    await checkTallies(this.walk, {
      title,
      names: ['links', 'representatives'],
      read: () => graph.readCounts(),
      sources: [{ space: rows.links, countsOf }],
      add: (scope, change) => graph.count(scope, change),
    })
  }
}

/** A row that cannot be read. It has been reported, and a repair counts what it makes of it. */
const NOTHING: LinkCounts = { links: 0, representatives: 0 }
