/**
 * What does a put cost, against plain lmdb writing the same keys and the same bytes without deduplication?
 *
 * The reference commits 100 puts at a time; with `fsync`, as many as are in flight, at most 100.
 * With `fsync` one commit of lmdb is one fdatasync: strace saw 19 of them, and no other sync, for 4096 puts
 * with 256 in flight, and lmdb's own count said 19. So `putsPerCommit` is puts per fdatasync there.
 */

import { openStore, type StoreOptions } from 'prestige-dedup'

import type { Bench, Case, Limits, Place, Sample } from './harness/bench.ts'
import { hashedKeys, type Repeats, scaled, values } from './harness/data.ts'
import { diskBytes, inFlight, Latencies, measure } from './harness/measure.ts'
import { commitsOf, type Durability, openRaw, rawPuts } from './harness/raw.ts'

export interface PutCase {
  readonly bytes: 1024 | 65536
  readonly repeats: Repeats
  readonly flight: 32 | 256
  readonly durability: Durability
}

export function loadOf({ bytes, repeats, durability }: PutCase, scale: number) {
  const full = bytes === 65536 ? 4_000 : durability === 'os' ? 100_000 : 20_000
  const count = scaled(full, scale)
  return { count, keys: hashedKeys(count), values: values(count, bytes, repeats, 1) }
}

export type Load = ReturnType<typeof loadOf>

/** Enough small puts for the compiler to settle, then some as large as those that are timed. */
function* warmLoads({ bytes, repeats }: PutCase): Generator<Load> {
  const load = (size: number, count: number) => ({
    count,
    keys: hashedKeys(count, `warm${size}`),
    values: values(count, size, repeats, 2),
  })
  yield load(1024, 25_000)
  if (bytes !== 1024) yield load(bytes, 500)
}

export interface Putting {
  put(load: Load, latencies: Latencies): Promise<void>
  close(): Promise<void>
}

/** What `open` opens is warmed up first, so that what is timed is compiled, and on a store that is not empty. */
export async function measurePuts(
  one: PutCase,
  place: Place,
  open: (directory: string) => Promise<Putting>,
  made: (load: Load) => Load = (load) => load,
): Promise<Sample> {
  const { directory, scale } = place
  const load = made(loadOf(one, scale))
  const putting = await open(directory)
  for (const warm of warmLoads(one)) await putting.put(made(warm), new Latencies(warm.count))
  const before = commitsOf(directory)
  const bytes = one.bytes === 65536 ? load.count * one.bytes : undefined
  const sample = await measure({ ops: load.count, bytes, place }, (latencies) =>
    putting.put(load, latencies),
  )
  const commits = commitsOf(directory) - before
  await putting.close()
  return { ...sample, diskBytes: await diskBytes(directory), commits }
}

/** Puts into a store of ours, always so many at a time. */
export async function openOurs(
  directory: string,
  { flight, durability }: PutCase,
  options: StoreOptions = {},
): Promise<Putting> {
  const store = await openStore(directory, { durability, ...options })
  return {
    put: ({ count, keys, values }, latencies) =>
      inFlight(flight, count, (at) => latencies.time(at, () => store.put(keys[at]!, values[at]!))),
    close: () => store.close(),
  }
}

export async function openReference(
  directory: string,
  { flight, durability }: PutCase,
): Promise<Putting> {
  const root = openRaw(directory, durability)
  return {
    put: ({ keys, values }) => rawPuts(root, keys, values, durability, flight),
    close: () => root.close(),
  }
}

function limitsOf({ bytes, repeats, flight, durability }: PutCase): Limits {
  const isCheap = durability === 'os' && flight === 32
  return {
    ...(isCheap && bytes === 1024 && repeats === 'half' && { ratioMax: 2.5 }),
    ...(isCheap && bytes === 65536 && repeats === 'none' && { ratioMax: 1.6 }),
    ...(flight === 256 && { eventLoopDelayP99MsMax: 50 }),
    ...(flight === 256 && durability === 'fsync' && bytes === 1024 && { putsPerCommitMin: 64 }),
  }
}

function caseOf(one: PutCase): Case {
  const { bytes, repeats, flight, durability } = one
  const limits = limitsOf(one)
  return {
    name: `${bytes / 1024} KiB, ${repeats === 'half' ? 'half duplicates' : 'all new'}, ${flight} in flight, ${durability}`,
    ours: { run: (place) => measurePuts(one, place, (directory) => openOurs(directory, one)) },
    reference: {
      name: 'lmdb, batches of 100',
      run: (place) => measurePuts(one, place, (directory) => openReference(directory, one)),
    },
    ...(Object.keys(limits).length > 0 && { limits }),
  }
}

function* all(): Generator<PutCase> {
  for (const durability of ['os', 'fsync'] as const) {
    for (const bytes of [1024, 65536] as const) {
      for (const repeats of ['half', 'none'] as const) {
        for (const flight of [32, 256] as const) yield { bytes, repeats, flight, durability }
      }
    }
  }
}

export const bench: Bench = {
  name: 'put',
  question: 'What does a put cost, against plain lmdb without deduplication?',
  cases: [...all()].map(caseOf),
}
