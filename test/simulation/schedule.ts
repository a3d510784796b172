/**
 * One schedule: some workers on a simulated engine put, overwrite, delete, read, expire and collect the
 * same few keys and values, interleaved at every read and commit by a seed, with conflicts, failures, lost
 * replies and crashes. Invariants are checked after every commit, and every answer is judged.
 */

import { createHash } from 'node:crypto'

import { setImmediate as nextTurn } from 'node:timers/promises'

import { canonicalProfile } from '../../src/canonical/index.ts'
import { PrestigeError } from '../../src/platform/errors.ts'
import { openStore } from '../../src/store/open.ts'
import { NO_FAULTS, SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { Layout } from '../../src/store/contents/layout.ts'
import { digests, Known } from '../../src/store/rows.ts'
import { findSettings, replaceSettings } from '../../src/store/settings.ts'
import type { Store } from '../../src/store/store.ts'
import { History } from './history.ts'
import { checkInvariants, checkNothingLeft } from './invariants.ts'
import { isNear, NEAR_VALUES, nearOptions, NearInvariants } from './near-invariants.ts'

const KEYS = ['k0', 'k1', 'k2']
/** Cut into some chunks, of which the two have most in common. */
const LONG = Array.from({ length: 160 }, (_, at) => `long ${(at * at) % 997}`).join(' ')
const LONGER = `${LONG} and an end of its own`
/** The same and not the same after canonicalisation, empty, Unicode, and longer than a row. */
const VALUES = ['a', 'A', ' a ', 'b', '', 'नमस्ते 你好', LONG, LONG.toUpperCase(), LONGER]
/** Long ones that share chunks in every way. */
export const CHUNKED_VALUES = [
  LONG,
  LONGER,
  LONG.slice(300),
  `${LONG.slice(0, 700)} ${LONG.slice(900)}`,
  'a',
]
/** As small as chunks can be, and as they were before there were chunks. */
export const CHUNKS = { fromBytes: 64, averageBytes: 256 }
const PART_BYTES = 1024
export const WORKERS = ['w0', 'w1', 'w2']
const OPERATIONS = 5

export interface ScheduleReport {
  readonly steps: number
  readonly crashes: number
  readonly trace: string
}

/** Who is still at work. */
interface Workers {
  readonly world: SimulatedWorld
  readonly crashed: Set<string>
  readonly finished: Set<string>
  readonly broken: Error | undefined
}

type Run = Awaited<ReturnType<typeof begin>>

type Kind = 'exact' | 'near' | 'chunks'

/** `near`: on a store that links near duplicates. `chunks`: long values alone, collected often. */
export async function runSchedule(seed: number, kind: Kind = 'exact'): Promise<ScheduleReport> {
  const run = await begin(seed, kind)
  const work = WORKERS.map((worker) => runWorker(run, worker))
  await Promise.race([Promise.all([...work, crashes(run)]), stalled(run)])
  if (run.broken) throw run.broken
  await finish(run)
  return { steps: run.world.steps, crashes: run.crashed.size, trace: run.trace.join('\n') }
}

function optionsOf(world: SimulatedWorld, kind: Kind) {
  if (kind === 'near') return nearOptions(world)
  const profiles =
    kind === 'chunks' ? (['none'] as const) : (['none', 'ascii-case', 'unicode'] as const)
  const canonical = pick<'none' | 'ascii-case' | 'unicode'>(world, profiles)
  const fidelities = canonical === 'none' ? ['own'] : ['own', 'own', 'representative']
  const fidelity = pick(world, fidelities as ('own' | 'representative')[])
  const gc = pick(world, ['immediate', 'manual'] as const)
  return { canonical, fidelity, gc }
}

async function begin(seed: number, kind: Kind) {
  const world = new SimulatedWorld(seed)
  const options = optionsOf(world, kind)
  const { canonical, fidelity } = options
  const sharesNear = kind === 'near' && fidelity === 'representative'
  const isChunked = world.random() < 0.75 || kind === 'chunks'
  const recorded = { changes: seed % 2 === 0 }
  // Near texts are in one row, so that they may be deltas, but for one.
  const chunks = kind === 'near' ? { ...CHUNKS, fromBytes: 512 } : CHUNKS
  const first = await openStore(world.open('first'), { ...options, ...recorded, chunks })
  if (!isChunked) await withoutChunks(world)
  await first.close()
  const deltas = kind === 'near' && !sharesNear
  const layout = new Layout(isChunked ? { chunks, deltas } : { partBytes: PART_BYTES })
  const near = kind === 'near' ? new NearInvariants(sharesNear, layout) : undefined
  const stores = new Map<string, Store>()
  for (const worker of WORKERS) stores.set(worker, await openStore(world.open(worker), options))
  const profile = canonicalProfile(canonical)
  const how = {
    layout,
    canonicalise(bytes: Uint8Array) {
      const form = profile.canonicalise(bytes)
      if (form.length > 0 || !profile.keepsBlanksApart) return form
      // What shows nothing is the same only if its bytes are.
      return Buffer.concat([Buffer.of(0xff), createHash('sha256').update(bytes).digest()])
    },
    sharesForms: fidelity === 'representative' && canonical !== 'none',
  }
  const run = {
    world,
    options,
    how,
    stores,
    near,
    values: { near: NEAR_VALUES, exact: VALUES, chunks: CHUNKED_VALUES }[kind],
    collectsFrom: kind === 'chunks' ? 0.7 : 0.9,
    history: sharesNear ? new History(isNear) : new History(),
    /** Contents that a receipt called new (or linked), and all that ever were. */
    firsts: new Set<string>(),
    stored: new Set<string>(),
    /** Some client was never told what became of its put. */
    unclaimed: false,
    crashed: new Set<string>(),
    finished: new Set<string>(),
    trace: [] as string[],
    broken: undefined as Error | undefined,
  }
  const rate = () => (world.random() < 0.5 ? 0 : world.random() * 0.15)
  world.faults = { conflict: rate(), lostReply: rate(), failure: rate() }
  world.onChange = () => {
    try {
      checkInvariants(world, how)
      near?.check(world)
      for (const { bytes } of world.rows(digests))
        run.stored.add(new Known(bytes).id.toString('hex'))
    } catch (error) {
      run.broken ??= error as Error
    }
  }
  return run
}

/** Of format 2: long values are in parts. */
async function withoutChunks(world: SimulatedWorld): Promise<void> {
  const backend = world.open('settings')
  const found = await backend.read(findSettings)
  if (!found) throw new Error('there is no store')
  const { chunks: _chunks, deltas: _deltas, ...others } = found
  await backend.run(replaceSettings, found, { ...others, format: 2, partBytes: PART_BYTES })
}

export function pick<T>(world: SimulatedWorld, choices: readonly T[]): T {
  return choices[Math.floor(world.random() * choices.length)]!
}

async function runWorker(run: Run, worker: string): Promise<void> {
  const store = run.stores.get(worker)!
  for (let count = 0; count < OPERATIONS; count++) {
    await run.world.pause(worker)
    const end = await attempt(run, worker, store)
    run.trace.push(`${run.world.steps} ${worker} ${end}`)
    passTime(run.world)
  }
  run.finished.add(worker)
}

/** Mostly a little; now and then longer than the lease of a put that writes parts. */
function passTime(world: SimulatedWorld): void {
  const dice = world.random()
  if (dice < 0.2) world.time += Math.floor(world.random() * 1000)
  else if (dice < 0.24) world.time += 2 * 60 * 60 * 1000
}

async function attempt(run: Run, worker: string, store: Store): Promise<string> {
  const dice = run.world.random()
  const key = pick(run.world, KEYS)
  try {
    if (dice < 0.45) return await put(run, store, key)
    if (dice < 0.65) return await remove(run, store, key)
    if (dice < run.collectsFrom) return await look(run, store, key)
    return `collect ${JSON.stringify(await store.collect())}`
  } catch (error) {
    // The network may fail for good; anything else is a fault of ours.
    if (error instanceof PrestigeError && error.code === 'BACKEND_UNAVAILABLE') {
      run.unclaimed = true
      return 'unavailable'
    }
    run.broken ??= error as Error
    return `${worker} broke: ${String(error)}`
  }
}

async function put(run: Run, store: Store, key: string): Promise<string> {
  const value = pick(run.world, run.values)
  const ttlMs = run.world.random() < 0.3 ? 1 + Math.floor(run.world.random() * 800) : undefined
  const expiresEarliest = ttlMs === undefined ? Infinity : run.world.time + ttlMs
  const shown = run.how.sharesForms ? formOf(run, value) : value
  const happening = run.history.begin({
    key,
    kind: 'put',
    value: shown,
    start: run.world.steps,
    expiresEarliest,
    expiresLatest: Infinity,
  })
  const receipt = await store.put(key, value, ttlMs === undefined ? {} : { ttlMs })
  happening.end = run.world.steps
  happening.expiresEarliest = happening.expiresLatest = receipt.expiresAt ?? Infinity
  if (receipt.content !== 'duplicate') {
    if (run.firsts.has(receipt.contentId))
      throw new Error('two puts claim to have stored one content')
    run.firsts.add(receipt.contentId)
  }
  return `put ${key} ${JSON.stringify(value).slice(0, 12)} ${receipt.key} ${receipt.content}`
}

async function remove(run: Run, store: Store, key: string): Promise<string> {
  const at = { start: run.world.steps, expiresEarliest: Infinity, expiresLatest: Infinity }
  const happening = run.history.begin({ key, kind: 'delete', ...at })
  const existed = await store.delete(key)
  happening.end = run.world.steps
  return `delete ${key} ${existed}`
}

async function look(run: Run, store: Store, key: string): Promise<string> {
  const start = run.world.steps
  const timeAtStart = run.world.time
  const found = await store.getText(key)
  const value = found !== undefined && run.how.sharesForms ? formOf(run, found) : found
  const span = { start, end: run.world.steps, timeAtStart, timeAtEnd: run.world.time }
  run.history.judge({ key, value, ...span })
  return `get ${key} ${JSON.stringify(found)?.slice(0, 12)}`
}

/** Where forms are shared, the first bytes win: answers are compared by form. */
function formOf(run: Run, value: string): string {
  return Buffer.from(run.how.canonicalise(Buffer.from(value))).toString()
}

/** Some schedules lose a worker at a random moment, whatever it was doing. */
export async function crashes(run: Workers, stepsMax = 120): Promise<void> {
  if (run.world.random() < 0.5) return
  const at = run.world.steps + Math.floor(run.world.random() * stepsMax)
  while (run.world.steps < at && run.finished.size < WORKERS.length) await nextTurn()
  const worker = pick(run.world, WORKERS)
  if (run.finished.has(worker)) return
  run.world.crash(worker)
  run.crashed.add(worker)
}

/** Ends the wait when everybody has finished or crashed: a crashed worker's promises never settle. */
export async function stalled(run: Workers): Promise<void> {
  const isGone = (worker: string) => run.finished.has(worker) || run.crashed.has(worker)
  while (!WORKERS.every(isGone) && !run.broken) await nextTurn()
}

/** Without faults, collectors must leave nothing unneeded, and what is there must be readable. */
async function finish(run: Run): Promise<void> {
  run.world.faults = NO_FAULTS
  const store = await openStore(run.world.open('last'), run.options)
  run.world.time += 2 * 60 * 60 * 1000
  await store.collect()
  await store.collect()
  if (run.broken) throw run.broken
  checkNothingLeft(run.world)
  if (run.near) await run.near.checkEnd(run.world, store)
  if (!run.unclaimed && run.crashed.size === 0 && run.stored.size !== run.firsts.size) {
    throw new Error('a content was stored that no receipt called new')
  }
  for (const key of KEYS) await look(run, store, key)
  if (run.broken) throw run.broken
}
