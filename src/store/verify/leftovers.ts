/** Checks rows that depend on others: references, expiries, released notes, staged uploads. */

import { type Bytes, EMPTY, equalBytes } from '../../platform/bytes.ts'
import {
  cell,
  ID_BYTES,
  read,
  type ReadScope,
  type Row,
  type Scope,
  type Space,
  type Transaction,
} from '../../backends/index.ts'
import { DIGEST_BYTES } from '../../fingerprint/index.ts'
import { decodeSimilarity } from '../near/rows.ts'
import { type Entry, staged } from '../rows.ts'
import { decodeReference } from '../semantic/rows.ts'
import { type Content, readContent } from './content.ts'
import { entryOf, knownOf, raw, stagedOf } from './raw.ts'
import type { VerifyHow } from './report.ts'
import { rowName, type Walk } from './walk.ts'

const TIME_BYTES = 6

/** Rows whose key is something of fixed length and then a user's key. */
interface Follower {
  readonly space: Space<Bytes>
  readonly headBytes: number
  /** The key's entry promises this row. */
  isPromised(row: Buffer, entry: Entry): boolean
  readonly why: string
}

const REFERENCES: Follower = {
  space: raw.refs,
  headBytes: ID_BYTES,
  isPromised: (row, { id }) => equalBytes(id, row.subarray(0, ID_BYTES)),
  why: 'is a reference of a key that does not point at that content.',
}

const EXPIRIES: Follower = {
  space: raw.expiries,
  headBytes: TIME_BYTES,
  isPromised: (row, { expiresAt }) => expiresAt === row.readUIntBE(0, TIME_BYTES),
  why: 'is the time of a key that does not expire then.',
}

export function walkReferences(walk: Walk): Promise<void> {
  return walkFollowers(walk, REFERENCES)
}

export function walkExpiries(walk: Walk): Promise<void> {
  return walkFollowers(walk, EXPIRIES)
}

async function walkFollowers(walk: Walk, follower: Follower): Promise<void> {
  const { space, headBytes } = follower
  for await (const rows of walk.chunks(space)) {
    const groups = rows.map(({ key }) => [cell(raw.entries, key.subarray(headBytes))])
    const found = await walk.glance(groups)
    for (const [at, { key: row }] of rows.entries()) {
      const entry = entryOf(found[at]?.[0])
      const isFine = row.byteLength > headBytes && entry && follower.isPromised(row, entry)
      if (!isFine) await examineFollower(walk, follower, row)
    }
  }
}

async function examineFollower(walk: Walk, follower: Follower, row: Buffer): Promise<void> {
  const { space, headBytes, why } = follower
  if (row.byteLength <= headBytes) return walk.foundUnaccounted(space, row, 'is too short.')
  const keys = [row.subarray(headBytes)]
  await walk.foundWrong(space, row, why, () => isLeftover(follower, row), { keys })
}

/** An unreadable entry promises nobody knows what, so whatever may be its own stays. */
function* isLeftover(follower: Follower, row: Buffer): Transaction<boolean> {
  const entryCell = cell(raw.entries, row.subarray(follower.headBytes))
  const [value, bytes] = yield* read(cell(follower.space, row), entryCell)
  if (value === undefined) return false
  const entry = entryOf(bytes)
  return entry ? !follower.isPromised(row, entry) : bytes === undefined
}

/**
 * The reference of a key that shares the bytes of what its value is like, or means the same as, records how similar it
 * was.
 */
export async function walkSimilarities(walk: Walk): Promise<void> {
  for await (const { key, value } of walk.scan(raw.refs)) {
    if (value.byteLength === 0 || isPossibleSimilarity(value, walk.how)) continue
    if (!(await walk.backend.read(() => isSameReference(key, value)))) continue
    const message = `${rowName(raw.refs, key)} has a similarity that nobody can have measured.`
    await walk.found('ref-wrong', message, [key.subarray(ID_BYTES)], () =>
      walk.backend.run(clearReference, key, value),
    )
  }
}

function isPossibleSimilarity(value: Bytes, { sharesNear, near, semantic }: VerifyHow): boolean {
  if (!sharesNear) return false
  const reference = semantic && decodeReference(value)
  const least = reference ? semantic.arbiter.least : near?.settings.similarityMin
  const similarity = reference?.similarity ?? decodeSimilarity(value)
  if (least === undefined || similarity === undefined) return false
  return similarity >= least && similarity <= 1
}

function* isSameReference(key: Buffer, value: Bytes): Transaction<boolean> {
  const [row] = yield* read(cell(raw.refs, key))
  return row !== undefined && equalBytes(row, value)
}

function* clearReference(scope: Scope, key: Buffer, value: Bytes): Transaction<boolean> {
  if (yield* isSameReference(key, value)) scope.write(cell(raw.refs, key), EMPTY)
  return true
}

/** A note for a content that is gone is no problem: the collector drops it when it looks. */
export async function walkReleased(walk: Walk): Promise<void> {
  for await (const { key } of walk.scan(raw.released)) {
    if (key.byteLength === DIGEST_BYTES) continue
    await walk.foundUnaccounted(raw.released, key, 'is not the note of a digest.')
  }
}

export async function walkStaged(walk: Walk): Promise<void> {
  for await (const row of walk.scan(raw.staged)) {
    if (row.key.byteLength === ID_BYTES) await examineStaged(walk, row)
    else await walk.foundUnaccounted(raw.staged, row.key, 'is not the id of a content.')
  }
}

async function examineStaged(walk: Walk, { key: id, value }: Row<Bytes>): Promise<void> {
  const content = await readContent(walk, id)
  if (content && (await walk.backend.read(isVisible, content))) {
    const message = `${rowName(raw.staged, id)} calls a visible content unfinished: a collector would take it away.`
    return walk.found('row-unaccounted', message, await walk.keysOf(id), () =>
      walk.backend.run(unstage, content),
    )
  }
  if (stagedOf(value)) {
    walk.findings.unfinishedUploads++
    return
  }
  const message = `${rowName(raw.staged, id)} cannot be read.`
  await walk.found('row-unreadable', message, [], () =>
    walk.backend.run(bury, id, content?.partsEnd ?? 1, walk.how),
  )
}

/** Staged and listed at once, at one moment. */
function* isVisible(_scope: ReadScope, { id, digest }: Content): Transaction<boolean> {
  if (digest === undefined) return false
  const [row, known] = yield* read(cell(raw.staged, id), cell(raw.digests, digest))
  const named = knownOf(known)?.id
  return row !== undefined && named !== undefined && equalBytes(named, id)
}

function* unstage(scope: Scope, content: Content): Transaction<boolean> {
  if (yield* isVisible(scope, content)) scope.remove(cell(raw.staged, content.id))
  return true
}

/** Whose upload it was is unknown; the collector removes it, and a put under way fails by name. */
function* bury(
  scope: Scope,
  id: Buffer,
  parts: number,
  { layout }: VerifyHow,
): Transaction<boolean> {
  const [row] = yield* read(cell(raw.staged, id))
  const renewedAt = layout.chunks && scope.now()
  if (row && !stagedOf(row)) scope.write(cell(staged, id), { parts, buried: true, renewedAt })
  return true
}
