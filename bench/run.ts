/**
 * The front door of the benchmarks: `npm run bench -- NAME [--json] [--runs 5] [--scale 0.1] [--case TEXT]
 * [--profile DIR]`. Without a name it lists them; `all` runs all.
 */

import { mkdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { benchNames, loadBench } from './harness/bench.ts'
import type { PureResult } from './harness/pure.ts'
import { lineOf, tableHead, tableRow } from './harness/report.ts'
import { type Effort, runCase, withWorkshop } from './harness/rounds.ts'

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    runs: { type: 'string', default: '5' },
    scale: { type: 'string', default: '1' },
    case: { type: 'string', default: '' },
    profile: { type: 'string' },
  },
})

/** Results. */
function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** What is no result, so that what is printed with --json is JSON alone. */
function note(line: string): void {
  process.stderr.write(`${line}\n`)
}

async function list(): Promise<void> {
  for (const name of benchNames) {
    const { question } = await loadBench(name)
    say(`${name.padEnd(15)}${question}`)
  }
  for (const [name, { question }] of Object.entries({ ...pure, ...figures }))
    say(`${name.padEnd(15)}${question}`)
  say(
    `${'corpus'.padEnd(15)}What does deduplicating a corpus cost, beside sketching its documents?`,
  )
}

function header(): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown CPU'
  return `# ${model} × ${cpus().length}, Node ${process.version}, ${new Date().toISOString()}`
}

async function runBench(name: string, effort: Effort): Promise<void> {
  const bench = await loadBench(name)
  const skipped = bench.skip?.()
  if (skipped !== undefined) {
    note(`# SKIPPED ${name}: ${skipped}`)
    process.exitCode = 1
    return
  }
  const cases = bench.cases.filter((one) => one.name.includes(flags.case))
  if (!flags.json) say(`\n${name}: ${bench.question}\n${tableHead()}`)
  await withWorkshop(async (workshop) => {
    for (const one of cases) {
      const line = lineOf(await runCase(bench, one, effort, workshop))
      say(flags.json ? JSON.stringify(line) : tableRow(line))
    }
  })
}

function positive(name: 'runs' | 'scale'): number {
  const value = Number(flags[name])
  if (value > 0 && (name === 'scale' || Number.isInteger(value))) return value
  throw new Error(`--${name} takes a positive number, not ${flags[name]}.`)
}

/** What needs no store, no directory and no fresh process is measured in this one. */
const pure: Record<
  string,
  { question: string; run(print: (result: PureResult) => void): Promise<void> }
> = {
  kernels: {
    question: 'What does a fingerprint cost beside SHA-256 of the same bytes?',
    run: async (print) => (await import('./kernels.ts')).benchKernels(print),
  },
  'near-tables': {
    question: 'What do a million representatives cost to hold and to ask, beside maps of strings?',
    run: async (print) => {
      const { benchNearTables } = await import('./near-tables.ts')
      await benchNearTables(Math.round(1_000_000 * positive('scale')), print)
    },
  },
  vectors: {
    question: 'What does a search among vectors cost and miss, beside one in floats through all?',
    run: async (print) => {
      const { benchVectors } = await import('./vectors.ts')
      await benchVectors(Math.round(100_000 * positive('scale')), print, flags.case)
    },
  },
  input: {
    question: 'What does reading documents cost beside JSON.parse and the usual libraries?',
    run: async (print) => (await import('./input.ts')).benchInput(positive('scale'), print),
  },
}

/** What is counted, not timed. */
const figures: Record<
  string,
  { question: string; run(print: (line: Readonly<Record<string, unknown>>) => void): Promise<void> }
> = {
  cache: {
    question:
      'How many wrong answers does the cache serve, beside a bare threshold with as many right?',
    run: async (print) => (await import('./cache.ts')).benchCache(positive('scale'), print),
  },
  chunks: {
    question: 'What do versions of a file take, and what does a long stream cost beside SHA-256?',
    run: async (print) => {
      const { benchChunks } = await import('./chunks.ts')
      await benchChunks(positive('scale'), print)
    },
  },
  containment: {
    question: 'Which planted excerpts are found, with which spans, and what does that cost?',
    run: async (print) => {
      const { benchContainment } = await import('./containment.ts')
      await benchContainment(positive('scale'), print)
    },
  },
  'larger-than-memory': {
    question: 'Does a store keep its speed when it is larger than memory?',
    run: async (print) => {
      const { benchLargerThanMemory } = await import('./larger-than-memory.ts')
      await benchLargerThanMemory(positive('scale'), print)
    },
  },
  'bounded-memory': {
    question: 'Does the near-duplicate index keep its speed with less memory than it needs?',
    run: async (print) => {
      const { benchBoundedMemory } = await import('./bounded-memory.ts')
      await benchBoundedMemory(positive('scale'), print)
    },
  },
  'edit-curves': {
    question: 'Which edits of a text are found, by script and length?',
    run: async (print) => {
      const { benchEditCurves } = await import('./edit-curves.ts')
      benchEditCurves(positive('scale'), flags.case, print)
    },
  },
  guards: {
    question: 'What do guards keep apart rightly and wrongly, by wording and by meaning?',
    run: async (print) => {
      const { benchGuards } = await import('./guards.ts')
      await benchGuards(positive('scale'), print)
    },
  },
  server: {
    question: 'What does a store cost behind HTTP, beside the same handler that does nothing?',
    run: async (print) => {
      const { benchServer } = await import('./server.ts')
      const settings = { only: flags.case, profiles: flags.profile }
      await benchServer(positive('scale'), (line) => print({ ...line }), settings)
    },
  },
  judge: {
    question: 'How many wrong merges does a judge save, at the recall of a bare threshold?',
    run: async (print) => (await import('./judge.ts')).benchJudge(print),
  },
  'tune-promises': {
    question: 'Does a precision that tuning promises hold for other pairs?',
    run: async (print) => {
      const { benchTunePromises } = await import('./tune-promises.ts')
      await benchTunePromises(positive('scale'), print)
    },
  },
  'semantic-quality': {
    question: 'How well does the built-in model judge meaning, with and without guards?',
    run: async (print) => {
      const { benchSemanticQuality } = await import('./semantic-quality.ts')
      await benchSemanticQuality(positive('scale'), print)
    },
  },
}

function pureRow(result: PureResult): string {
  const { case: name, cpuMicrosPerOp, reference, ratio, ratioMin, ratioMax, isWithin } = result
  const verdict = isWithin === undefined ? '' : isWithin ? '  ok' : '  MISSED'
  const beside = `${ratio} × ${reference} (${ratioMin}–${ratioMax})`
  return `${name.padEnd(56)}${String(cpuMicrosPerOp).padStart(12)} CPU µs  ${beside}${verdict}`
}

async function runPure(name: string): Promise<void> {
  await pure[name]?.run((result) => say(flags.json ? JSON.stringify(result) : pureRow(result)))
}

/** A whole corpus takes minutes, so `all` leaves it out. */
async function runCorpus(): Promise<void> {
  const { benchCorpus } = await import('./corpus.ts')
  const effort = { scale: positive('scale'), runs: positive('runs'), only: flags.case }
  note(header())
  await benchCorpus(effort, (line) => say(JSON.stringify(line, undefined, flags.json ? 0 : 2)))
}

async function main(): Promise<void> {
  const [wanted] = positionals
  if (wanted === undefined) return list()
  if (wanted === 'corpus') return runCorpus()
  for (const name of Object.keys(pure)) if (wanted === name || wanted === 'all') await runPure(name)
  for (const name of Object.keys(figures)) {
    if (wanted === name || wanted === 'all') {
      await figures[name]?.run((line) => say(JSON.stringify(line)))
    }
  }
  if (wanted in pure || wanted in figures) return
  const names = wanted === 'all' ? benchNames : benchNames.filter((name) => name === wanted)
  if (names.length === 0) throw new Error(`There is no benchmark ${wanted}. Run without a name.`)
  const profiles = flags.profile === undefined ? undefined : resolve(flags.profile)
  if (profiles !== undefined) mkdirSync(profiles, { recursive: true })
  note(header())
  const effort = { runs: positive('runs'), scale: positive('scale'), profiles }
  for (const name of names) await runBench(name, effort)
}

await main()
