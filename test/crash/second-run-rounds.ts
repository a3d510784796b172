/**
 * Kills a run that supersedes documents of an earlier one, and then its undo, with SIGKILL at moments spread over their
 * duration, every second time while outputs are published. Each goes on by the same command, and everything is then as
 * after a run and an undo that nobody disturbed: outputs and records byte for byte, and the rows of all documents.
 */

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { gzipSync } from 'node:zlib'

import { openLmdb } from '../../src/backends/lmdb/backend.ts'
import { seededRandom } from '../../src/backends/simulated/backend.ts'
import { dedupeSpaces } from '../../src/dedupe/rows.ts'
import { corpus, type Doc, jsonl, textMaker, writeFiles } from '../corpus-kit.ts'
import {
  type CorpusFormat,
  filesOf,
  finish,
  publishingSeen,
  start,
  stateOf,
} from './corpus-rounds.ts'

export interface SecondRunOptions {
  readonly rounds: number
  readonly seed: number
  readonly format: CorpusFormat
  /** Of each of the two runs. */
  readonly documents: number
}

export interface SecondRunReport {
  runKills: number
  undoKills: number
  /** Of these, while outputs were written aside or moved. */
  publishing: number
  /** The command was faster than the killer. */
  missed: number
}

interface Snapshot {
  readonly files: Record<string, string>
  readonly state: unknown
}

export async function secondRunRounds(
  directory: string,
  options: SecondRunOptions,
): Promise<SecondRunReport> {
  const random = seededRandom(options.seed)
  const [out, first] = [join(directory, 'out'), join(directory, 'first')]
  makeInputs(directory, options)
  const common = ['-o', out, '--keep', 'longest', '--max-drop', '100%', '--quiet', '--run']
  const run = ['dedupe', join(directory, 'b'), ...common, 'two']
  const undo = ['undo', 'two', '--state', join(out, 'state'), '--quiet']
  await finish(['dedupe', join(directory, 'a'), ...common, 'one'])
  copy(out, first)
  const runMs = await timed(run)
  const afterRun = await snapshot(out)
  const undoMs = await timed(undo)
  const afterUndo = await snapshot(out)
  const report: SecondRunReport = { runKills: 0, undoKills: 0, publishing: 0, missed: 0 }
  for (let round = 0; round < options.rounds; round++) {
    rmSync(out, { recursive: true })
    copy(first, out)
    const where = `round ${round} of seed ${options.seed}`
    const share = (round + random()) / options.rounds
    const isPublishing = round % 2 === 0
    const kill = (args: readonly string[], ms: number) =>
      killed(args, out, isPublishing, ms, report)
    if (await kill(run, isPublishing ? random() * 40 : share * runMs)) report.runKills++
    await finish(run)
    compare(await snapshot(out), afterRun, `${where}, run`)
    if (await kill(undo, isPublishing ? random() * 30 : share * undoMs)) report.undoKills++
    await finish(undo)
    compare(await snapshot(out), afterUndo, `${where}, undo`)
  }
  return report
}

/** Half of the documents of the second run are longer copies of the first one's. */
function makeInputs(directory: string, { format, documents: count, seed }: SecondRunOptions): void {
  const text = textMaker(seed)
  const old = corpus(count, seed)
  const better = old
    .filter(({ id }, at) => id.startsWith('doc-') && at % 2 === 0)
    .map((doc) => ({ id: `better-${doc.id}`, text: `${doc.text} and then some more` }))
  const fresh = Array.from({ length: Math.ceil(count / 4) }, (_, at) => ({
    id: `new-${at}`,
    text: text(),
  }))
  write(directory, 'a', old, format)
  write(directory, 'b', [...better, ...fresh], format)
}

function write(directory: string, name: string, docs: readonly Doc[], format: CorpusFormat): void {
  if (format === 'files') {
    const texts = docs.map(({ id, text }) => [`${id}.txt`, text])
    return writeFiles(join(directory, name), Object.fromEntries(texts))
  }
  const isPacked = format === 'gzip'
  for (let part = 0; part < 3; part++) {
    const own = docs.filter((_, at) => at % 3 === part)
    const lines = jsonl(own)
    const file = `part-${part}.jsonl${isPacked ? '.gz' : ''}`
    writeFiles(join(directory, name), { [file]: isPacked ? gzipSync(lines) : lines })
  }
}

/** With times to the nanosecond: outputs are recognised by them. */
function copy(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to])
}

async function timed(args: readonly string[]): Promise<number> {
  const from = performance.now()
  await finish(args)
  return performance.now() - from
}

async function killed(
  args: readonly string[],
  out: string,
  isPublishing: boolean,
  ms: number,
  report: SecondRunReport,
): Promise<boolean> {
  const child = start(args)
  const exited = once(child, 'exit')
  if (isPublishing) await publishingSeen(out, child)
  await Promise.race([sleep(ms), exited])
  const isKilled = child.exitCode === null && child.kill('SIGKILL')
  await exited
  if (!isKilled) report.missed++
  else if (isPublishing) report.publishing++
  return isKilled
}

async function snapshot(out: string): Promise<Snapshot> {
  const backend = await openLmdb(join(out, 'state'), { spaces: dedupeSpaces, durability: 'os' })
  try {
    return { files: filesOf(out), state: await stateOf(backend) }
  } finally {
    await backend.close()
  }
}

function compare(found: Snapshot, expected: Snapshot, where: string): void {
  for (const name of new Set([...Object.keys(found.files), ...Object.keys(expected.files)])) {
    if (found.files[name] !== expected.files[name]) {
      throw new Error(`${where}: ${name} differs: ${found.files[name]} ${expected.files[name]}`)
    }
  }
  if (!isDeepStrictEqual(found.state, expected.state))
    throw new Error(`${where}: the state differs`)
}
