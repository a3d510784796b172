/** The kinds of schedules, by name. */

import { runCorpusSchedule } from './corpus-schedule.ts'
import { runLifecycleSchedule } from './lifecycle-schedule.ts'
import { runResolverSchedule } from './resolver-schedule.ts'
import { runSchedule, type ScheduleReport } from './schedule.ts'

type RunSchedule = (seed: number) => Promise<ScheduleReport>

/** `lifecycle-*` evict, back up, collect in the background and compact as well. */
export const storeKinds: Readonly<Record<string, RunSchedule>> = {
  exact: (seed) => runSchedule(seed),
  near: (seed) => runSchedule(seed, 'near'),
  chunks: (seed) => runSchedule(seed, 'chunks'),
  'lifecycle-optimistic': (seed) => runLifecycleSchedule(seed, 'optimistic'),
  'lifecycle-memory': (seed) => runLifecycleSchedule(seed, 'memory'),
  'lifecycle-lmdb': (seed) => runLifecycleSchedule(seed, 'lmdb'),
}

export const allKinds: Readonly<Record<string, RunSchedule>> = {
  ...storeKinds,
  resolver: runResolverSchedule,
  corpus: runCorpusSchedule,
}
