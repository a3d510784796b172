/**
 * A store that is written to at full speed for long, with a bounded set of live values and background collection: the
 * size of its file, its memory and its latencies must level off.
 */

import { setTimeout as sleep } from 'node:timers/promises'

import { seededRandom } from '../../src/backends/simulated/backend.ts'
import { openStore, type Store } from '../../src/index.ts'

const LIVE_BYTES = 50 * 1024 * 1024
const VALUE_BYTES = 10 * 1024
const KEYS = LIVE_BYTES / VALUE_BYTES
const LANES = 16
const SAMPLES = 40

export interface SoakSample {
  readonly seconds: number
  readonly fileBytes: number
  readonly garbageBytes: number
  readonly rssBytes: number
  readonly p99Ms: number
}

export interface BoundedSoak {
  readonly operations: number
  readonly samples: readonly SoakSample[]
  /** The largest file of the second half, divided by that of the second quarter. */
  readonly fileGrowth: number
  readonly rssGrowth: number
  readonly p99Growth: number
}

export async function boundedSoak(
  directory: string,
  seed: number,
  seconds: number,
): Promise<BoundedSoak> {
  await using store = await openStore(directory, {
    durability: 'os',
    gc: 'background',
    gcGraceMs: 1000,
  })
  const work = new Work(store, seed)
  const samples: SoakSample[] = []
  const started = performance.now()
  const lanes = Promise.all(Array.from({ length: LANES }, () => work.run()))
  for (let at = 1; at <= SAMPLES; at++) {
    while (performance.now() - started < (at * seconds * 1000) / SAMPLES) {
      await sleep(20)
    }
    const { fileBytes = 0, garbageBytes } = await store.stats()
    const p99Ms = work.takeP99()
    const rssBytes = process.memoryUsage.rss()
    samples.push({ seconds: (at * seconds) / SAMPLES, fileBytes, garbageBytes, rssBytes, p99Ms })
  }
  work.isOver = true
  await lanes
  const { problems } = await store.verify()
  if (problems.length > 0) throw new Error(JSON.stringify(problems[0]))
  return { operations: work.operations, samples, ...growthOf(samples) }
}

class Work {
  isOver = false
  operations = 0
  readonly #store: Store
  readonly #random: () => number
  #latencies: number[] = []

  constructor(store: Store, seed: number) {
    this.#store = store
    this.#random = seededRandom(seed)
  }

  async run(): Promise<void> {
    while (!this.isOver) {
      const started = performance.now()
      await this.#change()
      this.#latencies.push(performance.now() - started)
      this.operations++
    }
  }

  async #change(): Promise<void> {
    const key = `key ${Math.floor(this.#random() * KEYS)}`
    const dice = this.#random()
    if (dice < 0.2) await this.#store.get(key)
    else if (dice < 0.3) await this.#store.delete(key)
    else {
      const bytes = Math.floor(this.#random() * 2 * VALUE_BYTES)
      await this.#store.put(key, this.#incompressible(bytes))
    }
  }

  /** What is stored takes the bytes that the bound is about. */
  #incompressible(bytes: number): Buffer {
    const words = Uint32Array.from({ length: Math.ceil(bytes / 4) }, () => this.#random() * 2 ** 32)
    return Buffer.from(words.buffer, 0, bytes)
  }

  takeP99(): number {
    const sorted = this.#latencies.toSorted((one, other) => one - other)
    this.#latencies = []
    return sorted[Math.floor(sorted.length * 0.99)] ?? 0
  }
}

function growthOf(samples: readonly SoakSample[]) {
  const most = (from: number, to: number, of: (sample: SoakSample) => number) =>
    Math.max(...samples.slice(samples.length * from, samples.length * to).map(of))
  const growth = (of: (sample: SoakSample) => number) => most(0.5, 1, of) / most(0.25, 0.5, of)
  return {
    fileGrowth: growth(({ fileBytes }) => fileBytes),
    rssGrowth: growth(({ rssBytes }) => rssBytes),
    p99Growth: growth(({ p99Ms }) => p99Ms),
  }
}

const WIDTH = 720
const PANEL_HEIGHT = 160

/** Three panels, one below the other. */
export function soakPlot({ samples }: BoundedSoak): string {
  const panels = [
    panel('File, MB', samples, ({ fileBytes }) => fileBytes / 1e6, 0),
    panel('Resident memory, MB', samples, ({ rssBytes }) => rssBytes / 1e6, 1),
    panel('p99 of an operation, ms', samples, ({ p99Ms }) => p99Ms, 2),
  ]
  const height = panels.length * PANEL_HEIGHT
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">\n${panels.join('\n')}\n</svg>\n`
}

function panel(
  title: string,
  samples: readonly SoakSample[],
  of: (sample: SoakSample) => number,
  at: number,
): string {
  const top = at * PANEL_HEIGHT + 24
  const bottom = (at + 1) * PANEL_HEIGHT - 24
  const most = Math.max(...samples.map(of)) * 1.1
  const last = samples.at(-1)?.seconds ?? 1
  const points = samples.map((sample) => {
    const x = 60 + (sample.seconds / last) * (WIDTH - 80)
    return `${x.toFixed(1)},${(bottom - (of(sample) / most) * (bottom - top)).toFixed(1)}`
  })
  return [
    `<text x="60" y="${top - 8}">${title} (at most ${(most / 1.1).toFixed(1)}), over ${last} s</text>`,
    `<line x1="60" y1="${bottom}" x2="${WIDTH - 20}" y2="${bottom}" stroke="#888"/>`,
    `<polyline fill="none" stroke="#06c" stroke-width="2" points="${points.join(' ')}"/>`,
  ].join('\n')
}
