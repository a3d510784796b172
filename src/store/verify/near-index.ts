/**
 * Checks the near-duplicate index, and that of containment: every row of the journal is of a representative or noted as
 * dead, every representative is of a content whose link says so.
 */

import { type Bytes, EMPTY, equalBytes } from '../../platform/bytes.ts'
import { cell, ID_BYTES, read, type Scope, type Transaction } from '../../backends/index.ts'
import {
  type Head,
  HEAD_KEY,
  type JournalRow,
  type MatchIndex,
  type NearSpaces,
  type Representative,
  sequenceKey,
  sequenceOf,
} from '../../match/index.ts'
import { decodePayload, type NearLink, storeContainment, storeNear } from '../near/rows.ts'
import type { StoreNear } from '../near/store-near.ts'
import { checkJournal } from './journal.ts'
import type { LinkCheck } from './links.ts'
import { decoded, twin } from './raw.ts'
import type { ProblemKind } from './report.ts'
import { rowName, type Walk } from './walk.ts'

/** Rows as verify reads them: as bytes first, as those of raw.ts are. */
const rowsOf = ({ heads, journal, representatives, buckets, dead }: NearSpaces) => ({
  heads: twin(heads),
  journal: twin(journal),
  representatives: twin(representatives),
  buckets: twin(buckets),
  dead: twin(dead),
})

export const nearRows = rowsOf(storeNear)
export const containmentRows = rowsOf(storeContainment)

/** One of the indexes of a store. */
interface CheckedIndex {
  readonly spaces: NearSpaces
  readonly rows: typeof nearRows
  readonly index: Pick<MatchIndex<never>, 'remove'>
  /** Whether a representative of this link is in this group. */
  readonly isOf: (link: NearLink, group: Buffer) => boolean
}

/** Their links. */
type NearLinks = Pick<LinkCheck<NearLink, never>, 'linkOf' | 'rows'>

// Each of these answers `undefined` for a row that is missing and for one that nobody can have written.

export function representativeOf(bytes: Bytes | undefined): Representative | undefined {
  return decoded(bytes, (row) => {
    const representative = storeNear.representatives.codec.decode(row)
    decodePayload(representative.payload)
    return representative
  })
}

function journalRowOf(bytes: Bytes | undefined): JournalRow | undefined {
  return decoded(bytes, (row) => storeNear.journal.codec.decode(row))
}

export function isBucket(bytes: Bytes): boolean {
  const bucket = decoded(bytes, (row) => storeNear.buckets.codec.decode(row))
  return bucket !== undefined && bucket.ids.byteLength % ID_BYTES === 0
}

export async function checkNearIndex(walk: Walk, near: StoreNear, links: NearLinks): Promise<void> {
  const { index, containment } = near
  const isOf = ({ group }: NearLink, other: Buffer) => equalBytes(group, other)
  await checkIndex(walk, { spaces: storeNear, rows: nearRows, index, isOf }, links)
  if (!containment) return
  await checkIndex(
    walk,
    {
      spaces: storeContainment,
      rows: containmentRows,
      index: containment.index,
      isOf: (_link, group) => equalBytes(group, containment.partition),
    },
    links,
  )
}

async function checkIndex(walk: Walk, checked: CheckedIndex, links: NearLinks): Promise<void> {
  const { rows, spaces } = checked
  await checkRepresentatives(walk, checked, links)
  if (!walk.backend.serial) return
  await checkJournal(walk, {
    rows: rows.journal,
    heads: spaces.heads,
    headKey: HEAD_KEY,
    consequence: 'changes would be written over others.',
    checkRow: ({ key }) => checkChange(walk, checked, key),
    newHead: (scope, last) => newHead(scope, checked, last),
  })
  for await (const { key } of walk.scan(rows.dead)) {
    await walk.foundWrong(rows.dead, key, 'is the note of no row.', () => isStray(checked, key))
  }
}

function* isStray({ rows }: CheckedIndex, key: Buffer): Transaction<boolean> {
  const [note, row] = yield* read(cell(rows.dead, key), cell(rows.journal, key))
  return note !== undefined && row === undefined
}

function* newHead(scope: Scope, { rows }: CheckedIndex, last: number): Transaction<Head> {
  const [row] = yield* read(cell(rows.journal, sequenceKey(last)))
  return { sequence: last, nonce: journalRowOf(row)?.nonce ?? scope.id() }
}

type Problems<State extends string> = Record<State, readonly [kind: ProblemKind, why: string]>

const CHANGE_PROBLEMS = {
  unreadable: ['row-unreadable', 'cannot be read.'],
  condemned: [
    'index-wrong',
    'is of a representative, and noted as dead: a collector would take it away.',
  ],
  unaccounted: ['row-unaccounted', 'is of a representative that is not there.'],
  forgotten: ['row-unaccounted', 'is needed by nobody, and no collector would notice.'],
} as const satisfies Problems<string>

type ChangeState = 'fine' | keyof typeof CHANGE_PROBLEMS

async function checkChange(walk: Walk, checked: CheckedIndex, key: Buffer): Promise<void> {
  const state = await walk.backend.read(() => changeState(checked, key))
  if (state === 'fine') return
  const [kind, why] = CHANGE_PROBLEMS[state]
  const message = `${rowName(checked.rows.journal, key)} ${why}`
  await walk.found(kind, message, [], () => walk.backend.run(mendChange, checked, key))
}

/** Of one row of the journal, at one moment. */
function* changeState({ rows }: CheckedIndex, key: Buffer): Transaction<ChangeState> {
  const [row, note] = yield* read(cell(rows.journal, key), cell(rows.dead, key))
  if (row === undefined) return 'fine'
  const change = journalRowOf(row)
  if (!change) return 'unreadable'
  if (change.kind !== 'insert') return note ? 'fine' : 'forgotten'
  const place = cell(rows.representatives, Buffer.concat([change.partition, change.id]))
  const [bytes] = yield* read(place)
  const representative = representativeOf(bytes)
  // An unreadable representative may well be of this row.
  if (bytes && !representative) return 'fine'
  if (representative?.sequence !== sequenceOf(key)) return 'unaccounted'
  return note ? 'condemned' : 'fine'
}

function* mendChange(scope: Scope, checked: CheckedIndex, key: Buffer): Transaction<boolean> {
  const { rows, spaces } = checked
  const state = yield* changeState(checked, key)
  const place = cell(rows.journal, key)
  const note = cell(rows.dead, key)
  const change = journalRowOf((yield* read(place))[0])
  if (state === 'unreadable') scope.remove(place)
  if (state === 'unreadable' || state === 'condemned') scope.remove(note)
  if (state === 'unaccounted' || state === 'forgotten') scope.write(note, EMPTY)
  // It keeps its nonce: views that have seen nothing behind it must recognise it.
  if (state === 'unaccounted' && change)
    scope.write(cell(spaces.journal, key), { kind: 'gone', nonce: change.nonce })
  return true
}

const REPRESENTATIVE_PROBLEMS = {
  unreadable: ['row-unreadable', 'cannot be read.'],
  unaccounted: ['row-unaccounted', 'is of a content that is no representative.'],
} as const satisfies Problems<string>

type RepresentativeState = 'fine' | keyof typeof REPRESENTATIVE_PROBLEMS

async function checkRepresentatives(
  walk: Walk,
  checked: CheckedIndex,
  links: NearLinks,
): Promise<void> {
  const space = checked.rows.representatives
  for await (const { key } of walk.scan(space)) {
    if (key.byteLength !== 2 * ID_BYTES) {
      await walk.foundUnaccounted(space, key, 'is not a group and a content.')
      continue
    }
    const state = await walk.backend.read(() => representativeState(checked, links, key))
    if (state === 'fine') continue
    const [kind, why] = REPRESENTATIVE_PROBLEMS[state]
    await walk.found(kind, `${rowName(space, key)} ${why}`, [], () =>
      walk.backend.run(removeRepresentative, checked, links, key),
    )
  }
}

function* representativeState(
  { rows, isOf }: CheckedIndex,
  links: NearLinks,
  key: Buffer,
): Transaction<RepresentativeState> {
  const id = key.subarray(ID_BYTES)
  const [row, bytes] = yield* read(cell(rows.representatives, key), cell(links.rows.links, id))
  if (row === undefined) return 'fine'
  if (!representativeOf(row)) return 'unreadable'
  const link = links.linkOf(bytes)
  // An unreadable link may well be that of a representative.
  if (bytes && !link) return 'fine'
  const isOfGroup = link && !link.to && isOf(link, key.subarray(0, ID_BYTES))
  return isOfGroup ? 'fine' : 'unaccounted'
}

/** The content of an unreadable row, if it is there, is reinserted into the index when it is checked. */
function* removeRepresentative(
  scope: Scope,
  checked: CheckedIndex,
  links: NearLinks,
  key: Buffer,
): Transaction<boolean> {
  const { rows, index } = checked
  const state = yield* representativeState(checked, links, key)
  if (state === 'unreadable') scope.remove(cell(rows.representatives, key))
  if (state === 'unaccounted')
    yield* index.remove(scope, key.subarray(0, ID_BYTES), key.subarray(ID_BYTES))
  return true
}
