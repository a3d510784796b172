/**
 * Retention: removes documents from before a time, with their fingerprints. A document that others rely on stays as long
 * as one of them does: others were dropped, linked or cut for it, or it took the place of another. So no document that
 * is left refers to one that is gone.
 *
 * In many transactions, those that rely on others first: what a crash leaves is whole, and the next call goes on. What
 * was written to outputs is not looked at.
 */

import { type Backend, cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { removeDocument } from '../../ledger/index.ts'
import { removeCentre } from '../decision/centre.ts'
import { decodeCentre } from '../decision/centre-row.ts'
import { leaveCluster } from '../decision/cluster.ts'
import type { Engine } from '../decision/engine.ts'
import { fromHex, hex } from '../names.ts'
import { clusters, type DocumentRow, documents } from '../rows.ts'

export interface PruneOptions {
  /** Milliseconds since 1970: documents decided about before this time are removed. */
  readonly olderThan: number | Date
  /** Remove nothing, only count. Default: `false`. */
  readonly dryRun?: boolean | undefined
  /** Also remove newer documents that rely on older ones. Default: `false`, older ones stay then. */
  readonly cascade?: boolean | undefined
}

export interface PrunedDocuments {
  /** Documents that were removed, or, with `dryRun`, would be. */
  readonly documents: number
  /** Documents that are old enough, and stay because newer ones rely on them. */
  readonly reliedOn: number
}

interface Candidate {
  readonly at: number
  readonly cluster: string | undefined
  /** Keys in hex. */
  readonly reliesOn: readonly string[]
}

/** What is to go, by key in hex. */
type Candidates = Map<string, Candidate>

const PAGE = 32

export async function pruneDocuments(
  backend: Backend,
  engine: Engine,
  { olderThan, dryRun = false, cascade = false }: PruneOptions,
): Promise<PrunedDocuments> {
  const survivors = await survivorsOf(backend)
  const { candidates, reliedOn } = await candidatesOf(
    backend,
    survivors,
    Number(olderThan),
    cascade,
  )
  if (dryRun) return { documents: candidates.size, reliedOn }
  const order = inOrder(candidates, new Set(survivors.values()))
  const atOnce = backend.serial ? PAGE : 1
  let count = 0
  for (let from = 0; from < order.length; from += atOnce) {
    const page = order.slice(from, from + atOnce)
    try {
      count += await backend.run(removeDocuments, engine, page)
    } catch (error) {
      engine.invalidate()
      throw error
    }
  }
  for (const index of [engine.near.index, engine.simhash.index]) await index.trim(backend)
  return { documents: count, reliedOn }
}

/** Centre → survivor, of clusters whose centre is not the one that is kept. */
async function survivorsOf(backend: Backend): Promise<Map<string, string>> {
  const survivors = new Map<string, string>()
  for await (const { key, value } of backend.scan(clusters)) {
    if (value.survivor !== hex(key)) survivors.set(hex(key), value.survivor)
  }
  return survivors
}

async function candidatesOf(
  backend: Backend,
  survivors: ReadonlyMap<string, string>,
  before: number,
  cascade: boolean,
): Promise<{ readonly candidates: Candidates; readonly reliedOn: number }> {
  const candidates: Candidates = new Map()
  for (let isGrowing = true; isGrowing;) {
    isGrowing = false
    for await (const { key, value: row } of backend.scan(documents)) {
      const name = hex(key)
      if (candidates.has(name)) continue
      const reliesOn = reliedOnBy(name, row, survivors)
      if (row.at >= before && !(cascade && reliesOn.some((one) => candidates.has(one)))) continue
      candidates.set(name, { at: row.at, cluster: row.cluster, reliesOn })
      isGrowing = cascade
    }
  }
  const reliedOn = await keepReliedOn(backend, survivors, candidates)
  return { candidates, reliedOn }
}

/** Everything that must be there while this document is. */
function reliedOnBy(
  own: string,
  row: DocumentRow,
  survivors: ReadonlyMap<string, string>,
): string[] {
  const { cluster, supersededBy, supersedes = [], like, spans = [], cutFor = [] } = row
  const all = [...supersedes, ...spans.map(([, , of]) => of), ...cutFor.map(([of]) => of)]
  for (const one of [cluster, cluster && survivors.get(cluster), supersededBy, like]) {
    if (one) all.push(one)
  }
  return all.filter((one) => one !== own)
}

/** Takes out of the candidates what those that stay rely on, and what these rely on. Returns how many. */
async function keepReliedOn(
  backend: Backend,
  survivors: ReadonlyMap<string, string>,
  candidates: Candidates,
): Promise<number> {
  let kept = 0
  for await (const { key, value: row } of backend.scan(documents)) {
    const name = hex(key)
    if (candidates.has(name)) continue
    const needed = reliedOnBy(name, row, survivors)
    for (let one = needed.pop(); one !== undefined; one = needed.pop()) {
      const candidate = candidates.get(one)
      if (!candidate || !candidates.delete(one)) continue
      kept++
      needed.push(...candidate.reliesOn)
    }
  }
  return kept
}

/**
 * Those that rely on others before these. Where two rely on each other, as a survivor and what it took the place of,
 * the survivor comes last: when it leaves its cluster, there is nothing left that would take its place again.
 */
function inOrder(candidates: Candidates, survivors: ReadonlySet<string>): Removal[] {
  const dependents = new Map<string, string[]>()
  for (const [name, { reliesOn }] of candidates) {
    for (const one of reliesOn) {
      const known = dependents.get(one)
      if (known) known.push(name)
      else if (candidates.has(one)) dependents.set(one, [name])
    }
  }
  const names = [...candidates.keys()]
  const seen = new Set<string>()
  const order: string[] = []
  for (const start of [...names.filter((name) => survivors.has(name)), ...names]) {
    order.push(...dependentsFirst(start, dependents, seen))
  }
  const membersLater = new Map<string, number>()
  const removals: Removal[] = []
  for (const name of order.toReversed()) {
    const { at = 0, cluster } = candidates.get(name) ?? {}
    removals.push({ key: fromHex(name), at, membersLater: membersLater.get(name) ?? 0 })
    if (cluster) membersLater.set(cluster, (membersLater.get(cluster) ?? 0) + 1)
  }
  return removals.toReversed()
}

/** What was not seen yet of all that relies on `start`, and `start` at the end. */
function dependentsFirst(
  start: string,
  dependents: ReadonlyMap<string, readonly string[]>,
  seen: Set<string>,
): string[] {
  const order: string[] = []
  const stack: { readonly name: string; readonly rest: string[] }[] = []
  const enter = (name: string) => {
    if (seen.has(name)) return
    seen.add(name)
    stack.push({ name, rest: [...(dependents.get(name) ?? [])] })
  }
  enter(start)
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    const next = top.rest.pop()
    if (next !== undefined) enter(next)
    else {
      stack.pop()
      order.push(top.name)
    }
  }
  return order
}

interface Removal {
  readonly key: Buffer
  /** As it was when it was chosen: a document that was decided about again stays. */
  readonly at: number
  /** So many of the cluster around it are removed after it. */
  readonly membersLater: number
}

function* removeDocuments(
  scope: Scope,
  engine: Engine,
  page: readonly Removal[],
): Transaction<number> {
  let count = 0
  for (const { key, at, membersLater } of page) {
    const [row, own] = yield* read(cell(documents, key), cell(clusters, key))
    if (!row || row.at !== at) continue
    // Others have joined it meanwhile.
    if (own && own.size - 1 > membersLater) continue
    const [cluster] = row.cluster ? yield* read(cell(clusters, fromHex(row.cluster))) : []
    // What it is kept in place of has stayed.
    if (cluster?.survivor === hex(key)) continue
    if (row.centre) yield* removeCentre(scope, engine, key, decodeCentre(row.centre))
    if (own) scope.remove(cell(clusters, key))
    if (row.cluster) yield* leaveCluster(scope, fromHex(row.cluster), key, row)
    removeDocument(scope, key, row)
    count++
  }
  return count
}
