/**
 * Runs a case: ours, reference, ours, reference, …, each in a fresh process and a fresh directory, and takes
 * medians. Sides take turns because a shared machine is faster in one minute than in the next; the ratio is
 * the median of the ratios of neighbouring runs.
 */

import { fork } from 'node:child_process'
import { rmSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Bench, Case, Sample } from './bench.ts'
import type { Answer, Errand } from './child.ts'

export interface Effort {
  readonly runs: number
  readonly scale: number
  /** The folder for CPU profiles of our side. */
  readonly profiles: string | undefined
}

export interface Outcome {
  readonly bench: Bench
  readonly case: Case
  readonly runs: number
  readonly ours: Sample
  readonly reference: Sample
  readonly ratios: readonly number[]
  readonly wallRatios: readonly number[]
}

/** A directory for a whole bench, taken away also when the bench is interrupted. */
export async function withWorkshop<T>(work: (workshop: string) => Promise<T>): Promise<T> {
  const workshop = await mkdtemp(join(tmpdir(), 'prestige-bench-'))
  const clear = () => rmSync(workshop, { recursive: true, force: true })
  const interrupted = () => {
    clear()
    process.exit(130)
  }
  process.once('SIGINT', interrupted)
  process.once('SIGTERM', interrupted)
  try {
    return await work(workshop)
  } finally {
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', interrupted)
    clear()
  }
}

export async function runCase(
  bench: Bench,
  theCase: Case,
  effort: Effort,
  workshop: string,
): Promise<Outcome> {
  const runs = Math.max(effort.runs, effort.runs > 1 ? (theCase.runsMin ?? 1) : 1)
  const ours: Sample[] = []
  const reference: Sample[] = []
  for (let run = 0; run < runs; run++) {
    ours.push(await runSide(bench, theCase, 'ours', effort, workshop))
    reference.push(await runSide(bench, theCase, 'reference', effort, workshop))
  }
  const ratiosOf = (cost: (sample: Sample) => number) =>
    ours.map((sample, run) => cost(sample) / cost(reference[run]!))
  return {
    bench,
    case: theCase,
    runs,
    ours: medianSample(ours),
    reference: medianSample(reference),
    ratios: ratiosOf(cpuMicrosPerOp),
    wallRatios: ratiosOf(({ wallMs, ops }) => wallMs / ops),
  }
}

export function cpuMicrosPerOp({ cpuMicros, ops }: Sample): number {
  return cpuMicros / ops
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function medianSample(samples: readonly Sample[]): Sample {
  const of = (field: keyof Sample) => {
    const found = samples.map((sample) => sample[field]).filter((value) => value !== undefined)
    return found.length === 0 ? undefined : median(found)
  }
  return {
    ops: of('ops') ?? 0,
    cpuMicros: of('cpuMicros') ?? 0,
    wallMs: of('wallMs') ?? 0,
    bytes: of('bytes'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    eventLoopDelayP99Ms: of('eventLoopDelayP99Ms'),
    diskBytes: of('diskBytes'),
    rssBytes: of('rssBytes'),
    commits: of('commits'),
    requests: of('requests'),
    representatives: of('representatives'),
    tableBytes: of('tableBytes'),
    serverCpuMicros: of('serverCpuMicros'),
    serverBytes: of('serverBytes'),
    conflicts: of('conflicts'),
  }
}

async function runSide(
  bench: Bench,
  theCase: Case,
  side: 'ours' | 'reference',
  { scale, profiles }: Effort,
  workshop: string,
): Promise<Sample> {
  const errand = { bench: bench.name, case: theCase.name, side }
  const fixture = await fixtureOf(theCase, errand, scale, workshop)
  const isShared = fixture !== undefined && !theCase.changesFixture
  const directory = isShared ? fixture : await mkdtemp(join(workshop, 'run-'))
  try {
    if (fixture && !isShared) await cp(fixture, directory, { recursive: true })
    const profile = side === 'ours' ? profileOf(errand, profiles) : undefined
    const place = { directory, scale, profile }
    const sample = await send({ ...errand, what: 'run', place })
    if (sample === undefined) throw new Error(`${bench.name} / ${theCase.name} measured nothing.`)
    return sample
  } finally {
    if (!isShared) await rm(directory, { recursive: true, force: true })
  }
}

const built = new Set<string>()

async function fixtureOf(
  theCase: Case,
  errand: Pick<Errand, 'bench' | 'case' | 'side'>,
  scale: number,
  workshop: string,
): Promise<string | undefined> {
  const fixture = theCase[errand.side].fixture
  if (fixture === undefined) return undefined
  const directory = join(workshop, `fixture-${fixture.name}`)
  if (!built.has(directory)) {
    await mkdir(directory)
    await send({ ...errand, what: 'build', place: { directory, scale, profile: undefined } })
    built.add(directory)
  }
  return directory
}

function profileOf(
  { bench, case: name }: Pick<Errand, 'bench' | 'case'>,
  profiles: string | undefined,
): string | undefined {
  if (profiles === undefined) return undefined
  return join(profiles, `${bench} ${name}.cpuprofile`.replaceAll(/[^\w.]+/g, '-'))
}

/** Under the flags of this process, so that TypeScript is read the same way. */
function send(errand: Errand): Promise<Sample | undefined> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL('child.ts', import.meta.url))
    child.once('message', (answer: Answer) => {
      if ('error' in answer) reject(new Error(answer.error))
      else resolve(answer.sample)
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      reject(new Error(`The run ended without an answer (${signal ?? code}).`))
    })
    child.send(errand)
  })
}
