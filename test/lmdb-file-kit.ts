/** Stores on disk for tests of what reads data.mdb without LMDB. */

import type { Bytes } from '../src/platform/bytes.ts'
import { type Backend, cell, type Codec, rows, type Space } from '../src/backends/contract.ts'
import type { CommitPause } from '../src/backends/lmdb/file/pause.ts'

/** For tests that commit nothing while they read. */
export const noPause: CommitPause = { run: async (work) => work(), close: () => {} }

const bare: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }

export function blobs(name: string): Space<Bytes> {
  return rows(name, bare, { ordered: true })
}

export function pick<T>(random: () => number, all: readonly T[]): T {
  return all[Math.floor(random() * all.length)]!
}

export function randomBytesOf(random: () => number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  const one = Math.floor(random() * 256)
  for (let at = 0; at < length; at++) bytes[at] = at < 64 ? Math.floor(random() * 256) : at ^ one
  return bytes
}

/** Writes a value a key, or removes keys whose value is undefined, in one transaction. */
export async function writeAll(
  backend: Backend,
  space: Space<Bytes>,
  values: ReadonlyMap<Buffer, Bytes | undefined>,
): Promise<void> {
  await backend.run(function* (scope) {
    for (const [key, value] of values) {
      if (value === undefined) scope.remove(cell(space, key))
      else scope.write(cell(space, key), value)
    }
  })
}
