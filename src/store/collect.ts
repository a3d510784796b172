/**
 * Collecting one content nobody refers to, and parts that never became visible. Which ones are looked at, and when, is
 * the business of the steps (collecting-steps.ts).
 *
 * It may run in any number of processes at once. Everything it does is safe to be cut off at any point.
 */

import { type Bytes, endOfPrefix, equalBytes } from '../platform/bytes.ts'
import {
  type Backend,
  cell,
  first,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import { endOf, recipes } from './contents/chunk-rows.ts'
import { heirOf, type Keeping, sweep, type Swept } from './transactions/release.ts'
import {
  contents,
  digests,
  forms,
  type Known,
  members,
  partKey,
  refs,
  released,
  staged,
  type Staged,
} from './rows.ts'
import { countStored } from './tallies.ts'

/** How long a put of a large value may take before its parts count as left behind. */
export const STAGING_LEASE_MS = 60 * 60 * 1000
const PARTS_AT_ONCE = 50
const RECIPES_AT_ONCE = 16

/** Sweeps the content of this digest, if it is there and nobody refers to it. */
export async function collectContent(
  backend: Backend,
  digest: Bytes,
  keeping: Keeping,
): Promise<Swept | undefined> {
  if (backend.serial) {
    const swept = await backend.run(collectAtOnce, digest, keeping)
    if (swept?.partsLeft) await removeParts(backend, swept.id)
    return swept
  }
  const { note, id } = await backend.read(findNote, digest)
  // Only a hint, which saves marking contents that are plainly in use.
  const isUsed = id !== undefined && (await hasReference(backend, id))
  const condemned = isUsed ? undefined : await backend.run(condemn, digest)
  if (condemned === undefined) {
    await backend.run(dropNote, digest, note)
    return undefined
  }
  const { known, mark } = condemned
  if (await hasReference(backend, known.id)) {
    await backend.run(pardon, digest, mark, note)
    return undefined
  }
  const heir = known.form && (await otherMember(backend, known.form, known.id))
  const swept = await backend.run(sweepMarked, { digest, mark, note, heir, keeping })
  if (swept?.partsLeft) await removeParts(backend, swept.id)
  return swept
}

/** Where bodies run one after another, looking and sweeping are one transaction. */
function* collectAtOnce(
  scope: Scope,
  digest: Bytes,
  keeping: Keeping,
): Transaction<Swept | undefined> {
  const [known] = yield* read(cell(digests, digest))
  scope.remove(cell(released, digest))
  if (!known || (yield* first(refs, known.id)) !== undefined) return undefined
  return yield* sweep(scope, digest, known, keeping)
}

function* findNote(
  _scope: ReadScope,
  digest: Bytes,
): Transaction<{ note: Bytes | undefined; id: Bytes | undefined }> {
  const [note, known] = yield* read(cell(released, digest), cell(digests, digest))
  return { note, id: known?.id }
}

interface Condemned {
  readonly known: Known
  readonly mark: Buffer
}

/** Marks a content, and its form if it stands for it, as about to be swept. */
function* condemn(scope: Scope, digest: Bytes): Transaction<Condemned | undefined> {
  const [known] = yield* read(cell(digests, digest))
  if (!known) return undefined
  const mark = scope.id()
  scope.write(cell(digests, digest), known.marked(mark))
  const form = known.form && (yield* read(cell(forms, known.form)))[0]
  if (known.form && form && equalBytes(form.id, known.id)) {
    scope.write(cell(forms, known.form), form.marked(mark))
  }
  return { known, mark }
}

/** Takes one's own mark away again: somebody refers to the content. */
function* pardon(
  scope: Scope,
  digest: Bytes,
  mark: Bytes,
  note: Bytes | undefined,
): Transaction<void> {
  const [known] = yield* read(cell(digests, digest))
  if (known?.mark && equalBytes(known.mark, mark)) {
    scope.write(cell(digests, digest), known.marked(undefined))
  }
  const form = known?.form && (yield* read(cell(forms, known.form)))[0]
  if (known?.form && form?.mark && equalBytes(form.mark, mark)) {
    scope.write(cell(forms, known.form), form.marked(undefined))
  }
  yield* dropNote(scope, digest, note)
}

/** A note that was renewed meanwhile stays: a reference was dropped after we looked. */
function* dropNote(scope: Scope, digest: Bytes, note: Bytes | undefined): Transaction<void> {
  if (note === undefined) return
  const [current] = yield* read(cell(released, digest))
  if (current && equalBytes(current, note)) scope.remove(cell(released, digest))
}

interface MarkedSweep {
  readonly digest: Bytes
  readonly mark: Bytes
  readonly note: Bytes | undefined
  /** Another content of the same form, seen after the mark. */
  readonly heir: Bytes | undefined
  readonly keeping: Keeping
}

function* sweepMarked(
  scope: Scope,
  { digest, mark, note, heir, keeping }: MarkedSweep,
): Transaction<Swept | undefined> {
  const [known] = yield* read(cell(digests, digest))
  if (!known?.mark || !equalBytes(known.mark, mark)) return undefined
  let next
  if (known.form) {
    const [form] = yield* read(cell(forms, known.form))
    if (form && equalBytes(form.id, known.id)) {
      // Whoever joined the form since has taken the mark away: there is a member we have not seen.
      if (!form.mark || !equalBytes(form.mark, mark)) return undefined
      next = heir && (yield* heirOf(known.form, heir))
      if (heir && !next) return undefined
    }
  }
  yield* dropNote(scope, digest, note)
  return yield* sweep(scope, digest, known, keeping, next)
}

async function otherMember(backend: Backend, form: Bytes, id: Bytes): Promise<Buffer | undefined> {
  for await (const { key } of backend.scan(members, { start: form, end: endOfPrefix(form) })) {
    const member = key.subarray(form.byteLength)
    if (!equalBytes(member, id)) return member
  }
  return undefined
}

export async function hasReference(backend: Backend, id: Bytes): Promise<boolean> {
  const range = { start: id, end: endOfPrefix(id), limit: 1 }
  for await (const _row of backend.scan(refs, range)) return true
  return false
}

/** Buries staged parts, so that nothing can make them visible any more, then removes a few at a time. */
export async function removeParts(backend: Backend, id: Bytes): Promise<number> {
  const buried = await backend.run(bury, id)
  if (!buried) return 0
  if (buried.renewedAt !== undefined) return removeRecipe(backend, id)
  const { parts } = buried
  for (let from = 0; from < parts; from += PARTS_AT_ONCE) {
    const to = Math.min(parts, from + PARTS_AT_ONCE)
    await backend.run(removeBuried, { id, from, to, last: to === parts })
  }
  return parts
}

function* bury(scope: Scope, id: Bytes): Transaction<Staged | undefined> {
  const [row] = yield* read(cell(staged, id))
  if (row && !row.buried) scope.write(cell(staged, id), { ...row, buried: true })
  return row
}

/** Nothing is added to a recipe that is buried, so what a scan finds is all there is. */
async function removeRecipe(backend: Backend, id: Bytes): Promise<number> {
  const range = { start: id, end: endOfPrefix(id), limit: RECIPES_AT_ONCE }
  let count = 0
  for (;;) {
    const keys: Buffer[] = []
    for await (const { key } of backend.scan(recipes, range)) keys.push(key)
    const isLast = keys.length < RECIPES_AT_ONCE
    count += await backend.run(removeRecipeParts, { id, keys, isLast })
    if (isLast) return count
  }
}

/** Its chunks may be garbage from now on: how many bytes at most is counted in the same transaction. */
function* removeRecipeParts(
  scope: Scope,
  { id, keys, isLast }: { id: Bytes; keys: readonly Buffer[]; isLast: boolean },
): Transaction<number> {
  const cells = keys.map((key) => cell(recipes, key))
  const [row, ...parts] = yield* read(cell(staged, id), ...cells)
  // Somebody else removes it as well: each part is counted once.
  if (!row?.buried) return 0
  let sweptBytes = 0
  for (const [at, part] of parts.entries()) {
    const place = cells[at]
    if (!part || !place) continue
    sweptBytes += endOf(part) - part.offset
    scope.remove(place)
  }
  countStored(scope, { sweptBytes })
  if (isLast) scope.remove(cell(staged, id))
  return parts.length
}

function* removeBuried(
  scope: Scope,
  { id, from, to, last }: { id: Bytes; from: number; to: number; last: boolean },
): Transaction<void> {
  for (let part = from; part < to; part++) scope.remove(cell(contents, partKey(id, part)))
  if (last) scope.remove(cell(staged, id))
}
