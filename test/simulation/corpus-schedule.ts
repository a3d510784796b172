/**
 * One schedule: some workers share a run of the corpus job on a simulated engine, interleaved at every read and
 * commit by a seed, with conflicts, failures, lost replies, leases that run out and crashes at any step; whoever
 * crashed or failed comes back and asks for the same again.
 *
 * At the end all have the same result; every document is there once; of documents that are alike one is kept; the
 * ledger says what was written. Where order must not matter, the outputs are those of one worker alone, byte for
 * byte, also when the run was undone and done again.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { PrestigeError } from '../../src/platform/errors.ts'
import { type DedupeOptions, type Deduper, openDedupe, openLedger } from '../../src/index.ts'
import type { JobResult } from '../../src/dedupe/job.ts'
import { documents } from '../../src/dedupe/rows.ts'
import { type ShardRow, shards } from '../../src/ledger/rows.ts'
import { NO_FAULTS, SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { MemoryBackend } from '../../src/backends/memory/backend.ts'
import type { Backend } from '../../src/backends/contract.ts'
import { type Doc, jsonl, published, textMaker, writeFiles } from '../corpus-kit.ts'
import { documentsIn, groupOf, keptIn } from './corpus-outputs.ts'

const LEASE_MS = 5000
/** As the smallest engine has it, but for rows: those of a run hold its whole config. */
const LIMITS = { keyBytesMax: 2048, valueBytesMax: 2048, cellsMax: 100 }
// Short texts, of which a word may be another.
const NEAR = {
  threshold: 0.6,
  profile: 'words-1',
  slots: 64,
  bands: 16,
  rows: 1,
  guards: false,
} as const

export interface CorpusReport {
  readonly steps: number
  readonly crashes: number
  readonly takenOver: number
  readonly trace: string
}

/** What of a worker's promises will never settle must not be swept away: it may hold a file. */
const kept: SimulatedWorld[] = []

/** Groups of texts that are alike, each of which is kept once; ids tell the group. */
function corpusOf(random: () => number): Doc[] {
  const text = textMaker(1 + Math.floor(random() * 1000))
  const docs: Doc[] = []
  const groups = 3 + Math.floor(random() * 4)
  for (let group = 0; group < groups; group++) {
    const own = text(12)
    const copies = 1 + Math.floor(random() * 4)
    for (let copy = 0; copy < copies; copy++) {
      const dice = random()
      const words = own.split(' ')
      words[copy] = `other${group}${copy}`
      const near = words.join(' ')
      const made = dice < 0.3 ? own : dice < 0.5 ? own.toUpperCase() : near
      docs.push({ id: `${group}-${copy}`, text: copy === 0 ? own : made })
    }
  }
  return docs
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item)
}

class Schedule {
  readonly world: SimulatedWorld
  readonly directory = mkdtempSync(join(tmpdir(), 'prestige-schedule-'))
  readonly options: DedupeOptions
  readonly docs: readonly Doc[]
  readonly trace: string[] = []
  readonly workers: number
  readonly results: JobResult[] = []
  crashes = 0
  takenOver = 0
  broken: unknown
  readonly #leases = new Map<string, ShardRow>()
  readonly #alive = new Map<number, { name: string; crash: () => void }>()

  constructor(seed: number) {
    this.world = new SimulatedWorld(seed)
    this.world.limits = LIMITS
    this.world.waitsForFiles = true
    kept.push(this.world)
    const { random } = this.world
    const keep = random() < 0.5 ? (['longest'] as const) : (['first'] as const)
    const orderIndependent = random() < 0.6
    this.options = { near: NEAR, keep: [...keep], orderIndependent }
    this.docs = corpusOf(random)
    this.workers = 2 + Math.floor(random() * 3)
    this.trace.push(`${keep[0]} ${orderIndependent ? 'by rank' : 'as they come'}`)
    this.world.onChange = () => this.#watch()
    writeFiles(join(this.directory, 'in'), this.files(random))
  }

  /** After every commit: tokens of leases only grow, and what is done stays done. */
  #watch(): void {
    for (const { key, bytes } of this.world.rows(shards)) {
      const now = shards.codec.decode(Buffer.from(bytes))
      const name = key.toString('latin1')
      const before = this.#leases.get(name)
      this.#leases.set(name, now)
      if (!before) continue
      if (before.state === 'leased' && now.token > before.token) this.takenOver++
      const isWrong = now.token < before.token || (before.state === 'done' && now.state !== 'done')
      if (isWrong) this.broken ??= new Error(`shard ${key.readUInt32BE(key.length - 4)} went back`)
    }
  }

  /** The documents in any order, over some files, with something among them that is none. */
  files(random: () => number): Record<string, string> {
    const order = shuffled(this.docs, random)
    const count = 1 + Math.floor(random() * 4)
    const files: Record<string, string> = {}
    for (let file = 0; file < count; file++) {
      const own = order.filter((_, at) => at % count === file)
      files[`${file}.jsonl`] = jsonl(own) + (file === 0 ? '{"id":\n' : '')
    }
    return files
  }

  async open(backend: Backend): Promise<Deduper> {
    return openDedupe(backend, this.options)
  }

  job(out: string, worker: string) {
    const { world } = this
    const wait = async () => {
      await world.pause(worker)
      world.time += world.random() < 0.01 ? 2 * LEASE_MS : Math.floor(world.random() * 20)
    }
    const timers = { wait, every: () => () => {} }
    // The directory has another name every time, and a schedule is decided by its seed alone.
    const inputs = [{ path: join(this.directory, 'in'), source: 'in' }]
    return {
      inputs,
      out: join(this.directory, out),
      // Whoever comes first names it.
      run: `run-of-${worker}`,
      sharing: { worker, leaseMs: LEASE_MS, timers },
    }
  }

  /** A worker that comes back as often as it crashes or fails, until it has a result. */
  async work(slot: number): Promise<void> {
    for (let life = 0; this.results.length < this.workers && !this.broken; life++) {
      const name = `w${slot}.${life}`
      const crashed = new Promise<'crashed'>((resolve) => {
        this.#alive.set(slot, { name, crash: () => resolve('crashed') })
      })
      const end = await Promise.race([this.attempt(name), crashed])
      this.#alive.delete(slot)
      this.trace.push(`${this.world.steps} ${name} ${typeof end === 'string' ? end : end.status}`)
      if (typeof end === 'string') continue
      this.results.push(end)
      return
    }
  }

  async attempt(name: string): Promise<JobResult | string> {
    try {
      const deduper = await this.open(this.world.open(name))
      return await deduper.run(this.job('out', name))
    } catch (error) {
      const code = error instanceof PrestigeError ? error.code : ''
      // The network may fail for good, and it may not be known what came of the last step.
      if (code !== 'BACKEND_UNAVAILABLE' && code !== 'CONTENDED') this.broken ??= error
      return `failed: ${String(error)}`
    }
  }

  /** Whoever is at work at some step is there no more. */
  async crash(): Promise<void> {
    const wanted = Math.floor(this.world.random() * 6)
    for (let count = 0; count < wanted; count++) {
      const at = this.world.steps + Math.floor(this.world.random() * 1500)
      while (this.world.steps < at && this.results.length < this.workers && !this.broken) {
        await nextTurn()
      }
      const alive = [...this.#alive.values()]
      const victim = alive[Math.floor(this.world.random() * alive.length)]
      if (!victim) return
      this.world.crash(victim.name)
      victim.crash()
      this.crashes++
    }
  }

  async run(): Promise<void> {
    const rate = () => (this.world.random() < 0.5 ? 0 : this.world.random() * 0.03)
    this.world.faults = { conflict: rate(), lostReply: rate(), failure: rate() }
    const alone = await this.alone()
    const slots = Array.from({ length: this.workers }, (_, slot) => this.work(slot))
    await Promise.all([...slots, this.crash()])
    if (this.broken) throw this.broken
    this.world.faults = NO_FAULTS
    this.world.time += 10 * LEASE_MS
    await this.checkEnd('out')
    if (!this.options.orderIndependent) return
    same(published(join(this.directory, 'out')), alone, 'workers differ from one alone')
    const survivors = keptIn(join(this.directory, 'out')).toSorted()
    await this.undoAndRepeat(alone)
    await this.shuffleAgain(survivors)
  }

  /** The same by one worker on an engine that runs bodies one after another. */
  async alone(): Promise<Record<string, string>> {
    const deduper = await this.open(new MemoryBackend())
    const { sharing: _, ...job } = this.job('alone', 'alone')
    const plan = await deduper.plan(job)
    const result = await deduper.run(job)
    await deduper.close()
    same(plan.summary, result.summary, 'the plan differs from the run')
    return published(join(this.directory, 'alone'))
  }

  async checkEnd(out: string): Promise<void> {
    const at = join(this.directory, out)
    const first = this.results.find(({ status }) => status === 'finished')
    for (const { run, status, summary } of this.results) {
      if (run !== first!.run) throw new Error(`there were two runs, ${first!.run} and ${run}`)
      // A worker that comes back when the run has ended finds nothing to do, and sums up nothing.
      if (status === 'nothing') continue
      same(
        JSON.parse(JSON.stringify(summary)),
        JSON.parse(JSON.stringify(first!.summary)),
        'results',
      )
    }
    const ids = this.docs.map(({ id }) => id).toSorted()
    same(documentsIn(at).toSorted(), ids, 'a document is lost or there twice')
    const survivors = keptIn(at)
    const groups = survivors.map(groupOf)
    same(groups.toSorted(), [...new Set(ids.map(groupOf))].toSorted(), 'not one of each is kept')
    const ledger = await openLedger(this.world.open('ledger'))
    const accepted: string[] = []
    const lines: string[] = []
    for await (const { id, status } of ledger.byRun(first!.run)) {
      lines.push(id)
      if (status === 'accepted') accepted.push(id)
    }
    same(lines.toSorted(), ids, 'the ledger has other documents')
    same(accepted.toSorted(), survivors.toSorted(), 'the ledger accepted others than were kept')
  }

  async undoAndRepeat(alone: Record<string, string>): Promise<void> {
    const deduper = await this.open(this.world.open('late'))
    this.world.onChange = () => {}
    await deduper.undo(this.results[0]!.run)
    const left = this.world.rows(documents).length
    if (left > 0) throw new Error(`${left} documents are left of a run that was undone`)
    const { run } = await deduper.run(this.job('again', 'late'))
    same(published(join(this.directory, 'again')), alone, 'the run differs when done again')
    await deduper.undo(run)
  }

  /** Other files, other order: the same survivors. */
  async shuffleAgain(survivors: readonly string[]): Promise<void> {
    rmSync(join(this.directory, 'in'), { recursive: true })
    writeFiles(join(this.directory, 'in'), this.files(this.world.random))
    const jobs = ['s0', 's1'].map(async (name) =>
      (await this.open(this.world.open(name))).run(this.job('shuffled', name)),
    )
    await Promise.all(jobs)
    same(keptIn(join(this.directory, 'shuffled')).toSorted(), survivors, 'the order mattered')
  }
}

function same(one: unknown, other: unknown, what: string): void {
  const [left, right] = [one, other].map((value) => JSON.stringify(value, undefined, 1))
  if (left !== right) throw new Error(`${what}: ${left} and ${right}`)
}

export async function runCorpusSchedule(seed: number): Promise<CorpusReport> {
  const schedule = new Schedule(seed)
  try {
    await schedule.run()
    const { world, crashes, takenOver, trace } = schedule
    return { steps: world.steps, crashes, takenOver, trace: trace.join('\n') }
  } catch (error) {
    throw new Error(`seed ${seed}: ${schedule.trace.join('; ')}`, { cause: error })
  } finally {
    rmSync(schedule.directory, { recursive: true, force: true })
  }
}
