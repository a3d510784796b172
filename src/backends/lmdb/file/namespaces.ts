/** Which namespaces a directory has rows of, read from the file without LMDB. */

import { type Bytes, EMPTY, endOfPrefix } from '../../../platform/bytes.ts'
import { type Codec, rows } from '../../contract.ts'
import { NAMESPACE_BYTES_MAX } from '../../kit/namespace.ts'
import { openReadOnly } from './backend.ts'

const raw: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }
const END = Buffer.of(NAMESPACE_BYTES_MAX + 1)

/** Of these spaces, those that have rows, by namespace. From one namespace it goes straight to the next. */
export async function namespacesOf(
  directory: string,
  names: readonly string[],
  timeoutMs?: number,
): Promise<Map<string, Set<string>>> {
  const spaces = names.map((name) => rows(name, raw, { ordered: true }))
  const backend = await openReadOnly(directory, { spaces, timeoutMs, isWhole: true })
  const found = new Map<string, Set<string>>()
  try {
    for (const space of spaces) {
      for (let start: Buffer | undefined = EMPTY; start;) {
        const [row]: { key: Buffer }[] = await pageOf(
          backend.scan(space, { start, end: END, limit: 1 }),
        )
        if (!row) break
        const prefix = row.key.subarray(0, 1 + (row.key[0] ?? 0))
        const namespace = prefix.toString('utf8', 1)
        found.set(namespace, (found.get(namespace) ?? new Set()).add(space.name))
        start = endOfPrefix(prefix)
      }
    }
  } finally {
    await backend.close()
  }
  return found
}

async function pageOf<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const page: T[] = []
  for await (const row of rows) page.push(row)
  return page
}
