/**
 * What must hold of a ledger's rows after every commit: rows by source and by run, history and tallies all follow
 * from the lines in force. Throws with the name of what broke.
 */

import type { Bytes } from '../../src/platform/bytes.ts'
import type { Backend, Space } from '../../src/backends/contract.ts'
import type { SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import { countsOf } from '../../src/ledger/listing.ts'
import { runKey, runName, sourceName } from '../../src/ledger/names.ts'
import {
  byRun,
  bySource,
  ledgerTallies,
  type Line,
  lines,
  type RunEntry,
  STATUSES,
  tallyKey,
} from '../../src/ledger/rows.ts'

export interface LedgerRows {
  readonly lines: ReadonlyMap<string, Line>
  readonly bySource: ReadonlyMap<string, unknown>
  readonly byRun: ReadonlyMap<string, RunEntry>
  readonly tally: (key: Buffer) => number
}

const latin1 = (bytes: Bytes) => Buffer.from(bytes).toString('latin1')

function fail(message: string): never {
  throw new Error(`Invariant broken: ${message}`)
}

export function checkRows(rows: LedgerRows): void {
  const sums = new Map<string, number>()
  const count = (key: Buffer) => sums.set(latin1(key), (sums.get(latin1(key)) ?? 0) + 1)
  let reached = 0
  let sourced = 0
  for (const [key, line] of rows.lines) {
    const status = STATUSES.indexOf(line.status)
    count(tallyKey('a', undefined, status))
    if (line.source !== undefined) {
      const { key: source } = sourceName(line.source)
      sourced++
      if (!rows.bySource.has(latin1(source) + key)) fail(`${line.id} has no row under its source`)
      count(tallyKey('s', source, status))
    }
    reached += checkChain(rows, key, line, count)
  }
  if (rows.bySource.size !== sourced) fail('there is a row under a source without its line')
  if (rows.byRun.size !== reached) fail('there is a row under a run that no line leads to')
  checkTallies(rows, sums)
}

function checkChain(
  rows: LedgerRows,
  key: string,
  top: Line,
  count: (key: Buffer) => void,
): number {
  const seen = new Set<string>()
  let reached = 0
  for (let line: Line | undefined = top; line;) {
    const run = latin1(runKey(line.run))
    if (seen.has(run)) fail(`${top.id} has a circle in its history`)
    seen.add(run)
    const entry = rows.byRun.get(run + key)
    if (line === top) {
      if (entry?.replaced) fail(`${top.id} is in force, and replaced`)
      if (!entry !== (line.run === undefined)) fail(`${top.id} has no row under its run`)
    } else if (!entry) fail(`${top.id} has a line in its history that is not there`)
    if (entry) reached++
    if (line.run !== undefined) {
      count(tallyKey('r', runName(line.run).key, STATUSES.indexOf(line.status)))
    }
    const { previous }: Line = line
    line = previous && rows.byRun.get(latin1(previous) + key)?.replaced
    if (previous && !line) fail(`${top.id} points at a line that is not there`)
  }
  return reached
}

function checkTallies(rows: LedgerRows, sums: ReadonlyMap<string, number>): void {
  const names: Buffer[][] = [STATUSES.map((_, status) => tallyKey('a', undefined, status))]
  for (const name of sums.keys()) {
    const key = Buffer.from(name, 'latin1')
    names.push(STATUSES.map((_, status) => Buffer.concat([key.subarray(0, -1), Buffer.of(status)])))
  }
  for (const key of names.flat()) {
    const expected = sums.get(latin1(key)) ?? 0
    const found = rows.tally(key)
    if (found !== expected) fail(`tally ${latin1(key)} is ${found}, and should be ${expected}`)
  }
}

export function rowsOfWorld(world: SimulatedWorld): LedgerRows {
  const table = <V>(space: Space<V>) =>
    new Map(
      world
        .rows(space)
        .map(({ key, bytes }) => [latin1(key.subarray(1)), space.codec.decode(bytes)]),
    )
  const tallies = table(ledgerTallies)
  return {
    lines: table(lines),
    bySource: table(bySource),
    byRun: table(byRun),
    tally: (key) => tallies.get(latin1(key)) ?? 0,
  }
}

/** From a backend nobody else writes to. */
export async function rowsOfBackend(
  backend: Backend,
  names: { readonly sources: readonly string[]; readonly runs: readonly string[] },
): Promise<LedgerRows> {
  const table = async <V>(space: Space<V>) => {
    const found = new Map<string, V>()
    for await (const { key, value } of backend.scan(space)) found.set(latin1(key), value)
    return found
  }
  const tallies = new Map<string, number>()
  const all = [undefined, ...names.sources.map(sourceName), ...names.runs.map(runName)]
  for (const name of all) {
    const counts = await backend.read(countsOf, name)
    const isSource = name && names.sources.includes(name.text)
    const kind = !name ? 'a' : isSource ? 's' : 'r'
    STATUSES.forEach((status, at) =>
      tallies.set(latin1(tallyKey(kind, name?.key, at)), counts[status]),
    )
  }
  return {
    lines: await table(lines),
    bySource: await table(bySource),
    byRun: await table(byRun),
    tally: (key) => tallies.get(latin1(key)) ?? 0,
  }
}
