/**
 * What archives and backups keep of the life of a key beside its expiry: that it is pinned, and how long after a read it
 * expires. As bytes: `1` if it is pinned, else `0`; the time in milliseconds (6; 0: its expiry does not slide).
 */

import type { Bytes } from '../../platform/bytes.ts'
import { type Backend, cell, read, type ReadScope, type Transaction } from '../../backends/index.ts'
import type { PutItem } from '../prepare.ts'
import { pins, sliding } from './rows.ts'
import { PINS, SLIDING } from './tracking.ts'

export const LIFE_BYTES = 7

export interface Life {
  readonly isPinned: boolean
  readonly slidingMs: number | undefined
}

export const NO_LIFE: Life = { isPinned: false, slidingMs: undefined }

/** `undefined`: there is nothing to keep of this key. */
export type LifeReader = (key: Bytes) => Promise<Life | undefined>

/** A store without such rows is asked once. */
export async function lifeReader(backend: Backend): Promise<LifeReader> {
  if (!(await backend.read(hasRows))) return async () => undefined
  return (key) => backend.read(findLife, key)
}

function* hasRows(_scope: ReadScope): Transaction<boolean> {
  const [pinned, slides] = yield* read(PINS, SLIDING)
  return pinned !== undefined || slides !== undefined
}

function* findLife(_scope: ReadScope, key: Bytes): Transaction<Life | undefined> {
  const [pin, slides] = yield* read(cell(pins, key), cell(sliding, key))
  if (!pin && !slides) return undefined
  return { isPinned: pin !== undefined, slidingMs: slides?.ttlMs }
}

export function encodeLife({ isPinned, slidingMs = 0 }: Life): Buffer {
  const bytes = Buffer.alloc(LIFE_BYTES)
  bytes[0] = isPinned ? 1 : 0
  bytes.writeUIntBE(slidingMs, 1, 6)
  return bytes
}

/** `undefined`: these bytes are none. */
export function decodeLife(bytes: Buffer): Life | undefined {
  const [flag = 2] = bytes
  if (bytes.byteLength !== LIFE_BYTES || flag > 1) return undefined
  return { isPinned: flag === 1, slidingMs: bytes.readUIntBE(1, 6) || undefined }
}

/** How a key is put again that expires then, and slides as it did. */
export function expiryOf(
  expiresAt: number | undefined,
  life: Life | undefined,
): Pick<PutItem, 'expiresAt' | 'ttlMs' | 'sliding'> {
  if (expiresAt === undefined) return { ttlMs: Infinity }
  if (life?.slidingMs === undefined) return { expiresAt }
  return { expiresAt, ttlMs: life.slidingMs, sliding: true }
}
