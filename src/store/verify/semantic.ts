/**
 * Texts of like meaning: every text that is kept is a representative with vectors, or linked to one, or noted to be
 * decided about. Similarities are measured again from stored vectors; guards, rerankers and judges are not asked again,
 * and no text is embedded to compare its vectors with those kept.
 */

import { type Bytes, EMPTY, equalBytes } from '../../platform/bytes.ts'
import { cell, ID_BYTES, read, type Scope, type Transaction } from '../../backends/index.ts'
import { DIGEST_BYTES } from '../../fingerprint/index.ts'
import type { Head } from '../../match/index.ts'
import { documentSimilarity } from '../../semantic/index.ts'
import { nearLinks } from '../near/rows.ts'
import type { Known } from '../rows.ts'
import { adoptMeanings } from '../semantic/adopt.ts'
import {
  semanticHeads,
  semanticJournal,
  type SemanticLink,
  semanticPending,
  type SemanticTarget,
  semanticVectors,
} from '../semantic/rows.ts'
import type { StoreSemantic } from '../semantic/store-semantic.ts'
import { noteChange, SEMANTIC_HEAD } from '../semantic/view.ts'
import { bytesOf } from '../contents/read-content.ts'
import { checkJournal } from './journal.ts'
import { LINK_MESSAGES, LinkCheck, type LinkProblem, type Subject } from './links.ts'
import { decoded, twin } from './raw.ts'
import { rowName, type Walk } from './walk.ts'

/** The rows as verify reads them: as bytes first, as those of raw.ts are. */
const semanticRows = {
  pending: twin(semanticPending),
  vectors: twin(semanticVectors),
  journal: twin(semanticJournal),
} as const

export async function checkSemantic(walk: Walk, semantic: StoreSemantic): Promise<void> {
  const check = new SemanticCheck(walk, semantic)
  // A journal that is out of step is restarted further on: every index is then made from links.
  await checkJournal(walk, {
    rows: semanticRows.journal,
    heads: semanticHeads,
    headKey: SEMANTIC_HEAD.key,
    consequence: 'indexes would miss changes.',
    checkRow: ({ key, value }) => checkChange(walk, key, value),
    newHead,
  })
  await check.checkContents()
  await check.checkRows()
  await check.checkNotes(semanticRows.pending)
  if (await walk.firstKey(semanticRows.pending, EMPTY)) {
    walk.findings.note(
      'Some texts wait to be compared by meaning: collect does it, with the embedder.',
    )
  }
  await checkVectors(walk, semantic, check)
  // What was noted is decided as after any sweep.
  if (walk.repairs) {
    await walk.mended(async () => (await adoptMeanings(walk.backend, semantic)) >= 0)
  }
  await check.checkTallies('The tallies of meanings')
}

function isChange(bytes: Bytes | undefined): boolean {
  return decoded(bytes, (row) => semanticJournal.codec.decode(row)) !== undefined
}

async function checkChange(walk: Walk, key: Buffer, value: Bytes): Promise<void> {
  if (isChange(value)) return
  const message = `${rowName(semanticRows.journal, key)} cannot be read.`
  await walk.found('row-unreadable', message, [], () => walk.backend.run(removeChange, key))
}

function* removeChange(scope: Scope, key: Buffer): Transaction<boolean> {
  const place = cell(semanticRows.journal, key)
  const [row] = yield* read(place)
  if (row && !isChange(row)) scope.remove(place)
  return true
}

/** With a gap behind the last row, so that no index takes its own position for this one. */
// oxlint-disable-next-line require-yield -- other journals have to read for it
function* newHead(scope: Scope, last: number): Transaction<Head> {
  return { sequence: last + 2, nonce: scope.id() }
}

class SemanticCheck extends LinkCheck<SemanticLink, Subject> {
  protected override readonly messages = {
    ...LINK_MESSAGES,
    'row-unreadable': 'has a row in semantic.links that cannot be read.',
    'link-missing':
      'is a text whose meaning nothing is said about: nothing like it would be found.',
    'link-wrong': 'is linked in a way that its vectors do not confirm.',
    'vectors-missing': 'has no vectors, or none that can be read.',
  }
  protected override readonly unreadable = 'vectors-missing'
  protected override readonly similarityLeast = -1
  readonly #semantic: StoreSemantic

  constructor(walk: Walk, semantic: StoreSemantic) {
    super(walk, semantic.graph)
    this.#semantic = semantic
  }

  protected override async subjectOf(digest: Buffer, { id, bytes }: Known): Promise<Subject> {
    return { id, digest, bytes }
  }

  protected override *isMissing(subject: Subject): Transaction<boolean> {
    const { id, bytes } = subject
    const [pending, near] = yield* read(cell(semanticRows.pending, id), cell(nearLinks.links, id))
    if (pending || near?.to || bytes > this.#semantic.settings.textBytesMax) return false
    const value = yield* bytesOf(subject, this.walk.how.layout)
    return value !== undefined && typeof this.#semantic.textOf(value) === 'object'
  }

  protected override *ownProblem(
    { id, digest, bytes }: Subject,
    link: SemanticLink,
  ): Transaction<LinkProblem | undefined> {
    if (!equalBytes(link.digest, digest) || link.bytes !== bytes) return 'link-wrong'
    if (link.role === 'alone') return undefined
    return (yield* this.#semantic.vectors.read(id)) ? undefined : 'vectors-missing'
  }

  protected override *isConfirmed({ id }: Subject, to: SemanticTarget): Transaction<boolean> {
    const own = yield* this.#semantic.vectors.read(id)
    const other = yield* this.#semantic.vectors.read(to.id)
    // Which is that content's own problem.
    if (!own || !other) return true
    const similarity = documentSimilarity(own, other)
    const least = to.isJudged ? -1 : this.#semantic.settings.similarityMin
    return similarity === to.similarity && similarity >= least
  }

  protected override repairOf(
    subject: Subject,
    problem: LinkProblem,
  ): (() => Promise<boolean>) | undefined {
    const embedsAgain = problem === 'vectors-missing'
    if (embedsAgain && !this.#semantic.embedder.isThere) return undefined
    return () => this.walk.backend.run((scope) => this.#setAside(scope, subject, embedsAgain))
  }

  /** Removes its rows, and notes it to be decided about. */
  *#setAside(scope: Scope, { id, digest }: Subject, embedsAgain: boolean): Transaction<boolean> {
    yield* this.removeContent(scope, id)
    // Of a text whose vectors are not whole, what is left behind is found as rows of nothing.
    const firstVectors = Buffer.concat([this.#semantic.vectors.scope, id])
    if (embedsAgain) scope.remove(cell(semanticRows.vectors, firstVectors))
    scope.write(cell(semanticPending, id), digest)
    return true
  }

  /** Whatever it was, indexes may know it. */
  protected override removeFromIndex(scope: Scope, id: Buffer): Transaction<void> {
    return noteChange(scope, id)
  }
}

/** Vectors of contents that are gone, of other embedders, or that cannot be read. */
async function checkVectors(
  walk: Walk,
  { vectors: { scope } }: StoreSemantic,
  check: SemanticCheck,
): Promise<void> {
  const space = semanticRows.vectors
  const idEnd = scope.byteLength + ID_BYTES
  const textEnd = scope.byteLength + DIGEST_BYTES
  for await (const { key, value } of walk.scan(space)) {
    const id = key.subarray(scope.byteLength, idEnd)
    const isOfText = key.byteLength === textEnd || key.byteLength === textEnd + 2
    const isOfContent = key.byteLength === idEnd || key.byteLength === idEnd + 2
    if (!equalBytes(key.subarray(0, scope.byteLength), scope)) {
      await walk.foundUnaccounted(space, key, 'is of another embedder.')
    } else if (isOfContent) {
      const why = 'is of a content that is not compared.'
      await walk.foundWrong(space, key, why, () => isStray(check, key, id))
    } else if (!isOfText || !walk.how.sharesNear || !isVectors(value)) {
      // Texts that share the bytes of others are recorded in the references of keys, which are not listed by text.
      await walk.foundUnaccounted(space, key, 'is of no content.')
    }
  }
}

function isVectors(bytes: Bytes): boolean {
  return decoded(bytes, (row) => semanticVectors.codec.decode(row)) !== undefined
}

function* isStray(check: SemanticCheck, key: Buffer, id: Buffer): Transaction<boolean> {
  const [row, link, pending] = yield* read(
    cell(semanticRows.vectors, key),
    cell(check.rows.links, id),
    cell(semanticRows.pending, id),
  )
  return row !== undefined && !link && !pending
}
