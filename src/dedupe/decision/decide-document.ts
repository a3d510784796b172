/**
 * The transaction of the corpus job: what is this document, who survives, and remember it. All of it, or none.
 *
 * Clusters are stars around a centre that every member was measured against, never chains. The survivor is the
 * best copy by the rules; a better one that comes later supersedes it, and the cluster keeps its centre.
 */

import { concat, equalBytes } from '../../platform/bytes.ts'
import { cell, glance, read, type Scope, type Transaction } from '../../backends/index.ts'
import {
  putDocument,
  requireRunning,
  type RowContainment,
  type Writable,
} from '../../ledger/index.ts'
import { keepCentre, removeCentre } from './centre.ts'
import { type FoundContained, rowOf } from './containment.ts'
import { dissolve, isLeftBehind, isStillCut, leaveCluster } from './cluster.ts'
import { type Decision, isMethod, type Named, type Span } from './decision.ts'
import { decodeCentre, encodeCentre } from './centre-row.ts'
import type { Engine } from './engine.ts'
import { find, type Found, type Like, type Match } from './find.ts'
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
  touch,
} from '../rows.ts'
import { placeOf } from './identity.ts'

export interface Context {
  readonly engine: Engine
  readonly run: string
  /** What is met twice in one session is repeated; in another, it is only reported again. A job is one. */
  readonly session: string
  /** The state was begun with format 1: documents may be under older keys. */
  readonly hasOldKeys: boolean
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
  const { key, old } = yield* placeOf(document, session, context.hasOldKeys)
  const place = cell(documents, key)
  if (old && equalBytes(old.digest, document.digest) && (yield* holds(old))) {
    const known = yield* knownDecision(old)
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
  // Its former text may be in the output of another run.
  if (old && old.run !== run) touch(scope, key)
  const rank = rankOf(document, engine.config)
  const { decision, row } = found.match
    ? yield* join(scope, document, key, rank, found.match, context)
    : yield* begin(scope, document, key, found, engine)
  if (found.match) {
    scope.write(cell(members, concat(found.match.centre, key)), Buffer.from(run))
  }
  const { id, source, digest, bytes, time, quality, type, language } = document
  const next: Writable<DocumentRow> = {
    id,
    source,
    run,
    session,
    digest,
    bytes,
    at: scope.now(),
    rank,
    action: decision.action,
    ...row,
  }
  if (time !== undefined) next.time = time
  if (quality !== undefined) next.quality = quality
  if (type !== undefined) next.type = type
  if (language !== undefined) next.language = language
  if (orphaned > 0) next.orphaned = decision.orphaned = orphaned
  if (found.possibleMiss && !found.match) next.possibleMiss = decision.possibleMiss = true
  // Joining may have changed the row that was there.
  const [current] = old ? yield* read(place) : []
  putDocument(scope, key, current, next)
  return { key, decision }
}

/** Whether a decision still holds: a duplicate of a text that is no more is re-evaluated. */
function* holds(row: DocumentRow): Transaction<boolean> {
  const { cluster } = row
  if (row.cutFor && !(yield* isStillCut(row))) return false
  if (cluster === undefined) return true
  const [centre] = yield* read(cell(documents, fromHex(cluster)))
  return !isLeftBehind(row, centre)
}

/** The same document twice: once is enough. */
function repeated(known: Decision): Decision {
  const { cut: _cut, ...others } = known
  const { id, source } = known
  const method = known.action === 'drop' ? known.method : undefined
  const of = known.of ?? { id, source }
  return { ...others, action: 'drop', method: method ?? 'exact', of, isRepeated: true }
}

/** What it would be, without a trace. */
export function* lookAt(document: PreparedDocument, engine: Engine): Transaction<Decision> {
  const found = yield* find(document, undefined, engine, undefined)
  const { match } = found
  if (!match) return beginning(document, found)
  const { centreRow, survivorRow = centreRow } = yield* clusterOf(match.centre)
  return decisionOf(document, actionOf(match, engine), {
    ...match,
    of: survivorRow && named(survivorRow),
    representative: centreRow && named(centreRow),
    cluster: hex(match.centre),
    spans: found.spans,
    ...(match.contained && containedIn(match.contained)),
  })
}

/** Only what is dropped belongs to the cluster of what contains it. */
function actionOf({ method }: Match, { config }: Engine): 'drop' | 'link' {
  return method === 'containment' ? 'drop' : config[method].action
}

function containedIn(found: FoundContained): Pick<Decision, 'spans' | 'containment'> {
  const { spans, shareOfOther, spansOfOther } = found
  return { spans, containment: { shareOfOther, spansOfOther } }
}

interface ClusterFound {
  readonly cluster: ClusterRow | undefined
  readonly survivor: Buffer
  readonly centreRow: DocumentRow | undefined
  readonly survivorRow: DocumentRow | undefined
}

function* clusterOf(centre: Buffer): Transaction<ClusterFound> {
  const [cluster] = yield* read(cell(clusters, centre))
  const survivor = cluster ? fromHex(cluster.survivor) : centre
  const [centreRow, survivorRow] = yield* glance(cell(documents, centre), cell(documents, survivor))
  return { cluster, survivor, centreRow, survivorRow }
}

/** What was decided, and what of it is in the row of the document. */
interface Decided {
  readonly decision: Writable<Decision>
  readonly row: Partial<DocumentRow>
}

/** It is the centre of a cluster of its own. */
function* begin(
  scope: Scope,
  document: PreparedDocument,
  key: Buffer,
  found: Found,
  engine: Engine,
): Transaction<Decided> {
  const decision = beginning(document, found)
  const { cutFor, spans: passages = [] } = found.contained ?? {}
  const cut = cutFor ? passages.map(({ start, end }) => [start, end] as const) : []
  const own = yield* keepCentre(scope, engine, document, key, standsFor(found), cut)
  const centre = encodeCentre(own)
  if (decision.action === 'keep') return { decision, row: { centre } }
  const spans = found.spans.map(({ start, end, key: other }) => [start, end, other] as const)
  return {
    decision,
    row: {
      centre,
      ...(decision.method && { method: decision.method }),
      ...(found.like && likeRow(found.like)),
      ...(spans.length > 0 && { spans }),
      ...(found.contained && containedRow(found.contained)),
    },
  }
}

function likeRow({ key, similarity, vetoes }: Like): Partial<DocumentRow> {
  return { like: key, similarity, ...(vetoes && { vetoes }) }
}

function containedRow(contained: FoundContained): Partial<DocumentRow> {
  return { like: hex(contained.key), similarity: contained.share, ...rowOf(contained) }
}

/** What means nothing that is known stands for others that mean the same. */
function standsFor({ like }: Found): boolean {
  return like?.method !== 'semantic'
}

function beginning(document: Named, { spans, like, contained }: Found): Decision {
  const [first] = spans
  if (contained) {
    const { of, share: similarity, cutFor } = contained
    const why = { method: 'containment', of, similarity, ...containedIn(contained) } as const
    return decisionOf(document, 'link', cutFor ? { ...why, cut: true } : why)
  }
  if (like) return decisionOf(document, 'link', { ...like, spans })
  if (!first) return decisionOf(document, 'keep')
  return decisionOf(document, 'link', { method: 'chunk', of: first.of, spans })
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
  const { method, centre, similarity } = match
  const action = actionOf(match, engine)
  const { cluster, survivor, centreRow, survivorRow } = yield* clusterOf(centre)
  const survivorRank = cluster?.rank ?? survivorRow?.rank ?? []
  const wins =
    action === 'drop' &&
    method !== 'containment' &&
    // Others may have lost what is in the survivor.
    !engine.cuts &&
    survivorRow !== undefined &&
    (engine.prefer
      ? engine.prefer(rankedOf(document), rankedOf(survivorRow)) < 0
      : isBetter(rank, survivorRank))
  scope.write(cell(clusters, centre), {
    survivor: hex(wins ? key : survivor),
    rank: wins ? rank : survivorRank,
    size: (cluster?.size ?? 1) + 1,
  })
  const name = hex(centre)
  const representative = centreRow ? named(centreRow) : { id: name, source: '' }
  const { contained } = match
  const why = {
    ...match,
    cluster: name,
    representative,
    ...(contained && containedIn(contained)),
  }
  const centreDigest = centreRow && { centreDigest: centreRow.digest }
  const row = {
    method,
    similarity,
    cluster: name,
    ...centreDigest,
    ...(contained && rowOf(contained)),
  }
  const of = survivorRow ? named(survivorRow) : representative
  if (!wins) return { decision: decisionOf(document, action, { ...why, of }), row }
  scope.rely(cell(documents, survivor))
  if (survivorRow.run !== run) touch(scope, survivor)
  putDocument(scope, survivor, survivorRow, {
    ...survivorRow,
    action: 'superseded',
    at: scope.now(),
    supersededBy: hex(key),
  })
  return {
    decision: decisionOf(document, 'keep', { ...why, supersedes: [of] }),
    row: { ...row, supersedes: [hex(survivor)] },
  }
}

function rankedOf({ id, source, bytes, time, quality, type }: Ranked): Ranked {
  return { id, source, bytes, time, quality, type }
}

/** A decision that was made before, as its row has it. */
function* knownDecision(row: DocumentRow): Transaction<Decision> {
  const { cluster, like, supersededBy, method, similarity, vetoes, containment, cutFor } = row
  const action = row.action === 'superseded' ? 'drop' : row.action
  const found = cluster === undefined ? undefined : yield* clusterOf(fromHex(cluster))
  const ofKey = (action === 'link' && like) || supersededBy
  const [other] = ofKey ? yield* glance(cell(documents, fromHex(ofKey))) : []
  const of = other ?? found?.survivorRow
  const decision = decisionOf(row, action, {
    method: isMethod(method) ? method : undefined,
    of: of && action !== 'keep' ? named(of) : undefined,
    representative: found?.centreRow && named(found.centreRow),
    similarity,
    cluster,
    vetoes,
    ...(containment && of && (yield* knownContainment(containment, row, named(of)))),
    ...(cutFor && action === 'link' && { cut: true }),
  })
  return { ...decision, isKnown: true }
}

function* knownContainment(
  { shareOfOther, spansOfOther }: RowContainment,
  row: DocumentRow,
  of: Named,
): Transaction<Pick<Decision, 'spans' | 'containment'>> {
  const spans: Span[] = []
  for (const [start, end, key] of row.spans ?? []) {
    const [other] = yield* glance(cell(documents, fromHex(key)))
    spans.push({ start, end, of: other ? named(other) : of })
  }
  return {
    spans,
    containment: {
      shareOfOther,
      spansOfOther: spansOfOther.map(([start, end]) => ({ start, end })),
    },
  }
}

/** The one place where a decision is put together: what is not known of it is absent. */
function decisionOf(
  { id, source }: Named,
  action: Decision['action'],
  why: { readonly [K in keyof Decision]?: Decision[K] | undefined } = {},
): Decision {
  const { method, of, representative, similarity, threshold, cluster, spans, supersedes } = why
  const { vetoes, containment, cut } = why
  const decision: Writable<Decision> = { id, source, action }
  if (method !== undefined) decision.method = method
  if (of !== undefined) decision.of = of
  if (representative !== undefined) decision.representative = representative
  if (similarity !== undefined) decision.similarity = similarity
  if (threshold !== undefined) decision.threshold = threshold
  if (vetoes !== undefined) decision.vetoes = vetoes
  if (cluster !== undefined) decision.cluster = cluster
  if (spans !== undefined && spans.length > 0) decision.spans = spans.map(spanOf)
  if (containment !== undefined) decision.containment = containment
  if (cut !== undefined) decision.cut = cut
  if (supersedes !== undefined) decision.supersedes = supersedes
  return decision
}

function spanOf({ start, end, of }: Span): Span {
  return { start, end, of }
}
