/** All rows of a resolver, decoded, whatever engine they are in. */

import type { Bytes } from '../../src/platform/bytes.ts'
import type { Backend, Space } from '../../src/backends/contract.ts'
import type { SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { resolverSpaces } from '../../src/resolve/rows.ts'

export type RowsOf = <V>(space: Space<V>) => Map<string, V>

export const latin1 = (bytes: Bytes): string => Buffer.from(bytes).toString('latin1')

const NAMESPACE_BYTES = 1

export function rowsInWorld(world: SimulatedWorld): RowsOf {
  return (space) =>
    new Map(
      world
        .rows(space)
        .map(({ key, bytes }) => [
          latin1(key.subarray(NAMESPACE_BYTES)),
          space.codec.decode(Buffer.from(bytes)),
        ]),
    )
}

/** While nobody writes. */
export async function rowsInBackend(backend: Backend): Promise<RowsOf> {
  const all = new Map<string, Map<string, unknown>>()
  for (const space of resolverSpaces) {
    const found = new Map<string, unknown>()
    for await (const { key, value } of backend.scan(space)) found.set(latin1(key), value)
    all.set(space.name, found)
  }
  return <V>(space: Space<V>) => all.get(space.name) as Map<string, V>
}

/** How many rows each space has; those without any are left out. */
export function countsIn(rowsOf: RowsOf): Record<string, number> {
  const counts = resolverSpaces.map((space) => [space.name, rowsOf(space).size] as const)
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}
