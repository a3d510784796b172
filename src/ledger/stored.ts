/** A ledger as archives, verification and listing see it. */

import { type Bytes, concat, equalBytes } from '../platform/bytes.ts'
import { type Backend, cell, read, type Transaction } from '../backends/index.ts'
import type { DocumentRow } from './document-row.ts'
import { statusOf } from './documents.ts'
import { countsOf } from './listing.ts'
import { runKey, runName, sourceName } from './names.ts'
import {
  byRun,
  bySource,
  documents,
  KEY,
  ledgerSpaces,
  ledgerTallies,
  type Line,
  type LineStatus,
  lines,
  type RunEntry,
  runs,
  settings,
  STATUSES,
  tallyKey,
} from './rows.ts'
import { JOB_FORMAT_VERSION } from './settings.ts'

type StoredFormat = Readonly<Record<string, unknown>>

function* checkLine(key: Buffer, line: Line): Transaction<string | undefined> {
  const { source, run, previous } = line
  if (source !== undefined) {
    const [row] = yield* read(cell(bySource, concat(sourceName(source).key, key)))
    if (!row) return `it is not listed under its source ${JSON.stringify(source)}`
  }
  if (run !== undefined) {
    const { key: ofRun } = runName(run)
    const [entry, known] = yield* read(cell(byRun, concat(ofRun, key)), cell(runs, ofRun))
    if (!entry || entry.replaced) return `it is not listed under its run ${JSON.stringify(run)}`
    if (!known) return `its run ${JSON.stringify(run)} is missing`
  }
  return yield* checkPrevious(key, previous)
}

function* checkPrevious(
  key: Buffer,
  previous: Buffer | undefined,
): Transaction<string | undefined> {
  if (!previous) return undefined
  const [entry] = yield* read(cell(byRun, concat(previous, key)))
  return entry?.replaced ? undefined : 'the line it replaced is missing'
}

function* checkSource(key: Buffer, _row: Bytes): Transaction<string | undefined> {
  const [line] = yield* read(cell(lines, key.subarray(KEY)))
  const isOf =
    line?.source !== undefined && equalBytes(sourceName(line.source).key, key.subarray(0, KEY))
  return isOf ? undefined : 'there is no line of this source'
}

function* checkRunEntry(key: Buffer, { replaced }: RunEntry): Transaction<string | undefined> {
  const [line] = yield* read(cell(lines, key.subarray(KEY)))
  if (!line) return 'its line is missing'
  if (replaced) return yield* checkPrevious(key.subarray(KEY), replaced.previous)
  return equalBytes(runKey(line.run), key.subarray(0, KEY))
    ? undefined
    : 'its line is of another run'
}

async function countLines(backend: Backend): Promise<{ lines: number; runs: number }> {
  const { total } = await backend.read(countsOf, undefined)
  let known = 0
  for await (const _run of backend.scan(runs)) known++
  return { lines: total, runs: known }
}

const kindOfTally = (tally: Buffer) => tally.toString('latin1', 0, 1)

export const ledgerChecks = [
  { space: lines, check: checkLine },
  { space: bySource, check: checkSource },
  { space: byRun, check: checkRunEntry },
] as const

function talliesOf(status: LineStatus, source: string | undefined) {
  const number = STATUSES.indexOf(status)
  const all = [tallyKey('a', undefined, number), 1] as const
  if (source === undefined) return [all]
  return [all, [tallyKey('s', sourceName(source).key, number), 1] as const]
}

const owns = (tally: Buffer) => kindOfTally(tally) !== 'r'

export const ledgerTallyChecks = [
  {
    space: lines,
    tallies: ledgerTallies,
    counts: (_key: Buffer, { status, source }: Line) => talliesOf(status, source),
    owns,
  },
] as const

/** Of the state of a corpus job, whose documents are its lines. */
export const documentTallyChecks = [
  {
    space: documents,
    tallies: ledgerTallies,
    counts: (_key: Buffer, row: DocumentRow) => talliesOf(statusOf(row), row.source || undefined),
    owns,
  },
] as const

export const storedLedger = {
  kind: 'ledger',
  spaces: ledgerSpaces,
  settings: cell(settings, Buffer.from('ledger')),
  isOwn: (value: StoredFormat): boolean => value['format'] !== JOB_FORMAT_VERSION,
  keptSettings: (value: object): string => JSON.stringify(value),
  indexes: async () => [],
  counts: countLines,
  checks: ledgerChecks,
  tallyChecks: ledgerTallyChecks,
} as const
