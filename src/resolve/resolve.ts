/**
 * The transactions of the resolver: what is this, and, if it is new, remember it. All of it, or none.
 *
 * Clusters are stars: every member was measured against the representative it points at. When a text turns out
 * to be a near duplicate of two representatives that are near duplicates themselves (bands can miss a pair),
 * the younger is merged into the older: its id stays resolvable, and leads to the older one.
 */

import { type Bytes, concat } from '../platform/bytes.ts'
import {
  cell,
  type Cell,
  glance,
  read,
  type ReadScope,
  type Scope,
  type Transaction,
} from '../backends/index.ts'
import type { Candidate, Hit, Kept, Probe, Searched } from '../match/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  aliases,
  aliasKey,
  evidenceKey,
  evidences,
  expiries,
  expiryKey,
  groups,
  memberKey,
  members,
  type Payload,
  resolutions,
  type Resolved,
  resolverTallies,
  tallyKey,
  type TallyName,
} from './rows.ts'
import { refusedOf, type RefusedRow } from './refused.ts'
import type { Subject } from './subject.ts'

type AnyProbe = Probe<unknown, unknown>

export type ResolveStatus = 'new' | 'exact' | 'known' | 'match'

export interface Rules {
  readonly ttlMs: number | undefined
  /** A cluster's expiry is moved at most this often. */
  readonly renewMs: number
  readonly partBytes: number
}

export interface Ended {
  readonly status: ResolveStatus
  /** Public id of the cluster. */
  readonly id: Buffer
  /** Public id of the representative it was measured against. */
  readonly representative: Buffer
  /** Its row, where it was searched for just now. */
  readonly row?: Buffer | undefined
  readonly similarity: number
  readonly candidates: number
  readonly compared: number
  readonly passedOver: number
  /** The most similar that it is not the same as, and why. */
  readonly refused?: RefusedRow | undefined
  /** It made one cluster of two: what was answered before may have another id now. */
  readonly hasMerged?: true
}

const NOTHING_SEARCHED = { candidates: 0, compared: 0, passedOver: 0 }
/** Every merge leads to an older representative, so they end; nobody has seen this many in a row. */
export const MERGES_MAX = 32
const OTHERS_COMPARED = 3

export function* resolveInput<P extends AnyProbe>(
  scope: Scope,
  subject: Subject<P>,
  rules: Rules,
): Transaction<Ended> {
  const { groupKey, id } = subject
  const resolution = cell(resolutions, concat(groupKey, id))
  const [row] = yield* read(resolution)
  const relied: Cell<unknown>[] = []
  const known = row && (yield* liveRepresentative(scope, subject, row, relied))
  scope.rely(...relied)
  if (row && known) {
    renew(scope, subject, known.at, known.kept, rules)
    return known.ended
  }
  const found = yield* searchFor(subject, scope)
  const [best] = found.hits
  if (row && !row.isRepresentative) leave(scope, subject, row)
  if (best === undefined) return yield* begin(scope, subject, found, rules)
  return yield* join(scope, subject, found, best, rules)
}

/**
 * An earlier answer that stands and changes nothing, so that no write transaction is needed for it. What is gone never
 * comes back under its id, so each row that was there when it was looked at was there when the first was.
 */
export function* answerOf<P extends AnyProbe>(
  scope: ReadScope,
  subject: Subject<P>,
  rules: Rules,
): Transaction<Ended | undefined> {
  const [row] = yield* glance(cell(resolutions, concat(subject.groupKey, subject.id)))
  const known = row && (yield* liveRepresentative(scope, subject, row, []))
  if (!known) return undefined
  const { expiresAt } = known.kept.payload
  return isRenewalDue(expiresAt, scope.now(), rules) ? undefined : known.ended
}

/** What it would be, without a write; `undefined`: it would be new. */
export function* lookUp<P extends AnyProbe>(
  scope: ReadScope,
  subject: Subject<P>,
): Transaction<Ended | undefined> {
  // Nothing is written, and evidence never changes: no later moment can make the answer wrong.
  const [row] = yield* glance(cell(resolutions, concat(subject.groupKey, subject.id)))
  const known = row && (yield* liveRepresentative(scope, subject, row, []))
  if (known) return known.ended
  const found = yield* searchFor(subject, undefined, scope.now())
  const [best] = found.hits
  if (best === undefined) return undefined
  const { similarity, payload } = best
  const names = { id: payload.id, representative: payload.id, row: best.id }
  return { status: 'match', ...names, similarity, ...searchedOf(found) }
}

interface LiveRepresentative {
  readonly ended: Ended
  /** The representative whose life is renewed. */
  readonly at: { readonly partition: Buffer; readonly row: Buffer }
  readonly kept: Kept<Payload>
}

/** An earlier answer, if its representative is still there. What it rests on is put into `relied`. */
function* liveRepresentative<P extends AnyProbe>(
  scope: ReadScope,
  subject: Subject<P>,
  resolved: Resolved,
  relied: Cell<unknown>[],
): Transaction<LiveRepresentative | undefined> {
  const { matcher } = subject.kind
  let at: Pick<Resolved, 'partition' | 'row'> = resolved
  let id = resolved.id
  for (let merges = 0; merges <= MERGES_MAX; merges++) {
    const kept = yield* matcher.glance(at.partition, at.row)
    relied.push(matcher.representative(at.partition, at.row))
    if (!kept) return undefined
    const { payload } = kept
    if (payload.expiresAt !== undefined && payload.expiresAt <= scope.now()) return undefined
    if (payload.mergedInto === undefined) {
      const isExact = resolved.isRepresentative && merges === 0
      const { similarity } = resolved
      const status: ResolveStatus = isExact ? 'exact' : 'known'
      const ended: Ended = {
        status,
        id,
        representative: resolved.id,
        similarity,
        ...NOTHING_SEARCHED,
      }
      return { ended, at: { partition: at.partition, row: at.row }, kept }
    }
    id = payload.mergedInto.id
    const next = cell(resolutions, concat(subject.groupKey, id))
    const [older] = yield* glance(next)
    relied.push(next)
    // It may have been forgotten, and have come back as a member of another.
    if (!older?.isRepresentative) return undefined
    at = older
  }
  return undefined
}

function* searchFor<P extends AnyProbe>(
  { kind: { matcher }, prepared }: Subject<P>,
  scope: Scope | undefined,
  now: number = scope?.now() ?? 0,
): Transaction<Searched<P, Payload>> {
  const counts = ({ probe, id, payload }: Candidate<P, Payload>) => {
    const { expiresAt, mergedInto } = payload
    // A view that was far behind may still name what was merged.
    if (mergedInto) return false
    if (expiresAt === undefined || expiresAt > now) return true
    // Another's clock may be behind this one: that nobody has renewed it counts.
    scope?.rely(matcher.representative(probe.partition, id))
    return false
  }
  return yield* matcher.find(prepared.probes, scope, { counts })
}

export function* readEvidence(partition: Bytes, row: Bytes, parts: number): Transaction<Bytes> {
  const cells = Array.from({ length: parts }, (_, part) =>
    cell(evidences, evidenceKey(partition, row, part)),
  )
  const found = yield* read(...cells)
  const all = found.map((part) => {
    if (part) return part
    throw new PrestigeError('CONTENT_CORRUPT', 'The evidence of a representative is not there.')
  })
  const [only] = all
  return only && parts === 1 ? only : Buffer.concat(all)
}

/** A representative is born. */
function* begin<P extends AnyProbe>(
  scope: Scope,
  subject: Subject<P>,
  found: Searched<P, Payload>,
  rules: Rules,
): Transaction<Ended> {
  const { kind, groupKey, id, prepared } = subject
  const { partition, probes, contained } = prepared
  scope.rely(...found.relied)
  const row = scope.id()
  const evidence = prepared.evidence()
  const parts = Math.max(1, Math.ceil(evidence.byteLength / rules.partBytes))
  const now = scope.now()
  const expiresAt = rules.ttlMs === undefined ? undefined : now + rules.ttlMs
  const isContainable = contained !== undefined
  const payload = { id, bornAt: now, parts, expiresAt, mergedInto: undefined, isContainable }
  // What reads goes first: a draft that holds nothing answers no reads of its own writes.
  yield* nameGroup(scope, subject)
  const [probe] = probes
  if (probe) yield* kind.matcher.insert(scope, partition, row, probe, payload)
  else kind.matcher.keep(scope, partition, row, payload)
  if (contained && kind.containment) {
    yield* kind.containment.insert(scope, row, contained, partition)
  }
  for (let part = 0; part < parts; part++) {
    const piece = evidence.subarray(part * rules.partBytes, (part + 1) * rules.partBytes)
    scope.write(cell(evidences, evidenceKey(partition, row, part)), piece)
  }
  if (expiresAt !== undefined)
    scope.write(cell(expiries, expiryKey(expiresAt, partition, row)), groupKey)
  const { isEstimated } = kind
  const resolved = {
    partition,
    row,
    id,
    similarity: 1,
    at: now,
    isRepresentative: true,
    isEstimated,
  }
  scope.write(cell(resolutions, concat(groupKey, id)), resolved)
  count(scope, groupKey, 'clusters', 1)
  count(scope, groupKey, 'passedOver', found.passedOver > 0 ? 1 : 0)
  const refused = refusedOf(found.refused)
  const representative = id
  return { status: 'new', id, representative, row, similarity: 1, ...searchedOf(found), refused }
}

/** It belongs to a cluster. */
function* join<P extends AnyProbe>(
  scope: Scope,
  subject: Subject<P>,
  found: Searched<P, Payload>,
  best: Hit<P, Payload>,
  rules: Rules,
): Transaction<Ended> {
  const { kind, groupKey, id } = subject
  const { probe, similarity, payload } = best
  const { partition } = probe
  scope.rely(kind.matcher.representative(partition, best.id))
  const resolved = {
    partition,
    row: best.id,
    id: payload.id,
    similarity,
    at: scope.now(),
    isRepresentative: false,
    isEstimated: kind.isEstimated,
  }
  scope.write(cell(resolutions, concat(groupKey, id)), resolved)
  const member = cell(members, memberKey(groupKey, best.id, id))
  scope.write(member, { similarity, at: scope.now() })
  count(scope, groupKey, 'members', 1)
  renew(scope, subject, { partition, row: best.id }, best, rules)
  const merged = yield* mergeTwins(scope, subject, best, found.hits, rules)
  const representative = payload.id
  return {
    status: 'match',
    id: merged ?? representative,
    representative,
    row: best.id,
    similarity,
    ...searchedOf(found),
    ...(merged && { hasMerged: true }),
  }
}

/** Looks whether representatives that one text is like are like one another; returns what they are now. */
function* mergeTwins<P extends AnyProbe>(
  scope: Scope,
  subject: Subject<P>,
  best: Hit<P, Payload>,
  hits: readonly Hit<P, Payload>[],
  rules: Rules,
): Transaction<Buffer | undefined> {
  const others = hits.filter((hit) => hit !== best && hit.probe === best.probe)
  if (others.length === 0) return undefined
  const { matcher } = subject.kind
  const { partition } = best.probe
  for (const other of others.slice(0, OTHERS_COMPARED)) {
    const similarity = yield* matcher.between(best, other)
    if (similarity === undefined) continue
    const isOlder = other.id.compare(best.id) < 0
    const [older, younger] = isOlder ? [other, best] : [best, other]
    yield* merge(scope, subject, partition, older, younger, similarity)
    // What is in use now is the older one.
    if (isOlder) renew(scope, subject, { partition, row: older.id }, older, rules)
    return older.payload.id
  }
  return undefined
}

function* merge<P extends AnyProbe>(
  scope: Scope,
  { kind: { matcher, containment }, groupKey }: Subject<P>,
  partition: Buffer,
  older: Hit<P, Payload>,
  younger: Hit<P, Payload>,
  similarity: number,
): Transaction<void> {
  scope.rely(matcher.representative(partition, older.id))
  const into = older.payload.id
  // The row as this transaction has left it: its life may have been renewed just now.
  const kept = yield* matcher.read(partition, younger.id)
  if (!kept) return
  const { payload } = kept
  // From now on it lives as long as the older one, whose life alone is renewed.
  const mergedInto = { id: into, similarity }
  const merged = { ...payload, expiresAt: undefined, mergedInto, isContainable: false }
  if (payload.expiresAt !== undefined) {
    scope.remove(cell(expiries, expiryKey(payload.expiresAt, partition, younger.id)))
  }
  yield* matcher.retire(scope, partition, younger.id, merged)
  if (payload.isContainable && containment) {
    yield* containment.remove(scope, groupKey, younger.id)
  }
  const alias = cell(aliases, aliasKey(groupKey, into, payload.id, younger.id))
  scope.write(alias, { partition, into: older.id })
  count(scope, groupKey, 'merged', 1)
  count(scope, groupKey, 'clusters', -1)
}

/** Moves the end of a cluster that is in use, but not at every use. */
function renew<P extends AnyProbe>(
  scope: Scope,
  { kind, groupKey }: Subject<P>,
  { partition, row }: { readonly partition: Buffer; readonly row: Buffer },
  { row: old, payload }: Kept<Payload>,
  rules: Rules,
): void {
  const { expiresAt } = payload
  if (rules.ttlMs === undefined || expiresAt === undefined) return
  if (!isRenewalDue(expiresAt, scope.now(), rules)) return
  const next = scope.now() + rules.ttlMs
  kind.matcher.update(scope, partition, row, old, { ...payload, expiresAt: next })
  scope.remove(cell(expiries, expiryKey(expiresAt, partition, row)))
  scope.write(cell(expiries, expiryKey(next, partition, row)), groupKey)
}

function isRenewalDue(expiresAt: number | undefined, now: number, rules: Rules): boolean {
  if (rules.ttlMs === undefined || expiresAt === undefined) return false
  return now + rules.ttlMs - expiresAt >= rules.renewMs
}

/** An input that was a member of what is gone. */
function leave<P extends AnyProbe>(
  scope: Scope,
  { groupKey, id }: Subject<P>,
  old: Resolved,
): void {
  scope.remove(cell(members, memberKey(groupKey, old.row, id)))
  count(scope, groupKey, 'members', -1)
}

function* nameGroup<P extends AnyProbe>(
  scope: Scope,
  { kind, groupKey, group }: Subject<P>,
): Transaction<void> {
  const place = cell(groups, groupKey)
  // Whoever comes second writes the same.
  const [name] = yield* glance(place)
  if (name === undefined) scope.write(place, `${kind.name}:${group}`)
}

export function count(scope: Scope, groupKey: Bytes, name: TallyName, delta: number): void {
  if (delta !== 0) scope.add(cell(resolverTallies, tallyKey(groupKey, name)), delta)
}

function searchedOf(found: Pick<Ended, 'candidates' | 'compared' | 'passedOver'>) {
  const { candidates, compared, passedOver } = found
  return { candidates, compared, passedOver }
}
