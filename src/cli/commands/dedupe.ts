/**
 * `dedupe INPUT... -o DIR`: a corpus in, its kept documents out, and an account of the rest.
 *
 * Pieces of input that are no documents are no failure: they are reported and counted. With --strict the first one is.
 */

import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'

import { withoutSecrets } from '../../backends/index.ts'
import { harmless } from '../../platform/harmless.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { requireMakeable, writeWhole } from '../../platform/atomic-file.ts'
import type { Deduper, Job, JobEvents, JobResult } from '../../index.ts'
import { inputBytes } from '../dedupe/dedupe-input.ts'
import { summaryText, undoCommand } from '../dedupe/dedupe-report.ts'
import { isShown, type JobConfig, recordPath, REPORTS, showRecords } from '../../dedupe/index.ts'
import { isAnythingSaid, placesOf, settingsOf } from '../dedupe/dedupe-settings.ts'
import { EXIT_FAILED, fileFailure, kindOf, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { isDirectory } from '../../platform/location.ts'
import { stateWithin, unsaidDurability } from '../call/location.ts'
import { isHelper, MoreWorkers } from '../dedupe/more-workers.ts'
import { paint, print, printJson, tell } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { reportOfRun, writePage } from '../dedupe/run-report.ts'
import { countOf } from '../print/units.ts'
import { versionOf } from '../call/version.ts'

export async function run(invocation: Invocation): Promise<number> {
  const settings = await settingsOf(invocation)
  const { out, state } = placesOf(invocation)
  for (const warning of settings.warnings)
    tell(`${paint('yellow', harmless(warning), process.stderr)}\n`)
  const against = invocation.text('against')
  if (against !== undefined && invocation.flag('plan')) {
    throw usageFailure('--plan and --against cannot be combined: --against changes no state.')
  }
  requireSharable(invocation)
  await requireMakeableAll(against === undefined ? [out, state] : [out])
  await requireInputs(invocation.operands)
  const progress = Progress.of(invocation, 'document')
  const work = new Work(invocation, settings, progress, {
    out,
    state: against === undefined ? state : stateWithin(against),
  })
  try {
    return await work.do()
  } catch (error) {
    if (invocation.signal.aborted && error === invocation.signal.reason) work.tellStopped()
    throw withState(error, against ?? state)
  } finally {
    progress.end()
  }
}

/** The job does not know where its state is; commands in its messages need it. */
function withState(error: unknown, state: string): unknown {
  if (!(error instanceof PrestigeError)) return error
  const message = error.message.replaceAll('--state STATE', `--state ${withoutSecrets(state)}`)
  return message === error.message
    ? error
    : new PrestigeError(error.code, message, { cause: error })
}

/** Before a state is opened, which makes its directory. */
async function requireMakeableAll(places: readonly string[]): Promise<void> {
  for (const place of places.filter(isDirectory)) {
    await requireMakeable(place).catch((error: unknown) => {
      // All other errors are reported by whoever opens the state or writes the outputs.
      if (kindOf(error)) throw error
    })
  }
}

function requireSharable(invocation: Invocation): void {
  const workers = invocation.wholeNumber('workers') ?? 1
  if (workers === 0) throw usageFailure('--workers takes a whole number, 1 or more.')
  if (invocation.wholeNumber('lease') === 0)
    throw usageFailure('--lease takes whole seconds, 1 or more.')
  if (workers === 1) return
  const isRun = !invocation.flag('plan') && !invocation.text('plan') && !invocation.text('against')
  if (!isRun) throw usageFailure('--workers has no effect with --plan or --against.')
  if (!invocation.operands.includes('-')) return
  throw usageFailure('Several workers cannot read stdin. Write it to a file first.')
}

/** A mistyped name makes no state. */
async function requireInputs(inputs: readonly string[]): Promise<void> {
  for (const input of inputs) {
    if (input === '-' || /[*?[{!(]/.test(input)) continue
    await stat(input).catch((error: unknown) => {
      throw fileFailure(input, error)
    })
  }
}

const THREADS_FROM_BYTES = 64 * 1024 * 1024

interface Places {
  readonly out: string
  readonly state: string
}

class Work {
  readonly #invocation: Invocation
  readonly #settings: JobConfig
  readonly #progress: Progress
  readonly #places: Places
  readonly #more: MoreWorkers
  #run: string | undefined

  constructor(invocation: Invocation, settings: JobConfig, progress: Progress, places: Places) {
    this.#invocation = invocation
    this.#settings = settings
    this.#progress = progress
    this.#places = places
    this.#more = new MoreWorkers(invocation.signal)
  }

  async do(): Promise<number> {
    const isAgainst = this.#invocation.text('against') !== undefined
    const isPlan = this.#planFile() !== undefined || this.#invocation.flag('plan')
    const deduper = await this.#open(isAgainst, isPlan)
    try {
      const job = await this.#job()
      if (isAgainst) return await this.#clean(deduper, job)
      return isPlan ? await this.#plan(deduper, job) : await this.#dedupe(deduper, job)
    } finally {
      const failures = await this.#more.end()
      for (const failure of failures) tell(`${paint('yellow', failure, process.stderr)}\n`)
      await deduper.close()
    }
  }

  #planFile(): string | undefined {
    return this.#invocation.text('plan')
  }

  async #open(isAgainst: boolean, isPlan: boolean): Promise<Deduper> {
    const { openDedupe } = await import('../../dedupe/index.ts')
    const { existsSync } = await import('node:fs')
    const { state } = this.#places
    const said = this.#invocation.text('durability') === 'fsync' ? 'fsync' : undefined
    const durability = said ?? unsaidDurability(state, 'os')
    const { config } = this.#settings
    const { maxDrop, maxCluster } = config
    if (isAgainst) {
      const isSaid = await isAnythingSaid(this.#invocation)
      const own = isSaid ? config : { maxDrop, ...(maxCluster !== undefined && { maxCluster }) }
      return openDedupe(state, { ...own, durability, create: false, asBefore: !isSaid })
    }
    // A plan leaves no trace, not even the state that there is not yet.
    if (isPlan && isDirectory(state) && !existsSync(join(state, 'data.mdb')))
      return openDedupe('memory:', config)
    // A plan keeps all that it writes in memory.
    const memory = isPlan ? undefined : this.#settings.memory
    return openDedupe(state, { ...config, durability, memory })
  }

  async #job(): Promise<Job> {
    const { listing, reading, strict } = this.#settings
    const name = this.#invocation.text('run')
    const lease = this.#invocation.wholeNumber('lease')
    return {
      inputs: this.#invocation.operands,
      out: this.#places.out,
      listing,
      reading,
      strict,
      ...(name !== undefined && { run: name }),
      sharing: { ...(lease !== undefined && { leaseMs: lease * 1000 }) },
      watcher: this.#watcher(),
      version: versionOf(),
    }
  }

  /** Bytes of texts are not those of files, so what is done is corrected at the end of every shard. */
  #watcher(): JobEvents {
    const progress = this.#progress
    let documents = 0
    let before = 0
    let within = 0
    const show = (left: number) => progress.reach(documents, before + Math.min(within, left))
    let shardBytes = Infinity
    let all = 0
    const said = this.#invocation.wholeNumber('threads')
    const workers = this.#invocation.wholeNumber('workers') ?? 1
    return {
      signal: this.#invocation.signal,
      // Threads are not worth their start for little input.
      get threads() {
        if (said !== undefined) return said
        if (workers > 1) return Math.floor(Math.max(0, availableParallelism() / workers - 1))
        return all < THREADS_FROM_BYTES ? 0 : Math.max(1, availableParallelism() - 1)
      },
      onShards: (shards) => {
        all = inputBytes(shards)
        progress.expect({ bytes: all })
        shardBytes = Math.max(0, ...shards.map(({ bytes }) => bytes))
      },
      onProgress: (count, bytes) => {
        documents += count
        within += bytes
        show(shardBytes)
      },
      onShard: ({ bytes }) => {
        before += bytes
        within = 0
        show(shardBytes)
      },
      onJoin: (run) => {
        if (progress.isShown) progress.notice(`resuming run ${run}`)
      },
      onPhase: (phase, run) => {
        this.#run = run
        if (phase === 'reading' && workers > 1 && !isHelper()) this.#more.start(workers - 1)
        if (phase !== 'reading' && progress.isShown) progress.phase(`${phase} …`)
      },
    }
  }

  async #dedupe(deduper: Deduper, job: Job): Promise<number> {
    const result = await deduper.run(job)
    const { out, state } = this.#places
    const isLeft = !isHelper() && (await this.#lacksReport(deduper, result.run))
    if (result.isPublisher || isLeft) await this.#report(deduper, result)
    this.#invocation.isComplete = true
    this.#progress.end()
    if (isHelper()) return 0
    if (this.#invocation.flag('json'))
      await printJson({ ...result, out, state: withoutSecrets(state) })
    else if (!this.#invocation.flag('quiet')) {
      if (result.status === 'nothing') {
        await print(
          `Nothing to do: earlier runs processed ${countOf(result.skipped.length, 'file')}. Results are in ${out}.\n`,
        )
      } else await print(summaryText(result.summary, { ...result, out, state }))
    }
    return this.#exitCode(result)
  }

  /** The last thing a run does is to write its report, and it may have been killed before that. */
  async #lacksReport(deduper: Deduper, run: string): Promise<boolean> {
    const { existsSync } = await import('node:fs')
    const out = resolve(this.#places.out)
    const known = (await deduper.runs()).find(({ id }) => id === run)
    if (known?.out !== out) return false
    return (
      !existsSync(recordPath(out, run, 'report.html')) || !(await isShown(out, run, 'report.html'))
    )
  }

  async #report(deduper: Deduper, { run, status, summary }: JobResult): Promise<void> {
    const { out } = this.#places
    const report = await reportOfRun(deduper, run, status === 'finished' ? summary : undefined)
    const json = recordPath(out, run, 'report.json')
    await writeWhole(json, [`${JSON.stringify(report, undefined, 2)}\n`])
    await writePage(deduper, report, recordPath(out, run, 'report.html'))
    await showRecords(out, run, REPORTS)
  }

  async #plan(deduper: Deduper, job: Job): Promise<number> {
    const file = this.#planFile()
    const result = await deduper.plan({ ...job, file })
    this.#progress.end()
    if (this.#invocation.flag('json')) await printJson(result)
    else if (!this.#invocation.flag('quiet')) await print(summaryText(result.summary, { file }))
    for (const violation of result.violations) tell(`The run would be stopped. ${violation}.\n`)
    return result.violations.length > 0 ? EXIT_FAILED : this.#exitCode(result)
  }

  async #clean(deduper: Deduper, job: Job): Promise<number> {
    const result = await deduper.clean(job)
    this.#progress.end()
    const { out } = this.#places
    if (this.#invocation.flag('json')) await printJson({ ...result, out })
    else if (!this.#invocation.flag('quiet')) await print(summaryText(result.summary, { out }))
    return this.#exitCode(result)
  }

  /** An input that is lost is a failure, whatever became of the others. */
  #exitCode({ rejection, run }: { rejection?: string | undefined; run?: string }): number {
    if (rejection === undefined) return 0
    const back = run
      ? ` To read it again with other options, undo the run first: ${undoCommand(run, this.#places.state)}`
      : ''
    tell(`${harmless(rejection)}${back}\n`)
    return EXIT_FAILED
  }

  tellStopped(): void {
    this.#progress.end()
    const isKept = this.#run !== undefined && !this.#invocation.flag('plan')
    if (!isKept || this.#planFile() !== undefined || this.#invocation.text('against')) {
      return tell('Stopped. Nothing was written.\n')
    }
    const undo = undoCommand(this.#run ?? '', this.#places.state)
    tell(
      `Stopped before anything was published; decisions are saved. Give the same command again to go on with run ${this.#run}, or discard it: ${undo}\n`,
    )
  }
}
