/**
 * A race: several processes put and resolve overlapping data through one shared engine, get some of it twice, and die
 * at a share of their steps. What a dead one had not acknowledged is delivered again, as a queue would.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { type Delivery, workOf, type WorkOptions } from './work.ts'
import { auditRace, type RaceAudit } from './audit.ts'

const WORKER = fileURLToPath(new URL('../children/race-worker.mjs', import.meta.url))

export interface RaceOptions extends WorkOptions {
  readonly location: string
  readonly processes: number
  readonly inFlight: number
  /** The share of steps that kill their process; above 0, no first process of a place lives longer than a few steps. */
  readonly crashes: number
  /** Commits check nothing: to see that the harness sees. */
  readonly unchecked?: boolean | undefined
  /** Gives up on a race that never ends. */
  readonly crashesMax?: number | undefined
}

export interface RaceReport extends RaceAudit {
  readonly deliveries: number
  readonly crashes: number
  readonly errors: readonly string[]
  readonly commits: number
  readonly refused: number
}

/** The step that is the last one of the first process of each place, at the latest: a short race has crashes too. */
const FIRST_LIFE_STEPS = 24

/** Whoever dies while being written to is noticed by its end. */
const noted = () => {}

class Race {
  readonly #options: RaceOptions
  readonly #work: readonly Delivery[]
  readonly #queue: number[]
  readonly #workers = new Set<ChildProcess>()
  readonly errors: string[] = []
  crashes = 0
  commits = 0
  refused = 0
  #begun = 0

  constructor(options: RaceOptions, work: readonly Delivery[]) {
    this.#options = options
    this.#work = work
    this.#queue = work.map((_, number) => number).toReversed()
  }

  /** One place among the processes: whenever its process dies, another takes over, until all is done. */
  async place(): Promise<void> {
    while (this.#queue.length > 0) {
      const isDead = await this.#life()
      if (!isDead) return
      this.crashes++
      if (this.crashes > (this.#options.crashesMax ?? 5000)) throw new Error('too many crashes')
    }
  }

  /** From birth to death, or to the end of the work; whether it died. */
  async #life(): Promise<boolean> {
    const { location, processes, crashes, seed, unchecked = false, inFlight } = this.#options
    const mustDie = crashes > 0 && this.#begun < processes
    const lastStep = mustDie ? FIRST_LIFE_STEPS : undefined
    const given = { location, crashes, lastStep, unchecked, seed: seed + 7919 * ++this.#begun }
    const child = fork(WORKER, [JSON.stringify(given)], {
      env: { ...process.env, NODE_NO_WARNINGS: '1' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#workers.add(child)
    const held = new Set<number>()
    const give = () => {
      const number = this.#queue.pop()
      if (number === undefined) return
      held.add(number)
      child.send({ number, delivery: this.#work[number] }, noted)
    }
    const endIfIdle = () => {
      if (held.size === 0 && child.connected) child.send({}, noted)
    }
    child.on('message', (message: 'ready' | Answer) => {
      if (message === 'ready') {
        for (let lane = 0; lane < inFlight; lane++) give()
        endIfIdle()
        return
      }
      if ('counts' in message) {
        this.commits += message.counts.commits
        this.refused += message.counts.refused
        return
      }
      if (message.error !== undefined) this.errors.push(message.error)
      held.delete(message.number)
      give()
      endIfIdle()
    })
    const signal = await new Promise((resolve) => child.on('exit', (_, by) => resolve(by)))
    this.#workers.delete(child)
    this.#queue.push(...held)
    return signal !== null || held.size > 0
  }

  end(): void {
    for (const child of this.#workers) child.kill('SIGKILL')
  }
}

type Answer =
  | { readonly number: number; readonly error?: string }
  | { readonly counts: { readonly commits: number; readonly refused: number } }

export async function race(options: RaceOptions): Promise<RaceReport> {
  const work = workOf(options)
  const racing = new Race(options, work)
  try {
    await Promise.all(Array.from({ length: options.processes }, () => racing.place()))
  } finally {
    racing.end()
  }
  const { crashes, errors, commits, refused } = racing
  const audit = await auditRace(options.location, work)
  return { deliveries: work.length, crashes, errors, commits, refused, ...audit }
}
