/**
 * The transaction of the corpus job: what is this document, who survives, and remember it. All of it, or none.
 *
 * Clusters are stars around a centre that every member was measured against, never chains. The survivor is the
 * best copy by the rules; a better one that comes later supersedes it, and the cluster keeps its centre.
 */

import { concat, equalBytes } from '../../platform/bytes.ts'
import { cell, glance, read, type Scope, type Transaction } from '../../backends/index.ts'
import {
  documentKey,
  type PreparedLine,
  recordOfRunning,
  requireRunning,
  supersedeLine,
} from '../../ledger/index.ts'
import { keepCentre, removeCentre } from './centre.ts'
import { dissolve, isLeftBehind, leaveCluster } from './cluster.ts'
import type { Decision, Method, Span } from './decision.ts'
import { decodeCentre, encodeCentre } from './centre-row.ts'
import type { Engine } from './engine.ts'
import { find, type Found, type Match } from './find.ts'
import { fromHex, hex, named } from '../names.ts'
import type { PreparedDocument } from './prepare.ts'
import { isBetter, type Ranked, rankOf } from './rank.ts'
import {
  type ClusterRow,
  clusters,
  type DocumentRow,
  documents,
  members,
  type Rank,
} from '../rows.ts'
import type { Writable } from './document-row.ts'
import { placeOf } from './identity.ts'

export interface Context {
  readonly engine: Engine
  readonly run: string
  /** What is met twice in one session is repeated; in another, it is only reported again. A job is one. */
  readonly session: string
}

/** Of one attempt of a transaction: that the run goes on is required once. */
export interface Progress {
  isRunning: boolean
}

/** A decision, and the key of the row where it is kept. */
export interface Made {
  readonly decision: Decision
  readonly key: Buffer
}

export function* decideDocument(
  scope: Scope,
  document: PreparedDocument,
  context: Context,
  progress: Progress,
): Transaction<Made> {
  const { engine, session, run } = context
  const { key, old } = yield* placeOf(document, session)
  const place = cell(documents, key)
  if (old && equalBytes(old.digest, document.digest) && (yield* holds(old))) {
    const known = yield* told(old)
    if (old.session === session) return { key, decision: repeated(known) }
    scope.write(place, { ...old, session })
    return { key, decision: known }
  }
  if (!progress.isRunning) yield* requireRunning(run)
  progress.isRunning = true
  const found = yield* find(document, key, engine, scope)
  scope.rely(...found.relied)
  if (old?.centre) yield* removeCentre(scope, engine, key, decodeCentre(old.centre))
  const orphaned = old?.centre ? yield* dissolve(scope, key) : 0
  if (old?.cluster) yield* leaveCluster(scope, fromHex(old.cluster), key, old)
  const rank = rankOf(document, engine.config)
  const decided = found.match
    ? yield* join(scope, document, key, rank, found.match, context)
    : yield* begin(scope, document, key, found, context)
  const possibleMiss = found.possibleMiss && !found.match
  scope.write(place, rowOf(document, decided, context, rank, orphaned, possibleMiss))
  yield* recordOfRunning(scope, lineOf(document, decided.decision, run))
  if (!possibleMiss && orphaned === 0) return { key, decision: decided.decision }
  const also = { ...(possibleMiss && { possibleMiss }), ...(orphaned > 0 && { orphaned }) }
  return { key, decision: { ...decided.decision, ...also } }
}

function rowOf(
  document: PreparedDocument,
  decided: Decided,
  { run, session }: Context,
  rank: Rank,
  orphaned: number,
  possibleMiss: boolean,
): DocumentRow {
  const { id, source, digest, bytes, time, quality, type } = document
  const row: Writable<DocumentRow> = {
    id,
    source,
    run,
    session,
    digest,
    bytes,
    rank,
    ...decided.row,
  }
  if (time !== undefined) row.time = time
  if (quality !== undefined) row.quality = quality
  if (type !== undefined) row.type = type
  if (orphaned > 0) row.orphaned = orphaned
  if (possibleMiss) row.possibleMiss = true
  return row
}

/** Whether a decision still holds: a duplicate of a text that is no more is re-evaluated. */
function* holds({ cluster, ...row }: DocumentRow): Transaction<boolean> {
  if (cluster === undefined) return true
  const [centre] = yield* read(cell(documents, fromHex(cluster)))
  return !isLeftBehind(row, centre)
}

/** The same document twice: once is enough. */
function repeated(known: Decision): Decision {
  const { id, source } = known
  const method = known.action === 'drop' ? known.method : undefined
  const of = known.of ?? { id, source }
  return { ...known, action: 'drop', method: method ?? 'exact', of, isRepeated: true }
}

/** What it would be, without a trace. */
export function* lookAt(document: PreparedDocument, engine: Engine): Transaction<Decision> {
  const found = yield* find(document, undefined, engine, undefined)
  const { id, source } = document
  const { match } = found
  if (!match) return beginning(document, found)
  const { method, centre, similarity, threshold } = match
  const [cluster, row] = yield* read(cell(clusters, centre), cell(documents, centre))
  const survivor = cluster && (yield* read(cell(documents, fromHex(cluster.survivor))))[0]
  const representative = row && named(row)
  const of = survivor ? named(survivor) : representative
  const action = engine.config[method].action
  const spans = found.spans.length > 0 && { spans: found.spans.map(spanOf) }
  return {
    id,
    source,
    action,
    method,
    ...(of && { of }),
    ...(representative && { representative }),
    similarity,
    threshold,
    cluster: hex(centre),
    ...spans,
  }
}

interface Decided {
  readonly decision: Decision
  readonly row: Omit<DocumentRow, 'id' | 'source' | 'run' | 'session' | 'digest' | 'bytes' | 'rank'>
}

/** It is the centre of a cluster of its own. */
function* begin(
  scope: Scope,
  document: PreparedDocument,
  key: Buffer,
  found: Found,
  { engine }: Context,
): Transaction<Decided> {
  const decision = beginning(document, found)
  const centre = encodeCentre(yield* keepCentre(scope, engine, document, key, !found.like))
  if (decision.action === 'keep') return { decision, row: { action: 'keep', centre } }
  const spans = found.spans.map(({ start, end, key: other }) => [start, end, other] as const)
  return {
    decision,
    row: {
      action: decision.action,
      centre,
      ...(decision.method && { method: decision.method }),
      ...(found.like && { like: found.like.key, similarity: found.like.similarity }),
      ...(spans.length > 0 && { spans }),
    },
  }
}

function beginning({ id, source }: PreparedDocument, { spans, like }: Found): Decision {
  const [first] = spans
  if (like) {
    const { of, similarity, threshold } = like
    const passages = spans.length > 0 && { spans: spans.map(spanOf) }
    return {
      id,
      source,
      action: 'link',
      method: 'semantic',
      of,
      similarity,
      threshold,
      ...passages,
    }
  }
  if (!first) return { id, source, action: 'keep' }
  return { id, source, action: 'link', method: 'chunk', of: first.of, spans: spans.map(spanOf) }
}

function spanOf({ start, end, of }: Span): Span {
  return { start, end, of }
}

/** It belongs to a cluster: as its survivor if it is better than the one there is, else as a duplicate. */
function* join(
  scope: Scope,
  document: PreparedDocument,
  key: Buffer,
  rank: Rank,
  match: Match,
  { engine, run }: Context,
): Transaction<Decided> {
  const { method, centre, similarity, threshold } = match
  const { action } = engine.config[method]
  const place = cell(clusters, centre)
  const [cluster] = yield* read(place)
  const survivor = cluster ? fromHex(cluster.survivor) : centre
  const [centreRow, survivorRow] = yield* glance(cell(documents, centre), cell(documents, survivor))
  const representative = centreRow ? named(centreRow) : { id: hex(centre), source: '' }
  const of = survivorRow ? named(survivorRow) : representative
  const survivorRank = cluster?.rank ?? survivorRow?.rank ?? []
  const wins =
    action === 'drop' &&
    survivorRow !== undefined &&
    (engine.prefer
      ? engine.prefer(rankedOf(document), rankedOf(survivorRow)) < 0
      : isBetter(rank, survivorRank))
  const grown: ClusterRow = {
    survivor: hex(wins ? key : survivor),
    rank: wins ? rank : survivorRank,
    size: (cluster?.size ?? 1) + 1,
  }
  scope.write(place, grown)
  scope.write(cell(members, concat(centre, key)), Buffer.from(run))
  const { id, source } = document
  const why = { method, similarity, threshold, cluster: hex(centre) }
  const centreDigest = centreRow && { centreDigest: centreRow.digest }
  if (wins) {
    scope.rely(cell(documents, survivor))
    scope.write(cell(documents, survivor), {
      ...survivorRow,
      action: 'superseded',
      supersededBy: hex(key),
    })
    yield* supersedeLine(scope, documentKey(survivorRow.id), { of: document.id, run })
    const supersedes = [of]
    return {
      decision: { id, source, action: 'keep', representative, ...why, supersedes },
      row: { action: 'keep', ...whyOf(why), ...centreDigest, supersedes: [hex(survivor)] },
    }
  }
  return {
    decision: { id, source, action, of, representative, ...why },
    row: { action, ...whyOf(why), ...centreDigest },
  }
}

/** The ledger's line: what became of the document, and because of which. */
function lineOf({ id, source }: PreparedDocument, decision: Decision, run: string): PreparedLine {
  const { action, of, method, similarity } = decision
  const status = action === 'drop' ? 'duplicate' : 'accepted'
  const why = { method, ...(similarity !== undefined && { similarity }) }
  const detail = method && JSON.stringify(why)
  // All names in it were checked when the document was prepared.
  return { key: documentKey(id), id, source: source || undefined, run, status, of: of?.id, detail }
}

function rankedOf({ id, source, bytes, time, quality, type }: Ranked): Ranked {
  return { id, source, bytes, time, quality, type }
}

function whyOf({
  method,
  similarity,
  cluster,
}: Pick<Decided['row'], 'method' | 'similarity' | 'cluster'>) {
  return {
    ...(method !== undefined && { method }),
    ...(similarity !== undefined && { similarity }),
    ...(cluster !== undefined && { cluster }),
  }
}

/** A decision that was made before, reported again. */
export function* told(row: DocumentRow): Transaction<Decision> {
  const { id, source, cluster, similarity } = row
  const centre = cluster ? fromHex(cluster) : undefined
  const clusterRow = centre && (yield* glance(cell(clusters, centre)))[0]
  const survivorKey = row.supersededBy ?? clusterRow?.survivor ?? cluster
  const [like] = row.like ? yield* glance(cell(documents, fromHex(row.like))) : []
  const [survivor] = survivorKey ? yield* glance(cell(documents, fromHex(survivorKey))) : []
  const [centreRow] = centre ? yield* glance(cell(documents, centre)) : []
  const action = row.action === 'superseded' ? 'drop' : row.action
  const isKept = action === 'keep'
  return {
    id,
    source,
    action,
    ...(isMethod(row.method) && { method: row.method }),
    ...(survivor && !isKept && { of: named(survivor) }),
    ...(like && action === 'link' && { of: named(like) }),
    ...(centreRow && { representative: named(centreRow) }),
    ...(similarity !== undefined && { similarity }),
    ...(cluster !== undefined && { cluster }),
    isKnown: true,
  }
}

function isMethod(name: string | undefined): name is Method {
  const names = ['exact', 'canonical', 'simhash', 'near', 'chunk', 'semantic']
  return name !== undefined && names.includes(name)
}
