/**
 * The tables of a view as they were at one row of the journal, kept in rows, so that whoever opens the index need
 * not read the journal from its beginning.
 *
 * Invariant: it is never a second truth. It counts only if the journal has the row it stands at, under its nonce,
 * and if it is whole, of this format and of these tables; else it is as if there were none. Nothing behind its row
 * may have been trimmed, because whoever starts with it has yet to see that: so trimming takes it away (index.ts),
 * and it is put into force only while the journal ends where it stands.
 *
 * Memory of tables as it is, cut into parts. A change of how tables are laid out, or of how bands or ids are
 * hashed, is another FORMAT.
 */

import { asBuffer, type Bytes, concat, equalBytes } from '../platform/bytes.ts'
import { type Backend, cell, first, read, type Scope, type Transaction } from '../backends/index.ts'
import { digestOf, type GroupedTables } from '../fingerprint/index.ts'
import type { SignatureLayout } from './scheme/scheme.ts'
import { readChange } from './journal.ts'
import { ID_BYTES, type NearSpaces } from './rows.ts'
import type { Mark, NearView } from './view.ts'

const FORMAT = 0x10
const HEAD_KEY = Buffer.from('head')
const PARTS_PREFIX = Buffer.from('part')
const SEQUENCE_BYTES = 6
const DIGEST_BYTES = 32
const PART_BYTES_MAX = 512 * 1024
/** So many parts are written at once, and share one commit. */
const PARTS_TOGETHER = 8
const DROPPED_TOGETHER = 32

/**
 * `10` number of the journal row it stands at (6) that row's nonce (16) its own id (16) number of parts (4) shape
 * of its tables. A part is under `part`, the id and its number (4): digest (32), memory.
 */
interface SnapshotHead {
  readonly sequence: number
  readonly nonce: Buffer
  readonly id: Buffer
  readonly parts: number
  readonly shape: string
}

const NONCE_AT = 1 + SEQUENCE_BYTES
const ID_AT = NONCE_AT + ID_BYTES
const PARTS_AT = ID_AT + ID_BYTES
const SHAPE_AT = PARTS_AT + 4

function encodeHead({ sequence, nonce, id, parts, shape }: SnapshotHead): Buffer {
  const fixed = Buffer.alloc(SHAPE_AT)
  fixed[0] = FORMAT
  fixed.writeUIntBE(sequence, 1, SEQUENCE_BYTES)
  fixed.set(nonce, NONCE_AT)
  fixed.set(id, ID_AT)
  fixed.writeUInt32BE(parts, PARTS_AT)
  return concat(fixed, Buffer.from(shape))
}

/** `undefined` if it is of another format. */
function decodeHead(bytes: Bytes | undefined): SnapshotHead | undefined {
  if (!bytes || bytes[0] !== FORMAT || bytes.byteLength < SHAPE_AT) return undefined
  const row = asBuffer(bytes)
  return {
    sequence: row.readUIntBE(1, SEQUENCE_BYTES),
    nonce: row.subarray(NONCE_AT, ID_AT),
    id: row.subarray(ID_AT, PARTS_AT),
    parts: row.readUInt32BE(PARTS_AT),
    shape: row.toString('utf8', SHAPE_AT),
  }
}

function partKey(id: Bytes, part: number): Buffer {
  const number = Buffer.alloc(4)
  number.writeUInt32BE(part)
  return Buffer.concat([PARTS_PREFIX, id, number])
}

function* headOf({ snapshots }: NearSpaces): Transaction<SnapshotHead | undefined> {
  const [bytes] = yield* read(cell(snapshots, HEAD_KEY))
  return decodeHead(bytes)
}

/** To be called in the transaction that trims these rows of the journal. */
export function* withdrawSnapshot(
  scope: Scope,
  spaces: NearSpaces,
  trimmed: readonly number[],
): Transaction<void> {
  const head = yield* headOf(spaces)
  const isBehind = (number: number) => number > (head?.sequence ?? 0)
  if (head && trimmed.some(isBehind)) scope.remove(cell(spaces.snapshots, HEAD_KEY))
}

/** The snapshot there is, if it is of this journal and of tables of this shape. */
function* usableHead(spaces: NearSpaces, shape: string): Transaction<SnapshotHead | undefined> {
  const head = yield* headOf(spaces)
  if (!head || head.shape !== shape) return undefined
  const row = yield* readChange(spaces, head.sequence)
  return row && equalBytes(row.nonce, head.nonce) ? head : undefined
}

/** The row of the journal that it stands at; 0 where there is none that counts. */
export function* snapshotSequence(spaces: NearSpaces, shape: string): Transaction<number> {
  return (yield* usableHead(spaces, shape))?.sequence ?? 0
}

export interface LoadedSnapshot<Signature> {
  readonly tables: GroupedTables<Signature>
  readonly sequence: number
  readonly nonce: Buffer
}

/** `undefined` if there is none that counts, or if it may be larger than `bytesMax`. */
export async function loadSnapshot<Signature>(
  backend: Backend,
  spaces: NearSpaces,
  scheme: SignatureLayout<Signature>,
  bytesMax = Infinity,
): Promise<LoadedSnapshot<Signature> | undefined> {
  const head = await backend.read(() => usableHead(spaces, scheme.shape))
  if (!head || head.parts * partBytesMax(backend) > bytesMax) return undefined
  const tables = scheme.tables()
  if (!(await fill(tables.memoryToFill(), head, backend, spaces))) return undefined
  // It may have been withdrawn, because of what was trimmed meanwhile.
  const still = await backend.read(() => usableHead(spaces, scheme.shape))
  if (!still || !equalBytes(still.id, head.id)) return undefined
  return { tables, sequence: head.sequence, nonce: head.nonce }
}

/** Whether all memory was there, and not more. */
async function fill(
  memory: Iterable<Uint8Array>,
  head: SnapshotHead,
  backend: Backend,
  spaces: NearSpaces,
): Promise<boolean> {
  let part: Bytes = new Uint8Array(0)
  let taken = 0
  for (const piece of memory) {
    for (let filled = 0; filled < piece.byteLength;) {
      if (part.byteLength === 0) {
        const next = await backend.read(() => wholePart(spaces, head, taken))
        if (!next) return false
        part = next
        taken++
      }
      const bytes = part.subarray(0, piece.byteLength - filled)
      piece.set(bytes, filled)
      filled += bytes.byteLength
      part = part.subarray(bytes.byteLength)
    }
  }
  return part.byteLength === 0 && taken === head.parts
}

/** `undefined` if it is not there, or damaged. */
function* wholePart(
  { snapshots }: NearSpaces,
  { id, parts }: SnapshotHead,
  part: number,
): Transaction<Bytes | undefined> {
  if (part >= parts) return undefined
  const [bytes] = yield* read(cell(snapshots, partKey(id, part)))
  if (!bytes || bytes.byteLength <= DIGEST_BYTES) return undefined
  const body = bytes.subarray(DIGEST_BYTES)
  return equalBytes(bytes.subarray(0, DIGEST_BYTES), digestOf(body)) ? body : undefined
}

/** Whether it was kept: it is not if the index changes meanwhile. The one there was is gone in any case. */
export async function keepSnapshot<Signature>(
  backend: Backend,
  spaces: NearSpaces,
  shape: string,
  view: NearView<Signature>,
): Promise<boolean> {
  await dropSnapshot(backend, spaces)
  const { mark, id } = await backend.run((scope) => markOf(scope, view))
  const bytesMax = partBytesMax(backend)
  let parts = 0
  let under: Promise<void>[] = []
  for (const part of partsOf(view.memory(), bytesMax)) {
    under.push(backend.run(keepPart, spaces, partKey(id, parts++), part))
    if (under.length === PARTS_TOGETHER) {
      await Promise.all(under)
      under = []
    }
    if (!view.isAt(mark)) break
  }
  await Promise.all(under)
  const { sequence, nonce } = mark
  const head = { sequence, nonce, id, parts, shape }
  return backend.run((scope) => keepHead(scope, spaces, view, mark, head))
}

function* markOf<Signature>(
  scope: Scope,
  view: NearView<Signature>,
): Transaction<{ readonly mark: Mark; readonly id: Buffer }> {
  yield* view.catchUp(false)
  return { mark: view.mark(), id: scope.id() }
}

// oxlint-disable-next-line require-yield -- it only writes
function* keepPart(
  scope: Scope,
  { snapshots }: NearSpaces,
  key: Buffer,
  part: Buffer,
): Transaction<void> {
  scope.write(cell(snapshots, key), part)
}

/** What the parts were copied from must have been the same all the time, and must be all there is now. */
function* keepHead<Signature>(
  scope: Scope,
  spaces: NearSpaces,
  view: NearView<Signature>,
  mark: Mark,
  head: SnapshotHead,
): Transaction<boolean> {
  yield* view.catchUp(false)
  if (!view.isAt(mark)) return false
  scope.write(cell(spaces.snapshots, HEAD_KEY), encodeHead(head))
  return true
}

export function partBytesMax({ limits }: Backend): number {
  return Math.min(PART_BYTES_MAX, limits.valueBytesMax)
}

/** Each with its digest. They are copies: what they are copied from may change. */
export function* partsOf(memory: Iterable<Uint8Array>, bytesMax: number): Generator<Buffer> {
  let part = Buffer.allocUnsafeSlow(bytesMax)
  let filled = DIGEST_BYTES
  const done = () => {
    const whole = part.subarray(0, filled)
    whole.set(digestOf(whole.subarray(DIGEST_BYTES)))
    return whole
  }
  for (const piece of memory) {
    for (let from = 0; from < piece.byteLength;) {
      const bytes = piece.subarray(from, from + bytesMax - filled)
      part.set(bytes, filled)
      filled += bytes.byteLength
      from += bytes.byteLength
      if (filled < bytesMax) continue
      yield done()
      part = Buffer.allocUnsafeSlow(bytesMax)
      filled = DIGEST_BYTES
    }
  }
  if (filled > DIGEST_BYTES) yield done()
}

/** Its head first: it counts no more. Parts of those that were never finished go too. */
async function dropSnapshot(backend: Backend, spaces: NearSpaces): Promise<void> {
  while ((await backend.run(dropSome, spaces)) === DROPPED_TOGETHER);
}

function* dropSome(scope: Scope, spaces: NearSpaces): Transaction<number> {
  scope.remove(cell(spaces.snapshots, HEAD_KEY))
  for (let dropped = 0; dropped < DROPPED_TOGETHER; dropped++) {
    const key = yield* first(spaces.snapshots, PARTS_PREFIX)
    if (!key) return dropped
    scope.remove(cell(spaces.snapshots, key))
  }
  return DROPPED_TOGETHER
}
