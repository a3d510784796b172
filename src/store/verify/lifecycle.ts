/** Checks rows about the use of keys: each belongs to a key that is there, and says of it what others say. */

import { type Bytes, EMPTY } from '../../platform/bytes.ts'
import { cell, read, type Scope, type Space, type Transaction } from '../../backends/index.ts'
import { pins, recency, sliding, uses } from '../lifecycle/rows.ts'
import { type Entry, expiryKey } from '../rows.ts'
import { entryOf, raw, twin } from './raw.ts'
import type { Walk } from './walk.ts'

const TIME_BYTES = 6
const rawUses = twin(uses)
const rawRecency = twin(recency)
const rawSliding = twin(sliding)
const rawPins = twin(pins)

export async function walkLifecycle(walk: Walk): Promise<void> {
  await walkRows(walk, rawPins, (row) => row, 'pins a key that is not there.')
  await walkRows(
    walk,
    rawUses,
    (row) => row,
    'is the use of a key that is not there.',
    isReadableUse,
  )
  await walkRows(walk, rawSliding, (row) => row, 'is not the expiry of its key.', isOwnExpiry)
  const keyOf = (row: Buffer) => row.subarray(TIME_BYTES)
  await walkRows(walk, rawRecency, keyOf, 'is not the last use of its key.', isLastUse)
  for await (const { key, value } of walk.scan(rawUses)) await examineUse(walk, key, value)
}

type IsRight = (row: Buffer, value: Bytes, key: Buffer, entry: Entry) => Transaction<boolean>

/** An entry that cannot be read may be of any kind: whatever may be its own stays. */
async function walkRows(
  walk: Walk,
  space: Space<Bytes>,
  keyOf: (row: Buffer) => Buffer,
  why: string,
  isRight?: IsRight,
): Promise<void> {
  for await (const { key: row } of walk.scan(space)) {
    const key = keyOf(row)
    const isWrong = function* (): Transaction<boolean> {
      const [value, bytes] = yield* read(cell(space, row), cell(raw.entries, key))
      if (value === undefined) return false
      const entry = entryOf(bytes)
      if (!entry) return bytes === undefined
      return isRight !== undefined && !(yield* isRight(row, value, key, entry))
    }
    await walk.foundWrong(space, row, why, isWrong, { keys: [key] })
  }
}

function* isReadableUse(_row: Buffer, value: Bytes): Transaction<boolean> {
  return decoded(uses, value) !== undefined
}

function* isOwnExpiry(
  _row: Buffer,
  value: Bytes,
  _key: Buffer,
  { expiresAt }: Entry,
): Transaction<boolean> {
  return decoded(sliding, value)?.expiresAt === expiresAt && expiresAt !== undefined
}

function* isLastUse(row: Buffer, _value: Bytes, key: Buffer): Transaction<boolean> {
  if (row.byteLength <= TIME_BYTES) return false
  const [use, pin] = yield* read(cell(rawUses, key), cell(rawPins, key))
  return (
    pin === undefined && use !== undefined && decoded(uses, use) === row.readUIntBE(0, TIME_BYTES)
  )
}

/** A key that is not in the order of uses would never be evicted. */
async function examineUse(walk: Walk, key: Buffer, value: Bytes): Promise<void> {
  const usedAt = decoded(uses, value)
  if (usedAt === undefined) return
  const place = cell(rawRecency, expiryKey(usedAt, key))
  const isMissing = function* (): Transaction<boolean> {
    const [use, row, pin, entry] = yield* read(
      cell(rawUses, key),
      place,
      cell(rawPins, key),
      cell(raw.entries, key),
    )
    const isSame = use !== undefined && decoded(uses, use) === usedAt
    return isSame && entry !== undefined && pin === undefined && row === undefined
  }
  const why = 'is a use by which its key would never be evicted.'
  const repair = function* (scope: Scope): Transaction<boolean> {
    scope.write(place, EMPTY)
    return true
  }
  if (!(await walk.backend.read(isMissing))) return
  await walk.foundWrong(rawUses, key, why, isMissing, { keys: [key], repair })
}

function decoded<V>(space: Space<V>, row: Bytes): V | undefined {
  try {
    return space.codec.decode(row)
  } catch {
    return undefined
  }
}
