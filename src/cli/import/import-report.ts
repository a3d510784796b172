/** What an import did: counted while it runs, and drawn at its end. */

import type { Receipt } from '../../index.ts'
import { notationOf } from '../print/key-notation.ts'
import { NearMatches } from './near-matches.ts'
import { paint } from '../print/output.ts'
import { RepeatedContents } from './repeated.ts'
import { table } from '../print/table.ts'
import { count, countOf, duration, percent, rate, ratio, size } from '../print/units.ts'

const REPEATED_SHOWN = 10
const PROBLEMS_KEPT_MAX = 1000

export interface ImportProblem {
  /** The path below the imported directory. */
  readonly path: Buffer
  readonly reason: string
}

type Outcome = 'new' | 'duplicates' | 'linked' | 'unchanged'

export class ImportReport {
  readonly #repeated: RepeatedContents
  readonly #near = new NearMatches()
  readonly #started = performance.now()
  readonly #files: Record<Outcome, number> = { new: 0, duplicates: 0, linked: 0, unchanged: 0 }
  readonly #bytes: Record<Outcome, number> = { new: 0, duplicates: 0, linked: 0, unchanged: 0 }
  readonly #skipped = new Map<string, number>()
  readonly #problems: ImportProblem[] = []
  #failed = 0
  #bytesSaved = 0
  #ms = 0
  isStopped = false

  constructor(startedAt: number) {
    this.#repeated = new RepeatedContents(startedAt)
  }

  get failed(): number {
    return this.#failed
  }

  kept(key: Buffer, receipt: Receipt): void {
    const outcome = outcomeOf(receipt)
    if (outcome !== 'unchanged') this.#near.add(key, receipt)
    this.#files[outcome]++
    this.#bytes[outcome] += receipt.bytes
    this.#bytesSaved += receipt.bytesSaved
    if (outcome !== 'unchanged') this.#repeated.add(receipt)
  }

  skipped(what: string): void {
    this.#skipped.set(what, (this.#skipped.get(what) ?? 0) + 1)
  }

  problem(problem: ImportProblem): void {
    this.#failed++
    if (this.#problems.length < PROBLEMS_KEPT_MAX) this.#problems.push(problem)
  }

  /** Once the store is closed: what is not on the disk is not imported yet. */
  end(): void {
    this.#ms = performance.now() - this.#started
  }

  json(): object {
    const { files, bytes } = this.#sums()
    const bytesNew = bytes - this.#bytesSaved
    return {
      files,
      bytes,
      ...this.#files,
      bytesSaved: this.#bytesSaved,
      dedupRatio: bytesNew === 0 ? (bytes === 0 ? 1 : null) : bytes / bytesNew,
      skipped: Object.fromEntries(this.#skipped),
      failed: this.#failed,
      problems: this.#problems,
      repeated: this.#repeated.top(REPEATED_SHOWN),
      repeatedIsExact: this.#repeated.isExact,
      near: { count: this.#near.count, mostSimilar: this.#near.most },
      ms: Math.round(this.#ms),
      bytesPerSecond: Math.round((bytes / Math.max(this.#ms, 1)) * 1000),
      isStopped: this.isStopped,
    }
  }

  text(): string {
    const { files, bytes } = this.#sums()
    const verb = this.isStopped ? paint('yellow', 'stopped after') : paint('green', 'imported')
    const head = `${verb} ${countOf(files, 'file')} in ${duration(this.#ms)}, ${rate(bytes, this.#ms)}\n`
    const rows = [
      ['files', count(files), size(bytes)],
      ...outcomes.map((name) => [name, count(this.#files[name]), size(this.#bytes[name])]),
      ['saved', ratio(bytes, bytes - this.#bytesSaved), size(this.#bytesSaved)],
      ...[...this.#skipped].map(([what, number]) => [`skipped: ${what}`, count(number), '']),
      ...(this.#failed > 0 ? [['failed', count(this.#failed), '']] : []),
    ]
    return head + table(rows, ['left', 'right', 'right']) + this.#repeatedText() + this.#nearText()
  }

  #nearText(): string {
    const { count: found, most } = this.#near
    if (found === 0) return ''
    const rows = most.map(({ similarity, key, firstKey }) => [
      percent(similarity),
      `${notationOf(key)} like ${notationOf(firstKey)}`,
    ])
    const title = paint('bold', countOf(found, 'near duplicate'))
    return `${title}${found > most.length ? ', the most similar' : ''}\n${table(rows, ['right', 'left'])}`
  }

  #repeatedText(): string {
    const repeated = this.#repeated.top(REPEATED_SHOWN)
    if (repeated.length === 0) return ''
    const rows = repeated.map(({ times, bytes, bytesSaved, firstKey }) => [
      `${this.#repeated.isExact ? '' : '≥ '}${count(times)}`,
      size(bytes),
      size(bytesSaved),
      notationOf(firstKey),
    ])
    const head = ['times', 'size', 'saved', 'first key']
    return `${paint('bold', 'saved most')}\n${table([head, ...rows], ['right', 'right', 'right', 'left'])}`
  }

  #sums(): { files: number; bytes: number } {
    const sum = (numbers: Record<Outcome, number>) =>
      outcomes.reduce((all, name) => all + numbers[name], 0)
    return { files: sum(this.#files), bytes: sum(this.#bytes) }
  }
}

const outcomes: readonly Outcome[] = ['new', 'duplicates', 'linked', 'unchanged']

function outcomeOf({ key, content }: Receipt): Outcome {
  if (key === 'unchanged') return 'unchanged'
  return content === 'duplicate' ? 'duplicates' : content
}
