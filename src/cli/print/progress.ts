/**
 * One line on stderr that says how far a long command is, and the notices that appear above it.
 *
 * Drawn only on a terminal, or as a line a second where --progress asks for it.
 */

import type { Invocation } from '../call/invocation.ts'
import { paint, tell } from './output.ts'
import { countOf, duration, rate, size } from './units.ts'

const REDRAW_MS = 100
const LINE_MS = 1000
const BAR_CELLS = 24
/** What a file costs beside its bytes, so that many small ones are not estimated to take no time. */
const ITEM_BYTES = 4096

export class Progress {
  readonly #noun: string
  readonly #isDrawn: boolean
  #timer: NodeJS.Timeout | undefined
  readonly #started = performance.now()
  #items = 0
  #bytes = 0
  #itemsAll: number | undefined
  #bytesAll: number | undefined

  private constructor(noun: string, isShown: boolean) {
    this.#noun = noun
    this.#isDrawn = isShown && process.stderr.isTTY
    if (!isShown) return
    this.#timer = setInterval(() => this.#show(), this.#isDrawn ? REDRAW_MS : LINE_MS)
    this.#timer.unref()
  }

  static of(invocation: Invocation, noun: string): Progress {
    const isWanted = invocation.flag('progress') || process.stderr.isTTY
    return new Progress(noun, isWanted && !invocation.flag('quiet'))
  }

  get isShown(): boolean {
    return this.#timer !== undefined
  }

  /** How much there will be, once it is known. */
  expect({ items, bytes }: { items?: number; bytes?: number }): void {
    this.#itemsAll = items
    this.#bytesAll = bytes
  }

  advance(bytes: number): void {
    this.reach(this.#items + 1, this.#bytes + bytes)
  }

  /** Of an item that is not done yet. */
  advanceBytes(bytes: number): void {
    this.reach(this.#items, this.#bytes + bytes)
  }

  reach(items: number, bytes: number): void {
    this.#items = items
    this.#bytes = bytes
  }

  /** What is done now; on a terminal it is replaced by whatever comes next. */
  phase(text: string): void {
    tell(this.#isDrawn ? `\r\u001b[K${text}` : `${text}\n`)
  }

  /** A line that stays. */
  notice(text: string): void {
    tell(this.#isDrawn ? `\r\u001b[K${text}\n` : `${text}\n`)
  }

  end(): void {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
    if (this.#isDrawn) tell('\r\u001b[K')
    else tell(`${this.#line()}\n`)
  }

  #show(): void {
    const line = this.#line()
    const width = (process.stderr.columns ?? 80) - 1
    tell(this.#isDrawn ? `\r${line.slice(0, width)}\u001b[K` : `${line}\n`)
  }

  #line(): string {
    const ms = performance.now() - this.#started
    const done = `${countOf(this.#items, this.#noun)}  ${size(this.#bytes)}  ${rate(this.#bytes, ms)}`
    const part = this.#part()
    if (part === undefined) return done
    const cells = Math.round(part * BAR_CELLS)
    const bar = `${'#'.repeat(cells)}${'.'.repeat(BAR_CELLS - cells)}`
    const left = part > 0.01 ? `  ${duration((ms / part) * (1 - part))} left` : ''
    return `${bar} ${Math.floor(part * 100)} %  ${done}${left}`
  }

  /** From 0 to 1; `undefined` while it cannot be known. */
  #part(): number | undefined {
    const bytesAll = this.#bytesAll
    if (bytesAll === undefined) return undefined
    const itemWeight = this.#itemsAll === undefined ? 0 : ITEM_BYTES
    const all = bytesAll + (this.#itemsAll ?? 0) * itemWeight
    const done = this.#bytes + this.#items * itemWeight
    return all === 0 ? undefined : Math.min(done / all, 1)
  }
}

/** Notices of one sort: the first few are printed, the rest only counted. */
export class Notices {
  readonly #progress: Progress
  readonly #isQuiet: boolean
  readonly #toldMax: number
  count = 0

  constructor(progress: Progress, isQuiet: boolean, toldMax: number) {
    this.#progress = progress
    this.#isQuiet = isQuiet
    this.#toldMax = toldMax
  }

  add(text: string): void {
    this.count++
    if (this.#isQuiet || this.count > this.#toldMax) return
    this.#progress.notice(paint('yellow', text, process.stderr))
    if (this.count === this.#toldMax) this.#progress.notice('  (more of these are only counted)')
  }
}
