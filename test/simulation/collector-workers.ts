/** Background collectors in a simulated schedule: their rests are steps that the seed decides on, and no timer runs. */

import type { Backend } from '../../src/backends/contract.ts'
import type { SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { PrestigeError } from '../../src/platform/errors.ts'
import { readOptions } from '../../src/platform/options.ts'
import { BackgroundCollector } from '../../src/store/background-collector.ts'
import { type CollectingStep, collectingSteps } from '../../src/store/collecting-steps.ts'
import { StoreCore } from '../../src/store/core.ts'
import { storeOptions } from '../../src/store/options.ts'
import { openSettings } from '../../src/store/settings.ts'

const BUDGET_MS = 100

export class CollectorWorker {
  /** How often all steps were run to their end. */
  passes = 0
  readonly #collector: BackgroundCollector

  private constructor(
    world: SimulatedWorld,
    worker: string,
    core: StoreCore,
    { graceMs, onError }: { readonly graceMs: number; readonly onError: (error: unknown) => void },
  ) {
    const steps = collectingSteps.map((step, at) =>
      this.#watched(step, at === collectingSteps.length - 1, onError),
    )
    const timing = {
      now: () => world.time,
      after(_ms: number, wake: () => void) {
        const rest = async () => {
          await world.pause(worker)
          wake()
        }
        void rest()
        return () => {}
      },
    }
    this.#collector = new BackgroundCollector(core, { graceMs, budgetMs: BUDGET_MS }, steps, timing)
    this.#collector.start()
  }

  static async start(
    world: SimulatedWorld,
    worker: string,
    backend: Backend,
    how: { readonly graceMs: number; readonly onError: (error: unknown) => void },
  ): Promise<CollectorWorker> {
    const options = readOptions(storeOptions, { gc: 'manual' }, 'Store options')
    const core = new StoreCore(backend, await openSettings(backend, options), options)
    await core.lifecycle.open()
    return new CollectorWorker(world, worker, core, how)
  }

  stop(): Promise<void> {
    return this.#collector.stop()
  }

  /** A collector says nothing of its failures, but for a warning. */
  #watched(step: CollectingStep, isLast: boolean, onError: (error: unknown) => void) {
    const passed = () => {
      if (isLast) this.passes++
    }
    return async function* (how: Parameters<CollectingStep>[0]): ReturnType<CollectingStep> {
      try {
        yield* step(how)
        passed()
      } catch (error) {
        if (!(error instanceof PrestigeError && error.retryable)) onError(error)
        throw error
      }
    }
  }
}
