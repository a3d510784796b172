/**
 * Texts of like meaning: every text that is kept is a representative with vectors, or linked to one that its vectors
 * are as similar to as is said, or noted to be decided about. Similarities are measured again from stored vectors;
 * guards, rerankers and judges are not asked again, and no text is embedded to compare its vectors with those kept.
 *
 * What mends takes a content's rows out, notes it, and decides about it as a collection would.
 */

import { type Bytes, EMPTY, equalBytes } from '../../../platform/bytes.ts'
import {
  cell,
  ID_BYTES,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../../backends/index.ts'
import { PrestigeError } from '../../../platform/errors.ts'
import { DIGEST_BYTES } from '../../../fingerprint/index.ts'
import { documentSimilarity, type DocumentVectors } from '../../../semantic/index.ts'
import { linkedKey, links } from '../../near/rows.ts'
import { hex } from '../../receipt.ts'
import type { Known } from '../../rows.ts'
import type { StoreSemantic } from '../../semantic/store-semantic.ts'
import { adoptMeanings } from '../../semantic/adopt.ts'
import { type Meant, meantLinked, meantOrphaned, meantPending } from '../../semantic/rows.ts'
import { noteChange } from '../../semantic/view.ts'
import { knownOf, raw } from '../raw.ts'
import type { ProblemKind } from '../report.ts'
import { meantOf, rawMeant } from './raw.ts'
import {
  compareMeantTallies,
  walkMeantJournal,
  walkMeantLinked,
  walkMeantNotes,
  walkMeantReferences,
  walkVectors,
} from './walks.ts'
import { rowName, type Walk } from '../walk.ts'

export async function walkSemantic(walk: Walk, semantic: StoreSemantic): Promise<void> {
  await walkMeantJournal(walk)
  for await (const { key: digest, value } of walk.scan(raw.digests)) {
    const known = knownOf(value)
    if (known && digest.byteLength === DIGEST_BYTES) await examine(walk, semantic, digest, known)
  }
  await walkLinks(walk, semantic)
  await walkMeantLinked(walk)
  await walkMeantNotes(walk)
  await walkVectors(walk, semantic)
  await walkMeantReferences(walk, semantic)
  // What was noted is decided as after any sweep.
  if (walk.repairs) {
    await walk.mended(async () => (await adoptMeanings(walk.backend, semantic)) >= 0)
  }
  await compareMeantTallies(walk, semantic)
}

type Shown =
  | 'row-unreadable'
  | 'link-missing'
  | 'link-wrong'
  | 'link-orphaned'
  | 'linked-missing'
  | 'vectors-missing'

const MESSAGES: Record<Shown, string> = {
  'row-unreadable': 'has a row in semantic.links that cannot be read.',
  'link-missing': 'is a text whose meaning nothing is said about: nothing like it would be found.',
  'link-wrong': 'is linked in a way that its vectors do not confirm.',
  'link-orphaned': 'is linked to what is no representative, and no collector would notice.',
  'linked-missing': 'is not listed among those linked to its representative.',
  'vectors-missing': 'has no vectors, or none that can be read.',
}

async function examine(
  walk: Walk,
  semantic: StoreSemantic,
  digest: Buffer,
  known: Known,
): Promise<void> {
  const { id, bytes } = known
  const problem = await problemOf(walk, semantic, { id, digest, bytes })
  if (!problem) return
  if (problem === 'link-missing' && !(await isText(semantic, { id, digest, bytes }))) return
  // Confirmed by a second look: it may have been put, or swept, meanwhile.
  if ((await problemOf(walk, semantic, { id, digest, bytes })) !== problem) return
  const mend = () =>
    problem === 'linked-missing'
      ? walk.backend.run(writeLinked, id, digest)
      : walk.backend.run(decideAnew, semantic, id, digest, problem === 'vectors-missing')
  const isHopeless = problem === 'vectors-missing' && !semantic.embedder.isThere
  const kind: ProblemKind = problem
  const message = `Content ${hex(id)} ${MESSAGES[problem]}`
  await walk.found(kind, message, await walk.keysOf(id), isHopeless ? undefined : mend)
}

async function isText(
  semantic: StoreSemantic,
  content: { id: Buffer; digest: Buffer; bytes: number },
): Promise<boolean> {
  if (content.bytes > semantic.settings.textBytesMax) return false
  return (await semantic.textIn(content)) !== undefined
}

interface Subject {
  readonly id: Buffer
  readonly digest: Buffer
  readonly bytes: number
}

async function problemOf(
  walk: Walk,
  semantic: StoreSemantic,
  subject: Subject,
): Promise<Shown | undefined> {
  try {
    return await walk.backend.read(stateOf, semantic, subject)
  } catch (error) {
    if (!(error instanceof PrestigeError) || error.code !== 'CONTENT_CORRUPT') throw error
    return 'vectors-missing'
  }
}

/** At one moment. */
function* stateOf(
  _scope: ReadScope,
  semantic: StoreSemantic,
  { id, digest, bytes }: Subject,
): Transaction<Shown | undefined> {
  const [listed, link, pending, near] = yield* read(
    cell(raw.digests, digest),
    cell(rawMeant.links, id),
    cell(rawMeant.pending, id),
    cell(links, id),
  )
  const known = knownOf(listed)
  if (!known || !equalBytes(known.id, id)) return undefined
  if (!link) return pending || near?.to ? undefined : 'link-missing'
  const row = meantOf(link)
  if (!row) return 'row-unreadable'
  if (!equalBytes(row.digest, digest) || row.bytes !== bytes) return 'link-wrong'
  if (row.role === 'alone') return undefined
  const vectors = yield* semantic.vectors.read(id)
  if (!vectors) return 'vectors-missing'
  return row.to ? yield* linkState(semantic, id, digest, row, vectors) : undefined
}

function* linkState(
  semantic: StoreSemantic,
  id: Buffer,
  digest: Buffer,
  { to }: Meant,
  vectors: DocumentVectors,
): Transaction<Shown | undefined> {
  if (!to) return undefined
  const [back, orphan, target] = yield* read(
    cell(rawMeant.linked, linkedKey(to.id, id)),
    cell(rawMeant.orphaned, to.id),
    cell(rawMeant.links, to.id),
  )
  if (!back || !equalBytes(back, digest)) return 'linked-missing'
  // It waits for the collector; what it is linked to may well be gone.
  if (orphan) return undefined
  if (meantOf(target)?.role !== 'representative') return 'link-orphaned'
  const other = yield* semantic.vectors.read(to.id)
  // Which is that content's own problem.
  if (!other) return undefined
  const similarity = documentSimilarity(vectors, other)
  const least = to.isJudged ? -1 : semantic.settings.similarityMin
  return similarity === to.similarity && similarity >= least ? undefined : 'link-wrong'
}

function* writeLinked(scope: Scope, id: Buffer, digest: Buffer): Transaction<boolean> {
  const { to } = meantOf((yield* read(cell(rawMeant.links, id)))[0]) ?? {}
  if (to) scope.write(cell(meantLinked, linkedKey(to.id, id)), digest)
  return true
}

/** Takes its rows out, and notes it to be decided about. */
function* decideAnew(
  scope: Scope,
  semantic: StoreSemantic,
  id: Buffer,
  digest: Buffer,
  embedsAgain: boolean,
): Transaction<boolean> {
  const [link] = yield* read(cell(rawMeant.links, id))
  const row = meantOf(link)
  if (row) yield* semantic.takeOut(scope, id, row)
  else if (link) yield* takeOutUnreadable(scope, id)
  if (embedsAgain) for (const key of firstVectors(semantic, id)) scope.remove(key)
  scope.write(cell(meantPending, id), digest)
  return true
}

/** Whatever it was, others may have it for their representative, and indexes may know it. */
function* takeOutUnreadable(scope: Scope, id: Buffer): Transaction<void> {
  scope.remove(cell(rawMeant.links, id))
  scope.write(cell(meantOrphaned, id), EMPTY)
  yield* noteChange(scope, id)
}

/** Of a text whose vectors are not whole, what is left behind is found as rows of nothing. */
function firstVectors(semantic: StoreSemantic, id: Buffer) {
  return [cell(rawMeant.vectors, Buffer.concat([semantic.vectors.scope, id]))]
}

/** Links of contents that are gone. Those of contents that are there have been looked at. */
async function walkLinks(walk: Walk, semantic: StoreSemantic): Promise<void> {
  for await (const { key: id } of walk.scan(rawMeant.links)) {
    if (id.byteLength !== ID_BYTES) {
      await walk.foundUnaccounted(rawMeant.links, id, 'is not the id of a content.')
    } else if (await walk.backend.read(isOfNothing, id)) {
      const message = `${rowName(rawMeant.links, id)} is of a content that is gone.`
      const mend = () => walk.backend.run(removeLink, semantic, id)
      await walk.found('row-unaccounted', message, [], mend)
    }
  }
}

/** A content is swept together with its link, so its first part is there as long as it has one. */
function* isOfNothing(scope: ReadScope, id: Buffer): Transaction<boolean> {
  const cells = [cell(rawMeant.links, id), cell(raw.contents, id)]
  const [link, part] = yield* read(...cells)
  // Rows that never change must be named, or one swept between the two reads would look gone.
  scope.rely(...cells)
  return link !== undefined && part === undefined
}

function* removeLink(scope: Scope, semantic: StoreSemantic, id: Bytes): Transaction<boolean> {
  const own = Buffer.from(id)
  if (!(yield* isOfNothing(scope, own))) return true
  const [link] = yield* read(cell(rawMeant.links, own))
  const row = meantOf(link)
  if (row) yield* semantic.takeOut(scope, own, row)
  else yield* takeOutUnreadable(scope, own)
  return true
}
