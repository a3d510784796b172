/** Resolvers to test, on every serial engine, with a clock that a test moves. */

import { openResolver, type Resolver, type ResolverOptions } from '../../src/index.ts'
import { allSpaces } from '../../src/location/kinds.ts'
import type { Backend } from '../../src/backends/contract.ts'
import { openLmdb } from '../../src/backends/lmdb/backend.ts'
import { MemoryBackend, MemoryEngine } from '../../src/backends/memory/backend.ts'
import { temporaryDirectory } from '../subjects.ts'
import { Audit } from './audit.ts'
import { rowsInBackend } from './tables.ts'

export interface Place {
  readonly clock: { time: number }
  /** A backend of its own on the same rows, at every call. */
  backend(): Promise<Backend>
  open(options?: ResolverOptions): Promise<Resolver>
  /** What is wrong with the rows. */
  audit(resolver: Resolver, ...groups: readonly string[]): Promise<string[]>
}

export const engines = ['memory', 'lmdb'] as const
export type Engine = (typeof engines)[number]

export async function placeOf(engine: Engine): Promise<Place> {
  const clock = { time: 1_000_000 }
  const make = await maker(engine, () => clock.time)
  return {
    clock,
    backend: make,
    open: async (options = {}) => openResolver(await make(), options),
    async audit({ settings }, ...groups) {
      const backend = await make()
      const rowsOf = await rowsInBackend(backend)
      await backend.close()
      return new Audit(rowsOf, { settings, groups, now: clock.time }).problems
    },
  }
}

async function maker(engine: Engine, clock: () => number): Promise<() => Promise<Backend>> {
  if (engine === 'memory') {
    const memory = new MemoryEngine()
    return async () => new MemoryBackend({ clock }, memory)
  }
  const directory = await temporaryDirectory()
  return () => openLmdb(directory, { spaces: allSpaces, durability: 'os', clock })
}
