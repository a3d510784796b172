/** `ledger`: what it says of a document, of a source, a run or a time, and in numbers; and what is too old to keep. */

import type { DocumentInfo } from '../../dedupe/index.ts'
import type { Deduper, Ledger, LedgerLine, LedgerRun } from '../../index.ts'
import type { LineCounts, LineStatus, RunLine } from '../../ledger/index.ts'
import { Failure, usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { notationOf } from '../print/key-notation.ts'
import { jsonOf, print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'
import { count, countOf, time } from '../print/units.ts'
import { unsaidDurability } from '../call/location.ts'
import { timeGiven } from '../call/time-given.ts'
import { existingLocationOf } from '../call/with-store.ts'
import { inOrder, placeText } from '../inspect/words.ts'

const CHUNK_LINES = 1000

export async function run(invocation: Invocation): Promise<number> {
  const [what, ...rest] = invocation.operands
  if (what === 'get') {
    if (rest.length === 0) throw usageFailure('Usage: prestige ledger get ID [--source S]')
    return get(invocation)
  }
  if (rest.length > 0 || (what !== 'list' && what !== 'stats' && what !== 'prune')) {
    throw usageFailure('Usage: prestige ledger get ID | list | stats | prune')
  }
  const { source, run: ofRun } = namesOf(invocation)
  if (source !== undefined && ofRun !== undefined) {
    throw usageFailure('Give --source or --run, not both.')
  }
  if (what === 'prune') return prune(invocation)
  if (what === 'list') return withLedger(invocation, (ledger) => list(ledger, invocation))
  return withLedger(invocation, (ledger) => stats(ledger, invocation))
}

function namesOf(invocation: Invocation) {
  return { source: invocation.text('source'), run: invocation.text('run') }
}

async function withLedger(
  invocation: Invocation,
  use: (ledger: Ledger) => Promise<void>,
): Promise<number> {
  const location = existingLocationOf(invocation)
  const { openLedger } = await import('../../ledger/index.ts')
  const namespace = invocation.text('namespace')
  const ledger = await openLedger(location, { namespace, create: false })
  try {
    await use(ledger)
    return 0
  } finally {
    await ledger.close()
  }
}

async function get(invocation: Invocation): Promise<number> {
  const id = String(invocation.key(invocation.operand(1)))
  const lines: PlacedLine[] = []
  await withLedger(invocation, async (ledger) => {
    lines.push(...(await ledger.lines({ id, source: invocation.text('source') })))
  })
  if (lines.length === 0) {
    throw new Failure('missing', 'KEY_NOT_FOUND', `The ledger has no line of "${shown(id)}".`)
  }
  const placed = lines.length === 1 ? lines : await withPlaces(invocation, id, lines)
  if (invocation.flag('json')) for (const line of placed) await printJson(line)
  else await print(placed.map((line) => table(rowsOf(line), ['left', 'left'])).join('\n'))
  return 0
}

/** A line of a document of dedupe has its key, and where the document was read from. */
interface PlacedLine extends LedgerLine, Pick<DocumentInfo, 'file' | 'line' | 'unit'> {
  readonly key?: string
}

/** Several lines of one id differ in little else than where their documents were read from. */
async function withPlaces(
  invocation: Invocation,
  id: string,
  lines: readonly PlacedLine[],
): Promise<PlacedLine[]> {
  await using deduper = await openState(invocation)
  const documents = await deduper.documents(id)
  const places = new Map(documents.map(({ key, file, line, unit }) => [key, { file, line, unit }]))
  const placed = lines.map((one) => {
    const { file, line, unit } = places.get(one.key ?? '') ?? {}
    return {
      ...one,
      ...(file !== undefined && { file }),
      ...(line && { line }),
      ...(unit && { unit }),
    }
  })
  return inOrder(placed)
}

function rowsOf(line: PlacedLine): string[][] {
  const { id, status, at, leaseUntil, source, run, worker, of, detail, token } = line
  const rows: [string, string | undefined][] = [
    ['id', shown(id)],
    ['status', status],
    ['since', time(at)],
    ['lease until', leaseUntil === undefined ? undefined : time(leaseUntil)],
    ['source', shown(source)],
    ['read from', placeText(line) || undefined],
    ['run', shown(run)],
    ['worker', shown(worker)],
    ['of', shown(of)],
    ['detail', shown(detail)],
    ['language', shown(line.language)],
    ['fingerprints', shown(line.fingerprintVersion)],
    ['token', String(token)],
  ]
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}

function shown<T extends string | undefined>(text: T): T | string {
  return text === undefined ? text : notationOf(Buffer.from(text))
}

async function list(ledger: Ledger, invocation: Invocation): Promise<void> {
  const after = invocation.keyOption('after')
  const lines = ledger.list({
    ...namesOf(invocation),
    startAfter: after === undefined ? undefined : String(after),
    limit: invocation.wholeNumber('limit'),
    since: timeGiven(invocation, 'since'),
    until: timeGiven(invocation, 'until'),
    // safe: the option has these choices
    status: invocation.text('status') as LineStatus | undefined,
  })
  return printLines(lines, invocation)
}

async function printLines(lines: AsyncIterable<RunLine>, invocation: Invocation): Promise<void> {
  const asJson = invocation.flag('json')
  let chunk: string[] = []
  for await (const line of lines) {
    invocation.signal.throwIfAborted()
    chunk.push(asJson ? `${jsonOf(line)}\n` : lineText(line))
    if (chunk.length < CHUNK_LINES) continue
    await print(chunk.join(''))
    chunk = []
  }
  await print(chunk.join(''))
}

function lineText({ id, status, at, of, detail, isReplaced }: RunLine): string {
  const why = status === 'rejected' && detail !== undefined ? `  ${shown(detail)}` : ''
  const more = (of === undefined ? '' : ` of ${shown(of)}`) + (isReplaced ? ' (replaced)' : why)
  return `${status.padEnd(10)}  ${time(at)}  ${shown(id)}${more}\n`
}

async function prune(invocation: Invocation): Promise<number> {
  const olderThan = timeGiven(invocation, 'older-than')
  if (olderThan === undefined) throw usageFailure('ledger prune needs --older-than 90d.')
  const { source, run: ofRun } = namesOf(invocation)
  if (source !== undefined || ofRun !== undefined) {
    throw usageFailure('ledger prune goes by time alone: leave out --source and --run.')
  }
  const dryRun = invocation.flag('dry-run')
  const cascade = invocation.flag('cascade')
  let isOfJob = false
  await withLedger(invocation, async (ledger) => {
    ;({ isOfJob } = ledger)
    if (isOfJob) return
    if (cascade)
      throw usageFailure('--cascade has no effect here: lines of a ledger rely on nothing.')
    await printPruned(await ledger.prune({ olderThan, dryRun }), invocation, dryRun)
  })
  if (isOfJob) await pruneState(invocation, { olderThan, dryRun, cascade })
  return 0
}

async function openState(invocation: Invocation): Promise<Deduper> {
  const location = existingLocationOf(invocation)
  const { openDedupe } = await import('../../dedupe/index.ts')
  return openDedupe(location, {
    namespace: invocation.text('namespace'),
    create: false,
    durability: unsaidDurability(location, 'os'),
    asBefore: true,
  })
}

async function pruneState(
  invocation: Invocation,
  options: { olderThan: number; dryRun: boolean; cascade: boolean },
): Promise<void> {
  await using deduper = await openState(invocation)
  await printPruned(await deduper.prune(options), invocation, options.dryRun)
}

const PRUNED_NOUNS: Readonly<Record<string, string>> = {
  lines: 'line',
  oldLines: 'replaced line',
  runs: 'run',
  documents: 'document',
}

async function printPruned(pruned: object, invocation: Invocation, dryRun: boolean): Promise<void> {
  if (invocation.flag('json')) return printJson(pruned)
  const numbers: [string, number][] = Object.entries(pruned)
  const counts = numbers.flatMap(([name, number]) => {
    const noun = PRUNED_NOUNS[name]
    return noun === undefined ? [] : [countOf(number, noun)]
  })
  const reliedOn = numbers.find(([name]) => name === 'reliedOn')?.[1] ?? 0
  const kept = reliedOn > 0 ? `; ${count(reliedOn)} stay because newer ones rely on them` : ''
  await print(`${dryRun ? 'would remove' : 'removed'} ${counts.join(', ')}${kept}\n`)
}

async function stats(ledger: Ledger, invocation: Invocation): Promise<void> {
  const names = namesOf(invocation)
  const counts = await ledger.counts(names)
  const isWhole = names.source === undefined && names.run === undefined
  const runs: LedgerRun[] = []
  if (isWhole) for await (const one of ledger.runs()) runs.push(one)
  if (invocation.flag('json')) return printJson(isWhole ? { counts, runs } : { counts })
  await print(countTable(counts) + (runs.length > 0 ? `\n${runTable(runs)}` : ''))
}

function countTable(counts: LineCounts): string {
  const { total, ...rest } = counts
  const rows = Object.entries(rest).filter(([, number]) => number > 0)
  return table(
    [...rows, ['lines', total] as const].map(([name, number]) => [name, count(number)]),
    ['left', 'right'],
  )
}

function runTable(runs: readonly LedgerRun[]): string {
  const rows = runs.map(({ id, status, startedAt, counts }) => [
    status,
    time(startedAt),
    count(counts.total),
    `run ${shown(id)}`,
  ])
  return table(rows, ['left', 'left', 'right', 'left'])
}
