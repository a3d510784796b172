/**
 * Kills a writing process with SIGKILL at random moments, again and again on one store, and checks after
 * every death: no acknowledged write lost, nothing half-written, verify clean, tallies exact.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { openStore, type Store } from '../../src/index.ts'
import { withBackendAt } from '../../src/backends/index.ts'
import { seededRandom } from '../../src/backends/simulated/backend.ts'
import { heldBases } from '../../src/store/contents/delta-rows.ts'
import { storeSpaces } from '../../src/store/rows.ts'

const WRITER = fileURLToPath(new URL('../children/crash-writer.mjs', import.meta.url))

export interface CrashReport {
  readonly rounds: number
  readonly acknowledged: number
  readonly underWay: number
  /** Deaths in the middle of a compaction that had not ended: its copy was left behind. */
  readonly cutCopies: number
  /** Deaths that left deltas of a base that was gone, to be written otherwise. */
  readonly cutRewrites: number
}

/** What a key may hold: the value's number, or nothing. More than one where an operation was under way. */
type Possible = Set<number | undefined>

export async function crashRounds(
  directory: string,
  {
    rounds: roundsMin,
    acknowledgedMin = 0,
    cutRewritesMin = 0,
    seed,
    dedup = 'exact',
    beside = 'nothing',
    location = join(directory, 'store'),
  }: {
    rounds: number
    /** More rounds, until so many writes were acknowledged: on a busy machine a writer dies before it has written much. */
    acknowledgedMin?: number
    /** The same for deaths in the middle of a rewriting. */
    cutRewritesMin?: number
    seed: number
    dedup?: 'exact' | 'near'
    /** What goes on while it is killed. */
    beside?: 'nothing' | 'collect' | 'compact' | 'rewrite'
    location?: string
  },
): Promise<CrashReport> {
  const random = seededRandom(seed)
  const possible = new Map<string, Possible>()
  let acknowledged = 0
  let underWay = 0
  let cutCopies = 0
  let cutRewrites = 0
  let round = 0
  const isEnough = () => acknowledged >= acknowledgedMin && cutRewrites >= cutRewritesMin
  for (; round < roundsMin || !isEnough(); round++) {
    const log = join(directory, `log-${round}.txt`)
    const durability = round % 2 === 0 ? 'os' : 'fsync'
    const args = [location, log, String(seed + round), durability, dedup, beside]
    const copy = join(location, 'prestige-compact')
    const isCut = beside === 'compact' && random() < 0.8
    await writeAndKill(WRITER, args, random() * 700, () => !isCut || existsSync(copy))
    if (existsSync(copy)) cutCopies++
    const told = replay(await readFile(log, 'utf8').catch(() => ''), possible)
    acknowledged += told.acknowledged
    underWay += told.underWay
    await rm(log, { force: true })
    if (beside === 'rewrite' && (await hasHeldBases(location))) cutRewrites++
    await check(location, possible)
  }
  return { rounds: round, acknowledged, underWay, cutCopies, cutRewrites }
}

const MOMENTS_MAX = 2000

/** Kills it after a while, as soon as `isMoment`; or then if that is never so. */
export async function writeAndKill(
  writer: string,
  args: readonly string[],
  ms: number,
  isMoment: () => boolean = () => true,
): Promise<void> {
  const child = spawn(process.execPath, [writer, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  await sleep(ms)
  for (let looks = 0; looks < MOMENTS_MAX && !isMoment(); looks++) await sleep(1)
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

function replay(text: string, possible: Map<string, Possible>) {
  const begun = new Map<string, { key: string; after: number | undefined }>()
  let acknowledged = 0
  for (const line of text.split('\n')) {
    const [kind, lane = '', key = '', op, number] = line.split('\t')
    if (kind === 'B' && op !== 'collect') {
      begun.set(lane, { key, after: op === 'delete' ? undefined : Number(number) })
    }
    if (kind !== 'A') continue
    const done = begun.get(lane)
    begun.delete(lane)
    if (!done) continue
    possible.set(done.key, new Set([done.after]))
    acknowledged++
  }
  for (const { key, after } of begun.values()) {
    possible.set(key, (possible.get(key) ?? new Set<number | undefined>([undefined])).add(after))
  }
  return { acknowledged, underWay: begun.size }
}

async function check(location: string, possible: Map<string, Possible>): Promise<void> {
  await using store = await openStore(location, { durability: 'os' })
  for (const [key, candidates] of possible) {
    const value = await store.get(key)
    const number = value && Number(/^value (\d+)/.exec(value.toString('latin1', 0, 12))?.[1])
    if (!candidates.has(number)) {
      throw new Error(`${key} holds ${number}, and can only hold ${[...candidates].join(' or ')}`)
    }
    possible.set(key, new Set([number]))
  }
  let keys = 0
  for await (const key of store.keys()) {
    keys++
    if (!possible.has(key.toString())) throw new Error(`${key} was never put`)
  }
  const stats = await store.stats()
  if (stats.keys !== keys) throw new Error(`stats say ${stats.keys} keys, and there are ${keys}`)
  const report = await store.verify()
  if (!report.isSound)
    throw new Error(`verify found ${JSON.stringify(report.problems.slice(0, 3))}`)
  if (store.settings.near) await checkNear(store, location)
}

/** Whether deltas are to be written otherwise, or a base without any is to be removed. */
function hasHeldBases(location: string): Promise<boolean> {
  return withBackendAt(location, storeSpaces, { readOnly: true }, async (backend) => {
    for await (const _row of backend.scan(heldBases, { limit: 1 })) return true
    return false
  })
}

/** What was linked when the writer died is linked still, or decided anew; nobody is linked to what is gone. */
async function checkNear(store: Store, location: string): Promise<void> {
  await store.collect()
  const { problems } = await store.verify()
  if (await hasHeldBases(location)) throw new Error('a base is held after a collection')
  if (problems.length > 0) throw new Error(`verify found ${JSON.stringify(problems[0])}`)
  const representatives = new Map<string, string>()
  for await (const key of store.keys()) {
    const { content, of, points } = (await store.explain(key)) ?? {}
    const isLinked = content === 'linked' && of !== undefined
    const isCopy = content === 'duplicate'
    if (isLinked || isCopy || !points) continue
    const text = await store.getText(key)
    const kind = /w(\d)\d{3} /.exec(text ?? '')?.[1] ?? 'none'
    const other = representatives.get(kind)
    if (other !== undefined && other !== points.content) throw new Error(`${kind} is twice new`)
    representatives.set(kind, points.content)
  }
}
