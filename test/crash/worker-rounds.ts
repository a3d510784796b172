/**
 * Rounds of the corpus job with real processes: some share one run in one directory and are killed with SIGKILL at
 * random moments; whoever was killed is started again. What is published in the end must be whole.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

import { openLedger } from '../../src/index.ts'
import { seededRandom } from '../../src/backends/simulated/backend.ts'
import { MAIN } from '../children/cli.ts'
import { type Doc, jsonl, published, textMaker, writeFiles } from '../corpus-kit.ts'
import { documentsIn, groupOf, keptIn } from '../simulation/corpus-outputs.ts'

export interface CorpusRound {
  readonly seed: number
  readonly workers: number
  readonly documents: number
  readonly killsMax: number
  /** Milliseconds between kills, at most. */
  readonly betweenMs: number
  readonly orderIndependent: boolean
  /** Where workers share the state, if not in a directory. One worker alone has a directory. */
  readonly state?: string | undefined
}

export interface CorpusRoundReport {
  readonly kills: number
  readonly documents: number
  readonly kept: number
}

/** Of every group one is kept, whichever. */
function corpusOf(count: number, random: () => number): Doc[] {
  const text = textMaker(1 + Math.floor(random() * 1000))
  const docs: Doc[] = []
  for (let group = 0; docs.length < count; group++) {
    const own = text()
    const copies = [own, `${own} and more`, own.toUpperCase(), `${own} and less`, own]
    const wanted = random() < 0.5 ? 1 : 2 + Math.floor(random() * 4)
    copies.slice(0, wanted).forEach((one, copy) => {
      docs.push({ id: `${group}-${copy}`, text: one })
    })
  }
  return docs
    .map((doc) => ({ doc, at: random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ doc }) => doc)
}

const FILES = 8

function filesOf(docs: readonly Doc[]): Record<string, string> {
  const files: Record<string, string> = {}
  for (let file = 0; file < FILES; file++) {
    files[`part-${file}.jsonl`] = jsonl(docs.filter((_, at) => at % FILES === file))
  }
  return files
}

/** Starts again whoever is killed, until all have ended well. */
async function untilDone(args: readonly string[], round: CorpusRound, random: () => number) {
  let kills = 0
  const running = new Set<ChildProcess>()
  const one = async () => {
    for (;;) {
      const child = spawn(process.execPath, [MAIN, ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let said = ''
      child.stderr.on('data', (part: Buffer) => (said += part.toString()))
      running.add(child)
      const [code, signal] = await once(child, 'close')
      running.delete(child)
      if (code === 0) return
      if (signal !== 'SIGKILL') throw new Error(`a worker ended with ${code}: ${said}`)
    }
  }
  const killer = async () => {
    while (kills < round.killsMax) {
      await setTimeout(random() * round.betweenMs)
      const alive = [...running]
      if (alive.length === 0) return
      const victim = alive[Math.floor(random() * alive.length)]
      if (victim?.kill('SIGKILL')) kills++
    }
  }
  try {
    await Promise.all([...Array.from({ length: round.workers }, one), killer()])
  } finally {
    for (const child of running) child.kill('SIGKILL')
  }
  return kills
}

export async function runCorpusRound(round: CorpusRound): Promise<CorpusRoundReport> {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-round-'))
  const random = seededRandom(round.seed)
  const docs = corpusOf(round.documents, random)
  const at = (...names: string[]) => join(directory, ...names)
  writeFiles(at('in'), filesOf(docs))
  const options = round.orderIndependent ? ['--order-independent', '--keep', 'longest'] : []
  const common = ['--quiet', '--run', 'r', '--lease', '3', ...options]
  const args = (out: string) => ['dedupe', at('in'), '-o', at(out), ...common]
  try {
    const shared = round.state === undefined ? [] : ['--backend', round.state]
    const kills = await untilDone([...args('out'), ...shared], round, random)
    const ids = docs.map(({ id }) => id).toSorted()
    same(documentsIn(at('out')).toSorted(), ids, 'documents lost or doubled')
    const kept = keptIn(at('out'))
    same(kept.map(groupOf).toSorted(), [...new Set(ids.map(groupOf))].toSorted(), 'not one of each')
    await checkLedger(round.state ?? at('out/state'), ids, kept.toSorted())
    if (round.orderIndependent) {
      await untilDone(args('alone'), { ...round, workers: 1, killsMax: 0 }, random)
      same(published(at('out')), published(at('alone')), 'not what one worker writes')
    }
    return { kills, documents: docs.length, kept: kept.length }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function checkLedger(
  state: string,
  ids: readonly string[],
  kept: readonly string[],
): Promise<void> {
  const ledger = await openLedger(state)
  const lines: string[] = []
  const accepted: string[] = []
  for await (const { id, status } of ledger.byRun('r')) {
    lines.push(id)
    if (status === 'accepted') accepted.push(id)
  }
  await ledger.close()
  same(lines.toSorted(), ids, 'the ledger has other documents')
  same(accepted.toSorted(), kept, 'the ledger accepted others than were kept')
}

function same(one: unknown, other: unknown, what: string): void {
  if (JSON.stringify(one) !== JSON.stringify(other)) throw new Error(what)
}
