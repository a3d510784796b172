/**
 * What the feed of changes keeps: one row a change, numbered in commit order, as the journals of the indexes are
 * (../../match/journal.ts). Numbers have no gaps, so whoever knows one knows which row comes next on every engine.
 *
 * A transaction that changes a key relies on the head and moves it. So no change with a lower number can be committed
 * after one with a higher number, also where transactions run at the same time.
 */

import { asBuffer, type Bytes } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { FORMAT, unreadable } from '../../platform/rows.ts'
import {
  type Cell,
  cell,
  type Codec,
  hasFormat,
  rows,
  sealed,
  type Space,
} from '../../backends/index.ts'
import { type Head, HEAD_KEY, nearSpaces, rawCodec } from '../../match/index.ts'

const ID = 16
const DIGEST = 32
const HAS_PREVIOUS = 1
const KINDS = ['put-new', 'put-duplicate', 'link', 'delete', 'evict', 'expire'] as const

/** `put-new`, `put-duplicate`, `link`: by what became of the value. The others: why the key is gone. */
export type RecordedKind = (typeof KINDS)[number]

/** A change, but for where it comes. */
export interface RecordedChange {
  readonly kind: RecordedKind
  readonly key: Bytes
  /** SHA-256 of the bytes that the key has, or had before it was gone. */
  readonly digest: Bytes
  /** Their length. */
  readonly bytes: number
  /** SHA-256 of the bytes that the key had before it was put. */
  readonly previous: Bytes | undefined
}

/**
 * `1f` kind (1) nonce (16) number of the first change of its transaction (6) at (6) digest (32) bytes (6)
 * [digest of what was replaced (32)] key; flags: 1 something was replaced.
 */
export interface ChangeRow extends RecordedChange {
  readonly nonce: Buffer
  readonly transaction: number
  readonly at: number
}

const NONCE_AT = 2
const TRANSACTION_AT = NONCE_AT + ID
const TIME_AT = TRANSACTION_AT + 6
const DIGEST_AT = TIME_AT + 6
const BYTES_AT = DIGEST_AT + DIGEST
const PREVIOUS_AT = BYTES_AT + 6

const changeCodec: Codec<ChangeRow> = {
  /** Every change pays for this, so it is written without a `RowWriter`. */
  encode({ kind, nonce, transaction, at, digest, bytes, previous, key }) {
    const keyAt = PREVIOUS_AT + (previous ? DIGEST : 0)
    const row = Buffer.allocUnsafe(keyAt + key.byteLength)
    row[0] = FORMAT | (previous ? HAS_PREVIOUS : 0)
    row[1] = KINDS.indexOf(kind)
    row.set(nonce, NONCE_AT)
    row.writeUIntBE(transaction, TRANSACTION_AT, 6)
    row.writeUIntBE(at, TIME_AT, 6)
    row.set(digest, DIGEST_AT)
    row.writeUIntBE(bytes, BYTES_AT, 6)
    if (previous) row.set(previous, PREVIOUS_AT)
    row.set(key, keyAt)
    return row
  },
  decode(bytes) {
    const row = asBuffer(bytes)
    const kind = KINDS[row[1] ?? KINDS.length]
    const hasPrevious = ((row[0] ?? 0) & HAS_PREVIOUS) !== 0
    const keyAt = PREVIOUS_AT + (hasPrevious ? DIGEST : 0)
    if (!hasFormat(row) || kind === undefined || row.byteLength <= keyAt) {
      throw unreadable('changes.journal', 'Run prestige verify --repair on this store.')
    }
    return {
      kind,
      nonce: row.subarray(NONCE_AT, TRANSACTION_AT),
      transaction: row.readUIntBE(TRANSACTION_AT, 6),
      at: row.readUIntBE(TIME_AT, 6),
      digest: row.subarray(DIGEST_AT, BYTES_AT),
      bytes: row.readUIntBE(BYTES_AT, 6),
      previous: hasPrevious ? row.subarray(PREVIOUS_AT, keyAt) : undefined,
      key: row.subarray(keyAt),
    }
  },
}

/** `journal` → the last change. `trimmed` → the last one that is not kept any more. */
export const changeHeads: Space<Head> = nearSpaces('changes').heads
/** Number → ChangeRow. */
export const changeJournal: Space<ChangeRow> = rows(
  'changes.journal',
  sealed('changes.journal', changeCodec),
  { ordered: true },
)
/**
 * `off` → nothing: the feed was turned off, and whoever still has it open must not believe it. `off` → `pending`: it is
 * being turned on. Who opens the store records changes already, but others may have it open that do not.
 */
export const changeFlags: Space<Bytes> = rows('changes.flags', rawCodec)

export const LAST_CHANGE: Cell<Head> = cell(changeHeads, HEAD_KEY)
export const LAST_TRIMMED: Cell<Head> = cell(changeHeads, Buffer.from('trimmed'))
export const FEED_OFF: Cell<Bytes> = cell(changeFlags, Buffer.from('off'))

/** What `FEED_OFF` has while a feed is being turned on. */
export const PENDING: Buffer = Buffer.from('pending')

export const changeSpaces: readonly Space<unknown>[] = [changeHeads, changeJournal, changeFlags]

/** Where in a feed somebody is: after the change of this number, which had this nonce. */
export type ChangePosition = Head

/** The last bytes of a nonce are random: a cursor of another store, or of one that was reset, is not mistaken. */
const CURSOR_NONCE_BYTES = 8

export function cursorOf({ sequence, nonce }: ChangePosition): string {
  return `${sequence}-${nonce.subarray(-CURSOR_NONCE_BYTES).toString('hex')}`
}

export function positionOf(cursor: unknown): ChangePosition {
  const [, number = '', nonce = ''] =
    (typeof cursor === 'string' && /^(\d{1,15})-([0-9a-f]{16})$/.exec(cursor)) || []
  if (nonce !== '') return { sequence: Number(number), nonce: Buffer.from(nonce, 'hex') }
  throw new PrestigeError(
    'INVALID_OPTIONS',
    `after is the cursor of a change, as changes() gives it, not ${JSON.stringify(cursor)}.`,
  )
}

/** Whether a position is the one that a row, or a head, is at. */
export function isAt(position: ChangePosition, nonce: Buffer | undefined): boolean {
  if (!nonce) return false
  const [own, other] = [position.nonce, nonce].map((one) => one.subarray(-CURSOR_NONCE_BYTES))
  return own !== undefined && other !== undefined && own.equals(other)
}
