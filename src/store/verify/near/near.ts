/**
 * Near duplicates: every text that is kept is a representative that searches find, or linked to one that it is
 * as similar to as is said. Everything is measured again.
 *
 * Contents never change, so their bytes may be read at leisure; who is linked to whom is looked at at one
 * moment. What mends takes a content's rows out and decides about it as a put would.
 */

import { equalBytes } from '../../../platform/bytes.ts'
import {
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../../backends/index.ts'
import { PrestigeError } from '../../../platform/errors.ts'
import { DIGEST_BYTES } from '../../../fingerprint/index.ts'
import { adoptOrphans } from '../../near/adopt.ts'
import { findParts } from '../../transactions/get.ts'
import { NEAR_BYTES_MAX, type NearValue, type StoreNear } from '../../near/store-near.ts'
import { encodePayload, type Link, linked, linkedKey, type LinkedTo } from '../../near/rows.ts'
import { hex } from '../../receipt.ts'
import { type Known, partCount } from '../../rows.ts'
import { walkIndex } from './index-rows.ts'
import { compareLinks, walkLinked, walkLinks, walkOrphaned, walkSimilarities } from './links.ts'
import { decideAnew, type Subject } from './mend.ts'
import { linkOf, rawNear } from './raw.ts'
import { knownOf, raw } from '../raw.ts'
import type { ProblemKind } from '../report.ts'
import type { Walk } from '../walk.ts'

const NOTHING: NearValue = { looks: [] }

export async function walkNear(walk: Walk): Promise<void> {
  const { near, partBytes, semantic } = walk.how
  if (!near) return
  if (!near.canCompare) {
    walk.findings.note('Near duplicates were not compared again: the function was not given.')
  }
  await walkIndex(walk, near)
  for await (const { key: digest, value } of walk.scan(raw.digests)) {
    const known = knownOf(value)
    if (known && digest.byteLength === DIGEST_BYTES) await examine(walk, near, digest, known)
  }
  await walkLinks(walk, near)
  await walkLinked(walk)
  await walkOrphaned(walk)
  await walkSimilarities(walk, near)
  // What was linked to what has been taken out is decided as after any sweep.
  if (walk.repairs)
    await walk.mended(
      async () => (await adoptOrphans(walk.backend, { near, partBytes, semantic })) >= 0,
    )
  await compareLinks(walk, near)
}

async function examine(walk: Walk, near: StoreNear, digest: Buffer, known: Known): Promise<void> {
  const { id, bytes } = known
  const value = near.canCompare ? await valueOf(walk, near, known) : undefined
  // Damaged or gone, which is for others to say.
  if (near.canCompare && !value) return
  const subject = { id, digest, bytes, value }
  const problem = await problemOf(walk, near, subject)
  if (!problem) return
  const { kind, message } = problem
  const mend = () =>
    kind === 'linked-missing'
      ? walk.backend.run(writeLinked, subject)
      : decideAnew(walk, near, subject)
  await walk.found(kind, message, await walk.keysOf(id), mend)
}

async function valueOf(walk: Walk, near: StoreNear, known: Known): Promise<NearValue | undefined> {
  if (known.bytes > NEAR_BYTES_MAX) return NOTHING
  const bytes = await bytesOf(walk, known)
  const value = bytes && near.prepare(bytes)
  return typeof value === 'string' ? NOTHING : value
}

async function bytesOf(walk: Walk, { id, bytes }: Known): Promise<Buffer | undefined> {
  const count = partCount(bytes, walk.how.partBytes)
  const parts = await walk.backend.read(findParts, id, 0, count)
  const whole = parts && Buffer.concat(parts)
  return whole?.byteLength === bytes ? whole : undefined
}

interface Found {
  readonly kind: ProblemKind
  readonly message: string
}

async function problemOf(
  walk: Walk,
  near: StoreNear,
  subject: Subject,
): Promise<Found | undefined> {
  const name = `Content ${hex(subject.id)}`
  try {
    const scene = await walk.backend.read(sceneOf, near, subject)
    if (!scene) return undefined
    const { problem, to } = scene
    if (problem) return { kind: problem, message: `${name} ${MESSAGES[problem]}` }
    if (!to || !subject.value || (await isMeasured(walk, near, subject.value, to))) return undefined
    return { kind: 'link-wrong', message: `${name} ${MESSAGES['link-wrong']}` }
  } catch (error) {
    // A row it needs cannot be read; where rows can be listed, that has been reported.
    if (!(error instanceof PrestigeError) || error.code !== 'CONTENT_CORRUPT') throw error
    return { kind: 'index-wrong', message: `${name} ${MESSAGES['index-wrong']}` }
  }
}

type Shown =
  | 'row-unreadable'
  | 'link-missing'
  | 'link-wrong'
  | 'link-orphaned'
  | 'linked-missing'
  | 'index-wrong'

const MESSAGES: Record<Shown, string> = {
  'row-unreadable': 'has a row in near.links that cannot be read.',
  'link-missing': 'is neither linked nor a representative: nothing like it would be found.',
  'link-wrong': 'is linked in a way that a comparison does not confirm.',
  'link-orphaned': 'is linked to what is no representative, and no collector would notice.',
  'linked-missing': 'is not listed among those linked to its representative.',
  'index-wrong': 'is a representative that searches would miss.',
}

/** What it is linked to, as a comparison needs it. */
interface Target {
  readonly group: Buffer
  readonly known: Known
  readonly similarity: number
}

interface Scene {
  readonly problem: Shown | undefined
  readonly to?: Target | undefined
}

/** At one moment; `undefined` when the content is not listed any more. */
function* sceneOf(
  _scope: ReadScope,
  near: StoreNear,
  subject: Subject,
): Transaction<Scene | undefined> {
  const { id, digest, value } = subject
  const [row, bytes] = yield* read(cell(raw.digests, digest), cell(rawNear.links, id))
  const known = knownOf(row)
  if (!known || !equalBytes(known.id, id)) return undefined
  const link = linkOf(bytes)
  if (!link) {
    const isMissing = bytes === undefined && value !== undefined && value.looks.length > 0
    return { problem: bytes ? 'row-unreadable' : isMissing ? 'link-missing' : undefined }
  }
  const own = value?.looks[0]
  if (value && (!own || !equalBytes(own.group, link.group))) return { problem: 'link-wrong' }
  if (link.to) return yield* linkScene(subject, link.to)
  if (!own) return { problem: undefined }
  const payload = encodePayload({ digest, bytes: known.bytes })
  const isWhole = yield* near.index.isWhole(link.group, id, own.signature, payload)
  return { problem: isWhole ? undefined : 'index-wrong' }
}

function* linkScene({ id, digest }: Subject, to: LinkedTo): Transaction<Scene> {
  const [back, orphan, target, row] = yield* read(
    cell(rawNear.linked, linkedKey(to.id, id)),
    cell(rawNear.orphaned, to.id),
    cell(rawNear.links, to.id),
    cell(raw.digests, to.digest),
  )
  if (!back || !equalBytes(back, digest)) return { problem: 'linked-missing' }
  // It waits for the collector; what it is linked to may well be gone.
  if (orphan) return { problem: undefined }
  const group = groupOf(linkOf(target))
  if (!group) return { problem: 'link-orphaned' }
  const known = knownOf(row)
  if (!known || !equalBytes(known.id, to.id)) return { problem: 'link-wrong' }
  return { problem: undefined, to: { group, known, similarity: to.similarity } }
}

/** The group of a representative. */
function groupOf(link: Link | undefined): Buffer | undefined {
  return link && !link.to ? link.group : undefined
}

async function isMeasured(
  walk: Walk,
  near: StoreNear,
  value: NearValue,
  { group, known, similarity }: Target,
): Promise<boolean> {
  const other = await bytesOf(walk, known)
  // Swept meanwhile, or damaged, which is for others to say.
  if (!other) return true
  const measured = near.similarity(value, group, other) ?? 0
  return measured === similarity && measured >= near.settings.similarityMin
}

function* writeLinked(scope: Scope, { id, digest }: Subject): Transaction<boolean> {
  const { to } = linkOf((yield* read(cell(rawNear.links, id)))[0]) ?? {}
  if (to) scope.write(cell(linked, linkedKey(to.id, id)), digest)
  return true
}
