/**
 * Results of a run, as plain data: JSON in, JSON out, the same from the same state.
 *
 * Invariants: `in` is `kept` plus `dropped` plus `linked`, and `dropped` is what methods dropped plus `repeated`.
 * Lists are short whatever the run; what they leave out is summed up beside them. No path of the machine is in it.
 */

import { arch, platform } from 'node:process'

import * as v from 'valibot'

import type { Backend } from '../backends/index.ts'
import {
  METHODS,
  type ChangedSetting,
  changedSettings,
  type ClusterSample,
  type DedupeConfig,
  findRun,
  listRuns,
  type Method,
  type PairSample,
  type PassageSample,
  readRun,
  type RunRow,
  type RunStatus,
  sizesOf,
  type SourceCounts,
  summarise,
  summariseAll,
  type Summary,
} from '../dedupe/index.ts'
import { hashVersion } from '../fingerprint/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { readOptions } from '../platform/options.ts'
import { corpusOf } from './corpus-name.ts'
import { busiestSources, type Dominance, dominanceOf, type Matrix, matrixOf } from './matrix.ts'
import { type RunLine, runLines } from './runs.ts'

export const REPORT_FORMAT = 1

export interface ReportOptions {
  /** Sources that are listed one by one; the others are summed up. Default: 12. */
  readonly sourcesMax?: number | undefined
  /** Version of the program that reports. Default: none. */
  readonly version?: string | undefined
}

export const reportOptions = v.strictObject({
  sourcesMax: v.optional(
    v.pipe(
      v.number('must be a number'),
      v.integer('must be a whole number'),
      v.minValue(1, 'must be from 1 to 1000'),
      v.maxValue(1000, 'must be from 1 to 1000'),
      v.description('Sources that are listed one by one; the others are summed up.'),
    ),
    12,
  ),
  version: v.optional(v.pipe(v.string(), v.description('Of the program that reports.'))),
}) satisfies v.GenericSchema<ReportOptions>

export interface MethodLine {
  readonly method: Method
  readonly dropped: number
  readonly linked: number
}

export interface SourceLine extends Readonly<SourceCounts> {
  readonly source: string
}

export interface SimilarityBin {
  readonly from: number
  readonly to: number
  readonly near: number
  readonly simhash: number
}

export interface SizeBin {
  readonly from: number
  readonly to: number
  readonly clusters: number
}

export interface Report {
  readonly format: typeof REPORT_FORMAT
  readonly run: {
    /** `all runs` in a report of all of them, which no run can be called. */
    readonly id: string
    readonly status: RunStatus
    readonly startedAt: string
    readonly finishedAt?: string
  }
  /** All runs of the state, the oldest first, as each was when it was finished. */
  readonly runs: readonly RunLine[]
  readonly versions: {
    readonly prestige?: string
    readonly node: string
    readonly system: string
    /** Of the algorithms and tables that fingerprints are made with. */
    readonly fingerprints: string
  }
  readonly config: DedupeConfig
  /** Settings that are not the defaults. */
  readonly settings: readonly ChangedSetting[]
  readonly inputs: {
    /** The nearest directory that all are in, without what is above it. */
    readonly directory: string
    /** The first few, below it. */
    readonly names: readonly string[]
    readonly files: number
    readonly bytes: number
    readonly formats: readonly string[]
    /** Files that earlier runs had done already. */
    readonly skipped: number
  }
  readonly documents: {
    readonly in: number
    readonly kept: number
    readonly dropped: number
    readonly linked: number
    /** Of the linked: kept without passages that other documents have. */
    readonly cut: number
    /** Of the dropped: replaced by a better copy that came later. */
    readonly superseded: number
    /** Of the kept: replaced a worse copy that was there. */
    readonly superseding: number
    readonly supersededEarlier: number
    /** Of the dropped: the very same document, id and text, was decided about before. */
    readonly repeated: number
    /** Pieces of input that were no documents; not part of `in`. */
    readonly rejected: number
    /** Of the kept: full buckets were passed over, so a duplicate may have been missed. */
    readonly possibleMisses: number
  }
  /** Of texts in UTF-8. What is linked is kept, but for what is cut from it. */
  readonly bytes: { readonly in: number; readonly kept: number; readonly saved: number }
  /** Dropped by in, from 0 to 1. */
  readonly duplicationRate: number
  readonly methods: readonly MethodLine[]
  readonly rejects: readonly { readonly reason: string; readonly count: number }[]
  /** Those with the most documents first. */
  readonly sources: readonly SourceLine[]
  readonly otherSources: Readonly<SourceCounts>
  /** Rows came, columns were there already. */
  readonly collisions: Matrix & { readonly crossSource: number }
  /** Rows were left out, columns were kept in their place. */
  readonly survivals: Matrix
  readonly dominance: readonly Dominance[]
  readonly passages: Readonly<Summary['passages']> & { readonly longest: readonly PassageSample[] }
  readonly similarity: readonly SimilarityBin[]
  readonly clusters: {
    readonly count: number
    readonly sizes: readonly SizeBin[]
    readonly largest: readonly ClusterSample[]
  }
  readonly closestCalls: readonly PairSample[]
  /** From the beginning of the run to its end; absent while it is not finished. */
  readonly throughput?: {
    readonly seconds: number
    readonly documentsPerSecond: number
    readonly megabytesPerSecond: number
  }
}

/** With the summary of the run, where it is known: what it sums up is not read again. */
export async function reportOf(
  backend: Backend,
  runId: string,
  options: ReportOptions = {},
  known?: Summary,
): Promise<Report> {
  const read = readOptions(reportOptions, options, 'A report')
  const run = await findRun(backend, runId)
  const summary = known ?? (await summarise(backend, run.id))
  const runs = await runLines(backend, new Map([[run.id, summary]]), false)
  const throughput = throughputOf(run, summary)
  const report = reportFrom([run], run, summary, runs, read)
  return { ...report, ...(throughput && { throughput }) }
}

/** In place of the name of a run. */
export const ALL_RUNS = 'all runs'

/** Of all runs that were not undone, as the state is now. */
export async function reportOfAll(backend: Backend, options: ReportOptions = {}): Promise<Report> {
  const read = readOptions(reportOptions, options, 'A report')
  const heads = (await listRuns(backend)).filter(({ status }) => status !== 'undone')
  const runs: RunRow[] = []
  for (const head of heads) runs.push(await backend.read(readRun, head))
  const last = runs.at(-1)
  if (!last) throw new PrestigeError('KEY_NOT_FOUND', 'There is no run in this state.')
  const summary = await summariseAll(backend, heads)
  const lines = await runLines(backend, new Map(), true)
  const { startedAt } = runs[0] ?? last
  return reportFrom(runs, { ...last, id: ALL_RUNS, startedAt }, summary, lines, read)
}

/** `run`: what is said of all of them. */
function reportFrom(
  runs: readonly RunRow[],
  run: RunRow,
  summary: Summary,
  lines: readonly RunLine[],
  { sourcesMax, version }: v.InferOutput<typeof reportOptions>,
): Report {
  const { id, status, startedAt, finishedAt, config } = run
  return {
    format: REPORT_FORMAT,
    run: {
      id,
      status,
      startedAt: new Date(startedAt).toISOString(),
      ...(finishedAt !== undefined && { finishedAt: new Date(finishedAt).toISOString() }),
    },
    runs: lines,
    versions: {
      ...(version !== undefined && { prestige: version }),
      node: process.versions.node,
      system: `${platform} ${arch}`,
      fingerprints: hashVersion(),
    },
    config,
    settings: changedSettings(config),
    inputs: inputsOf(runs),
    ...figuresOf(summary),
    ...sourcesOf(summary, sourcesMax),
    passages: { ...summary.passages, longest: summary.longestPassages },
    similarity: similarityOf(summary),
    clusters: {
      count: summary.clusters,
      sizes: summary.clusterSizes.map((clusters, place) => {
        const [from, to] = sizesOf(place)
        return { from, to, clusters }
      }),
      largest: summary.largestClusters,
    },
    closestCalls: summary.closestCalls,
  }
}

function inputsOf(runs: readonly RunRow[]): Report['inputs'] {
  const shards = runs.flatMap((run) => run.shards)
  const files = shards.flatMap((shard) => shard.files ?? [shard])
  // One of several runs may have read a file that had changed: the last size counts.
  const bytesOf = new Map(files.map(({ file, fileBytes }) => [file, fileBytes]))
  const bytes = [...bytesOf.values()].reduce((sum, one) => sum + one, 0)
  const formats = [...new Set(shards.map(({ format }) => format))]
  const skipped = runs.length === 1 ? (runs[0]?.skipped.length ?? 0) : 0
  return { ...corpusOf(files), files: bytesOf.size, bytes, formats, skipped }
}

type Figures = Pick<Report, 'documents' | 'bytes' | 'duplicationRate' | 'methods' | 'rejects'>

function figuresOf(summary: Summary): Figures {
  const { documents, kept, dropped, linked, superseded, superseding, repeated } = summary
  const { supersededEarlier, rejected, possibleMisses, bytes, bytesDropped } = summary
  const { cut, bytesCut } = summary
  const rejects = Object.entries(summary.rejectsByReason)
  return {
    documents: {
      in: documents,
      kept,
      dropped,
      linked,
      cut,
      superseded,
      superseding,
      supersededEarlier,
      repeated,
      rejected,
      possibleMisses,
    },
    bytes: { in: bytes, kept: bytes - bytesDropped - bytesCut, saved: bytesDropped + bytesCut },
    duplicationRate: documents === 0 ? 0 : dropped / documents,
    methods: METHODS.map((method) => ({
      method,
      dropped: summary.droppedByMethod[method] ?? 0,
      linked: summary.linkedByMethod[method] ?? 0,
    })),
    rejects: rejects
      .map(([reason, count]) => ({ reason, count }))
      .toSorted((one, other) => other.count - one.count || (one.reason < other.reason ? -1 : 1)),
  }
}

type Sources = Pick<Report, 'sources' | 'otherSources' | 'collisions' | 'survivals' | 'dominance'>

function sourcesOf(summary: Summary, sourcesMax: number): Sources {
  const sorted = Object.entries(summary.bySource)
    .map(([source, counts]) => Object.assign({ source }, counts))
    .toSorted(
      (one, other) => other.documents - one.documents || (one.source < other.source ? -1 : 1),
    )
  const otherSources = { ...summary.otherSources }
  for (const { source: _name, ...counts } of sorted.slice(sourcesMax)) add(otherSources, counts)
  const { collisions, survivals, crossSource } = summary
  const busiest = busiestSources([collisions, survivals], sourcesMax)
  return {
    sources: sorted.slice(0, sourcesMax),
    otherSources,
    collisions: { ...matrixOf(collisions, busiest), crossSource },
    survivals: matrixOf(survivals, busiest),
    dominance: dominanceOf(survivals, sourcesMax),
  }
}

function add(sum: SourceCounts, counts: SourceCounts): void {
  sum.documents += counts.documents
  sum.kept += counts.kept
  sum.dropped += counts.dropped
  sum.linked += counts.linked
  sum.bytes += counts.bytes
  sum.bytesDropped += counts.bytesDropped
}

/** From the least similar that was found, or the threshold if that is lower, up to 1. */
function similarityOf({ histogram: { near, simhash } }: Summary): SimilarityBin[] {
  const bins = near.map((count, at) => ({
    from: at / near.length,
    to: (at + 1) / near.length,
    near: count,
    simhash: simhash[at] ?? 0,
  }))
  const first = bins.findIndex((bin) => bin.near + bin.simhash > 0)
  return first < 0 ? [] : bins.slice(first)
}

function throughputOf(
  { startedAt, finishedAt }: RunRow,
  { documents, bytes }: Summary,
): Report['throughput'] {
  if (finishedAt === undefined) return undefined
  const seconds = Math.max(1, finishedAt - startedAt) / 1000
  return {
    seconds,
    documentsPerSecond: documents / seconds,
    megabytesPerSecond: bytes / 1e6 / seconds,
  }
}
