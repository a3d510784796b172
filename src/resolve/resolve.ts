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
import {
  type Candidate,
  type Hit,
  type Representative,
  search,
  type Searched,
} from '../match/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import {
  aliases,
  aliasKey,
  decodePayload,
  encodePayload,
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
import type { Subject } from './subject.ts'

export type Status = 'new' | 'exact' | 'known' | 'match'

export interface Rules {
  readonly ttlMs: number | undefined
  /** A cluster's expiry is moved at most this often. */
  readonly renewMs: number
  readonly partBytes: number
}

export interface Ended {
  readonly status: Status
  /** Public id of the cluster. */
  readonly id: Buffer
  /** Public id of the representative it was measured against. */
  readonly representative: Buffer
  readonly similarity: number
  readonly candidates: number
  readonly compared: number
  readonly passedOver: number
  /** It made one cluster of two: what was answered before may have another id now. */
  readonly hasMerged?: true
}

const NOTHING_SEARCHED = { candidates: 0, compared: 0, passedOver: 0 }
/** Every merge leads to an older representative, so they end; nobody has seen this many in a row. */
export const MERGES_MAX = 32
const OTHERS_COMPARED = 3

export function* resolveInput<S>(
  scope: Scope,
  subject: Subject<S>,
  rules: Rules,
): Transaction<Ended> {
  const { tenant, id } = subject
  const resolution = cell(resolutions, concat(tenant, id))
  const [row] = yield* read(resolution)
  const relied: Cell<unknown>[] = []
  const known = row && (yield* standing(scope, subject, row, relied))
  scope.rely(...relied)
  if (row && known) {
    renew(scope, subject, known.at, known.row, rules)
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
export function* answerOf<S>(
  scope: ReadScope,
  subject: Subject<S>,
  rules: Rules,
): Transaction<Ended | undefined> {
  const [row] = yield* glance(cell(resolutions, concat(subject.tenant, subject.id)))
  const known = row && (yield* standing(scope, subject, row, []))
  if (!known) return undefined
  const { expiresAt } = decodePayload(known.row.payload)
  return isRenewalDue(expiresAt, scope.now(), rules) ? undefined : known.ended
}

/** What it would be, without a write; `undefined`: it would be new. */
export function* lookUp<S>(scope: ReadScope, subject: Subject<S>): Transaction<Ended | undefined> {
  // Nothing is written, and evidence never changes: no later moment can make the answer wrong.
  const [row] = yield* glance(cell(resolutions, concat(subject.tenant, subject.id)))
  const known = row && (yield* standing(scope, subject, row, []))
  if (known) return known.ended
  const found = yield* searchFor(subject, undefined, scope.now())
  const [best] = found.hits
  if (best === undefined) return undefined
  const representative = decodePayload(best.row.payload).id
  const { candidates, compared, passedOver } = found
  const { similarity } = best
  return {
    status: 'match',
    id: representative,
    representative,
    similarity,
    candidates,
    compared,
    passedOver,
  }
}

interface Standing {
  readonly ended: Ended
  /** The representative whose life is renewed. */
  readonly at: { readonly shelf: Buffer; readonly row: Buffer }
  readonly row: Representative
}

/** An earlier answer, if its representative is still there. What it rests on is put into `relied`. */
function* standing<S>(
  scope: ReadScope,
  subject: Subject<S>,
  resolved: Resolved,
  relied: Cell<unknown>[],
): Transaction<Standing | undefined> {
  const { index } = subject.kind
  let at: Pick<Resolved, 'shelf' | 'row'> = resolved
  let id = resolved.id
  for (let merges = 0; merges <= MERGES_MAX; merges++) {
    const place = index.representative(at.shelf, at.row)
    const [row] = yield* glance(place)
    relied.push(place)
    if (!row) return undefined
    const payload = decodePayload(row.payload)
    if (payload.expiresAt !== undefined && payload.expiresAt <= scope.now()) return undefined
    if (payload.mergedInto === undefined) {
      const isExact = resolved.isRepresentative && merges === 0
      const { similarity } = resolved
      const status: Status = isExact ? 'exact' : 'known'
      const ended: Ended = {
        status,
        id,
        representative: resolved.id,
        similarity,
        ...NOTHING_SEARCHED,
      }
      return { ended, at: { shelf: at.shelf, row: at.row }, row }
    }
    id = payload.mergedInto.id
    const next = cell(resolutions, concat(subject.tenant, id))
    const [older] = yield* glance(next)
    relied.push(next)
    // It may have been forgotten, and have come back as a member of another.
    if (!older?.isRepresentative) return undefined
    at = older
  }
  return undefined
}

function* searchFor<S>(
  subject: Subject<S>,
  scope: Scope | undefined,
  now: number = scope?.now() ?? 0,
): Transaction<Searched<S>> {
  const { kind, looks } = subject
  return yield* search(
    {
      index: kind.index,
      looks,
      similarityMin: kind.similarityMin,
      *measure(candidate): Transaction<number | undefined> {
        const { expiresAt, mergedInto } = decodePayload(candidate.row.payload)
        // A view that was far behind may still name what was merged.
        if (mergedInto) return undefined
        if (expiresAt === undefined || expiresAt > now) return yield* measured(subject, candidate)
        // Another's clock may be behind this one: that nobody has renewed it counts.
        scope?.rely(kind.index.representative(candidate.look.group, candidate.id))
        return undefined
      },
    },
    scope,
  )
}

function* measured<S>(subject: Subject<S>, candidate: Candidate<S>): Transaction<number> {
  const { look, id, row } = candidate
  const evidence = yield* readEvidence(look.group, id, decodePayload(row.payload).parts)
  return subject.similarityTo(look, id, () => evidence)
}

export function* readEvidence(shelf: Bytes, row: Bytes, parts: number): Transaction<Bytes> {
  const cells = Array.from({ length: parts }, (_, part) =>
    cell(evidences, evidenceKey(shelf, row, part)),
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
function* begin<S>(
  scope: Scope,
  subject: Subject<S>,
  found: Searched<S>,
  rules: Rules,
): Transaction<Ended> {
  const { kind, tenant, id, shelf, looks } = subject
  scope.rely(...found.relied)
  const row = scope.id()
  const evidence = subject.evidence()
  const parts = Math.max(1, Math.ceil(evidence.byteLength / rules.partBytes))
  const now = scope.now()
  const expiresAt = rules.ttlMs === undefined ? undefined : now + rules.ttlMs
  const bytes = encodePayload({ id, bornAt: now, parts, expiresAt, mergedInto: undefined })
  // What reads goes first: a draft that holds nothing answers no reads of its own writes.
  yield* nameGroup(scope, subject)
  const [look] = looks
  if (look) yield* kind.index.insert(scope, shelf, row, look.signature, bytes)
  else kind.index.keep(scope, shelf, row, bytes)
  for (let part = 0; part < parts; part++) {
    const piece = evidence.subarray(part * rules.partBytes, (part + 1) * rules.partBytes)
    scope.write(cell(evidences, evidenceKey(shelf, row, part)), piece)
  }
  if (expiresAt !== undefined) scope.write(cell(expiries, expiryKey(expiresAt, shelf, row)), tenant)
  const { isEstimated } = kind
  const resolved = { shelf, row, id, similarity: 1, at: now, isRepresentative: true, isEstimated }
  scope.write(cell(resolutions, concat(tenant, id)), resolved)
  count(scope, tenant, 'clusters', 1)
  count(scope, tenant, 'passedOver', found.passedOver > 0 ? 1 : 0)
  return { status: 'new', id, representative: id, similarity: 1, ...searchedOf(found) }
}

/** It belongs to a cluster. */
function* join<S>(
  scope: Scope,
  subject: Subject<S>,
  found: Searched<S>,
  best: Hit<S>,
  rules: Rules,
): Transaction<Ended> {
  const { kind, tenant, id } = subject
  const { look, similarity, row } = best
  scope.rely(kind.index.representative(look.group, best.id))
  const payload = decodePayload(row.payload)
  const resolved = {
    shelf: look.group,
    row: best.id,
    id: payload.id,
    similarity,
    at: scope.now(),
    isRepresentative: false,
    isEstimated: kind.isEstimated,
  }
  scope.write(cell(resolutions, concat(tenant, id)), resolved)
  const member = cell(members, memberKey(tenant, best.id, id))
  scope.write(member, { similarity, at: scope.now() })
  count(scope, tenant, 'members', 1)
  const at = { shelf: look.group, row: best.id }
  renew(scope, subject, at, row, rules)
  const merged = yield* mergeTwins(scope, subject, best, found.hits, rules)
  const representative = payload.id
  return {
    status: 'match',
    id: merged ?? representative,
    representative,
    similarity,
    ...searchedOf(found),
    ...(merged && { hasMerged: true }),
  }
}

/** Looks whether representatives that one text is like are like one another; returns what they are now. */
function* mergeTwins<S>(
  scope: Scope,
  subject: Subject<S>,
  best: Hit<S>,
  hits: readonly Hit<S>[],
  rules: Rules,
): Transaction<Buffer | undefined> {
  const others = hits.filter((hit) => hit !== best && hit.look === best.look)
  if (others.length === 0) return undefined
  const { kind } = subject
  const shelf = best.look.group
  const own = yield* readEvidence(shelf, best.id, decodePayload(best.row.payload).parts)
  for (const other of others.slice(0, OTHERS_COMPARED)) {
    const parts = decodePayload(other.row.payload).parts
    const evidence = yield* readEvidence(shelf, other.id, parts)
    const similarity = kind.between(best.look, own, evidence)
    if (similarity < kind.similarityMin) continue
    const isOlder = other.id.compare(best.id) < 0
    const [older, younger] = isOlder ? [other, best] : [best, other]
    yield* merge(scope, subject, shelf, older, younger, similarity)
    // What is in use now is the older one.
    if (isOlder) renew(scope, subject, { shelf, row: older.id }, older.row, rules)
    return decodePayload(older.row.payload).id
  }
  return undefined
}

function* merge<S>(
  scope: Scope,
  { kind, tenant }: Subject<S>,
  shelf: Buffer,
  older: Hit<S>,
  younger: Hit<S>,
  similarity: number,
): Transaction<void> {
  scope.rely(kind.index.representative(shelf, older.id))
  const into = decodePayload(older.row.payload).id
  // The row as this transaction has left it: its life may have been renewed just now.
  const place = kind.index.representative(shelf, younger.id)
  const [row] = yield* read(place)
  if (!row) return
  const payload = decodePayload(row.payload)
  // From now on it lives as long as the older one, whose life alone is renewed.
  const mergedInto = { id: into, similarity }
  const merged = encodePayload({ ...payload, expiresAt: undefined, mergedInto })
  if (payload.expiresAt !== undefined) {
    scope.remove(cell(expiries, expiryKey(payload.expiresAt, shelf, younger.id)))
  }
  yield* kind.index.retire(scope, shelf, younger.id, merged)
  const alias = cell(aliases, aliasKey(tenant, into, payload.id, younger.id))
  scope.write(alias, { shelf, into: older.id })
  count(scope, tenant, 'merged', 1)
  count(scope, tenant, 'clusters', -1)
}

/** Moves the end of a cluster that is in use, but not at every use. */
function renew<S>(
  scope: Scope,
  { kind, tenant }: Subject<S>,
  { shelf, row }: { readonly shelf: Buffer; readonly row: Buffer },
  representative: Representative,
  rules: Rules,
): void {
  const payload: Payload = decodePayload(representative.payload)
  const { expiresAt } = payload
  if (rules.ttlMs === undefined || expiresAt === undefined) return
  if (!isRenewalDue(expiresAt, scope.now(), rules)) return
  const next = scope.now() + rules.ttlMs
  const renewed = encodePayload({ ...payload, expiresAt: next })
  kind.index.update(scope, shelf, row, representative, renewed)
  scope.remove(cell(expiries, expiryKey(expiresAt, shelf, row)))
  scope.write(cell(expiries, expiryKey(next, shelf, row)), tenant)
}

function isRenewalDue(expiresAt: number | undefined, now: number, rules: Rules): boolean {
  if (rules.ttlMs === undefined || expiresAt === undefined) return false
  return now + rules.ttlMs - expiresAt >= rules.renewMs
}

/** An input that was a member of what is gone. */
function leave<S>(scope: Scope, { tenant, id }: Subject<S>, old: Resolved): void {
  scope.remove(cell(members, memberKey(tenant, old.row, id)))
  count(scope, tenant, 'members', -1)
}

function* nameGroup<S>(scope: Scope, { kind, tenant, group }: Subject<S>): Transaction<void> {
  const place = cell(groups, tenant)
  // Whoever comes second writes the same.
  const [name] = yield* glance(place)
  if (name === undefined) scope.write(place, `${kind.name}:${group}`)
}

export function count(scope: Scope, tenant: Bytes, name: TallyName, delta: number): void {
  if (delta !== 0) scope.add(cell(resolverTallies, tallyKey(tenant, name)), delta)
}

function searchedOf<S>({ candidates, compared, passedOver }: Searched<S>) {
  return { candidates, compared, passedOver }
}
