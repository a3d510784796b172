/**
 * One schedule: some workers on a simulated engine resolve, look up, forget and collect the same few texts that
 * are near duplicates of one another, interleaved at every read and commit by a seed, with conflicts, failures,
 * lost replies and crashes. All rows are audited after every commit.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'

import { PrestigeError } from '../../src/platform/errors.ts'
import { openResolver, type ResolverOptions } from '../../src/index.ts'
import { NO_FAULTS, SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { leftovers, textNear } from '../../src/resolve/rows.ts'
import type { Resolver } from '../../src/resolve/resolver.ts'
import { Audit } from '../resolver/audit.ts'
import { countsIn, latin1, type RowsOf, rowsInWorld } from '../resolver/tables.ts'

const WORKERS = ['w0', 'w1', 'w2']
const OPERATIONS = 8
const GROUPS = ['one', 'two']
const WORDS = 'amber birch cedar delta ember flint grove heron inlet joust kayak lemon'.split(' ')

/** One word changed each: all alike. */
const VARIANTS = [0, 3, 6, 9, 11].map((at) => WORDS.with(at, 'zebra').join(' '))
/** Windows that slide over a row of words: neighbours are alike, those further apart are not. */
const WINDOWS = [0, 1, 2, 3, 5].map((at) => WORDS.slice(at, at + 7).join(' '))
const TEXTS = [...VARIANTS, ...WINDOWS, `${WORDS.join('  ').toUpperCase()} `]
const LONG = Array.from({ length: 400 }, (_, at) => `long${at}`).join(' ')

interface Regime {
  readonly name: string
  readonly options: ResolverOptions
  /** What bands miss may be there; without it, nothing is missed. */
  readonly misses: boolean
  readonly ttl: boolean
}

// Clusters are checked by similarities alone.
const COMMON = { threshold: 0.6, profile: 'chars-3', slots: 64, cacheMs: 0, guards: false } as const
const REGIMES: readonly Regime[] = [
  { name: 'all bands', options: { ...COMMON, bands: 48, rows: 1 }, misses: false, ttl: false },
  { name: 'few bands', options: { ...COMMON, bands: 3, rows: 3 }, misses: true, ttl: false },
  {
    name: 'small buckets',
    options: { ...COMMON, bands: 24, rows: 1, bucketMax: 2 },
    misses: true,
    ttl: false,
  },
  {
    name: 'expiry',
    options: { ...COMMON, bands: 3, rows: 3, ttlMs: 500, renewMs: 50 },
    misses: true,
    ttl: true,
  },
]

export interface ResolverScheduleReport {
  readonly steps: number
  readonly crashes: number
  readonly merged: number
  readonly trace: string
}

type Run = Awaited<ReturnType<typeof begin>>

export async function runResolverSchedule(seed: number): Promise<ResolverScheduleReport> {
  const run = await begin(seed)
  const work = WORKERS.map((worker) => runWorker(run, worker))
  await Promise.race([Promise.all([...work, crashes(run)]), stalled(run)])
  if (run.broken) throw run.broken
  const merged = await finish(run)
  const { world, crashed, trace } = run
  return { steps: world.steps, crashes: crashed.size, merged, trace: trace.join('\n') }
}

async function begin(seed: number) {
  const world = new SimulatedWorld(seed)
  const regime = pick(world, REGIMES)
  const resolvers = new Map<string, Resolver>()
  for (const worker of WORKERS) {
    resolvers.set(worker, await openResolver(world.open(worker), regime.options))
  }
  const run = {
    world,
    regime,
    resolvers,
    texts: poolOf(world),
    merged: 0,
    crashed: new Set<string>(),
    finished: new Set<string>(),
    trace: [regime.name],
    broken: undefined as Error | undefined,
  }
  const rate = () => (world.random() < 0.5 ? 0 : world.random() * 0.15)
  world.faults = { conflict: rate(), lostReply: rate(), failure: rate() }
  world.onChange = () => check(run)
  return run
}

/** Few texts meet often; now and then long ones, whose evidence has parts. */
function poolOf(world: SimulatedWorld): readonly string[] {
  const dice = world.random()
  if (dice < 0.2) return [...TEXTS, LONG, `${LONG} more`]
  return dice < 0.5 ? TEXTS : VARIANTS.slice(0, 3)
}

function check(run: { -readonly [Name in keyof Run]: Run[Name] }): void {
  const rowsOf = rowsInWorld(run.world)
  const { settings } = run.resolvers.get('w0')!
  const { misses, ttl } = run.regime
  const audit = new Audit(rowsOf, {
    settings,
    groups: GROUPS,
    now: run.world.time,
    inputs: run.texts,
    // Clocks of workers differ by how long they wait, so one may renew what another takes for expired.
    mayMiss: (shelf, first, second) =>
      ttl || (misses && !shareBucket(rowsOf, shelf, first, second)),
  })
  const merged = [...audit.standing.values()].filter(({ payload }) => payload.mergedInto)
  run.merged = Math.max(run.merged, merged.length)
  if (audit.problems.length > 0) run.broken ??= new Error(audit.problems.join('; '))
}

function shareBucket(rowsOf: RowsOf, shelf: string, first: string, second: string): boolean {
  for (const [name, { ids }] of rowsOf(textNear.buckets)) {
    if (!name.startsWith(shelf)) continue
    const all = new Set<string>()
    for (let at = 0; at < ids.byteLength; at += 16) all.add(latin1(ids.subarray(at, at + 16)))
    if (all.has(first) && all.has(second)) return true
  }
  return false
}

function pick<T>(world: SimulatedWorld, choices: readonly T[]): T {
  return choices[Math.floor(world.random() * choices.length)]!
}

async function runWorker(run: Run, worker: string): Promise<void> {
  const resolver = run.resolvers.get(worker)!
  for (let count = 0; count < OPERATIONS; count++) {
    await run.world.pause(worker)
    const end = await attempt(run, resolver)
    run.trace.push(`${run.world.steps} ${worker} ${end}`)
    if (run.world.random() < 0.2) run.world.time += Math.floor(run.world.random() * 400)
  }
  run.finished.add(worker)
}

async function attempt(run: Run, resolver: Resolver): Promise<string> {
  const { world } = run
  const dice = world.random()
  const group = world.random() < 0.85 ? 'one' : 'two'
  const text = pick(world, run.texts)
  const shown = `${group} ${text.slice(0, 24)}`
  try {
    if (dice < 0.55) return `resolve ${shown} ${(await resolver.resolve(group, text)).status}`
    if (dice < 0.6) return `lookup ${shown} ${(await resolver.lookup(group, text))?.status}`
    if (dice < 0.94) return `forget ${shown} ${await resolver.delete(group, text)}`
    return `collect ${(await resolver.collect()).clusters}`
  } catch (error) {
    // The network may fail for good; anything else is a fault of ours.
    if (error instanceof PrestigeError && error.code === 'BACKEND_UNAVAILABLE') return 'unavailable'
    run.broken ??= error as Error
    return `broke: ${String(error)}`
  }
}

/** Some schedules lose a worker at a random moment, whatever it was doing. */
async function crashes(run: Run): Promise<void> {
  if (run.world.random() < 0.5) return
  const at = run.world.steps + Math.floor(run.world.random() * 1500)
  while (run.world.steps < at && run.finished.size < WORKERS.length) await nextTurn()
  const worker = pick(run.world, WORKERS)
  if (run.finished.has(worker)) return
  run.world.crash(worker)
  run.crashed.add(worker)
}

/** Ends the wait when everybody has finished or crashed: a crashed worker's promises never settle. */
async function stalled(run: Run): Promise<void> {
  const isGone = (worker: string) => run.finished.has(worker) || run.crashed.has(worker)
  while (!WORKERS.every(isGone) && !run.broken) await nextTurn()
}

/** Without faults, everything can be forgotten, and nothing is left of it. */
async function finish(run: Run): Promise<number> {
  const { world } = run
  world.faults = NO_FAULTS
  const resolver = await openResolver(world.open('last'), run.regime.options)
  await resolver.collect()
  if (run.broken) throw run.broken
  const rowsOf = rowsInWorld(world)
  if (rowsOf(leftovers).size > 0) throw new Error('leftovers were not collected')
  for (const group of GROUPS) {
    for (const text of run.texts) {
      await resolver.delete(group, text)
      if (await resolver.delete(group, text)) throw new Error('what was forgotten is there again')
    }
  }
  world.time += 1000
  await resolver.collect()
  if (run.broken) throw run.broken
  checkNothingLeft(rowsInWorld(world))
  return run.merged
}

/** Names of groups, settings, tallies of 0 and full buckets stay. */
function checkNothingLeft(rowsOf: RowsOf): void {
  const counts = countsIn(rowsOf)
  const stays = new Set(['resolve.groups', 'resolve.settings', 'resolve.tallies'])
  const isFull = [...rowsOf(textNear.buckets).values()].every((bucket) => bucket.isFull)
  if (isFull) stays.add(textNear.buckets.name)
  const left = Object.keys(counts).filter((name) => !stays.has(name))
  if (left.length > 0) throw new Error(`left behind: ${left.map((n) => `${n} ${counts[n]}`)}`)
}
