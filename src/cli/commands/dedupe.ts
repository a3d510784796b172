/**
 * `dedupe INPUT... -o DIR`: a corpus in, its kept documents out, and an account of the rest.
 *
 * Pieces of input that are no documents are no failure: they are reported and counted. With --strict the first one is.
 */

import { availableParallelism } from 'node:os'
import { join } from 'node:path'

import { withoutSecrets } from '../../backends/index.ts'
import { harmless } from '../../platform/harmless.ts'
import { PrestigeError } from '../../platform/errors.ts'
import type { Deduper, Job, JobEvents, JobResult } from '../../index.ts'
import { inputBytes } from '../dedupe/dedupe-input.ts'
import { emptyStateRemover, holdsNothing } from '../dedupe/empty-state.ts'
import { completeCall } from '../dedupe/command-settings.ts'
import {
  nothingText,
  passedOverText,
  redoText,
  summaryText,
  undoCommand,
  wouldChangeText,
} from '../dedupe/dedupe-report.ts'
import type { AgainstResult, Redo } from '../../dedupe/index.ts'
import {
  type CallSettings,
  type JobPlaces,
  placesOf,
  saidOf,
  settingsOf,
} from '../dedupe/dedupe-settings.ts'
import { Filter, RECORDS, requireFilterable, requireOneStream } from '../dedupe/filter.ts'
import type { NamedInput } from '../../input/index.ts'
import { EXIT_FAILED, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { isDirectory } from '../../platform/location.ts'
import { stateWithin, unsaidDurability } from '../call/location.ts'
import { isHelper, MoreWorkers } from '../dedupe/more-workers.ts'
import { paint, print, printJson, tell } from '../print/output.ts'
import { Progress } from '../print/progress.ts'
import { requireInputs, requireMakeableAll, requireSharable } from '../dedupe/require-call.ts'
import { versionOf } from '../../platform/version.ts'

export async function run(invocation: Invocation): Promise<number> {
  const settings = await settingsOf(invocation)
  const inputs = completeCall(invocation, settings.command)
  if (!invocation.flag('quiet')) {
    for (const warning of settings.warnings)
      tell(`${paint('yellow', harmless(warning), process.stderr)}\n`)
  }
  if (invocation.text('out') !== '-') return runInto(invocation, settings, inputs)
  requireFilterable(invocation, settings)
  const filter = await Filter.open()
  try {
    return await runInto(invocation, settings, inputs, filter)
  } finally {
    await filter.close()
  }
}

async function runInto(
  invocation: Invocation,
  settings: CallSettings,
  inputs: readonly NamedInput[],
  filter?: Filter,
): Promise<number> {
  const { out, state } = placesOf(invocation, filter)
  const against = invocation.text('against')
  if (against !== undefined && invocation.flag('plan')) {
    throw usageFailure('--plan and --against cannot be combined: --against changes no state.')
  }
  const record = RECORDS.find((name) => invocation.text(name) !== undefined)
  if (!filter && record) {
    throw usageFailure(`--${record} has no effect without -o -: DIR/${record}.jsonl lists them.`)
  }
  requireSharable(invocation)
  await requireMakeableAll(against === undefined ? [out, state] : [out])
  await requireInputs(invocation.operands)
  const progress = Progress.of(invocation, 'document')
  const places = { out, state: against === undefined ? state : stateWithin(against) }
  const work = new Work(invocation, settings, progress, { ...places, inputs, filter })
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

const NOTHING_NEW = 'Nothing to do: earlier runs have processed all of the input.\n'
const THREADS_FROM_BYTES = 64 * 1024 * 1024

interface Places extends JobPlaces {
  readonly inputs: readonly NamedInput[]
  /** Of a call that writes to stdout. */
  readonly filter: Filter | undefined
}

class Work {
  readonly #invocation: Invocation
  readonly #settings: CallSettings
  readonly #progress: Progress
  readonly #places: Places
  readonly #more: MoreWorkers
  #run: string | undefined
  #isFinished = false
  #redo: Redo | undefined

  constructor(invocation: Invocation, settings: CallSettings, progress: Progress, places: Places) {
    this.#invocation = invocation
    this.#settings = settings
    this.#progress = progress
    this.#places = places
    this.#more = new MoreWorkers(invocation.signal)
  }

  async do(): Promise<number> {
    const isAgainst = this.#invocation.text('against') !== undefined
    const isPlan = this.#planFile() !== undefined || this.#invocation.flag('plan')
    const removeIfEmpty = await emptyStateRemover(this.#places)
    const deduper = await this.#open(isAgainst, isPlan).catch(async (error: unknown) => {
      await removeIfEmpty()
      throw error
    })
    let isEmpty = false
    try {
      const job = await this.#job()
      if (isAgainst) return await this.#clean(deduper, job)
      return isPlan ? await this.#plan(deduper, job) : await this.#dedupe(deduper, job)
    } catch (error) {
      const reported = await this.#takenBack(deduper, error)
      // The first error is the one to report.
      const isUnused = await holdsNothing(deduper).catch(() => false)
      isEmpty = isUnused && !this.#invocation.signal.aborted
      throw reported
    } finally {
      const failures = await this.#more.end()
      for (const failure of failures) tell(`${paint('yellow', failure, process.stderr)}\n`)
      await deduper.close()
      if (isEmpty) await removeIfEmpty()
    }
  }

  /** A filter cannot be resumed, so nothing is remembered of what it did not write. */
  async #takenBack(deduper: Deduper, error: unknown): Promise<unknown> {
    if (!this.#places.filter || this.#run === undefined || this.#isFinished) return error
    await deduper.undo(this.#run)
    const isStopped = error instanceof PrestigeError && error.code === 'GUARD_STOPPED'
    if (!isStopped) return error
    const [why] = error.message.split('. To see its clusters')
    return new PrestigeError(error.code, `${why}. Nothing was written or remembered.`)
  }

  #planFile(): string | undefined {
    return this.#invocation.text('plan')
  }

  async #open(isAgainst: boolean, isPlan: boolean): Promise<Deduper> {
    const { openDedupe, openForJob } = await import('../../dedupe/index.ts')
    const { existsSync } = await import('node:fs')
    const { out, state } = this.#places
    const asked = this.#invocation.text('durability') === 'fsync' ? 'fsync' : undefined
    const durability = asked ?? unsaidDurability(state, 'os')
    const { config } = this.#settings
    const { maxDrop, maxCluster, passages } = config
    if (isAgainst) {
      const isSaid = this.#settings.isMethodSaid
      const limits = { maxDrop, ...(maxCluster !== undefined && { maxCluster }) }
      // Passages are of the runs of the state, not of what is held against it.
      const own = isSaid ? config : { ...limits, passages }
      return openDedupe(state, { ...own, durability, create: false, asBefore: !isSaid })
    }
    // A plan leaves no trace, not even the state that there is not yet.
    const isUnmade = isPlan && isDirectory(state) && !existsSync(join(state, 'data.mdb'))
    const said = saidOf(this.#invocation, this.#settings)
    const again = this.#invocation.flag('again')
    const onAgain = (redo: Redo) => this.#noteRedo(redo)
    // A plan keeps all that it writes in memory.
    const memory = isPlan ? undefined : this.#settings.memory
    const how = { said, out, again, onAgain, memory }
    return isUnmade ? openForJob('memory:', how) : openForJob(state, { ...how, durability })
  }

  #noteRedo(redo: Redo): void {
    this.#redo = redo
    const isQuiet = this.#invocation.flag('quiet') || this.#invocation.flag('json') || isHelper()
    if (!isQuiet) this.#progress.notice(redoText(redo))
  }

  async #job(): Promise<Job> {
    const { listing, reading, formatOut, shardSize, strict } = this.#settings
    const name = this.#invocation.text('run')
    const lease = this.#invocation.wholeNumber('lease')
    return {
      inputs: this.#places.inputs,
      out: this.#places.out,
      listing,
      reading,
      strict,
      formatOut,
      shardSize,
      ...(name !== undefined && { run: name }),
      sharing: { ...(lease !== undefined && { leaseMs: lease * 1000 }) },
      watcher: this.#watcher(),
      onListed: ({ shards, skipped }) => {
        if (this.#places.filter) requireOneStream(shards)
        if (!isHelper() && !this.#invocation.flag('quiet')) tell(passedOverText(skipped))
      },
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
    this.#isFinished = true
    const { out, state, filter } = this.#places
    if (filter) return this.#write(filter, result)
    const { lacksReport, writeReports } = await import('../../report/index.ts')
    const { backend } = deduper
    const isLeft = !isHelper() && (await lacksReport(backend, out, result.run))
    if (result.isPublisher || isLeft)
      await writeReports(backend, out, result, { version: versionOf() })
    this.#invocation.isComplete = true
    this.#progress.end()
    if (isHelper()) return 0
    const isNothing = result.status === 'nothing'
    if (this.#invocation.flag('json')) {
      const { run, ...others } = result
      // The run whose report may have been missing is not the result of this command.
      const known = isNothing ? others : { run, ...others }
      await printJson({ ...known, out, state: withoutSecrets(state) })
    } else if (!this.#invocation.flag('quiet')) {
      const text = isNothing
        ? nothingText(result, out)
        : summaryText(result.summary, { ...result, out, state })
      await print(text)
    }
    return this.#exitCode(result)
  }

  /** Results of a filter: documents to stdout, all else to stderr. */
  async #write(filter: Filter, result: JobResult | AgainstResult): Promise<number> {
    const nothing = 'status' in result && result.status === 'nothing' ? result : undefined
    for (const name of nothing ? [] : RECORDS) {
      const file = this.#invocation.text(name)
      if (file !== undefined) await filter.keepRecord(name, file)
    }
    await filter.printKept(result.files)
    this.#invocation.isComplete = true
    this.#progress.end()
    const { state } = this.#places
    const run = 'run' in result && state !== filter.state ? { run: result.run, state } : {}
    if (!this.#invocation.flag('quiet')) {
      const { notes, summary } = result
      tell(nothing ? NOTHING_NEW : summaryText(summary, { ...run, notes }))
    }
    // They are nowhere else: what is not passed on must not vanish.
    if (this.#invocation.text('rejects') === undefined && !nothing)
      tell(await filter.rejectsText(result.summary.rejected))
    return this.#exitCode({ rejection: result.rejection, ...run })
  }

  async #plan(deduper: Deduper, job: Job): Promise<number> {
    const file = this.#planFile()
    const result = await deduper.plan({ ...job, file })
    this.#progress.end()
    const again = this.#redo && { again: this.#redo }
    if (this.#invocation.flag('json')) await printJson({ ...result, ...again })
    else if (!this.#invocation.flag('quiet')) {
      await print(summaryText(result.summary, { file }))
      if (this.#redo) await print(wouldChangeText(this.#redo, result.summary))
    }
    for (const violation of result.violations) tell(`The run would be stopped. ${violation}.\n`)
    return result.violations.length > 0 ? EXIT_FAILED : this.#exitCode(result)
  }

  async #clean(deduper: Deduper, job: Job): Promise<number> {
    const result = await deduper.clean(job)
    this.#progress.end()
    const { out, filter } = this.#places
    if (filter) return this.#write(filter, result)
    if (this.#invocation.flag('json')) await printJson({ ...result, out })
    else if (!this.#invocation.flag('quiet')) await print(summaryText(result.summary, { out }))
    return this.#exitCode(result)
  }

  /** An input that is lost is a failure, whatever became of the others. */
  #exitCode({ rejection, run }: { rejection?: string | undefined; run?: string }): number {
    if (rejection === undefined) return 0
    const next = run ? ' It does not count as processed: the next run reads it again.' : ''
    tell(`${harmless(rejection)}${next}\n`)
    return EXIT_FAILED
  }

  tellStopped(): void {
    this.#progress.end()
    const isKept = this.#run !== undefined && !this.#invocation.flag('plan')
    const { filter } = this.#places
    if (!isKept || filter || this.#planFile() !== undefined || this.#invocation.text('against')) {
      return tell('Stopped. Nothing was written.\n')
    }
    const undo = undoCommand(this.#run ?? '', this.#places.state)
    tell(
      `Stopped before anything was published; decisions are saved. Give the same command again to go on with run ${this.#run}, or discard it: ${undo}\n`,
    )
  }
}
