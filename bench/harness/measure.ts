/**
 * The clock of a run: CPU time of the whole process, wall time, latencies and event-loop delay around one
 * piece of work.
 *
 * CPU time is what is compared: on a shared machine wall time says more about the neighbours. It counts all
 * threads, so work that an engine or the garbage collector does elsewhere is not free. No collection is
 * forced beforehand: a forced one throws compiled code away, and costs the next 4000 puts 30 µs each.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'

import type { Place, Sample } from './bench.ts'

const LATENCIES_MAX = 10_000

/** Times some of the operations: looking at the clock twice costs a noticeable part of a get. */
export class Latencies {
  readonly #every: number
  readonly #ms: number[] = []

  constructor(ops: number) {
    this.#every = Math.max(1, Math.floor(ops / LATENCIES_MAX))
  }

  async time(at: number, work: () => Promise<unknown>): Promise<void> {
    if (at % this.#every !== 0) {
      await work()
      return
    }
    const started = performance.now()
    await work()
    this.#ms.push(performance.now() - started)
  }

  quantile(share: number): number | undefined {
    if (this.#ms.length === 0) return undefined
    const sorted = this.#ms.toSorted((a, b) => a - b)
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  }
}

export interface Measuring {
  readonly ops: number
  readonly bytes?: number | undefined
  readonly place: Place
  /**
   * Whether delays of the event loop are measured. That wakes the thread a thousand times a second, which is CPU of its
   * own where the thread would otherwise sleep while another one works.
   */
  readonly watchesLoop?: boolean
}

export async function measure(
  { ops, bytes, place, watchesLoop = true }: Measuring,
  work: (latencies: Latencies) => Promise<void>,
): Promise<Sample> {
  const latencies = new Latencies(ops)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const profiler = await startProfiler(place)
  if (watchesLoop) delay.enable()
  const wall = process.hrtime.bigint()
  const cpu = process.cpuUsage()
  await work(latencies)
  const { user, system } = process.cpuUsage(cpu)
  const wallMs = Number(process.hrtime.bigint() - wall) / 1e6
  delay.disable()
  await profiler?.()
  return {
    ops,
    bytes,
    cpuMicros: user + system,
    wallMs,
    p50Ms: latencies.quantile(0.5),
    p99Ms: latencies.quantile(0.99),
    // Nothing is subtracted: an idle loop shows the timer's own millisecond.
    eventLoopDelayP99Ms: delay.count > 0 ? delay.percentile(99) / 1e6 : undefined,
    rssBytes: process.memoryUsage.rss(),
  }
}

async function startProfiler({ profile }: Place): Promise<(() => Promise<void>) | undefined> {
  if (profile === undefined) return undefined
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
  return async () => {
    const { profile: found } = await session.post('Profiler.stop')
    writeFileSync(profile, JSON.stringify(found))
    session.disconnect()
  }
}

/** Performs operations 0 to `ops`, always so many at a time. */
export async function inFlight(
  count: number,
  ops: number,
  perform: (at: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < ops) await perform(next++)
  }
  await Promise.all(Array.from({ length: count }, worker))
}

/** What the directory takes on the disk: blocks, because the files have holes. */
export async function diskBytes(directory: string): Promise<number> {
  let bytes = 0
  for (const name of await readdir(directory)) {
    bytes += (await stat(join(directory, name))).blocks * 512
  }
  return bytes
}

/** Lets timers fire between pieces of synchronous work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Memory of the process that is in no file: pages of LMDB's map are in memory as long as nobody else needs it. */
export function anonymousBytes(): number {
  const found = /^Anonymous: +(\d+) kB$/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))
  return Number(found?.[1]) * 1024
}
