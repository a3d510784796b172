/**
 * Deleting all keys of a range, each in a transaction of its own: other writers go on in between, and memory is bounded
 * by what is under way, however many keys there are.
 */

import { abortedError, deadlineOf, timedOutError } from '../../platform/deadline.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { many } from '../../platform/many.ts'
import { CALL_OPTIONS, type CallOptions } from '../call-options.ts'
import type { StoreCore } from '../core.ts'
import { checkedLimit, type KeyRange, RANGE_OPTIONS, rangeOf } from '../list.ts'
import { refuseUnknown } from '../prepare.ts'
import { entries } from '../rows.ts'
import { remove } from './remove.ts'

export interface ClearOptions extends Omit<CallOptions, 'retriesMax'> {
  /** Deletes nothing, and counts what would be deleted. */
  readonly dryRun?: boolean | undefined
}

export interface DeleteRangeOptions extends KeyRange, ClearOptions {
  /** At most so many keys, the first in byte order. Default: all. */
  readonly limit?: number | undefined
}

export interface DeletedRange {
  /** Keys that were there. Expired ones are deleted too, and not counted. */
  readonly keys: number
  /** Bytes of their values. What is freed is less where others share them. */
  readonly valueBytes: number
}

const CLEAR_OPTIONS = ['dryRun', ...CALL_OPTIONS.filter((name) => name !== 'retriesMax')]

export async function clear(core: StoreCore, options: ClearOptions): Promise<DeletedRange> {
  refuseUnknown(options, CLEAR_OPTIONS)
  return deleteAll(core, options)
}

export async function deleteRange(
  core: StoreCore,
  options: DeleteRangeOptions,
): Promise<DeletedRange> {
  refuseUnknown(options, [...RANGE_OPTIONS, 'dryRun'])
  const { prefix, start, end } = options
  // Nobody who forgot a prefix wants everything to go.
  if (![prefix, start, end].some((key) => key !== undefined && key.length > 0)) {
    const message = 'Give deleteRange a prefix, a start or an end. clear() deletes all keys.'
    throw new PrestigeError('INVALID_OPTIONS', message)
  }
  return deleteAll(core, options)
}

async function deleteAll(core: StoreCore, options: DeleteRangeOptions): Promise<DeletedRange> {
  const { dryRun = false, limit } = options
  const left = checkedLimit(limit)
  const late = (ms: number) => timedOutError('Deleting a range of keys', 'partial', ms)
  const deadline = deadlineOf(options.signal, options.timeoutMs, late)
  const { signal } = deadline
  const sums = { keys: 0, valueBytes: 0 }
  const sumUp = async () => {
    const deleted = dryRun ? counted(core, options, left) : removed(core, options, left, signal)
    for await (const bytes of deleted) {
      sums.keys++
      sums.valueBytes += bytes
      if (dryRun) signal?.throwIfAborted()
    }
  }
  try {
    await (dryRun ? sumUp() : core.inBatch(sumUp))
    return sums
  } catch (error) {
    if (!signal?.aborted || error !== signal.reason) throw error
    const outcome = dryRun || sums.keys === 0 ? 'not-done' : 'partial'
    if (options.signal?.aborted) {
      throw abortedError('Deleting a range of keys', outcome, error)
    }
    throw timedOutError('Deleting a range of keys', outcome, options.timeoutMs ?? 0)
  } finally {
    deadline.clear()
  }
}

/** The length of every value that would go. */
async function* counted(
  { backend }: StoreCore,
  range: KeyRange,
  limit: number,
): AsyncGenerator<number> {
  let left = limit
  if (left <= 0) return
  for await (const { value } of backend.scan(entries, rangeOf(range))) {
    if (!value.isLive(backend.now())) continue
    yield value.bytes
    if (--left <= 0) return
  }
}

/** The length of every value that has gone. */
async function* removed(
  core: StoreCore,
  range: KeyRange,
  limit: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<number> {
  const work = {
    keyOf: (key: Buffer) => key,
    weigh: (key: Buffer) => key.byteLength,
    perform: (key: Buffer) => remove(core, key),
    weighResult: () => 0,
  }
  const outcomes = many(keysOf(core, range, limit), work, { signal })
  for await (const outcome of outcomes) {
    if (!outcome.ok) throw outcome.error
    const { existed, bytes } = outcome.result
    if (existed) yield bytes
  }
}

/** Expired keys are among them, and do not count. */
async function* keysOf(
  { backend }: StoreCore,
  range: KeyRange,
  limit: number,
): AsyncGenerator<Buffer> {
  let left = limit
  if (left <= 0) return
  for await (const { key, value } of backend.scan(entries, rangeOf(range))) {
    yield key
    if (value.isLive(backend.now()) && --left <= 0) return
  }
}
