/**
 * What a benchmark is: one question, asked as cases, each of which times two sides that do the same work.
 *
 * A side runs in a process of its own (child.ts), in a directory of its own, so neither side ever meets the
 * other's compiled code, garbage or page cache. Deliberately not here: how often, in which order, and how
 * the answers are put together (rounds.ts).
 */

/** Where a side works. */
export interface Place {
  /** Empty, or the side's fixture. Nothing in it has to be kept. */
  readonly directory: string
  /** 1 is the full size; every count is multiplied by it. */
  readonly scale: number
  /** Where a CPU profile of the measured part goes, when one is wanted. */
  readonly profile: string | undefined
}

/** What one run of one side measured. */
export interface Sample {
  readonly ops: number
  /** User and system time of all threads of the process, the engine's and V8's included. */
  readonly cpuMicros: number
  readonly wallMs: number
  /** The bytes of all values, where megabytes say more than operations. */
  readonly bytes?: number | undefined
  readonly p50Ms?: number | undefined
  readonly p99Ms?: number | undefined
  readonly eventLoopDelayP99Ms?: number | undefined
  readonly diskBytes?: number | undefined
  readonly rssBytes?: number | undefined
  readonly commits?: number | undefined
  /** Requests to a server. */
  readonly requests?: number | undefined
  /** What the index of a resolver holds, and what its tables in memory take. */
  readonly representatives?: number | undefined
  readonly tableBytes?: number | undefined
  /** Of `cpuMicros`, what a server took. */
  readonly serverCpuMicros?: number | undefined
  /** Memory that a server took for all of it. */
  readonly serverBytes?: number | undefined
  /** Commits that had to be tried again because of others. */
  readonly conflicts?: number | undefined
}

/** A store that is made once for a benchmark and used by many runs. */
export interface Fixture {
  readonly name: string
  build(place: Place): Promise<void>
}

export interface Side {
  readonly fixture?: Fixture
  run(place: Place): Promise<Sample>
}

/** Targets. What is missed is told, and never hidden. */
export interface Limits {
  /** Ours divided by the reference, by CPU per operation. */
  readonly ratioMax?: number
  readonly cpuMicrosMax?: number
  /** The whole run, by the clock. */
  readonly wallMsMax?: number
  readonly wallRatioMax?: number
  readonly p50MsMax?: number
  readonly eventLoopDelayP99MsMax?: number
  readonly putsPerCommitMin?: number
  readonly conflictsPerOpMax?: number
  readonly requestsPerOpMax?: number
}

export interface Case {
  readonly name: string
  readonly ours: Side
  readonly reference: Side & { readonly name: string }
  /** The case writes to its fixture, so every run gets a copy. */
  readonly changesFixture?: boolean
  readonly limits?: Limits
  /** Repeats of a case whose runs are short and many. */
  readonly runsMin?: number
}

export interface Bench {
  readonly name: string
  readonly question: string
  /** Why it cannot be asked here and now. */
  skip?(): string | undefined
  readonly cases: readonly Case[]
}

/** In the order in which `all` runs them. */
export const benchNames = [
  'put',
  'get',
  'put-many',
  'get-many',
  'delete',
  'delete-many',
  'background-gc',
  'import',
  'stats',
  'start',
  'observability',
  'canonical',
  'resolver',
  'near-store',
  'semantic-store',
  'ledger',
  'redis',
  'dynamodb',
  'workers',
] as const

/** Every bench file exports its `bench`, and is named like it. */
export async function loadBench(name: string): Promise<Bench> {
  const { bench } = (await import(`../${name}.ts`)) as { bench: Bench } // safe: names come from the list
  return bench
}
