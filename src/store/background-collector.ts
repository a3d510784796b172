/**
 * Collects while the store is in use (`gc: 'background'`): a pass over all steps every now and then, in slices, one at a
 * time, with rests between them.
 *
 * Invariants: it never keeps the process running (its timers are unref'd, a slice ends by itself); `stop` waits for the
 * slice under way; what it does is what `collect()` does, so it may be cut off anywhere.
 */

import type { Backend, Gate } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  AT_ONCE,
  type Collected,
  type CollectingStep,
  collectingSteps,
  hasNotes,
} from './collecting-steps.ts'
import { GcLease } from './gc-lease.ts'
import type { Keeping } from './transactions/release.ts'

export interface BackgroundOptions {
  /** How long a content stays after its last reference was dropped. */
  readonly graceMs: number
  /** Milliseconds of work in a second. */
  readonly budgetMs: number
}

/** The store that is collected. */
interface Subject {
  readonly backend: Backend
  readonly gate: Pick<Gate, 'isBusy'>
  readonly preparation: { readonly keeping: Keeping }
  /** Its first write would change its format: that is left to somebody who wants to write. */
  readonly isOld: boolean
  readonly observer: { count(name: string, value: number): void } | undefined
}

const PASS_MS_MIN = 50
const PASS_MS_MAX = 15_000
/** How often a pass looks at everything, also at what has no note. */
const THOROUGH_MS = 10 * 60 * 1000
/** How long a slice lets operations go first. Without an end, a store that is always in use would never be collected. */
const BUSY_MS_MAX = 50
const BUSY_LOOK_MS = 5
/** Where more is released than collected, the budget grows, but leaves the other half to the rest of the program. */
const BUDGET_MS_MAX = 500
/** How often the budget is adjusted while it collects. */
const WINDOW_MS = 500
/** Fewer contents say nothing about a trend. */
const GROWTH_CONTENTS_MIN = 100

/** How it waits, and by which clock it measures its work. */
export interface Timing {
  now(): number
  /** Calls back once, unless it is cancelled before. Returns what cancels it. */
  after(ms: number, callback: () => void): () => void
}

const TIMERS: Timing = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

export class BackgroundCollector {
  readonly #subject: Subject
  readonly #options: BackgroundOptions
  readonly #steps: readonly CollectingStep[]
  readonly #lease: GcLease
  readonly #timing: Timing
  #budgetMs: number
  /** When the last pass ended that looked at everything. */
  #thoroughAt = -Infinity
  /** Of the window that began then. */
  #released = 0
  #collected = 0
  #windowAt: number
  #isStopped = false
  #hasWarned = false
  #running: Promise<void> | undefined
  /** Ends the rest that is under way. */
  #wake: () => void = () => {}

  constructor(
    subject: Subject,
    options: BackgroundOptions,
    steps = collectingSteps,
    timing: Timing = TIMERS,
  ) {
    this.#subject = subject
    this.#options = options
    this.#steps = steps
    this.#timing = timing
    this.#windowAt = timing.now()
    this.#lease = new GcLease(subject.backend)
    this.#budgetMs = options.budgetMs
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** A content lost a reference, by this process. */
  noteReleased(): void {
    this.#released++
  }

  /** Waits for the slice under way. Whatever is left is collected by the next one that opens the store. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#wake()
    await this.#running
  }

  async #run(): Promise<void> {
    const passMs = Math.min(Math.max(this.#options.graceMs / 4, PASS_MS_MIN), PASS_MS_MAX)
    while (!this.#isStopped) {
      await this.#rest(passMs)
      if (this.#isStopped) break
      await this.#contained(() => this.#pass())
    }
    await this.#contained(() => this.#lease.release())
  }

  /** Nobody waits for the background: what fails is tried again by the next pass. */
  async #contained(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const isPassing = error instanceof PrestigeError && error.retryable
      if (isPassing || this.#hasWarned) return
      this.#hasWarned = true
      process.emitWarning(`Background collection failed: ${String(error)}`)
    }
  }

  async #pass(): Promise<void> {
    const { backend, isOld, preparation } = this.#subject
    // So does the first pass: a process that died may have left something without a note.
    const isThorough = this.#timing.now() - this.#thoroughAt >= THOROUGH_MS
    if (isOld || (!isThorough && !(await hasNotes(backend, preparation.keeping)))) return
    const releasedBefore = backend.now() - this.#options.graceMs
    const atOnce = () => Math.round((AT_ONCE * this.#budgetMs) / this.#options.budgetMs)
    const how = {
      backend,
      keeping: preparation.keeping,
      releasedBefore,
      isThorough,
      get atOnce() {
        return atOnce()
      },
    }
    for (const step of this.#steps) {
      if (!(await this.#runStep(step(how)))) return
    }
    if (isThorough) this.#thoroughAt = this.#timing.now()
  }

  /** False: the pass is over. */
  async #runStep(slices: AsyncGenerator<Partial<Collected>>): Promise<boolean> {
    for (;;) {
      await this.#letOthersGoFirst()
      if (this.#isStopped || !(await this.#lease.take())) {
        await slices.return(undefined)
        return false
      }
      const started = this.#timing.now()
      const { done, value } = await slices.next()
      if (done) return true
      this.#note(value)
      this.#adjust()
      const workMs = this.#timing.now() - started
      await this.#rest((workMs * (1000 - this.#budgetMs)) / this.#budgetMs)
    }
  }

  #note({ contents = 0 }: Partial<Collected>): void {
    this.#collected += contents
    if (contents > 0) this.#subject.observer?.count('prestige.sweep.deleted_total', contents)
  }

  /** While more is released than collected, slices become longer and rests shorter. */
  #adjust(): void {
    const now = this.#timing.now()
    if (now - this.#windowAt < WINDOW_MS) return
    const { budgetMs } = this.#options
    const isGrowing = this.#released > this.#collected + GROWTH_CONTENTS_MIN
    if (isGrowing) this.#budgetMs = Math.min(this.#budgetMs * 2, Math.max(BUDGET_MS_MAX, budgetMs))
    else if (this.#collected > 2 * this.#released) {
      this.#budgetMs = Math.max(this.#budgetMs / 2, budgetMs)
    }
    this.#released = 0
    this.#collected = 0
    this.#windowAt = now
  }

  async #letOthersGoFirst(): Promise<void> {
    const share = this.#options.budgetMs / this.#budgetMs
    const end = this.#timing.now() + BUSY_MS_MAX * share
    while (this.#subject.gate.isBusy && !this.#isStopped && this.#timing.now() < end) {
      await this.#rest(BUSY_LOOK_MS)
    }
  }

  #rest(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#timing.after(ms, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }
}
