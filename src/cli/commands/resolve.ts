/**
 * `resolve [FILE...]`: a line in, the id of the thing it is out.
 *
 * One bad line never hides what became of the others: it is reported and counted, and the exit code is 1.
 */

import { prestigeError } from '../../platform/errors.ts'
import { harmless, harmlessLines } from '../../platform/harmless.ts'
import type { Resolution, ResolveOutcome, Resolver } from '../../index.ts'
import { EXIT_FAILED, systemCode, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import {
  type BadLine,
  itemOf,
  type LineItem,
  type Reading,
  readingOf,
} from '../resolve/line-item.ts'
import { bytesOf, type Line, lineBatches } from '../files/lines.ts'
import { jsonOf, paint, print, tell } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { ResolveSums } from '../resolve/resolve-sums.ts'
import { locationOf } from '../call/with-store.ts'
import { groupOf, withResolver } from '../call/with-resolver.ts'

/** What belongs to one line, never to all. */
const OF_THE_LINE = new Set(['INVALID_VALUE', 'INVALID_KEY', 'UNREADABLE_VALUE'])

export async function run(invocation: Invocation): Promise<number> {
  locationOf(invocation)
  const { operands: files } = invocation
  if (invocation.flag('stats')) {
    if (files.length > 0) throw usageFailure('--stats reads no lines: leave the files out.')
    const { printGroupStats } = await import('../resolve/group-stats.ts')
    return printGroupStats(invocation)
  }
  const reading = readingOf(invocation, groupOf(invocation))
  const bytes = await bytesOf(files)
  // A line of progress and lines of output on one terminal would be in each other's way.
  const isInTheWay = process.stdout.isTTY && !invocation.flag('progress')
  const progress = isInTheWay ? undefined : Progress.of(invocation, 'line')
  if (bytes !== undefined) progress?.expect({ bytes })
  const sums = new ResolveSums()
  const create = !invocation.flag('lookup')
  try {
    await withResolver(invocation, { create }, (resolver) =>
      new Resolving(invocation, resolver, reading, sums, progress).all(files),
    )
  } finally {
    progress?.end()
  }
  tell(invocation.flag('json') ? `${jsonOf(sums.json())}\n` : sums.text(invocation.signal.aborted))
  return sums.bad > 0 ? EXIT_FAILED : 0
}

type Answer = { readonly item: LineItem; readonly outcome: ResolveOutcome | 'unknown' }

class Resolving {
  readonly #invocation: Invocation
  readonly #resolver: Resolver
  readonly #reading: Reading
  readonly #sums: ResolveSums
  readonly #progress: Progress | undefined
  readonly #isStrict: boolean

  constructor(
    invocation: Invocation,
    resolver: Resolver,
    reading: Reading,
    sums: ResolveSums,
    progress: Progress | undefined,
  ) {
    this.#invocation = invocation
    this.#resolver = resolver
    this.#reading = reading
    this.#sums = sums
    this.#progress = progress
    this.#isStrict = invocation.flag('strict')
  }

  async all(files: readonly string[]): Promise<void> {
    for await (const lines of lineBatches(files, this.#invocation.signal)) {
      await (this.#isStrict ? this.#oneByOne(lines) : this.#batch(lines))
      if (this.#isStrict && this.#sums.bad > 0) return
    }
  }

  /** Nothing behind the first bad line is touched. */
  async #oneByOne(lines: readonly Line[]): Promise<void> {
    for (const line of lines) {
      await this.#batch([line])
      if (this.#sums.bad > 0) return
    }
  }

  async #batch(lines: readonly Line[]): Promise<void> {
    const read = lines.map((line) => itemOf(line, this.#reading))
    const items = read.filter((one): one is LineItem => !('reason' in one))
    const answers = (await this.#answers(items)).values()
    let output = ''
    for (const one of read) {
      this.#progress?.advance(one.line.bytes?.byteLength ?? 0)
      output += 'reason' in one ? this.#refused(one) : this.#answered(answers.next().value)
    }
    if (output !== '') await print(output)
  }

  async #answers(items: readonly LineItem[]): Promise<Answer[]> {
    if (this.#invocation.flag('lookup')) return Promise.all(items.map((item) => this.#look(item)))
    const outcomes = await this.#resolver.resolveMany(items)
    return items.flatMap((item, at) => {
      const outcome = outcomes[at]
      return outcome ? [{ item, outcome }] : []
    })
  }

  async #look(item: LineItem): Promise<Answer> {
    try {
      const result = await this.#resolver.lookup(item.group, item.value)
      return { item, outcome: result ? { ok: true, result } : 'unknown' }
    } catch (error) {
      return { item, outcome: { ok: false, error: prestigeError(error) } }
    }
  }

  /** A line the resolver cannot take is one problem; a resolver that cannot take anything is the end. */
  #answered(answer: Answer | undefined): string {
    if (!answer) return ''
    const { item, outcome } = answer
    if (outcome === 'unknown') {
      this.#sums.count('unknown')
      return this.#lineOf(item, undefined)
    }
    if (outcome.ok) {
      this.#sums.count(outcome.result.status)
      return this.#lineOf(item, outcome.result)
    }
    if (!OF_THE_LINE.has(systemCode(outcome.error) ?? '')) throw outcome.error
    return this.#refused({ line: item.line, reason: outcome.error.message })
  }

  #refused({ line, reason }: BadLine): '' {
    if (this.#isStrict && this.#sums.bad > 0) return ''
    this.#sums.count('bad')
    if (this.#invocation.flag('quiet')) return ''
    const { number, file } = line
    const text = this.#invocation.flag('json')
      ? jsonOf({ line: number, file, error: { code: 'INVALID_VALUE', message: reason } })
      : paint(
          'yellow',
          harmless(`${file === undefined ? '' : `${file}: `}line ${number}: ${reason}`),
          process.stderr,
        )
    if (this.#progress) this.#progress.notice(text)
    else tell(`${text}\n`)
    return ''
  }

  #lineOf(item: LineItem, found: Resolution | undefined): string {
    if (this.#invocation.flag('quiet')) return ''
    return this.#invocation.flag('json') ? jsonLine(item, found) : plainLine(item, found)
  }
}

function jsonLine({ line, group, ownId }: LineItem, found: Resolution | undefined): string {
  const answer = found ?? { id: null, status: 'unknown' }
  const { number, file } = line
  return `${JSON.stringify({ line: number, file, group, ownId, ...answer })}\n`
}

/** What came in goes last, because only it may hold a tab. */
function plainLine(item: LineItem, found: Resolution | undefined): string {
  const { id, status, similarity } = found ?? { id: '-', status: 'unknown', similarity: undefined }
  const shown = similarity === undefined ? '-' : shareText(similarity)
  const name = nameOf(item)
  // A program that reads the output needs the line as it came; a terminal would obey it.
  return `${id}\t${status}\t${shown}\t${process.stdout.isTTY ? harmlessLines(name) : name}\n`
}

/** Four digits; 1 is 1 only where it is. */
export function shareText(similarity: number): string {
  return similarity === 1 ? '1' : Math.min(similarity, 0.9999).toFixed(4)
}

/** The line as it came, or what it calls itself. */
function nameOf({ text, ownId }: LineItem): string {
  if (ownId === undefined) return text
  if (typeof ownId !== 'string') return JSON.stringify(ownId)
  // oxlint-disable-next-line no-control-regex -- they would look like another column or line
  return /[\u0000-\u001f]/.test(ownId) ? JSON.stringify(ownId) : ownId
}
