/** Checks rows of meanings that depend on others, and the tallies of links and representatives. */

import { createHash } from 'node:crypto'

import { type Bytes, EMPTY, equalBytes } from '../../../platform/bytes.ts'
import {
  cell,
  ID_BYTES,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../../backends/index.ts'
import { DIGEST_BYTES } from '../../../fingerprint/index.ts'
import { MEANT_LINKS, type StoreSemantic } from '../../semantic/store-semantic.ts'
import { decodeReference, meantHeads } from '../../semantic/rows.ts'
import { MEANT_HEAD, REPRESENTATIVES } from '../../semantic/view.ts'
import { raw } from '../raw.ts'
import { isChange, isVectors, meantHeadOf, meantOf, rawMeant } from './raw.ts'
import { rowName, type Walk } from '../walk.ts'

const ROUNDS_MAX = 4
const SEQUENCE_BYTES = 6

/** A journal that is out of step is restarted further on: every index is then made from links. */
export async function walkMeantJournal(walk: Walk): Promise<void> {
  let last = 0
  for await (const { key, value } of walk.scan(rawMeant.journal)) {
    if (key.byteLength !== SEQUENCE_BYTES) {
      await walk.foundUnaccounted(rawMeant.journal, key, 'is not the number of a change.')
      continue
    }
    last = key.readUIntBE(0, SEQUENCE_BYTES)
    if (isChange(value)) continue
    const message = `${rowName(rawMeant.journal, key)} cannot be read.`
    await walk.found('row-unreadable', message, [], () => walk.backend.run(removeChange, key))
  }
  const head = await walk.look(rawMeant.heads, MEANT_HEAD.key)
  // Heads only grow, and this one was read after all the rows.
  if (head === undefined ? last === 0 : (meantHeadOf(head)?.sequence ?? -1) >= last) return
  const isUnreadable = head !== undefined && !meantHeadOf(head)
  const what = isUnreadable ? 'cannot be read' : 'is behind the journal'
  const message = `${rowName(rawMeant.heads, MEANT_HEAD.key)} ${what}: indexes would miss changes.`
  await walk.found(isUnreadable ? 'row-unreadable' : 'index-wrong', message, [], () =>
    walk.backend.run(writeHead, last),
  )
}

function* removeChange(scope: Scope, key: Buffer): Transaction<boolean> {
  const [row] = yield* read(cell(rawMeant.journal, key))
  if (row && !isChange(row)) scope.remove(cell(rawMeant.journal, key))
  return true
}

/** With a gap behind the last row, so that no index takes its own position for this one. */
function* writeHead(scope: Scope, last: number): Transaction<boolean> {
  const [head] = yield* read(cell(rawMeant.heads, MEANT_HEAD.key))
  if ((meantHeadOf(head)?.sequence ?? -1) >= last) return true
  const moved = { sequence: last + 2, nonce: scope.id() }
  scope.write(cell(meantHeads, MEANT_HEAD.key), moved)
  return true
}

export async function walkMeantLinked(walk: Walk): Promise<void> {
  for await (const { key } of walk.scan(rawMeant.linked)) {
    if (key.byteLength !== 2 * ID_BYTES) {
      await walk.foundUnaccounted(rawMeant.linked, key, 'is not two contents.')
    } else if (await walk.backend.read(isUnlinked, key)) {
      const message = `${rowName(rawMeant.linked, key)} is of a content that is not linked there.`
      await walk.found('row-unaccounted', message, [], () => walk.backend.run(removeLinked, key))
    }
  }
}

function* isUnlinked(_scope: ReadScope, key: Buffer): Transaction<boolean> {
  const id = key.subarray(ID_BYTES)
  const [row, bytes] = yield* read(cell(rawMeant.linked, key), cell(rawMeant.links, id))
  if (row === undefined) return false
  const link = meantOf(bytes)
  // An unreadable link may well be this one.
  if (bytes && !link) return false
  return !link?.to || !equalBytes(link.to.id, key.subarray(0, ID_BYTES))
}

function* removeLinked(scope: Scope, key: Buffer): Transaction<boolean> {
  if (yield* isUnlinked(scope, key)) scope.remove(cell(rawMeant.linked, key))
  return true
}

/** Notes for what is gone are no problem: the collector drops them. */
export async function walkMeantNotes(walk: Walk): Promise<void> {
  for (const space of [rawMeant.orphaned, rawMeant.pending]) {
    for await (const { key } of walk.scan(space)) {
      if (key.byteLength === ID_BYTES) continue
      await walk.foundUnaccounted(space, key, 'is not the id of a content.')
    }
  }
  if (await walk.firstKey(rawMeant.pending, EMPTY)) {
    walk.findings.note(
      'Some texts wait to be compared by meaning: collect does it, with the embedder.',
    )
  }
}

/** Vectors of contents that are gone, of other embedders, or that cannot be read. */
export async function walkVectors(walk: Walk, semantic: StoreSemantic): Promise<void> {
  const { scope } = semantic.vectors
  const idEnd = scope.byteLength + ID_BYTES
  const textEnd = scope.byteLength + DIGEST_BYTES
  for await (const { key, value } of walk.scan(rawMeant.vectors)) {
    if (!equalBytes(key.subarray(0, scope.byteLength), scope)) {
      await walk.foundUnaccounted(rawMeant.vectors, key, 'is of another embedder.')
      continue
    }
    const isOfText = key.byteLength === textEnd || key.byteLength === textEnd + 2
    const isOfContent = key.byteLength === idEnd || key.byteLength === idEnd + 2
    // Texts that share the bytes of others are recorded in the references of keys, which are not listed by text.
    if (isOfText && walk.how.sharesNear && isVectors(value)) continue
    if (!isOfContent) {
      await walk.foundUnaccounted(rawMeant.vectors, key, 'is of no content.')
    } else if (await walk.backend.read(isStray, key, key.subarray(scope.byteLength, idEnd))) {
      const message = `${rowName(rawMeant.vectors, key)} is of a content that is not compared.`
      const mend = () => walk.backend.run(removeStray, key, key.subarray(scope.byteLength, idEnd))
      await walk.found('row-unaccounted', message, [], mend)
    }
  }
}

function* isStray(_scope: ReadScope, key: Buffer, id: Buffer): Transaction<boolean> {
  const [row, link, pending] = yield* read(
    cell(rawMeant.vectors, key),
    cell(rawMeant.links, id),
    cell(rawMeant.pending, id),
  )
  return row !== undefined && !link && !pending
}

function* removeStray(scope: Scope, key: Buffer, id: Buffer): Transaction<boolean> {
  if (yield* isStray(scope, key, id)) scope.remove(cell(rawMeant.vectors, key))
  return true
}

/** The reference of a key that shares the bytes of what its text means records how similar it was. */
export async function walkMeantReferences(walk: Walk, semantic: StoreSemantic): Promise<void> {
  const least = walk.how.sharesNear ? semantic.arbiter.least : Infinity
  for await (const { key, value } of walk.scan(raw.refs)) {
    const told = decodeReference(value)
    if (!told && (value.byteLength === 0 || walk.how.near)) continue
    if (told && told.similarity >= least && told.similarity <= 1) continue
    if (!(await walk.backend.read(isStill, key, value))) continue
    const message = `${rowName(raw.refs, key)} tells a similarity that nobody can have measured.`
    await walk.found('ref-wrong', message, [key.subarray(ID_BYTES)], () =>
      walk.backend.run(clearReference, key, value),
    )
  }
}

function* isStill(_scope: ReadScope, key: Buffer, value: Bytes): Transaction<boolean> {
  const [row] = yield* read(cell(raw.refs, key))
  return row !== undefined && equalBytes(row, value)
}

function* clearReference(scope: Scope, key: Buffer, value: Bytes): Transaction<boolean> {
  if (yield* isStill(scope, key, value)) scope.write(cell(raw.refs, key), EMPTY)
  return true
}

interface Round {
  readonly counted: readonly [links: number, representatives: number]
  readonly tallied: readonly [links: number, representatives: number]
  /** The tallies were the same before and after. */
  readonly isQuiet: boolean
  readonly print: string
}

/** As tallies.ts does it: believed only when rows and tallies were the very same twice in a row. */
export async function compareMeantTallies(walk: Walk, semantic: StoreSemantic): Promise<void> {
  let last: Round | undefined
  for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
    const round = await recount(walk, semantic)
    const { counted, tallied, isQuiet, print } = round
    const off = [counted[0] - tallied[0], counted[1] - tallied[1]] as const
    if (isQuiet && off[0] === 0 && off[1] === 0) return
    if (
      isQuiet &&
      last?.isQuiet &&
      last.print === print &&
      String(last.tallied) === String(tallied)
    ) {
      const message = `The tallies of meanings are wrong: links and representatives are ${tallied.join(' and ')}, counted were ${counted.join(' and ')}.`
      return walk.found('tallies-wrong', message, [], () => walk.backend.run(add, off))
    }
    last = round
  }
  walk.findings.note(
    'The tallies of meanings were not compared: the store was written to all the time.',
  )
}

async function recount(walk: Walk, semantic: StoreSemantic): Promise<Round> {
  const sha256 = createHash('sha256')
  const tally = async () => {
    const { links, representatives } = await walk.backend.read(() => semantic.stats())
    return [links, representatives] as const
  }
  const before = await tally()
  let links = 0
  let representatives = 0
  for await (const { key, value } of walk.scan(rawMeant.links)) {
    sha256.update(key).update(value)
    const role = meantOf(value)?.role
    if (role === 'linked') links++
    if (role === 'representative') representatives++
  }
  const tallied = await tally()
  const isQuiet = String(before) === String(tallied)
  return { counted: [links, representatives], tallied, isQuiet, print: sha256.digest('hex') }
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* add(
  scope: Scope,
  [links, representatives]: readonly [number, number],
): Transaction<boolean> {
  if (!Number.isSafeInteger(links) || !Number.isSafeInteger(representatives)) return false
  if (links !== 0) scope.add(MEANT_LINKS, links)
  if (representatives !== 0) scope.add(REPRESENTATIVES, representatives)
  return true
}
