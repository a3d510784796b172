/** A scan that goes on behind rows that cannot be read. */

import { type Bytes, concat, endOfPrefix } from '../platform/bytes.ts'
import type { Backend, Row, Space } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'

/** Rows that cannot be read: they begin behind this one. */
export interface Gap {
  readonly after: Buffer | undefined
  readonly reason: string
}

const BYTE_MAX = 0xff
/** Longer keys are stepped over by their first bytes alone. */
const STEPPED_BYTES_MAX = 64
/** How much closer to the end of what cannot be read is looked for rows. */
const FINER_STEPS_MAX = 8

/**
 * Rows of a space in byte order, and where some are missing, a gap. What follows a gap is found by trying prefixes
 * behind the last row that was read, the longest first, so that as little as possible is stepped over.
 */
export async function* tolerantScan(
  backend: Backend,
  space: Space<Bytes>,
): AsyncGenerator<Row<Bytes> | Gap> {
  let last: Buffer | undefined
  let start: Buffer | undefined
  for (;;) {
    try {
      for await (const row of backend.scan(space, { start })) {
        last = row.key
        yield row
      }
      return
    } catch (error) {
      if (!isCorrupt(error)) throw error
      yield { after: last, reason: error.message }
    }
    const behind = last && (!start || last.compare(start) >= 0) ? last : start
    start = await nextReadable(backend, space, behind)
    if (start === undefined) return
  }
}

/** The first place behind `last` that a scan can begin at. */
async function nextReadable(
  backend: Backend,
  space: Space<Bytes>,
  last: Buffer | undefined,
): Promise<Buffer | undefined> {
  const path = (last ?? Buffer.alloc(1)).subarray(0, STEPPED_BYTES_MAX)
  for (let length = path.byteLength; length > 0; length--) {
    const parent = path.subarray(0, length - 1)
    const from = last ? path.readUInt8(length - 1) + 1 : 0
    const found = await firstReadable(backend, space, parent, from, FINER_STEPS_MAX)
    if (found) return found
  }
  return undefined
}

/**
 * The first child of a prefix that can be read. What cannot be read is in one piece, so it ends inside the last child
 * that failed, and readable rows may follow there.
 */
async function firstReadable(
  backend: Backend,
  space: Space<Bytes>,
  parent: Buffer,
  from: number,
  finerSteps: number,
): Promise<Buffer | undefined> {
  let failed: Buffer | undefined
  let readable: Buffer | undefined
  for (let byte = from; byte <= BYTE_MAX && !readable; byte++) {
    const child = concat(parent, Buffer.of(byte))
    const state = await probe(backend, space, child)
    if (state === 'failed') failed = child
    if (state === 'readable') readable = child
  }
  if (!failed || finerSteps === 0) return readable
  return (await firstReadable(backend, space, failed, 0, finerSteps - 1)) ?? readable
}

async function probe(
  backend: Backend,
  space: Space<Bytes>,
  prefix: Buffer,
): Promise<'readable' | 'empty' | 'failed'> {
  try {
    const range = { start: prefix, end: endOfPrefix(prefix), limit: 1 }
    for await (const _row of backend.scan(space, range)) return 'readable'
    return 'empty'
  } catch (error) {
    if (isCorrupt(error)) return 'failed'
    throw error
  }
}

function isCorrupt(error: unknown): error is PrestigeError {
  return error instanceof PrestigeError && error.kind === 'corrupt'
}
