/** A key changed by what it has: read, computed, put if it is unchanged, and again if it is not. */

import type { Backend, ReadScope, Transaction } from '../../backends/index.ts'
import type { Bytes } from '../../platform/bytes.ts'
import { asBuffer } from '../../platform/bytes.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { CALL_OPTIONS, type CallOptions, requireRetries } from '../call-options.ts'
import type { StoreCore } from '../core.ts'
import type { Metadata } from '../metadata.ts'
import {
  type KeepOptions,
  keyBytes,
  refuseUnknown,
  type StoreKey,
  type StoreValue,
} from '../prepare.ts'
import { readLong } from '../read-value.ts'
import { hex, type Receipt } from '../receipt.ts'
import { Entry } from '../rows.ts'
import { digestOfEntry } from '../transactions/condition.ts'
import { findEntry, findValue, type Reading } from '../transactions/get.ts'
import { bounded } from './bounded.ts'
import { BOUNDS, putOn } from './put.ts'

export interface UpdateOptions extends Omit<CallOptions, 'retriesMax'> {
  /** Milliseconds from now until the key expires. Without it the key stays, whatever was said before. */
  readonly ttlMs?: number | undefined
  /** As of a put: without it the key has none, whatever it had before. */
  readonly metadata?: Metadata | undefined
  /** How often it is tried again when others changed the key meanwhile. Default: 100. */
  readonly retriesMax?: number | undefined
}

/** The value to put, or `undefined` to leave the key as it is. It is called again if the key was changed meanwhile. */
export type Change = (
  value: Buffer | undefined,
) => StoreValue | undefined | Promise<StoreValue | undefined>

const RETRIES_MAX = 100
const PAUSE_MS_MAX = 50

export async function update(
  core: StoreCore,
  key: StoreKey,
  change: Change,
  options: UpdateOptions = {},
): Promise<Receipt | undefined> {
  refuseUnknown(options, ['ttlMs', 'metadata', ...CALL_OPTIONS])
  const { ttlMs, metadata, retriesMax = RETRIES_MAX, signal, timeoutMs } = options
  requireRetries(retriesMax)
  const bounds = { ...BOUNDS, what: 'The update' }
  return bounded(core.backend, { signal, timeoutMs }, bounds, async (backend) => {
    for (let retries = 0; retries <= retriesMax; retries++) {
      if (retries > 1) await pause(retries)
      const done = await attempt(core, backend, key, change, { ttlMs, metadata })
      if (done !== 'changed') return done
    }
    throw contended(key, retriesMax)
  })
}

async function attempt(
  core: StoreCore,
  backend: Backend,
  key: StoreKey,
  change: Change,
  keep: Pick<KeepOptions, 'ttlMs' | 'metadata'>,
): Promise<Receipt | undefined | 'changed'> {
  const old = await core.gate.pass(() => current(backend, keyBytes(key), core.reading))
  const value = await change(old?.value)
  if (value === undefined) return undefined
  const condition = old ? { ifMatch: old.digest } : { ifAbsent: true }
  try {
    return await putOn(core, backend, key, value, { ...keep, ...condition })
  } catch (error) {
    if (error instanceof PrestigeError && error.code === 'PRECONDITION_FAILED') return 'changed'
    throw error
  }
}

interface Current {
  readonly value: Buffer
  readonly digest: string
}

/** Where a long value is replaced while it is read, its digest is of before, and the put will find that out. */
async function current(
  backend: Backend,
  key: Bytes,
  reading: Reading,
): Promise<Current | undefined> {
  const found = await backend.read(findBoth, key, reading)
  if (found === undefined) return undefined
  const { entry, bytes } = found
  const value =
    bytes instanceof Entry ? await readLong(backend, key, bytes, reading) : bytes && asBuffer(bytes)
  return value && { value, digest: hex(digestOfEntry(entry)) }
}

function* findBoth(
  scope: ReadScope,
  key: Bytes,
  reading: Reading,
): Transaction<{ entry: Entry; bytes: Bytes | Entry | undefined } | undefined> {
  const entry = yield* findEntry(scope, key)
  return entry && { entry, bytes: yield* findValue(scope, key, reading) }
}

function pause(retries: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.random() * Math.min(PAUSE_MS_MAX, 2 ** retries))
  })
}

function contended(key: StoreKey, retriesMax: number): PrestigeError {
  const shown = JSON.stringify(Buffer.from(key).toString('utf8'))
  return new PrestigeError(
    'CONTENDED',
    `Key ${shown} was changed by others ${retriesMax + 1} times while it was updated. Try again, or allow more with retriesMax.`,
  )
}
