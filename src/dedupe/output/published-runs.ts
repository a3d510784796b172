/** Runs of a state while outputs are brought up to date: their order, and their inputs, each read once. */

import type { Backend } from '../../backends/index.ts'
import type { Outcome } from '../phases/outcome.ts'
import { isReplayed } from '../phases/replay.ts'
import { listRuns, readRun, type RunHead, type RunRow } from '../runs.ts'
import { passageSettings } from '../passages/settings.ts'
import { type KeptOfShard, keptOfShard } from './kept-of-shard.ts'
import type { OutputVersion } from './output-rows.ts'

/** The run that is being published, and what was found about its documents. */
export interface OwnRun {
  readonly run: RunRow
  readonly outcome: Outcome
}

export class PublishedRuns {
  readonly #backend: Backend
  readonly #own: OwnRun | undefined
  #heads: Promise<ReadonlyMap<string, RunHead>> | undefined
  readonly #whole = new Map<string, RunRow>()

  constructor(backend: Backend, own: OwnRun | undefined) {
    this.#backend = backend
    this.#own = own
  }

  isOwn(run: string): boolean {
    return run === this.#own?.run.id
  }

  /** Whether all that this version of an output has was decided about from the state: its input is as it was. */
  async isReplayed({ run, from, to }: OutputVersion): Promise<boolean> {
    if (!this.isOwn(run)) return false
    for (let shard = from; shard < to; shard++) {
      if (!(await isReplayed(this.#backend, run, shard))) return false
    }
    return true
  }

  async heads(): Promise<RunHead[]> {
    return [...(await this.#known()).values()]
  }

  async head(run: string): Promise<RunHead | undefined> {
    return (await this.#known()).get(run)
  }

  /** With its inputs. `undefined` of a run that the state does not have. */
  async find(run: string): Promise<RunRow | undefined> {
    if (this.#own && this.isOwn(run)) return this.#own.run
    const known = this.#whole.get(run)
    const head = await this.head(run)
    if (known || !head) return known
    const found = await this.#backend.read(readRun, head)
    this.#whole.set(run, found)
    return found
  }

  /** Which documents of a shard are written. */
  async keptOf(run: string, shard: number): Promise<KeptOfShard> {
    // What is cut as boilerplate was found after the outcome was noted.
    const isNoted = this.#own && passageSettings(this.#own.run).action !== 'cut'
    if (this.#own && isNoted && this.isOwn(run)) return this.#own.outcome.kept(shard)
    const heads = await this.#known()
    const number = heads.get(run)?.number ?? 0
    const isCurrent = (decidedBy: string) => (heads.get(decidedBy)?.number ?? Infinity) <= number
    return keptOfShard(this.#backend, run, shard, isCurrent)
  }

  /** Read when they are asked for first: a promise that nobody awaits would be a failure that nobody handles. */
  #known(): Promise<ReadonlyMap<string, RunHead>> {
    this.#heads ??= listRuns(this.#backend).then((all) => new Map(all.map((one) => [one.id, one])))
    return this.#heads
  }
}
