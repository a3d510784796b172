/** Listing: keys in byte order, values, or both. */

import { abortedError, deadlineOf, timedOutError } from '../../platform/deadline.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Row } from '../../backends/index.ts'
import type { StoreCore } from '../core.ts'
import { limitOf, type ListOptions, rangeOf } from '../list.ts'
import { entries, type Entry } from '../rows.ts'
import { get } from './get.ts'

export function listKeys(core: StoreCore, options: ListOptions): AsyncGenerator<Buffer> {
  return listRows(core, options, ({ key }) => key)
}

export async function* listEntries(
  core: StoreCore,
  options: ListOptions,
): AsyncGenerator<[key: Buffer, value: Buffer]> {
  let left = limitOf(options)
  if (left <= 0) return
  for await (const key of listKeys(core, { ...options, limit: undefined })) {
    const value = await get(core, key, undefined)
    // Deleted since its key was listed.
    if (value === undefined) continue
    yield [key, value]
    if (--left <= 0) return
  }
}

export async function* listValues(core: StoreCore, options: ListOptions): AsyncGenerator<Buffer> {
  for await (const [, value] of listEntries(core, options)) yield value
}

/** Of every key that is live, what `pick` makes of its row. */
async function* listRows<T>(
  { backend }: StoreCore,
  options: ListOptions,
  pick: (row: Row<Entry>) => T,
): AsyncGenerator<T> {
  let left = limitOf(options)
  if (left <= 0) return
  const late = (ms: number) => timedOutError('The listing', 'not-done', ms)
  const deadline = deadlineOf(options.signal, options.timeoutMs, late)
  const { signal } = deadline
  const rows = backend.scan(entries, rangeOf(options))[Symbol.asyncIterator]()
  try {
    for (;;) {
      const coming = rows.next()
      const next = signal ? await untilAborted(coming, signal) : await coming
      if (next.done) return
      if (!next.value.value.isLive(backend.now())) continue
      yield pick(next.value)
      if (--left <= 0) return
    }
  } finally {
    deadline.clear()
    // What waits for a page ends when that has come, and who has given up does not wait for it.
    const ended = Promise.resolve(rows.return?.())
    if (signal?.aborted) void ended.catch(() => {})
    else await ended
  }
}

/** What comes of the promise, unless the signal comes first. */
async function untilAborted<T>(coming: Promise<T>, signal: AbortSignal): Promise<T> {
  let listener = () => {}
  const stopped = new Promise<never>((_resolve, reject) => {
    listener = () => reject(stopError(signal))
    if (signal.aborted) listener()
    else signal.addEventListener('abort', listener)
  })
  try {
    return await Promise.race([coming, stopped])
  } finally {
    signal.removeEventListener('abort', listener)
  }
}

function stopError({ reason }: AbortSignal): PrestigeError {
  const isLate = reason instanceof PrestigeError && reason.code === 'TIMED_OUT'
  return isLate ? reason : abortedError('The listing', 'not-done', reason)
}
