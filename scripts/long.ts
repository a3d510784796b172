/**
 * The long forms of tests that CI runs for seconds:
 *
 *     npm run long -- 30                all of them, for about 30 minutes together
 *     npm run long -- crash 5           one of them, for about 5 minutes
 *     npm run long -- faults            every case of `faults`, `damage`, `opens` or `orders`; a minute of the others
 *     npm run long -- streams --gib 1   one of them with less data: 4 GiB without `--gib`
 *     npm run long -- tests             tests that do less where all tests run (test/amount.ts), in full, once
 *
 * Every round has a seed of its own, fresh unless `--seed N` gives the first one. It is printed before the round, and
 * `npm run long -- NAME 0 --seed N` repeats that round. A failure is reported, and the other rounds go on.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { corpusFormats, corpusRounds } from '../test/crash/corpus-rounds.ts'
import { crashRounds } from '../test/crash/crash-rounds.ts'
import { evictRounds } from '../test/crash/evict-rounds.ts'
import { secondRunRounds } from '../test/crash/second-run-rounds.ts'
import { streamRounds } from '../test/crash/stream-rounds.ts'
import { runCorpusRound } from '../test/crash/worker-rounds.ts'
import { damageRounds, damages, makeStore } from '../test/damage/damage-rounds.ts'
import { faultRound, faults } from '../test/native/fault-rounds.ts'
import { buildShim } from '../test/native/shim.ts'
import { openRounds } from '../test/opens/open-rounds.ts'
import {
  everyCase,
  type OrderCase,
  OrderRounds,
  sampledCases,
} from '../test/orders/order-rounds.ts'
import { sharedEngine } from '../test/race/engines.ts'
import { race } from '../test/race/race.ts'
import { WHOLE } from '../test/race/work.ts'
import { allKinds } from '../test/simulation/kinds.ts'
import { boundedSoak, soakPlot } from '../test/soak/bounded-soak.ts'
import { soakRound } from '../test/soak/soak-round.ts'
import { streamSoak } from '../test/soak/stream-soak.ts'

/** Returns what is printed; throws if anything is wrong. */
type Round = (seed: number) => Promise<unknown>

const durabilities = ['os', 'fsync'] as const
const pick = <T>(all: readonly T[], seed: number): T => all[seed % all.length]! // safe: none is empty

async function inDirectory<T>(base: string, work: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(base, 'prestige-long-'))
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

function requireNone(problems: readonly unknown[], report: unknown): void {
  if (problems.length > 0) throw new Error(JSON.stringify(report))
}

/** Disk and tmpfs, both durabilities, and openers whose mmap is slow. */
async function opens(seed: number, seconds = 20): Promise<unknown> {
  const base = pick([tmpdir(), '/dev/shm'], seed)
  const durability = pick(durabilities, seed >> 1)
  const slow = pick([false, true], seed >> 2) ? { preload: await buildShim(), delayMs: 3 } : {}
  const common = { seconds, seed, writers: 3, readers: 3, openers: 3, cli: true, killEveryMs: 500 }
  const report = await inDirectory(base, (directory) =>
    openRounds(directory, { ...common, durability, ...slow }),
  )
  requireNone([...report.lost, ...report.failures], report)
  return { base, durability, ...report }
}

/** One system call of 500 puts fails. */
async function fault(seed: number): Promise<unknown> {
  const durability = pick(durabilities, seed)
  const one = pick(faults, seed >> 1)
  return inDirectory(tmpdir(), async (directory) => {
    const { calls } = await faultRound(directory, durability, one, Number.MAX_SAFE_INTEGER)
    const at = 1 + (seed % Math.max(1, calls))
    const { codes } = await faultRound(directory, durability, one, at)
    return { durability, ...one, at, calls, codes }
  })
}

async function damage(seed: number, kind = pick(damages, seed), rounds = 5): Promise<unknown> {
  return inDirectory(tmpdir(), async (directory) => {
    const original = join(directory, 'original')
    await makeStore(original)
    const report = await damageRounds(original, directory, { damage: kind, rounds, seed })
    requireNone(report.faults, report)
    return { damage: kind, ...report }
  })
}

/** A writer, a corpus job, or workers that share one are killed. */
async function crash(seed: number): Promise<unknown> {
  const kind = pick(
    [
      'exact',
      'near',
      'eviction',
      'corpus',
      'workers',
      'second-run',
      'collect',
      'compact',
      'rewrite',
      'streams',
    ] as const,
    seed,
  )
  const orderIndependent = pick([false, true], seed >> 2)
  if (kind === 'workers') {
    const round = { workers: 4, documents: 6000, killsMax: 10, betweenMs: 1500, orderIndependent }
    return { kind, ...(await runCorpusRound({ seed, ...round })) }
  }
  return inDirectory(tmpdir(), async (directory) => {
    const format = pick(corpusFormats, seed >> 3)
    if (kind === 'second-run') {
      const options = { rounds: 3, seed, format, documents: 600 }
      return { kind, format, ...(await secondRunRounds(directory, options)) }
    }
    if (kind === 'eviction') {
      return { kind, ...(await evictRounds(directory, { rounds: 10, seed })) }
    }
    if (kind === 'streams')
      return { kind, ...(await streamRounds(directory, { rounds: 20, seed })) }
    if (kind === 'collect' || kind === 'compact') {
      return { kind, ...(await crashRounds(directory, { rounds: 20, seed, beside: kind })) }
    }
    if (kind === 'rewrite') {
      const options = { rounds: 20, seed, dedup: 'near', beside: kind } as const
      return { kind, ...(await crashRounds(directory, options)) }
    }
    if (kind !== 'corpus') {
      return { kind, ...(await crashRounds(directory, { rounds: 10, seed, dedup: kind })) }
    }
    const options = { rounds: 4, seed, format, orderIndependent, documents: 1500 }
    return { kind, format, ...(await corpusRounds(directory, options)) }
  })
}

async function raceRound(seed: number): Promise<unknown> {
  const engine = await sharedEngine('lmdb')
  try {
    const options = { ...WHOLE, location: engine.location, seed, crashes: 0.02 }
    const report = await race({ ...options, processes: 4, inFlight: 8 })
    const { storedTwice, lost, wrongReferences, unresolved, bothAccepted, wronglyMatched } = report
    const wrong = storedTwice + lost + wrongReferences + unresolved + bothAccepted + wronglyMatched
    requireNone([...report.errors, ...Array.from({ length: wrong })], report)
    return report
  } finally {
    await engine.stop()
  }
}

const SCHEDULES = 100

async function simulation(seed: number): Promise<unknown> {
  const [kind, run] = pick(Object.entries(allKinds), seed)
  for (let one = seed; one < seed + SCHEDULES; one++) {
    try {
      await run(one)
    } catch (error) {
      const again = `npm run simulate -- --seed ${one} --schedules 1 --kind ${kind}`
      throw new Error(`Repeat it with: ${again}`, { cause: error })
    }
  }
  return { kind, schedules: SCHEDULES }
}

/** Test files that ask for an amount, with the larger one. Seeds are their own. */
function tests(): Promise<unknown> {
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter(
        (path) => path.endsWith('.test.ts') && readFileSync(path, 'utf8').includes('amount('),
      ),
  )
  return testFiles(files)
}

async function testFiles(files: readonly string[]): Promise<unknown> {
  const env = { ...process.env, PRESTIGE_TESTS: 'long' }
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...files]
  const child = spawn(process.execPath, args, { env, stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`Tests ended with ${code}.`)
  return { files: files.length }
}

const BOUNDED_SOAK_SECONDS = 180

/** Many small changes checked against a Map; then a bounded set of values at full speed, whose plot is written. */
const soak: Round = (seed) =>
  inDirectory(tmpdir(), async (directory) => {
    const changed = await soakRound(join(directory, 'changed'), seed)
    const bounded = await boundedSoak(join(directory, 'bounded'), seed, BOUNDED_SOAK_SECONDS)
    const { samples, fileGrowth, rssGrowth, p99Growth, operations } = bounded
    const plot = join(tmpdir(), `prestige-soak-${seed}.svg`)
    await writeFile(plot, soakPlot(bounded))
    const report = { ...changed, operations, fileGrowth, rssGrowth, p99Growth, plot }
    requireNone(fileGrowth > 1.25 || rssGrowth > 1.5 ? [report] : [], { ...report, samples })
    return { ...report, last: samples.at(-1) }
  })

/** The same documents are kept in all cases. */
async function orders(cases: readonly OrderCase[]): Promise<unknown> {
  const rounds = new OrderRounds()
  try {
    const first = await rounds.run({ order: 0, workers: 1, state: 'lmdb' })
    const different: OrderCase[] = []
    for (const one of cases) {
      if ((await rounds.run(one)).kept !== first.kept) different.push(one)
    }
    requireNone(different, { different })
    return { cases: cases.length, kept: first.kept.split(' ').length }
  } finally {
    await rounds.stop()
  }
}

const tasks: Readonly<Record<string, Round>> = {
  crash,
  race: raceRound,
  simulation,
  soak,
  opens: (seed) => opens(seed),
  faults: fault,
  damage: (seed) => damage(seed),
  tests,
  'hostile-http': () => testFiles(['test/server-hostile.test.ts', 'test/server-process.test.ts']),
  orders: (seed) => orders(sampledCases(seed)),
  streams: (seed) =>
    inDirectory(tmpdir(), (directory) => streamSoak(directory, seed, Number(values.gib))),
}

/**
 * What a part does, and about how long it takes. Times were measured on two cores shared with other work, or are set
 * above; where there is none, none was measured. Every round prints its own.
 */
const descriptions: Readonly<Record<string, readonly [what: string, times?: string]>> = {
  crash: ['writers, corpus jobs and their workers are killed; what is left is checked'],
  race: ['processes that write the same values and near duplicates, and die'],
  simulation: [
    'schedules of transactions with conflicts, lost replies and crashes, 100 a round',
    'a round 5 s, of the corpus job 2 min',
  ],
  soak: [
    'changes checked against a Map; then a bounded store at full speed, with a plot',
    'a round more than 1 min',
  ],
  opens: [
    'processes that open, close, read, write and are killed',
    'a round 20 s, every case 8 min',
  ],
  faults: ['one system call of 500 puts fails', 'a round 5 s; every case is a round for each call'],
  damage: [
    'files of stores with flipped bits, lost pages, or cut off: 5 a round, 1250 in every case',
    'a round 20 s',
  ],
  'hostile-http': [
    '10,000 malformed requests, bodies of 1 GiB, and servers that are killed under load',
  ],
  streams: [
    'a long stream is put, read, backed up and restored; memory and speed beside SHA-256',
    '1 GiB more than 2 min',
  ],
  tests: ['tests that do less where all tests run, in full, once'],
  orders: [
    'corpus jobs in 20 orders, with all numbers of workers and engines: 320 in every case',
    'every case 25 min',
  ],
}

function usage(): string {
  const parts = Object.entries(descriptions).map(
    ([name, lines]) => `  ${name.padEnd(12)}${lines.join(`\n${' '.repeat(14)}`)}`,
  )
  return `Usage: npm run long -- MINUTES | NAME [MINUTES] [--seed N] [--gib N]
With MINUTES alone all parts share them; each has one round at least. NAME alone is every case
of opens, faults, damage or orders, and a minute of the others. Parts:
${parts.join('\n')}`
}

/** Every case instead of some by chance. */
const whole: Readonly<Record<string, (seed: number) => Promise<void>>> = {
  async opens(seed) {
    for (let setting = 0; setting < 8; setting++) {
      await report('opens', (seed & ~7) + setting, (one) => opens(one, 60))
    }
  },
  async faults(seed) {
    for (const durability of durabilities) {
      for (const one of faults) await report('faults', seed, () => everyCall(durability, one))
    }
  },
  async damage(seed) {
    const counts = { flip: 1000, page: 200, cut: 50 }
    for (const kind of damages) {
      await report('damage', seed, () => damage(seed, kind, counts[kind]))
    }
  },
  async orders(seed) {
    await report('orders', seed, () => orders(everyCase()))
  },
}

async function everyCall(
  durability: (typeof durabilities)[number],
  one: (typeof faults)[number],
): Promise<unknown> {
  const counts: Record<string, number> = {}
  let at = 0
  await inDirectory(tmpdir(), async (directory) => {
    for (let calls = 1; at < calls;) {
      const outcome = await faultRound(directory, durability, one, ++at)
      calls = outcome.calls
      for (const code of outcome.codes) counts[code] = (counts[code] ?? 0) + 1
    }
  })
  return { durability, ...one, count: at, ...counts }
}

async function report(name: string, seed: number, round: Round): Promise<void> {
  const started = performance.now()
  console.log(`${name} seed ${seed}`)
  try {
    const found = await round(seed)
    const seconds = Math.round((performance.now() - started) / 100) / 10
    console.log(`  ${JSON.stringify({ seconds, ...Object(found) })}`)
  } catch (error) {
    process.exitCode = 1
    console.error(`FAILED: npm run long -- ${name} 0 --seed ${seed}`)
    console.error(error)
  }
}

/** At least one round. */
async function runFor(name: string, round: Round, first: number, ms: number): Promise<void> {
  const end = performance.now() + ms
  let seed = first
  do await report(name, seed++, round)
  while (performance.now() < end)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    gib: { type: 'string', default: '4' },
  },
})
const seed = Number(values.seed)
const [first = '', second] = positionals
const minutes = Number(second ?? (/^\d/.test(first) ? first : NaN))
const round = Object.hasOwn(tasks, first) ? tasks[first] : undefined

if (round && second === undefined && Object.hasOwn(whole, first)) await whole[first]?.(seed)
else if (round) await runFor(first, round, seed, (second === undefined ? 1 : minutes) * 60_000)
else if (minutes >= 0 && second === undefined) {
  const names = Object.entries(tasks)
  const end = performance.now() + minutes * 60_000
  for (const [at, [name, one]] of names.entries()) {
    await runFor(name, one, seed, (end - performance.now()) / (names.length - at))
  }
} else {
  console.error(usage())
  process.exitCode = 2
}
