/** The backends of this repository as subjects of the conformance suite. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Subject } from '../src/backends/conformance/index.ts'
import type { Backend } from '../src/backends/contract.ts'
import type { Durability } from '../src/backends/lmdb/options.ts'
import { openLmdb } from '../src/backends/lmdb/backend.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { openRedis } from '../src/backends/redis/index.ts'
import {
  NO_FAULTS,
  type SimulatedFaults,
  SimulatedWorld,
} from '../src/backends/simulated/backend.ts'

export const FAULTS: SimulatedFaults = { conflict: 0.1, lostReply: 0.1, failure: 0.01 }

const directories: string[] = []

export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-test-'))
  directories.push(directory)
  return directory
}

export async function removeTemporaryDirectories(): Promise<void> {
  const all = directories.splice(0)
  await Promise.all(all.map((directory) => rm(directory, { recursive: true, force: true })))
}

/** Remembers where the data of each backend is, so that a second one can be opened on it. */
export function subject<Place>(
  name: string,
  newPlace: () => Promise<Place>,
  openAt: (place: Place, ...options: Parameters<Subject['open']>) => Promise<Backend>,
): Required<Pick<Subject, 'name' | 'open' | 'reopen'>> {
  const places = new WeakMap<Backend, Place>()
  const remembered: typeof openAt = async (place, options) => {
    const backend = await openAt(place, options)
    places.set(backend, place)
    return backend
  }
  return {
    name,
    open: async (options) => remembered(await newPlace(), options),
    reopen: (first, options) => remembered(places.get(first)!, options),
  }
}

export function memory(newEngine: () => MemoryEngine = () => new MemoryEngine()): Subject {
  return subject(
    'memory',
    async () => newEngine(),
    async (engine, options) => new MemoryBackend(options, engine),
  )
}

export function lmdb(durability: Durability): Subject {
  return subject(`lmdb with ${durability}`, temporaryDirectory, (directory, options) =>
    openLmdb(directory, { ...options, durability }),
  )
}

export function simulated(
  seed: number,
  faults: SimulatedFaults = NO_FAULTS,
  newWorld = (seed: number, faults: SimulatedFaults) => new SimulatedWorld(seed, faults),
): Subject {
  let workers = 0
  return {
    manyRows: 30,
    ...subject(
      `simulated, seed ${seed}${faults === NO_FAULTS ? '' : ', with faults'}`,
      async () => newWorld(seed, faults),
      async (world, options) => world.open(`worker-${workers++}`, options),
    ),
  }
}

let prefixes = 0

/** Every subject has a prefix of its own on the server whose location is asked for. */
export function redis(name: string, location: () => string): Subject {
  return subject(
    name,
    async () => `${location()}?prefix=test-${process.pid}-${prefixes++}`,
    (url, options) => openRedis(url, options),
  )
}
