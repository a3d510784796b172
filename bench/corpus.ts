/**
 * What does deduplicating a corpus cost, beside sketching the same documents and nothing else? Its memory, its growth
 * with the corpus, and what a few new documents cost a corpus that is done.
 *
 * The job is held against sketches of texts that lie parsed in memory (`shareOfSketching`, which counts), against a
 * program that reads the same files and sketches (`shareOfProgram`), and against canonical forms that lie in memory
 * (`shareOfKernel`).
 *
 * `--scale 1` takes 100 MB of text, `--scale 11` more than a gigabyte. PRESTIGE_CORPUS names a directory of JSONL
 * files to take instead; without it, the corpus is made of what is on the machine. The job is the command, with
 * lmdb and the ledger, its start and the writing of what is kept included.
 */

import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { copyFileSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { cutCorpus, writeCorpus } from './harness/corpus-texts.ts'
import { growthPlot, type GrowthPoint } from './harness/growth-plot.ts'
import { type Watched, watchNode } from './harness/job-process.ts'
import { cliPath } from './harness/programs.ts'
import { rounded } from './harness/pure.ts'
import type { SketchesAlone } from './harness/sketch-alone.ts'

const UNIT_BYTES = 100e6
/** Of a fair sample: 16 files, so that a quarter and a half of them are a quarter and a half of the corpus. */
const PARTS = 16
/** What the job uses with its defaults. */
const SLOTS = '128'
const MEMORY_BASE = 300e6
const MEMORY_PER_DOCUMENT = 200
const RATIO_MIN = 0.5
const WALL_RATIO_MIN = 1.7
/** Of a document of 4 KB, with its text and with a sketch of it. */
const STATE_BYTES_MAX = { text: 1300, sketch: 500 }
const ADDED_SHARE = 0.01
const ADDED_COST_MAX = 0.03
const SKETCHES = fileURLToPath(new URL('./harness/sketch-alone.ts', import.meta.url))
const PROGRAM = fileURLToPath(new URL('./harness/sketch-program.mjs', import.meta.url))
const RESULTS = fileURLToPath(new URL('./results', import.meta.url))

export interface CorpusOptions {
  readonly scale: number
  readonly runs: number
  /** Part of the name of a case. */
  readonly only: string
}

export type Line = Readonly<Record<string, unknown>>

interface JobRun extends Watched {
  readonly documents: number
  readonly bytes: number
  readonly kept: number
}

interface Hands {
  /** Threads that read ahead. */
  readonly threads: number
  /** Processes that share the run. */
  readonly workers: number
}

const ALONE: Hands = { threads: 0, workers: 1 }

async function runJob(
  inputs: readonly string[],
  out: string,
  { threads, workers }: Hands = ALONE,
  more: readonly string[] = [],
): Promise<JobRun> {
  const hands = ['--threads', String(threads), '--workers', String(workers)]
  const args = ['dedupe', ...inputs, '-o', out, ...hands, ...more, '--quiet']
  const watched = await watchNode([cliPath, ...args])
  // safe: the job wrote it
  const { summary } = JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8')) as {
    summary: { documents: number; bytes: number; kept: number }
  }
  return { ...watched, ...summary }
}

async function sketches(files: readonly string[]): Promise<SketchesAlone> {
  const { stdout } = await watchNode(['--import', 'tsx', SKETCHES, SLOTS, ...files])
  return JSON.parse(stdout) as SketchesAlone // safe: the script wrote it
}

/** CPU seconds of the program that only sketches, its start included. */
async function sketchProgram(files: readonly string[], expected: number): Promise<number> {
  const { stdout, cpuSeconds } = await watchNode([PROGRAM, SLOTS, ...files])
  const { documents } = JSON.parse(stdout) as { documents: number } // safe: the script wrote it
  if (documents !== expected) throw new Error('The job and the program read differently.')
  return cpuSeconds
}

class Workshop {
  readonly directory = mkdtempSync(join(tmpdir(), 'prestige-corpus-'))
  readonly files: readonly string[]
  #outs = 0

  constructor(scale: number) {
    const given = process.env['PRESTIGE_CORPUS']
    if (given === undefined) {
      const { files } = writeCorpus(join(this.directory, 'texts'), UNIT_BYTES * scale, PARTS)
      this.files = files
    } else this.files = filesIn(given)
  }

  out(): string {
    return join(this.directory, `out-${this.#outs++}`)
  }

  drop(out: string): void {
    rmSync(out, { recursive: true, force: true })
  }

  close(): void {
    this.drop(this.directory)
  }
}

function filesIn(directory: string): string[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.jsonl'))
  return names.toSorted().map((name) => join(directory, name))
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0
}

/** The job and its reference in turn, as often as asked for. */
async function throughput(shop: Workshop, runs: number, hands: Hands): Promise<Line> {
  const rounds: { program: number; whole: number; kernel: number; job: JobRun }[] = []
  let alone: SketchesAlone | undefined
  for (let round = 0; round < runs; round++) {
    alone = await sketches(shop.files)
    const out = shop.out()
    const job = await runJob(shop.files, out, hands)
    const program = await sketchProgram(shop.files, job.documents)
    shop.drop(out)
    rounds.push({ program, whole: alone.wholeSeconds, kernel: alone.kernelSeconds, job })
  }
  const [first] = rounds
  if (!first || !alone) throw new Error('--runs takes a number from 1.')
  const { documents } = first.job
  if (documents !== alone.documents) throw new Error('The job and the reference read differently.')
  const cpu = median(rounds.map(({ job }) => job.cpuSeconds))
  const memoryMax = MEMORY_BASE + MEMORY_PER_DOCUMENT * documents
  const anonymousBytesMax = Math.max(...rounds.map(({ job }) => job.anonymousBytesMax))
  const ratio = median(rounds.map(({ whole, job }) => whole / job.cpuSeconds))
  return {
    bench: 'corpus',
    case: `job, ${hands.threads} threads, ${hands.workers} workers`,
    documents,
    megabytes: rounded(alone.bytes / 1e6),
    cpuSeconds: rounded(cpu),
    wallSeconds: rounded(median(rounds.map(({ job }) => job.wallSeconds))),
    documentsPerCpuSecond: rounded(documents / cpu),
    megabytesPerCpuSecond: rounded(alone.bytes / 1e6 / cpu),
    sketchDocumentsPerCpuSecond: rounded(documents / median(rounds.map(({ whole }) => whole))),
    programDocumentsPerCpuSecond: rounded(documents / median(rounds.map(({ program }) => program))),
    kernelDocumentsPerCpuSecond: rounded(documents / median(rounds.map(({ kernel }) => kernel))),
    shareOfSketching: rounded(ratio),
    shareOfProgram: rounded(median(rounds.map(({ program, job }) => program / job.cpuSeconds))),
    shareOfKernel: rounded(median(rounds.map(({ kernel, job }) => kernel / job.cpuSeconds))),
    anonymousMegabytes: rounded(anonymousBytesMax / 1e6),
    anonymousMegabytesMax: rounded(memoryMax / 1e6),
    isWithin: ratio >= RATIO_MIN && anonymousBytesMax <= memoryMax,
  }
}

/** Documents of about the same length, beside the program; and what the state takes. */
async function sized(shop: Workshop, kilobytes: number, runs: number): Promise<Line> {
  const directory = join(shop.directory, `cut-${kilobytes}`)
  const files = cutCorpus(shop.files, directory, kilobytes * 1000)
  const rounds: { program: number; job: JobRun; stateBytes: number }[] = []
  for (let round = 0; round < runs; round++) {
    const out = shop.out()
    const job = await runJob(files, out)
    const program = await sketchProgram(files, job.documents)
    rounds.push({ program, job, stateBytes: statSync(join(out, 'state', 'data.mdb')).size })
    shop.drop(out)
  }
  shop.drop(directory)
  const [first] = rounds
  if (!first) throw new Error('--runs takes a number from 1.')
  const { documents, bytes } = first.job
  const cpu = median(rounds.map(({ job }) => job.cpuSeconds))
  const ratio = median(rounds.map(({ program, job }) => program / job.cpuSeconds))
  const stateBytes = median(rounds.map((one) => one.stateBytes)) / documents
  return {
    bench: 'corpus',
    case: `documents of ${kilobytes} KB`,
    documents,
    bytesPerDocument: rounded(bytes / documents),
    cpuMicrosPerOp: rounded((cpu / documents) * 1e6),
    reference: 'the program that reads the same files and sketches',
    ratio: rounded(ratio),
    stateBytesPerDocument: rounded(stateBytes),
    isWithin: ratio >= RATIO_MIN && (kilobytes > 4 || stateBytes <= STATE_BYTES_MAX.text),
  }
}

/** What the state takes if documents are measured by sketches. */
async function sketched(shop: Workshop): Promise<Line> {
  const directory = join(shop.directory, 'cut-sketched')
  const files = cutCorpus(shop.files, directory, 4000)
  const config = join(shop.directory, 'sketch.yaml')
  writeFileSync(config, 'near: { evidence: sketch, guards: false }\n')
  const out = shop.out()
  const job = await runJob(files, out, ALONE, ['--config', config])
  const stateBytes = statSync(join(out, 'state', 'data.mdb')).size / job.documents
  shop.drop(out)
  return {
    bench: 'corpus',
    case: 'documents of 4 KB, measured by sketches',
    documents: job.documents,
    cpuMicrosPerOp: rounded((job.cpuSeconds / job.documents) * 1e6),
    stateBytesPerDocument: rounded(stateBytes),
    isWithin: stateBytes <= STATE_BYTES_MAX.sketch,
  }
}

/** One thread that reads ahead of the one that decides, beside none. */
async function threaded(shop: Workshop, runs: number): Promise<Line> {
  const wall = async (threads: number): Promise<number> => {
    const out = shop.out()
    const { wallSeconds } = await runJob(shop.files, out, { threads, workers: 1 })
    shop.drop(out)
    return wallSeconds
  }
  const ratios: number[] = []
  for (let round = 0; round < runs; round++) ratios.push((await wall(0)) / (await wall(1)))
  const ratio = median(ratios)
  return {
    bench: 'corpus',
    case: 'two threads',
    reference: 'wall time of one thread',
    ratio: rounded(ratio),
    isWithin: ratio >= WALL_RATIO_MIN,
  }
}

/** A quarter, half and all of the corpus. */
async function growth(shop: Workshop, print: (line: Line) => void): Promise<void> {
  const points: GrowthPoint[] = []
  for (const share of [0.25, 0.5, 1]) {
    const files = shop.files.slice(0, Math.ceil(shop.files.length * share))
    const out = shop.out()
    const job = await runJob(files, out)
    shop.drop(out)
    const { documents, bytes, cpuSeconds, wallSeconds, anonymousBytesMax } = job
    points.push({ documents, bytes, cpuSeconds, anonymousBytes: anonymousBytesMax })
    print({
      bench: 'corpus',
      case: `growth, ${share} of the corpus`,
      documents,
      megabytes: rounded(bytes / 1e6),
      cpuSeconds: rounded(cpuSeconds),
      wallSeconds: rounded(wallSeconds),
      cpuMicrosPerDocument: rounded((cpuSeconds * 1e6) / documents),
      anonymousMegabytes: rounded(anonymousBytesMax / 1e6),
      isWithin: anonymousBytesMax <= MEMORY_BASE + MEMORY_PER_DOCUMENT * documents,
    })
  }
  const plot = join(RESULTS, 'corpus-growth.svg')
  writeFileSync(plot, growthPlot(points, MEMORY_BASE, MEMORY_PER_DOCUMENT))
}

/** A corpus that is done, and one document in a hundred more, in a file of its own. */
async function added(shop: Workshop): Promise<Line> {
  const directory = join(shop.directory, 'grown')
  mkdirSync(directory)
  const all = shop.files.map((file, at) => {
    const path = join(directory, `part-${String(at).padStart(4, '0')}.jsonl`)
    if (file.startsWith(shop.directory)) linkSync(file, path)
    else copyFileSync(file, path)
    return path
  })
  const last = all.at(-1) ?? ''
  const fresh = join(directory, 'part-new.jsonl')
  const lines = cutOff(last, ADDED_SHARE * all.length)
  const out = shop.out()
  const full = await runJob([directory], out)
  writeFileSync(fresh, lines)
  const more = await runJob([directory], out)
  const share = more.cpuSeconds / full.cpuSeconds
  return {
    bench: 'corpus',
    case: 'one in a hundred added',
    documents: full.documents,
    added: more.documents,
    cpuSeconds: rounded(full.cpuSeconds),
    addedCpuSeconds: rounded(more.cpuSeconds),
    share: rounded(share),
    anonymousMegabytes: rounded(more.anonymousBytesMax / 1e6),
    isWithin: share <= ADDED_COST_MAX,
  }
}

/** Takes the last lines of a file away, about this share of its bytes, and gives them. */
function cutOff(file: string, share: number): Buffer {
  const bytes = readFileSync(file)
  const from = bytes.indexOf(10, Math.floor(bytes.length * (1 - Math.min(0.9, share)))) + 1
  rmSync(file)
  writeFileSync(file, bytes)
  truncateSync(file, from)
  return bytes.subarray(from)
}

export async function benchCorpus(
  { scale, runs, only }: CorpusOptions,
  print: (line: Line) => void,
): Promise<void> {
  const shop = new Workshop(scale)
  const isWanted = (name: string) => name.includes(only)
  try {
    if (isWanted('job, 0 threads')) print(await throughput(shop, runs, ALONE))
    if (isWanted('job, 1 thread')) print(await throughput(shop, 1, { threads: 1, workers: 1 }))
    if (isWanted('job, 2 workers')) print(await throughput(shop, 1, { threads: 0, workers: 2 }))
    if (isWanted('documents of 4 KB')) print(await sized(shop, 4, runs))
    if (isWanted('documents of 10 KB')) print(await sized(shop, 10, runs))
    if (isWanted('measured by sketches')) print(await sketched(shop))
    if (isWanted('two threads')) print(await threaded(shop, runs))
    if (isWanted('growth')) await growth(shop, print)
    if (isWanted('added')) print(await added(shop))
  } finally {
    shop.close()
  }
}
