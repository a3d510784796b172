/**
 * Kills a corpus job with SIGKILL at moments spread over its whole duration, lets it go on, and holds what came of it
 * against a run that nobody disturbed: the outputs byte for byte, the ledger and the state but for times and ids.
 */

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

import { openLmdb } from '../../src/backends/lmdb/backend.ts'
import { seededRandom } from '../../src/backends/simulated/backend.ts'
import type { Backend } from '../../src/backends/contract.ts'
import {
  batches,
  clusters,
  decodeEntries,
  dedupeSpaces,
  documents,
  members,
  pending,
  rejects,
} from '../../src/dedupe/rows.ts'
import { decodeCentre } from '../../src/dedupe/decision/centre-row.ts'
import { listRuns } from '../../src/dedupe/runs.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { MAIN } from '../children/cli.ts'
import { corpus, jsonl, writeFiles } from '../corpus-kit.ts'

export const corpusFormats = ['jsonl', 'gzip', 'files'] as const
export type CorpusFormat = (typeof corpusFormats)[number]

export interface CorpusRoundsOptions {
  readonly rounds: number
  /** In every so many-th round the run is killed again and again: in every fourth, if not given. */
  readonly chainEvery?: number
  readonly seed: number
  readonly format: CorpusFormat
  readonly orderIndependent: boolean
  /** So many documents the corpus has. */
  readonly documents: number
}

export interface CorpusReport {
  rounds: number
  kills: number
  /** Runs that were killed more than once before they were done. */
  chains: number
  /** The job was faster than the killer. */
  missed: number
  /** How far the job was when it was killed. */
  phases: Record<string, number>
  ms: number
}

const CHAIN_KILLS = 4
/** A job that is not killed is run again and killed sooner, down to this. */
const MOMENT_MS_MIN = 20

export async function corpusRounds(
  directory: string,
  options: CorpusRoundsOptions,
): Promise<CorpusReport> {
  const { chainEvery = 4 } = options
  const random = seededRandom(options.seed)
  const input = join(directory, 'in')
  makeInput(input, options)
  const args = ['dedupe', input, '--run', 'the-run', '--quiet', '--max-drop', '100%']
  if (options.orderIndependent) args.push('--order-independent', '--keep', 'longest')
  const whole = join(directory, 'whole')
  const times = await undisturbed([...args, '-o', whole], whole)
  const expected = await outcomeOf(whole)
  const report: CorpusReport = {
    rounds: options.rounds,
    kills: 0,
    chains: 0,
    missed: 0,
    phases: {},
    ms: Math.round(times.allMs),
  }
  for (let round = 0; round < options.rounds; round++) {
    // The outputs have one name in every round, since the state holds it.
    rmSync(join(directory, 'out'), { recursive: true, force: true })
    const out = join(directory, 'out')
    const isChain = round % chainEvery === chainEvery - 1
    for (let nth = 0; nth < (isChain ? CHAIN_KILLS : 1); nth++) {
      const { isPublishing, ms } = momentOf(round, isChain, options.rounds, random, times)
      let afterMs = ms
      const kill = () =>
        runAndKill([...args, '-o', out], out, { isPublishing, ms: afterMs }, report)
      // Moments are parts of how long the first run took, and that may have been the slowest of all.
      while (!(await kill()) && !isChain && afterMs > MOMENT_MS_MIN) {
        afterMs /= 2
        rmSync(out, { recursive: true, force: true })
      }
    }
    if (isChain) report.chains++
    await finish([...args, '-o', out])
    compare(await outcomeOf(out), expected, `round ${round} of seed ${options.seed}`)
  }
  return report
}

function makeInput(input: string, { format, documents: count, seed }: CorpusRoundsOptions): void {
  const half = Math.ceil(count / 2)
  const docs = [corpus(half, seed), corpus(half, seed + 1)]
  const parts = [jsonl(docs[0] ?? []) + '{"id": "cut off\n', jsonl(docs[1] ?? [])]
  if (format === 'files') {
    const texts = docs.flatMap((part, at) =>
      part.map(({ id, text }) => [`${at}/${id}.txt`, text] as const),
    )
    return writeFiles(input, Object.fromEntries([...texts, ['0/bad.txt', Buffer.of(0xff)]]))
  }
  const ending = format === 'gzip' ? '.gz' : ''
  const packed = parts.map((part) => (format === 'gzip' ? gzipSync(part) : part))
  writeFiles(input, {
    [`a.jsonl${ending}`]: packed[0] ?? '',
    [`b.jsonl${ending}`]: packed[1] ?? '',
  })
}

interface Times {
  readonly allMs: number
  /** From when the first output can be seen to the end. */
  readonly publishMs: number
}

export function start(args: readonly string[]) {
  return spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
}

async function undisturbed(args: readonly string[], out: string): Promise<Times> {
  const from = performance.now()
  const child = start(args)
  const exited = once(child, 'exit')
  await publishingSeen(out, child)
  const publishing = performance.now()
  const [code] = await exited
  if (code !== 0) throw new Error(`The undisturbed run ended with ${code}.`)
  return { allMs: performance.now() - from, publishMs: performance.now() - publishing }
}

/** Waits until outputs are written aside, or the job has ended. */
export async function publishingSeen(
  out: string,
  child: { exitCode: number | null },
): Promise<void> {
  const isBegun = () =>
    existsSync(out) && readdirSync(out).some((name) => name.startsWith('.staged-'))
  while (!isBegun() && child.exitCode === null) await sleep(1)
}

interface Moment {
  /** Counted from when publishing has begun, instead of from the start. */
  readonly isPublishing: boolean
  readonly ms: number
}

/** Rounds share the duration among themselves; every third one is killed while it publishes. */
function momentOf(
  round: number,
  isChain: boolean,
  rounds: number,
  random: () => number,
  { allMs, publishMs }: Times,
): Moment {
  if (isChain) return { isPublishing: random() < 0.2, ms: random() * allMs * 0.6 }
  if (round % 3 === 1) return { isPublishing: true, ms: random() * publishMs }
  return { isPublishing: false, ms: ((round + random()) / rounds) * allMs }
}

/** Whether it was still running when it was to be killed. */
async function runAndKill(
  args: readonly string[],
  out: string,
  { isPublishing, ms }: Moment,
  report: CorpusReport,
): Promise<boolean> {
  const child = start(args)
  const exited = once(child, 'exit')
  if (isPublishing) await publishingSeen(out, child)
  await Promise.race([sleep(ms), exited])
  const isKilled = child.exitCode === null && child.kill('SIGKILL')
  await exited
  if (!isKilled) report.missed++
  else {
    report.kills++
    const phase = await phaseOf(join(out, 'state'))
    report.phases[phase] = (report.phases[phase] ?? 0) + 1
  }
  return isKilled
}

/** What the state says of a run whose process is gone. */
async function phaseOf(state: string): Promise<string> {
  if (!existsSync(join(state, 'data.mdb'))) return 'before the state'
  const backend = await openLmdb(state, { spaces: dedupeSpaces, durability: 'os' })
  try {
    return (await listRuns(backend)).at(-1)?.status ?? 'before the run'
  } finally {
    await backend.close()
  }
}

export async function finish(args: readonly string[]): Promise<void> {
  const child = start(args)
  let told = ''
  child.stderr.on('data', (part: Buffer) => (told += String(part)))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`A run that was killed did not go on: ${code} ${told}`)
}

export interface Outcome {
  readonly files: Record<string, string>
  readonly ledger: unknown
  readonly state: unknown
}

/** All that a finished run has left. */
export async function outcomeOf(out: string): Promise<Outcome> {
  const backend = await openLmdb(join(out, 'state'), { spaces: dedupeSpaces, durability: 'os' })
  try {
    return { files: filesOf(out), ledger: await ledgerOf(backend), state: await stateOf(backend) }
  } finally {
    await backend.close()
  }
}

export function filesOf(out: string): Record<string, string> {
  const files: Record<string, string> = {}
  for (const name of readdirSync(out, { recursive: true, encoding: 'utf8' }).toSorted()) {
    if (name.startsWith('state') || statSync(join(out, name)).isDirectory()) continue
    files[name] = basename(name).startsWith('report.')
      ? 'is there'
      : digestOf(name, readFileSync(join(out, name)))
  }
  return files
}

function digestOf(name: string, bytes: Buffer): string {
  if (basename(name) !== 'manifest.json') return createHash('sha256').update(bytes).digest('hex')
  const manifest = JSON.parse(bytes.toString())
  const { startedAt: _from, finishedAt: _to, undoneAt: _undone, ...rest } = manifest
  return JSON.stringify(rest)
}

async function ledgerOf(backend: Backend): Promise<unknown> {
  const found: unknown[] = []
  const ledger = await openLedger(backend)
  for await (const { at: _at, ...line } of ledger.byRun('the-run')) found.push(line)
  return { found, counts: await ledger.counts(), run: await ledger.counts({ run: 'the-run' }) }
}

export async function stateOf(backend: Backend): Promise<unknown> {
  const rows: unknown[] = []
  for await (const { key, value } of backend.scan(documents)) {
    const { centre: bytes, at: _at, ...row } = value
    const centre = bytes && decodeCentre(bytes)
    // Rows of the indexes have ids that are made anew.
    const shelves = [centre?.near?.[0], centre?.simhash?.[0], centre?.form, centre?.chunks]
    rows.push([key.toString('hex'), row, shelves])
  }
  for await (const { key, value } of backend.scan(clusters)) rows.push([key.toString('hex'), value])
  for (const space of [members, pending]) {
    for await (const { key, value } of backend.scan(space)) {
      rows.push([space.name, key.toString('hex'), Buffer.from(value).toString('hex')])
    }
  }
  for await (const { key, value } of backend.scan(rejects)) rows.push([key.toString('hex'), value])
  // Where one batch ends and the next begins depends on when the run was cut off.
  for await (const { key, value } of backend.scan(batches)) {
    const shard = key.subarray(0, -4).toString('hex')
    for (const { position, key: of, isRepeated } of decodeEntries(value)) {
      rows.push([shard, position, of.toString('hex'), isRepeated])
    }
  }
  return rows
}

/** Says what differs, since both sides are long. */
function compare(found: Outcome, expected: Outcome, where: string): void {
  for (const name of new Set([...Object.keys(found.files), ...Object.keys(expected.files)])) {
    if (found.files[name] !== expected.files[name]) throw new Error(`${where}: ${name} differs`)
  }
  if (!isDeepStrictEqual(found.ledger, expected.ledger))
    throw new Error(`${where}: the ledger differs`)
  if (!isDeepStrictEqual(found.state, expected.state))
    throw new Error(`${where}: the state differs`)
}
