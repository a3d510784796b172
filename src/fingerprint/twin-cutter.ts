/** Content-defined chunks in TypeScript. See `assembly/chunks.ts`. */

import type { Bytes } from '../platform/bytes.ts'
import type { ChunkSizes, Cutter } from './content-chunks.ts'
import { gearTable } from './gear.ts'

export class TwinCutter implements Cutter {
  cut(bytes: Bytes, sizes: ChunkSizes, isLast: boolean): Uint32Array {
    const ends: number[] = []
    let start = 0
    while (start < bytes.byteLength) {
      const end = endOf(bytes, start, sizes) ?? (isLast ? bytes.byteLength : undefined)
      if (end === undefined) break
      ends.push(end)
      start = end
    }
    return Uint32Array.from(ends)
  }
}

/** Where the chunk at `start` ends; `undefined` if not within these bytes. */
function endOf(bytes: Bytes, start: number, sizes: ChunkSizes): number | undefined {
  const gear = gearTable()
  const limit = Math.min(bytes.byteLength, start + sizes.maxBytes)
  const middle = start + sizes.averageBytes
  let rolling = 0
  for (let at = start + sizes.minBytes; at < limit; at++) {
    rolling = ((rolling << 1) + (gear[bytes[at] ?? 0] ?? 0)) | 0
    if ((rolling & (at < middle ? sizes.earlyMask : sizes.lateMask)) === 0) return at + 1
  }
  return limit === start + sizes.maxBytes ? limit : undefined
}
