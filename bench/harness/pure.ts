/**
 * Measures what needs no store, no directory and no process of its own: work and its reference in turn, since
 * a shared machine is faster in one minute than in the next.
 *
 * Times are of CPU, of all threads together. As everywhere in the benchmarks, a ratio is ours divided by the
 * reference by CPU an operation, and the median over rounds counts.
 */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface Side {
  /** Operations in one run. */
  readonly ops: number
  /** Lets go of what the last run made; its time does not count. */
  prepare?(): void
  run(): unknown
}

export interface Rounds {
  readonly warmUps: number
  readonly rounds: number
}

/** One line of a report. */
export interface PureResult {
  readonly bench: string
  readonly case: string
  readonly cpuMicrosPerOp: number
  readonly opsPerSecond?: number
  readonly megabytesPerSecond?: number
  readonly wallMegabytesPerSecond?: number
  readonly reference: string
  readonly referenceCpuMicrosPerOp: number
  readonly ratio: number
  readonly ratioMin: number
  readonly ratioMax: number
  /** The target for `cpuMicrosPerOp`, where there is one. */
  readonly limit?: number
  /** Whether all targets of the case were met. */
  readonly isWithin?: boolean
}

export type Compared = Pick<
  PureResult,
  'cpuMicrosPerOp' | 'referenceCpuMicrosPerOp' | 'ratio' | 'ratioMin' | 'ratioMax'
>

export async function compare(ours: Side, reference: Side, effort: Rounds): Promise<Compared> {
  const own: number[] = []
  const theirs: number[] = []
  for (let round = -effort.warmUps; round < effort.rounds; round++) {
    const [one, other] = [await cpuMicrosPerOp(ours), await cpuMicrosPerOp(reference)]
    if (round < 0) continue
    own.push(one)
    theirs.push(other)
  }
  const ratios = own.map((one, at) => one / (theirs[at] ?? 1))
  return {
    cpuMicrosPerOp: rounded(median(own)),
    referenceCpuMicrosPerOp: rounded(median(theirs)),
    ratio: rounded(median(ratios)),
    ratioMin: rounded(Math.min(...ratios)),
    ratioMax: rounded(Math.max(...ratios)),
  }
}

async function cpuMicrosPerOp(side: Side): Promise<number> {
  side.prepare?.()
  const before = process.cpuUsage()
  await side.run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / side.ops
}

let collect: (() => void) | undefined

/** For sides that leave much behind, so that the other does not pay for it. Too much for short runs. */
export function collectGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    const found: unknown = runInNewContext('gc')
    if (typeof found !== 'function') throw new Error('This engine does not collect on demand.')
    collect = () => void found()
  }
  collect()
}

/** Three digits are more than such machines can tell apart. */
export function rounded(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2
}
