/** How an outcome is told: one JSON object a line for programs, a table for people. */

import type { Limits } from './bench.ts'
import { cpuMicrosPerOp, median, type Outcome } from './rounds.ts'

type Line = Record<string, string | number | boolean | undefined>

export function lineOf({
  bench,
  case: { name, reference, limits },
  runs,
  ours,
  reference: theirs,
  ratios,
  wallRatios,
}: Outcome): Line {
  const { ops, bytes, wallMs, commits, representatives } = ours
  const each = (sum: number | undefined) =>
    representatives === undefined || sum === undefined ? undefined : round(sum / representatives)
  const seconds = wallMs / 1000
  const line: Line = {
    bench: bench.name,
    case: name,
    cpuMicrosPerOp: round(cpuMicrosPerOp(ours)),
    opsPerSecond: bytes === undefined ? round(ops / seconds) : undefined,
    megabytesPerSecond: bytes === undefined ? undefined : round(bytes / 1e6 / seconds),
    reference: reference.name,
    referenceCpuMicrosPerOp: round(cpuMicrosPerOp(theirs)),
    ratio: round(median(ratios)),
    ratioMin: round(Math.min(...ratios)),
    ratioMax: round(Math.max(...ratios)),
    wallRatio: round(median(wallRatios)),
    p50Ms: round(ours.p50Ms),
    p99Ms: round(ours.p99Ms),
    eventLoopDelayP99Ms: round(ours.eventLoopDelayP99Ms),
    diskBytes: ours.diskBytes,
    referenceDiskBytes: theirs.diskBytes,
    rssBytes: ours.rssBytes,
    wallMs: ops === 1 ? round(wallMs) : undefined,
    representatives,
    diskBytesPerRepresentative: each(ours.diskBytes),
    tableBytesPerRepresentative: each(ours.tableBytes),
    serverCpuMicrosPerOp: share(ours.serverCpuMicros, ops),
    referenceServerCpuMicrosPerOp: share(theirs.serverCpuMicros, theirs.ops),
    serverBytesPerOp: share(ours.serverBytes, ops),
    referenceServerBytesPerOp: share(theirs.serverBytes, theirs.ops),
    conflictsPerOp: share(ours.conflicts, ops),
    commits,
    requestsPerOp: ours.requests === undefined ? undefined : round(ours.requests / ops),
    referenceRequestsPerOp:
      theirs.requests === undefined ? undefined : round(theirs.requests / theirs.ops),
    putsPerCommit: commits === undefined || commits === 0 ? undefined : round(ops / commits),
    runs,
  }
  return { ...line, ...verdict(line, limits) }
}

/** `limit` is the target for the ratio; `isWithin` says whether all targets of the case were met. */
function verdict(line: Line, limits: Limits | undefined): Line {
  if (limits === undefined) return {}
  const { ratioMax, cpuMicrosMax, wallMsMax, wallRatioMax } = limits
  const { p50MsMax, eventLoopDelayP99MsMax, putsPerCommitMin } = limits
  const { conflictsPerOpMax, requestsPerOpMax } = limits
  const atMost = (field: string, max: number | undefined) =>
    max === undefined || Number(line[field]) <= max
  return {
    limit: ratioMax,
    cpuMicrosMax,
    wallMsMax,
    wallRatioMax,
    p50MsMax,
    eventLoopDelayP99MsMax,
    putsPerCommitMin,
    conflictsPerOpMax,
    requestsPerOpMax,
    isWithin:
      atMost('ratio', ratioMax) &&
      atMost('cpuMicrosPerOp', cpuMicrosMax) &&
      atMost('wallMs', wallMsMax) &&
      atMost('wallRatio', wallRatioMax) &&
      atMost('p50Ms', p50MsMax) &&
      atMost('conflictsPerOp', conflictsPerOpMax) &&
      atMost('requestsPerOp', requestsPerOpMax) &&
      atMost('eventLoopDelayP99Ms', eventLoopDelayP99MsMax) &&
      (putsPerCommitMin === undefined || Number(line['putsPerCommit']) >= putsPerCommitMin),
  }
}

function share(sum: number | undefined, ops: number): number | undefined {
  return sum === undefined ? undefined : round(sum / ops)
}

/** Three digits are more than such machines can tell apart. */
function round(value: number): number
function round(value: number | undefined): number | undefined
function round(value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}

const COLUMNS = [
  ['case', 52],
  ['ours µs', 9],
  ['ref µs', 9],
  ['ratio', 7],
  ['limit', 6],
  ['spread', 14],
  ['per second', 12],
  ['p50 ms', 8],
  ['p99 ms', 8],
  ['loop p99', 9],
  ['disk', 7],
  ['per commit', 11],
  ['requests', 9],
  ['', 8],
] as const

export function tableHead(): string {
  return COLUMNS.map(([title, width], at) => pad(title, width, at)).join('')
}

export function tableRow(line: Line): string {
  const show = (value: Line[string]) => (value === undefined ? '' : String(value))
  const ofMb = line['megabytesPerSecond']
  const disk = line['diskBytes'] === undefined ? undefined : Number(line['diskBytes']) / 2 ** 20
  const cells = [
    show(line['case']),
    show(line['cpuMicrosPerOp']),
    show(line['referenceCpuMicrosPerOp']),
    show(line['ratio']),
    show(line['limit']),
    `${show(line['ratioMin'])}–${show(line['ratioMax'])}`,
    ofMb === undefined ? show(line['opsPerSecond']) : `${show(ofMb)} MB`,
    show(line['p50Ms']),
    show(line['p99Ms']),
    show(line['eventLoopDelayP99Ms']),
    disk === undefined ? '' : `${Math.round(disk)}M`,
    show(line['putsPerCommit']),
    show(line['requestsPerOp']),
    line['isWithin'] === undefined ? '' : line['isWithin'] ? 'ok' : 'MISSED',
  ]
  return cells.map((text, at) => pad(text, COLUMNS[at]![1], at)).join('')
}

function pad(text: string, width: number, at: number): string {
  return at === 0 ? text.padEnd(width) : ` ${text}`.padStart(width)
}
