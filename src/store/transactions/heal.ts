/**
 * A put whose content is known relies on stored bytes, so it makes sure that they are there and right; otherwise it
 * writes them again, under the same id, and every key of the content can be read again.
 *
 * Small contents are compared inside the put's transaction: the bytes are at hand, so nothing is hashed. Large ones are
 * compared before it, outside: contents never change under an id, so what was right stays right.
 */

import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { ContentCheck } from '../content-check.ts'
import { isSoundRecipe, replaceRecipe } from '../contents/heal-recipe.ts'
import { dropDelta, shortBytes } from '../contents/deltas.ts'
import { type Layout, rowOf } from '../contents/layout.ts'
import { readContent } from '../contents/read-content.ts'
import type { Prepared } from './put.ts'
import { contents, digests, type Known, partCount, partKey } from '../rows.ts'
import { countStored } from '../tallies.ts'
import { stage } from './staging.ts'

/** Reading and comparing more would keep other writers waiting. */
const INSIDE_BYTES_MAX = 64 * 1024

/** Compare this content before the transaction is run again. */
export interface CheckPrerequisite {
  readonly prerequisite: 'check'
  readonly digest: Buffer
  readonly known: Known
}

/** A content that was found to be right, or made so, outside a transaction. */
export interface Confirmed {
  readonly id: Buffer
  readonly isHealed: boolean
}

/** Makes sure of a known content; what is too large for a transaction is to be checked outside first. */
export function* confirm(
  scope: Scope,
  prepared: Prepared,
  digest: Buffer,
  known: Known,
): Transaction<'right' | 'healed' | CheckPrerequisite> {
  const { check, confirmed, value, layout } = prepared
  if (!check) return 'right'
  if (confirmed && equalBytes(confirmed.id, known.id))
    return confirmed.isHealed ? 'healed' : 'right'
  if (known.bytes > Math.min(layout.rowBytes, INSIDE_BYTES_MAX))
    return { prerequisite: 'check', digest, known }
  const stored = yield* shortBytes(known, layout)
  if (stored && equalBytes(stored, value)) return 'right'
  const named = { digest, exact: known.exact }
  // A representative's bytes are not those of the value.
  if (stored && check.isRight(stored, named)) return 'right'
  if (value.byteLength !== known.bytes || !check.isRight(value, named)) throw notHealed(known)
  yield* replaceRow(scope, known, layout, rowOf(prepared))
  return 'healed'
}

/** The same outside a transaction. Without a confirmation if the content went meanwhile. */
export async function confirmLarge(
  backend: Backend,
  prepared: Prepared,
  asked: CheckPrerequisite,
): Promise<Prepared> {
  const { check, value, layout, staged } = prepared
  if (!check) return prepared
  const { digest, known } = asked
  const named = { digest, exact: known.exact }
  // A stream has no value at hand: it was staged, and is known by the digest of its own bytes.
  const isOwn =
    staged && value.byteLength === 0
      ? true
      : value.byteLength === known.bytes && (await check.isLargeRight(value, named))
  if (!isOwn) {
    await requireRight(backend, known, digest, layout, check)
    return { ...prepared, confirmed: { id: known.id, isHealed: false } }
  }
  if (!layout.isLong(known.bytes)) return confirmRow(backend, prepared, asked)
  if (layout.chunks) return confirmChunks(backend, prepared, asked)
  return confirmParts(backend, prepared, asked)
}

/** One row that is too long to be compared while others wait. */
async function confirmRow(
  backend: Backend,
  prepared: Prepared,
  { digest, known }: CheckPrerequisite,
): Promise<Prepared> {
  const { value, layout } = prepared
  const { id } = known
  const stored = await backend.read(() => shortBytes(known, layout))
  const isRight = stored !== undefined && equalBytes(stored, value)
  const bytes = rowOf(prepared)
  if (!isRight && !(await backend.run(healPart, { digest, id, part: 0, bytes, layout })))
    return prepared
  return { ...prepared, confirmed: { id, isHealed: !isRight } }
}

/** What is wrong is written again under an id of its own, and its recipe takes the place of the damaged one. */
async function confirmChunks(
  backend: Backend,
  prepared: Prepared,
  { digest, known }: CheckPrerequisite,
): Promise<Prepared> {
  const { id } = known
  if (await isSoundRecipe(backend, known))
    return { ...prepared, confirmed: { id, isHealed: false } }
  const ready = prepared.staged ? prepared : await stage(backend, prepared)
  const isHealed = ready.staged && (await replaceRecipe(backend, ready.staged, { digest, id }))
  return isHealed ? { ...ready, confirmed: { id, isHealed: true } } : ready
}

async function confirmParts(
  backend: Backend,
  prepared: Prepared,
  { digest, known }: CheckPrerequisite,
): Promise<Prepared> {
  const { value, layout } = prepared
  const { rowBytes: partBytes } = layout
  const { id, bytes } = known
  let isHealed = false
  for (let part = 0; part < partCount(bytes, partBytes); part++) {
    const right = value.subarray(part * partBytes, (part + 1) * partBytes)
    const stored = await backend.read(findPart, id, part)
    if (stored && equalBytes(stored, right)) continue
    if (!(await backend.run(healPart, { digest, id, part, bytes: right, layout }))) return prepared
    isHealed = true
  }
  return { ...prepared, confirmed: { id, isHealed } }
}

/** Of a representative, whose bytes are not those of the value and cannot be healed by it. */
async function requireRight(
  backend: Backend,
  known: Known,
  digest: Buffer,
  layout: Layout,
  check: ContentCheck,
): Promise<void> {
  const whole = await readContent(backend, known, layout)
  if (whole && (await check.isLargeRight(whole, { digest, exact: known.exact }))) return
  const [now] = await backend.read(findKnown, digest)
  if (now && equalBytes(now.id, known.id)) throw notHealed(known)
}

function* findKnown(_scope: ReadScope, digest: Bytes): Transaction<[Known | undefined]> {
  return yield* read(cell(digests, digest))
}

function* findPart(_scope: ReadScope, id: Bytes, part: number): Transaction<Bytes | undefined> {
  const [bytes] = yield* read(cell(contents, partKey(id, part)))
  return bytes
}

interface HealedPart {
  readonly digest: Bytes
  readonly id: Bytes
  readonly part: number
  readonly bytes: Bytes
  readonly layout: Layout
}

/** Whether the content is still there to be healed. */
function* healPart(scope: Scope, healed: HealedPart): Transaction<boolean> {
  const { digest, id, part, bytes, layout } = healed
  const [known] = yield* read(cell(digests, digest))
  if (!known || !equalBytes(known.id, id)) return false
  if (part === 0) yield* replaceRow(scope, known, layout, bytes)
  else scope.write(cell(contents, partKey(id, part)), bytes)
  return true
}

/** What compressing saves is counted again. Of a row that is lost, what it saved is taken for the same. */
function* replaceRow(scope: Scope, known: Known, layout: Layout, row: Bytes): Transaction<void> {
  const { id, bytes } = known
  const [old] = yield* read(cell(contents, id))
  const isDelta = yield* dropDelta(scope, known, layout)
  scope.write(cell(contents, id), row)
  if (!old && !isDelta) return
  const saved = layout.savedBy(row, bytes) - layout.savedBy(old, bytes)
  countStored(scope, { compressedBytes: saved })
}

function notHealed({ firstKey }: Known): PrestigeError {
  const shown = JSON.stringify(firstKey.toString('utf8'))
  return new PrestigeError(
    'CONTENT_CORRUPT',
    `Nothing was put: the value would share the content first stored as key ${shown}, and that content is damaged. Put the value of that key again, or run prestige verify --repair.`,
  )
}
