/** Checks rows of near duplicates that depend on others, and the tally of links. */

import { createHash } from 'node:crypto'

import { EMPTY, equalBytes } from '../../../platform/bytes.ts'
import {
  cell,
  ID_BYTES,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../../backends/index.ts'
import { LINKS, type StoreNear } from '../../near/store-near.ts'
import { decodeSimilarity } from '../../near/rows.ts'
import { decodeReference } from '../../semantic/rows.ts'
import { takeOut } from './mend.ts'
import { linkOf, rawNear } from './raw.ts'
import { raw } from '../raw.ts'
import { rowName, type Walk } from '../walk.ts'

const ROUNDS_MAX = 4

/** Links of contents that are gone. Those of contents that are there have been looked at. */
export async function walkLinks(walk: Walk, near: StoreNear): Promise<void> {
  for await (const { key: id } of walk.scan(rawNear.links)) {
    if (id.byteLength !== ID_BYTES) {
      await walk.foundUnaccounted(rawNear.links, id, 'is not the id of a content.')
    } else if (await walk.backend.read(isOfNothing, id)) {
      const message = `${rowName(rawNear.links, id)} is of a content that is gone.`
      await walk.found('row-unaccounted', message, [], () => walk.backend.run(removeLink, near, id))
    }
  }
}

/** A content is swept together with its link, so its first part is there as long as it has one. */
function* isOfNothing(scope: ReadScope, id: Buffer): Transaction<boolean> {
  const cells = [cell(rawNear.links, id), cell(raw.contents, id)]
  const [link, part] = yield* read(...cells)
  // Rows that never change must be named, or one swept between the two reads would look gone.
  scope.rely(...cells)
  return link !== undefined && part === undefined
}

function* removeLink(scope: Scope, near: StoreNear, id: Buffer): Transaction<boolean> {
  const [part] = yield* read(cell(raw.contents, id))
  return part ? true : yield* takeOut(scope, near, id, { looks: [] })
}

export async function walkLinked(walk: Walk): Promise<void> {
  for await (const { key } of walk.scan(rawNear.linked)) {
    if (key.byteLength !== 2 * ID_BYTES) {
      await walk.foundUnaccounted(rawNear.linked, key, 'is not two contents.')
    } else if (await walk.backend.read(isUnlinked, key)) {
      const message = `${rowName(rawNear.linked, key)} is of a content that is not linked there.`
      await walk.found('row-unaccounted', message, [], () => walk.backend.run(removeLinked, key))
    }
  }
}

function* isUnlinked(_scope: ReadScope, key: Buffer): Transaction<boolean> {
  const id = key.subarray(ID_BYTES)
  const [row, bytes] = yield* read(cell(rawNear.linked, key), cell(rawNear.links, id))
  if (row === undefined) return false
  const link = linkOf(bytes)
  // An unreadable link may well be this one.
  if (bytes && !link) return false
  return !link?.to || !equalBytes(link.to.id, key.subarray(0, ID_BYTES))
}

function* removeLinked(scope: Scope, key: Buffer): Transaction<boolean> {
  if (yield* isUnlinked(scope, key)) scope.remove(cell(rawNear.linked, key))
  return true
}

/** A note for what is there, or has nothing linked to it, is no problem: the collector drops it. */
export async function walkOrphaned(walk: Walk): Promise<void> {
  for await (const { key } of walk.scan(rawNear.orphaned)) {
    if (key.byteLength === ID_BYTES) continue
    await walk.foundUnaccounted(rawNear.orphaned, key, 'is not the id of a content.')
  }
}

/** The reference of a key that shares the bytes of what its value is like records how similar it was. */
export async function walkSimilarities(walk: Walk, near: StoreNear): Promise<void> {
  const least = walk.how.sharesNear ? near.settings.similarityMin : Infinity
  for await (const { key, value } of walk.scan(raw.refs)) {
    const similarity = decodeSimilarity(value) ?? 0
    if (value.byteLength === 0 || (similarity >= least && similarity <= 1)) continue
    // Of a meaning, which is for others to say.
    if (walk.how.semantic && decodeReference(value)) continue
    if (!(await walk.backend.read(isStill, key, value))) continue
    const message = `${rowName(raw.refs, key)} tells a similarity that nobody can have measured.`
    await walk.found('ref-wrong', message, [key.subarray(ID_BYTES)], () =>
      walk.backend.run(clearReference, key, value),
    )
  }
}

function* isStill(_scope: ReadScope, key: Buffer, value: Uint8Array): Transaction<boolean> {
  const [row] = yield* read(cell(raw.refs, key))
  return row !== undefined && equalBytes(row, value)
}

function* clearReference(scope: Scope, key: Buffer, value: Uint8Array): Transaction<boolean> {
  if (yield* isStill(scope, key, value)) scope.write(cell(raw.refs, key), EMPTY)
  return true
}

interface Round {
  readonly links: number
  readonly tally: number
  /** The tally was the same before and after. */
  readonly isQuiet: boolean
  readonly print: string
}

/** As tallies.ts does it: believed only when rows and tally were the very same twice in a row. */
export async function compareLinks(walk: Walk, near: StoreNear): Promise<void> {
  let last: Round | undefined
  for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
    const round = await recount(walk, near)
    const { links, tally, isQuiet, print } = round
    if (isQuiet && links === tally) return
    if (isQuiet && last?.isQuiet && last.print === print && last.tally === tally) {
      const message = `The tallies are wrong: links is ${tally}, counted were ${links}.`
      return walk.found('tallies-wrong', message, [], () => walk.backend.run(add, links - tally))
    }
    last = round
  }
  walk.findings.note('The tally of links was not compared: the store was written to all the time.')
}

async function recount(walk: Walk, near: StoreNear): Promise<Round> {
  const sha256 = createHash('sha256')
  const tallied = async () => (await walk.backend.read(() => near.stats())).links
  const before = await tallied()
  let links = 0
  for await (const { key, value } of walk.scan(rawNear.links)) {
    sha256.update(key).update(value)
    if (linkOf(value)?.to) links++
  }
  const tally = await tallied()
  return { links, tally, isQuiet: before === tally, print: sha256.digest('hex') }
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* add(scope: Scope, delta: number): Transaction<boolean> {
  if (Number.isSafeInteger(delta)) scope.add(LINKS, delta)
  return Number.isSafeInteger(delta)
}
