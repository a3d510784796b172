/**
 * A put whose content is known relies on stored bytes, so it makes sure that they are there and right; otherwise it
 * writes them again, under the same id, and every key of the content can be read again.
 *
 * Small contents are compared inside the put's transaction: the bytes are at hand, so nothing is hashed. Large ones are
 * compared before it, outside: contents never change under an id, so what was right stays right.
 */

import { asBuffer, type Bytes, equalBytes } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  glance,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { ContentCheck } from '../content-check.ts'
import type { Prepared } from './put.ts'
import { contents, digests, type Known, partCount, partKey } from '../rows.ts'

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
  { check, confirmed, value, partBytes }: Prepared,
  digest: Buffer,
  known: Known,
): Transaction<'right' | 'healed' | CheckPrerequisite> {
  if (!check) return 'right'
  if (confirmed && equalBytes(confirmed.id, known.id))
    return confirmed.isHealed ? 'healed' : 'right'
  if (known.bytes > Math.min(partBytes, INSIDE_BYTES_MAX))
    return { prerequisite: 'check', digest, known }
  const place = cell(contents, known.id)
  const [stored] = yield* glance(place)
  if (stored && equalBytes(stored, value)) return 'right'
  const named = { digest, exact: known.exact }
  // A representative's bytes are not those of the value.
  if (stored?.byteLength === known.bytes && check.isRight(stored, named)) return 'right'
  if (value.byteLength !== known.bytes || !check.isRight(value, named)) throw notHealed(known)
  scope.write(place, value)
  return 'healed'
}

/** The same outside a transaction, part by part. Without a confirmation if the content went meanwhile. */
export async function confirmLarge(
  backend: Backend,
  prepared: Prepared,
  { digest, known }: CheckPrerequisite,
): Promise<Prepared> {
  const { check, value, partBytes } = prepared
  if (!check) return prepared
  const { id, bytes } = known
  const named = { digest, exact: known.exact }
  const isOwn = value.byteLength === bytes && (await check.isLargeRight(value, named))
  if (!isOwn) {
    await requireRight(backend, known, digest, partBytes, check)
    return { ...prepared, confirmed: { id, isHealed: false } }
  }
  let isHealed = false
  for (let part = 0; part < partCount(bytes, partBytes); part++) {
    const right = value.subarray(part * partBytes, (part + 1) * partBytes)
    const stored = await backend.read(findPart, id, part)
    if (stored && equalBytes(stored, right)) continue
    if (!(await backend.run(healPart, { digest, id, part, bytes: right }))) return prepared
    isHealed = true
  }
  return { ...prepared, confirmed: { id, isHealed } }
}

/** Of a representative, whose bytes are not those of the value and cannot be healed by it. */
async function requireRight(
  backend: Backend,
  known: Known,
  digest: Buffer,
  partBytes: number,
  check: ContentCheck,
): Promise<void> {
  const stored: Buffer[] = []
  for (let part = 0; part < partCount(known.bytes, partBytes); part++) {
    const bytes = await backend.read(findPart, known.id, part)
    if (bytes) stored.push(asBuffer(bytes))
  }
  const whole = Buffer.concat(stored)
  const isWhole = whole.byteLength === known.bytes
  if (isWhole && (await check.isLargeRight(whole, { digest, exact: known.exact }))) return
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
}

/** Whether the content is still there to be healed. */
function* healPart(scope: Scope, { digest, id, part, bytes }: HealedPart): Transaction<boolean> {
  const [known] = yield* read(cell(digests, digest))
  if (!known || !equalBytes(known.id, id)) return false
  scope.write(cell(contents, partKey(id, part)), bytes)
  return true
}

function notHealed({ firstKey }: Known): PrestigeError {
  const shown = JSON.stringify(firstKey.toString('utf8'))
  return new PrestigeError(
    'CONTENT_CORRUPT',
    `Nothing was put: the value would share the content first stored as key ${shown}, and that content is damaged. Put the value of that key again, or run prestige verify --repair.`,
  )
}
