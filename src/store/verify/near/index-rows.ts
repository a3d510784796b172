/**
 * Checks the near-duplicate index: every row of the journal is of a representative or noted as dead,
 * every representative stands for a content that says so.
 *
 * These checks come first: what is re-evaluated later is looked up in this index.
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
import { HEAD_KEY, sequenceKey, sequenceOf } from '../../../match/index.ts'
import type { StoreNear } from '../../near/store-near.ts'
import { storeNear } from '../../near/rows.ts'
import { headOf, journalRowOf, linkOf, rawNear, representativeOf } from './raw.ts'
import { rowName, type Walk } from '../walk.ts'

const SEQUENCE_BYTES = 6
const REPRESENTATIVE_BYTES = 2 * ID_BYTES

export async function walkIndex(walk: Walk, near: StoreNear): Promise<void> {
  await walkRepresentatives(walk, near)
  if (!walk.backend.serial) return
  await walkJournal(walk)
  await walkDead(walk)
}

async function walkJournal(walk: Walk): Promise<void> {
  let last = 0
  for await (const { key } of walk.scan(rawNear.journal)) {
    if (key.byteLength !== SEQUENCE_BYTES) {
      await walk.foundUnaccounted(rawNear.journal, key, 'is not the number of a change.')
      continue
    }
    last = sequenceOf(key)
    const state = await walk.backend.read(journalState, key)
    if (state !== 'fine') await foundJournal(walk, key, state)
  }
  const head = await walk.look(rawNear.heads, HEAD_KEY)
  // Heads only grow, and this one was read after all the rows.
  if (head === undefined ? last === 0 : (headOf(head)?.sequence ?? -1) >= last) return
  const isUnreadable = head !== undefined && !headOf(head)
  const what = isUnreadable ? 'cannot be read' : 'is behind the journal'
  const message = `${rowName(rawNear.heads, HEAD_KEY)} ${what}: changes would be written over others.`
  await walk.found(isUnreadable ? 'row-unreadable' : 'index-wrong', message, [], () =>
    walk.backend.run(writeHead, last),
  )
}

type JournalState = 'fine' | 'unreadable' | 'unaccounted' | 'condemned' | 'forgotten'

/** Of one row, at one moment. */
function* journalState(_scope: ReadScope, key: Buffer): Transaction<JournalState> {
  const [row, note] = yield* read(cell(rawNear.journal, key), cell(rawNear.dead, key))
  if (row === undefined) return 'fine'
  const change = journalRowOf(row)
  if (!change) return 'unreadable'
  if (change.kind !== 'insert') return note ? 'fine' : 'forgotten'
  const place = cell(rawNear.representatives, Buffer.concat([change.group, change.id]))
  const [bytes] = yield* read(place)
  const representative = representativeOf(bytes)
  // An unreadable representative may well be of this row.
  if (bytes && !representative) return 'fine'
  if (representative?.sequence !== sequenceOf(key)) return 'unaccounted'
  return note ? 'condemned' : 'fine'
}

async function foundJournal(walk: Walk, key: Buffer, state: JournalState): Promise<void> {
  const name = rowName(rawNear.journal, key)
  const mend = () => walk.backend.run(mendJournal, key)
  if (state === 'unreadable') {
    return walk.found('row-unreadable', `${name} cannot be read.`, [], mend)
  }
  if (state === 'condemned') {
    const message = `${name} is of a representative, and noted as dead: a collector would take it away.`
    return walk.found('index-wrong', message, [], mend)
  }
  const why =
    state === 'unaccounted'
      ? 'is of a representative that is not there.'
      : 'is needed by nobody, and no collector would notice.'
  return walk.found('row-unaccounted', `${name} ${why}`, [], mend)
}

function* mendJournal(scope: Scope, key: Buffer): Transaction<boolean> {
  const state = yield* journalState(scope, key)
  const place = cell(rawNear.journal, key)
  const note = cell(rawNear.dead, key)
  const change = journalRowOf((yield* read(place))[0])
  if (state === 'unreadable') {
    scope.remove(place)
    scope.remove(note)
  } else if (state === 'condemned') {
    scope.remove(note)
  } else if (state === 'unaccounted' && change) {
    // It keeps its nonce: views that have seen nothing behind it must recognise it.
    scope.write(cell(storeNear.journal, key), { kind: 'gone', nonce: change.nonce })
    scope.write(note, EMPTY)
  } else if (state === 'forgotten') {
    scope.write(note, EMPTY)
  }
  return true
}

function* writeHead(scope: Scope, last: number): Transaction<boolean> {
  const place = cell(rawNear.heads, HEAD_KEY)
  const [head, row] = yield* read(place, cell(rawNear.journal, sequenceKey(last)))
  if ((headOf(head)?.sequence ?? -1) >= last) return true
  const nonce = journalRowOf(row)?.nonce ?? scope.id()
  scope.write(cell(storeNear.heads, HEAD_KEY), { sequence: last, nonce })
  return true
}

/** A note of a row that is not there. */
async function walkDead(walk: Walk): Promise<void> {
  for await (const { key } of walk.scan(rawNear.dead)) {
    if (!(await walk.backend.read(isStray, key))) continue
    const message = `${rowName(rawNear.dead, key)} is the note of no row.`
    await walk.found('row-unaccounted', message, [], () => walk.backend.run(removeStray, key))
  }
}

function* isStray(_scope: ReadScope, key: Buffer): Transaction<boolean> {
  const [note, row] = yield* read(cell(rawNear.dead, key), cell(rawNear.journal, key))
  return note !== undefined && row === undefined
}

function* removeStray(scope: Scope, key: Buffer): Transaction<boolean> {
  if (yield* isStray(scope, key)) scope.remove(cell(rawNear.dead, key))
  return true
}

async function walkRepresentatives(walk: Walk, near: StoreNear): Promise<void> {
  for await (const { key } of walk.scan(rawNear.representatives)) {
    if (key.byteLength !== REPRESENTATIVE_BYTES) {
      await walk.foundUnaccounted(rawNear.representatives, key, 'is not a group and a content.')
      continue
    }
    const state = await walk.backend.read(representativeState, key)
    if (state === 'fine') continue
    const name = rowName(rawNear.representatives, key)
    if (state === 'unreadable') {
      const mend = () => walk.backend.run(removeUnreadable, key)
      await walk.found('row-unreadable', `${name} cannot be read.`, [], mend)
    } else {
      const mend = () => walk.backend.run(removeRepresentative, near, key)
      const message = `${name} is of a content that is no representative.`
      await walk.found('row-unaccounted', message, [], mend)
    }
  }
}

function* representativeState(
  _scope: ReadScope,
  key: Buffer,
): Transaction<'fine' | 'unreadable' | 'unaccounted'> {
  const id = key.subarray(ID_BYTES)
  const [row, bytes] = yield* read(cell(rawNear.representatives, key), cell(rawNear.links, id))
  if (row === undefined) return 'fine'
  if (!representativeOf(row)) return 'unreadable'
  const link = linkOf(bytes)
  // An unreadable link may well be that of a representative.
  if (bytes && !link) return 'fine'
  return link && !link.to && isIn(link.group, key) ? 'fine' : 'unaccounted'
}

function isIn(group: Bytes, key: Buffer): boolean {
  return equalBytes(group, key.subarray(0, ID_BYTES))
}

/** Its content, if it is there, is reinserted into the index when it is checked. */
function* removeUnreadable(scope: Scope, key: Buffer): Transaction<boolean> {
  const [row] = yield* read(cell(rawNear.representatives, key))
  if (row && !representativeOf(row)) scope.remove(cell(rawNear.representatives, key))
  return true
}

function* removeRepresentative(scope: Scope, near: StoreNear, key: Buffer): Transaction<boolean> {
  if ((yield* representativeState(scope, key)) !== 'unaccounted') return true
  yield* near.index.remove(scope, key.subarray(0, ID_BYTES), key.subarray(ID_BYTES))
  return true
}
