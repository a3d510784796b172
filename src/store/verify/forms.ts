/** Checks the canonical forms: every member has the form, and one of them stands for all. */

import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import {
  cell,
  type Cell,
  ID_BYTES,
  read,
  type ReadScope,
  type Row,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { DIGEST_BYTES } from '../../fingerprint/index.ts'
import { hex } from '../receipt.ts'
import { heirOf } from '../transactions/release.ts'
import { type Form, forms, type Known, memberKey } from '../rows.ts'
import { formRowOf, knownOf, raw } from './raw.ts'
import { rowName, type Walk } from './walk.ts'

const MEMBER_BYTES = DIGEST_BYTES + ID_BYTES
const ROUNDS_MAX = 3

export async function walkMembers(walk: Walk): Promise<void> {
  for await (const rows of walk.chunks(raw.members)) {
    const groups = rows.map(({ key, value }) => [
      cell(raw.digests, value),
      cell(raw.forms, key.subarray(0, DIGEST_BYTES)),
    ])
    const found = await walk.glance(groups)
    for (const [at, row] of rows.entries()) {
      const [known, form] = found[at] ?? []
      if (!form || !isMember(row, knownOf(known))) await examineMember(walk, row)
    }
  }
}

function isMember({ key }: Pick<Row<Bytes>, 'key'>, known: Known | undefined): boolean {
  if (key.byteLength !== MEMBER_BYTES || !known?.form) return false
  return key.equals(memberKey(known.form, known.id))
}

interface MemberScene {
  readonly isLeftover: boolean
  readonly hasForm: boolean
}

/** `undefined` when the row is gone. */
function* sceneOf(_scope: ReadScope, key: Buffer): Transaction<MemberScene | undefined> {
  const form = cell(raw.forms, key.subarray(0, DIGEST_BYTES))
  const [digest, formRow] = yield* read(cell(raw.members, key), form)
  if (digest === undefined) return undefined
  const [row] = yield* read(cell(raw.digests, digest))
  const known = knownOf(row)
  // An unreadable digest may well have this member.
  const isLeftover = known ? !isMember({ key }, known) : row === undefined
  return { isLeftover, hasForm: formRow !== undefined }
}

async function examineMember(walk: Walk, { key }: Row<Bytes>): Promise<void> {
  if (key.byteLength !== MEMBER_BYTES) {
    return walk.foundUnaccounted(raw.members, key, 'is not a form and a content.')
  }
  const scene = await walk.backend.read(sceneOf, key)
  const form = key.subarray(0, DIGEST_BYTES)
  if (scene?.isLeftover) {
    const message = `${rowName(raw.members, key)} is of a content that does not have this form.`
    await walk.found('row-unaccounted', message, [], () => walk.backend.run(removeLeftover, key))
  } else if (scene && !scene.hasForm) {
    const message = `Nothing stands for canonical form ${hex(form)}, which contents have.`
    await walk.found('form-missing', message, [], () => mendForm(walk, form))
  }
}

function* removeLeftover(scope: Scope, key: Buffer): Transaction<boolean> {
  const scene = yield* sceneOf(scope, key)
  if (scene?.isLeftover) scope.remove(cell(raw.members, key))
  return true
}

export async function walkForms(walk: Walk): Promise<void> {
  for await (const rows of walk.chunks(raw.forms)) {
    const formRows = rows.map(({ value }) => formRowOf(value))
    const groups = rows.map(({ key }, at) => cellsOf(key, formRows[at]))
    const found = await walk.glance(groups)
    for (const [at, { key }] of rows.entries()) {
      const form = formRows[at]
      if (!form || !standsFor(form, found[at])) await examineForm(walk, key)
    }
  }
}

async function examineForm(walk: Walk, key: Buffer): Promise<void> {
  if (key.byteLength !== DIGEST_BYTES) {
    return walk.foundUnaccounted(raw.forms, key, 'is not a digest.')
  }
  const state = await walk.backend.read(stateOf, key)
  if (state === 'unreadable') {
    const message = `${rowName(raw.forms, key)} cannot be read.`
    await walk.found('row-unreadable', message, [], () => mendForm(walk, key))
  } else if (state === 'wrong') {
    const message = `What stands for canonical form ${hex(key)} does not have it.`
    await walk.found('form-wrong', message, [], () => mendForm(walk, key))
  }
}

function* stateOf(
  _scope: ReadScope,
  key: Bytes,
): Transaction<'missing' | 'unreadable' | 'wrong' | 'right'> {
  const [row] = yield* read(cell(raw.forms, key))
  if (row === undefined) return 'missing'
  const form = formRowOf(row)
  if (form === undefined) return 'unreadable'
  return standsFor(form, yield* read(...cellsOf(key, form))) ? 'right' : 'wrong'
}

/** What a form promises: that its representative is a member, and known. */
function cellsOf(key: Bytes, form: Form | undefined): Cell<Bytes>[] {
  if (form === undefined) return []
  return [cell(raw.members, memberKey(key, form.id)), cell(raw.digests, form.digest)]
}

/** It is a member, and the row records the same about it as its own row. */
function standsFor(form: Form, [digest, row]: readonly (Bytes | undefined)[] = []): boolean {
  const known = knownOf(row)
  if (!digest || !equalBytes(digest, form.digest) || !known) return false
  return (
    equalBytes(known.id, form.id) &&
    known.storedAt === form.storedAt &&
    equalBytes(known.firstKey, form.firstKey)
  )
}

/** Lets the oldest member stand for a form, unless a member does; without members the form goes. */
export async function mendForm(walk: Walk, form: Bytes): Promise<boolean> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const oldest = await walk.firstKey(raw.members, form)
    const id = oldest?.subarray(DIGEST_BYTES)
    if (!(await walk.backend.run(chooseHeir, form, id))) continue
    // A content that joined a form just when it was removed must not stay without it.
    if (oldest || (await walk.firstKey(raw.members, form)) === undefined) return true
  }
  return false
}

function* chooseHeir(scope: Scope, key: Bytes, oldest: Buffer | undefined): Transaction<boolean> {
  if ((yield* stateOf(scope, key)) === 'right') return true
  const heir = oldest && (yield* heirOf(key, oldest))
  if (oldest && !heir) return false
  if (heir) scope.write(cell(forms, key), heir)
  else scope.remove(cell(forms, key))
  return true
}
