/** A job: what is known of it, and the events by which others follow it. */

import { randomBytes } from 'node:crypto'

import type { JobEvents, JobResult } from '../../dedupe/index.ts'
import { prestigeError } from '../../platform/errors.ts'
import type { ServerEvent } from '../http/event-stream.ts'
import type { Progress, Watching } from './task.ts'

export type JobStatus = 'waiting' | 'running' | 'done' | 'failed' | 'stopped'
export type JobPhase = Parameters<NonNullable<JobEvents['onPhase']>>[0]

/** Of files, only how many: there may be very many. */
export type ShownResult = Omit<JobResult, 'files' | 'skipped'> &
  Readonly<Record<'files' | 'skipped', number>>

/** A job as it is shown. */
export interface JobView {
  readonly job: string
  readonly status: JobStatus
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly endedAt?: number
  /** What was uploaded for it: it can be given again by this name. */
  readonly upload?: string
  /** Known when it has begun to read. */
  readonly run?: string
  readonly phase?: JobPhase
  /** Documents that were read, bytes of their texts, and bytes of all inputs. */
  readonly documents: number
  readonly bytes: number
  readonly bytesAll: number
  readonly result?: ShownResult
  readonly error?: { readonly code: string; readonly message: string }
}

/** So many milliseconds, at least, are between two events of progress. */
const PROGRESS_MS = 200

interface Noted extends ServerEvent {
  readonly number: number
}

export class CorpusJob {
  readonly id = randomBytes(8).toString('hex')
  readonly ended: Promise<void>
  readonly #stop = new AbortController()
  readonly #clock: () => number
  readonly #listeners = new Set<() => void>()
  /** All but progress, of which the last is enough. */
  readonly #events: Noted[] = []
  #progress: Noted | undefined
  #number = 0
  #discards = false
  #progressAt = -Infinity
  #view: JobView
  #end: () => void = () => undefined

  constructor(clock: () => number, upload: string | undefined) {
    this.#clock = clock
    this.ended = new Promise((resolve) => (this.#end = resolve))
    const named = upload === undefined ? {} : { upload }
    const nothing = { documents: 0, bytes: 0, bytesAll: 0 }
    this.#view = { job: this.id, status: 'waiting', createdAt: clock(), ...named, ...nothing }
  }

  get view(): JobView {
    return this.#view
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get isEnded(): boolean {
    return this.#view.endedAt !== undefined
  }

  /** It was stopped, and its run is to be undone. */
  get isDiscarded(): boolean {
    return this.#discards && this.signal.aborted
  }

  begin(): void {
    this.#view = { ...this.#view, status: 'running' }
  }

  /** One that waits ends at once; one that runs ends when it has left its state in order. */
  stop(discards: boolean): void {
    this.#discards ||= discards
    this.#stop.abort()
    if (this.#view.status === 'waiting') this.#finish('stopped', {})
  }

  succeed({ files, skipped, ...result }: JobResult): void {
    const counts = { files: files.length, skipped: skipped.length }
    this.#finish('done', {
      result: { ...result, ...counts },
      ...(result.run && { run: result.run }),
    })
  }

  fail(thrown: unknown): void {
    if (this.isEnded) return
    if (this.signal.aborted) return this.#finish('stopped', {})
    const { code, message } = prestigeError(thrown)
    const shown = code === 'UNEXPECTED' ? 'The run failed. The log has the cause.' : message
    this.#finish('failed', { error: { code, message: shown } })
  }

  #finish(status: 'done' | 'failed' | 'stopped', more: Partial<JobView>): void {
    if (this.isEnded) return
    this.#view = { ...this.#view, ...more, status, endedAt: this.#clock() }
    this.#note(status)
    this.#end()
  }

  /** For the process of the run. */
  watching(): Watching {
    return { signal: this.signal, onEvent: (event) => this.#take(event) }
  }

  #take(event: Progress): void {
    const { documents, bytes } = this.#view
    switch (event.kind) {
      case 'inputs':
        this.#view = { ...this.#view, bytesAll: event.bytesAll }
        break
      case 'progress':
        this.#view = {
          ...this.#view,
          documents: documents + event.documents,
          bytes: bytes + event.bytes,
        }
        this.#noteProgress()
        break
      case 'phase':
        this.#view = { ...this.#view, phase: event.phase, run: event.run }
        this.#note('phase')
    }
  }

  #note(event: string): void {
    this.#events.push(this.#noted(event))
    this.#wake()
  }

  #noteProgress(): void {
    const now = performance.now()
    if (now - this.#progressAt < PROGRESS_MS) return
    this.#progressAt = now
    this.#progress = this.#noted('progress')
    this.#wake()
  }

  #noted(event: string): Noted {
    const number = ++this.#number
    return { event, data: this.#view, id: String(number), number }
  }

  #wake(): void {
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }

  /** Those behind a number, then what comes, until it has ended or the signal is aborted. */
  async *events(after: number, signal: AbortSignal): AsyncGenerator<ServerEvent> {
    let last = after
    while (!signal.aborted) {
      for (const event of this.#after(last)) {
        last = event.number
        yield event
      }
      if (this.#after(last).length > 0) continue
      if (this.isEnded) return
      await this.#changed(signal)
    }
  }

  #after(number: number): Noted[] {
    const all = this.#progress ? [...this.#events, this.#progress] : this.#events
    return all
      .filter((event) => event.number > number)
      .toSorted((one, other) => one.number - other.number)
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        signal.removeEventListener('abort', go)
        this.#listeners.delete(go)
        resolve()
      }
      this.#listeners.add(go)
      signal.addEventListener('abort', go)
    })
  }
}
