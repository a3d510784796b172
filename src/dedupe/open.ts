/** Opens the corpus job: reads the config, checks what the state was written with. */

import { resolve } from 'node:path'

import * as v from 'valibot'

import {
  type Backend,
  type Location,
  type LocationOptions,
  metered,
  openAt,
  OverlayBackend,
} from '../backends/index.ts'
import {
  type DedupeConfig,
  type DedupeSettings,
  type KeepRule,
  memoryOption,
  readConfig,
} from './config/config.ts'
import type { Decision } from './decision/decision.ts'
import { Deduper, type DedupeStreamOptions, type JobMode } from './deduper.ts'
import type { DocumentLike } from './decision/prepare.ts'
import type { Prefer } from './decision/rank.ts'
import { isRaw, mergeRaw, type Raw } from './config/raw.ts'
import { lastDecided } from './phases/again.ts'
import type { Said } from './phases/again-settings.ts'
import { dedupeSpaces } from './rows.ts'
import { isOpen, listRuns } from './runs.ts'
import { lastConfig, State } from './state.ts'
import { isInUse, requireState, upgrade } from './state-settings.ts'
import { PrestigeError } from '../platform/errors.ts'
import { locationOptions, readOptions, requireObject, sinkOption } from '../platform/options.ts'
import type { MetricsSink } from '../platform/telemetry.ts'
import { JobMetrics } from './metrics.ts'
import type { Embedder } from '../semantic/index.ts'

export interface DedupeOptions extends Omit<DedupeSettings, 'keep'> {
  /**
   * Which copy survives: rules in order, or a function that compares two documents by what is known of them, as
   * for `sort`: negative if the first is the better one. A function must say the same of the same documents every
   * time, and cannot be given with `orderIndependent`.
   */
  readonly keep?: KeepRule[] | Prefer | undefined
  /** States of different namespaces in one location never see each other. Default: the unnamed one. */
  readonly namespace?: string | undefined
  /** As for a store. Default of a directory: `fsync`. */
  readonly durability?: LocationOptions['durability']
  /** What makes vectors of meaning, in place of `semantic.model`. Default: that model. */
  readonly embedder?: Embedder | undefined
  /** Create the state if it is missing; `false` makes that an error. Default: `true`. */
  readonly create?: boolean | undefined
  /** Milliseconds that one operation waits for other processes or the server. Default: 30,000; on Redis 10,000. */
  readonly timeoutMs?: number | undefined
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: (() => number) | undefined
  /** So many random bytes. Default: the system's. */
  readonly random?: LocationOptions['random']
  /**
   * Bytes of memory that the indexes of `near` and `simhash` may have, at least 100,000. What does not fit is
   * searched on disk, with the same result; a run may have another bound than those before. Default: no bound.
   */
  readonly memory?: number | undefined
  /** Settings not given are those of the last run of the state, instead of the defaults. Default: `false`. */
  readonly asBefore?: boolean | undefined
  /**
   * `run` and `plan` decide again, with these settings, about all that earlier runs have processed for the same outputs;
   * then those runs are superseded. Default: `false`, and other settings than those of the state are an error.
   */
  readonly again?: boolean | undefined
  /** Where counters, histograms and gauges go, batch by batch. Default: nowhere. */
  readonly metrics?: MetricsSink | undefined
}

const locationSchema = v.strictObject({ ...locationOptions, metrics: v.optional(sinkOption) })
const memorySchema = v.strictObject({ memory: memoryOption })

/**
 * Opens the state at a location: a directory, `memory:`, `redis://…`, `dynamodb://…`, or a backend of one's own, which
 * brings its own namespace, clock and durability, and is closed with it.
 */
export async function openDedupe(
  location: Location,
  options: DedupeOptions = {},
): Promise<Deduper> {
  requireObject(options, 'Dedupe options')
  const { namespace, durability, create, timeoutMs, clock, random, metrics, ...rest } = options
  const { asBefore = false, again = false, keep, embedder, memory: bound, ...input } = rest
  const { memory } = readOptions(memorySchema, { memory: bound }, 'Dedupe options')
  const where = readOptions(
    locationSchema,
    { namespace, durability, create, timeoutMs, clock, random, metrics },
    'Dedupe options',
  )
  const prefer = typeof keep === 'function' ? keep : undefined
  if (prefer && input.orderIndependent) throw notBoth()
  const config: DedupeSettings = typeof keep === 'object' ? { ...input, keep } : input
  readConfig(config)
  return openAt(location, dedupeSpaces, where, async (opened) => {
    const backend = metered(opened, metrics)
    if (create === false) await requireState(backend)
    const known = asBefore ? await lastConfig(backend) : undefined
    const whole = readConfig(merged(known, config))
    const live = metrics && new JobMetrics(metrics)
    const how = { prefer, embedder, metrics: live, memory, defers: again }
    const state = await State.open(backend, whole, how)
    return new Deduper(state, () => new OverlayBackend(opened), { again, memory })
  })
}

/** How a command opens a state for a job over files. */
export interface ForJob extends JobMode {
  readonly said: Said
  /** The directory of all outputs. */
  readonly out: string
  readonly durability?: LocationOptions['durability']
}

/**
 * Settings that were not typed are those of the last run with the same outputs, or else of the last run of the state;
 * if that holds no documents, the defaults. Differences are reported when the job begins, all at once.
 */
export async function openForJob(
  location: Location,
  { out, durability, ...mode }: ForJob,
): Promise<Deduper> {
  const where = readOptions(locationSchema, { durability }, 'Dedupe options')
  return openAt(location, dedupeSpaces, where, async (backend) => {
    const before = await configBefore(backend, resolve(out))
    const { said } = mode
    const config = readConfig(mergeRaw(underneath(before, said), said.settings))
    const state = await State.open(backend, config, { memory: mode.memory, defers: true })
    return new Deduper(state, () => new OverlayBackend(backend), mode)
  })
}

async function configBefore(backend: Backend, out: string): Promise<DedupeConfig | undefined> {
  await upgrade(backend)
  if (!(await isInUse(backend))) return undefined
  const runs = await listRuns(backend)
  const finished = runs.findLast(({ status }) => status === 'finished')
  const last = runs.find(isOpen) ?? (await lastDecided(backend, runs, out)) ?? finished
  return last?.config
}

/** Ceilings are of one command. The threshold without a judge is not that with one. */
function underneath(before: DedupeConfig | undefined, { settings }: Said): Raw {
  if (!before) return {}
  const { maxDrop: _share, maxCluster: _size, near, ...others } = before
  const { threshold, ...judged } = near
  const isNewlyJudged =
    near.precision === undefined &&
    isRaw(settings['near']) &&
    settings['near']['precision'] !== undefined
  return { ...others, near: isNewlyJudged ? judged : { ...judged, threshold } }
}

/** One stream over a state of its own: in memory, or at a location. */
export async function* dedupe(
  documents: AsyncIterable<DocumentLike> | Iterable<DocumentLike>,
  options: DedupeOptions & DedupeStreamOptions & { readonly location?: string | undefined } = {},
): AsyncGenerator<Decision> {
  const { location = 'memory:', run, signal, against, ...others } = options
  const opened = await openDedupe(location, others)
  try {
    yield* opened.dedupe(documents, { run, signal, against })
  } finally {
    await opened.close()
  }
}

/** Section by section: what is said of one setting leaves its neighbours as they were. */
function merged(known: DedupeSettings | undefined, said: DedupeSettings): DedupeSettings {
  return known ? mergeRaw({ ...known }, { ...said }) : said
}

function notBoth(): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    'keep cannot be a function with orderIndependent: documents are put in order by the rules.',
  )
}
