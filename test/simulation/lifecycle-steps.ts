/** What the workers of a lifecycle schedule do: one random operation at a time, whose answers are judged. */

import { PrestigeError } from '../../src/platform/errors.ts'
import type { Store } from '../../src/store/store.ts'
import type { Schedule } from './lifecycle-schedule.ts'
import { CHUNKED_VALUES, pick } from './schedule.ts'

export const KEYS = ['k0', 'k1', 'k2', 'k3']
/** Two keys that are only ever put by one transaction, with one value, and that are pinned. */
export const PAIR = ['p', 'q'] as const
const VALUES = [...CHUNKED_VALUES, 'b', '']
const PIECE_BYTES = 500
const CUT = new Error('the source of this stream has failed')
/** Mostly a little; longer than the lease of a collector; longer than that of a staged value. */
const TIMES_MS = { little: 80, collectors: 31_000, staged: 2 * 60 * 60 * 1000 }

type Step = (run: Schedule, store: Store, worker: string) => Promise<unknown>

/** With their shares. */
const STEPS: readonly (readonly [number, Step])[] = [
  [22, put],
  [8, putStream],
  [8, putBoth],
  [14, look],
  [8, remove],
  [8, (run, store) => store.pin(pick(run.world, KEYS))],
  [5, (run, store) => store.unpin(pick(run.world, KEYS))],
  [4, (run, store) => store.touch(pick(run.world, KEYS))],
  [4, (run, store) => store.expire(pick(run.world, KEYS), 1 + below(run, 200))],
  [7, evict],
  [7, prune],
  [5, (_run, store) => store.collect()],
  [9, (run, store) => run.backups?.take(store) ?? Promise.resolve()],
  [4, (run, store) => (run.canCompact ? store.compact() : Promise.resolve())],
]
const SHARES = STEPS.reduce((sum, [share]) => sum + share, 0)

/** Returns what is traced. */
export async function takeStep(run: Schedule, store: Store, worker: string): Promise<string> {
  let dice = run.world.random() * SHARES
  const at = STEPS.findIndex(([share]) => (dice -= share) < 0)
  let end = `step ${at}`
  try {
    await STEPS[at]?.[1](run, store, worker)
  } catch (error) {
    if (!isExpected(error)) run.broken ??= error as Error
    end += ` ${String(error)}`
  }
  passTime(run)
  return end
}

/** A network that fails, a stream that was cut, and a backup and a compaction that exclude each other. */
function isExpected(error: unknown): boolean {
  if (error === CUT) return true
  if (!(error instanceof PrestigeError)) return false
  return error.code === 'BACKEND_UNAVAILABLE' || error.code === 'CONTENDED'
}

function below(run: Schedule, limit: number): number {
  return Math.floor(run.world.random() * limit)
}

function passTime(run: Schedule): void {
  const dice = run.world.random()
  const { little, collectors, staged } = TIMES_MS
  run.world.time += dice < 0.02 ? staged : dice < 0.05 ? collectors : below(run, little)
}

async function put(run: Schedule, store: Store): Promise<void> {
  const value = pick(run.world, VALUES)
  const ttlMs = run.world.random() < 0.4 ? 1 + below(run, 300) : undefined
  const sliding = ttlMs !== undefined && run.world.random() < 0.5
  const key = pick(run.world, KEYS)
  const happening = began(run, key, 'put', value)
  await store.put(key, value, { ttlMs, sliding })
  happening.end = run.world.steps
}

/** Others go on between its pieces. Some sources fail. */
async function putStream(run: Schedule, store: Store, worker: string): Promise<void> {
  const value = pick(run.world, CHUNKED_VALUES)
  const key = pick(run.world, KEYS)
  const isCut = run.world.random() < 0.2
  const pieces = async function* () {
    const bytes = Buffer.from(value)
    for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
      await run.world.pause(worker)
      yield bytes.subarray(at, at + PIECE_BYTES)
    }
    if (isCut) throw CUT
  }
  const happening = isCut ? undefined : began(run, key, 'put', value)
  await store.put(key, pieces())
  if (happening) happening.end = run.world.steps
}

async function putBoth(run: Schedule, store: Store): Promise<void> {
  const value = `${pick(run.world, VALUES)} of both`
  const [p, q] = PAIR
  await store.transaction([
    { put: p, value },
    { put: q, value },
  ])
}

async function remove(run: Schedule, store: Store): Promise<void> {
  const key = pick(run.world, KEYS)
  const happening = began(run, key, 'delete')
  run.deleting.set(key, (run.deleting.get(key) ?? 0) + 1)
  await store.delete(key)
  const left = (run.deleting.get(key) ?? 1) - 1
  if (left > 0) run.deleting.set(key, left)
  else run.deleting.delete(key)
  happening.end = run.world.steps
}

function began(run: Schedule, key: string, kind: 'put' | 'delete', value?: string) {
  const expiresEarliest = kind === 'put' ? 0 : Infinity
  const at = { start: run.world.steps, expiresEarliest, expiresLatest: Infinity }
  return run.history.begin({ key, kind, ...(value !== undefined && { value }), ...at })
}

async function evict(run: Schedule, store: Store): Promise<void> {
  run.gone += (await store.evict({ toKeys: pick(run.world, [0, 1, 2]) })).keys
}

async function prune(run: Schedule, store: Store): Promise<void> {
  const ms = below(run, 100)
  const how = pick(run.world, [{ idleForMs: ms }, { olderThanMs: ms }])
  run.gone += (await store.prune(how)).keys
}

/** A key may have gone at any time, so nothing has to be there; what is there must be what was put last. */
async function look(run: Schedule, store: Store): Promise<void> {
  const key = pick(run.world, KEYS)
  const start = run.world.steps
  const timeAtStart = run.world.time
  const value = await store.getText(key)
  if (value === undefined) return
  const span = { start, end: run.world.steps, timeAtStart, timeAtEnd: run.world.time }
  run.history.judge({ key, value, ...span })
  // Nothing goes, but what was read is recorded before.
  if (run.world.random() < 0.7) await store.evict({ toKeys: KEYS.length + PAIR.length })
}
