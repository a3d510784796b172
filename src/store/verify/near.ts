/**
 * Near duplicates: every text that is kept is a representative that searches find, or linked to one. Everything is
 * measured again from its bytes.
 */

import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import { cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import type { LinkTarget, MatchIndex } from '../../match/index.ts'
import { adoptOrphans } from '../near/adopt.ts'
import { encodePayload, type NearLink } from '../near/rows.ts'
import { NEAR_BYTES_MAX, type NearValue, type StoreNear } from '../near/store-near.ts'
import type { Known } from '../rows.ts'
import { bytesOf } from '../contents/read-content.ts'
import { LINK_MESSAGES, LinkCheck, type LinkProblem, type Subject } from './links.ts'
import {
  checkNearIndex,
  containmentRows,
  isBucket,
  nearRows,
  representativeOf,
} from './near-index.ts'
import { knownOf, raw } from './raw.ts'
import type { Walk } from './walk.ts'

const NOTHING: NearValue = { probes: [] }

/** A content, and what its bytes are compared by; `undefined` where that cannot be determined. */
interface NearSubject extends Subject {
  readonly value: NearValue | undefined
}

export async function checkNear(walk: Walk): Promise<void> {
  const { near, layout, semantic } = walk.how
  if (!near) return
  if (!near.canCompare) {
    walk.findings.note('Near duplicates were not compared again: the function was not given.')
  }
  const check = new NearCheck(walk, near)
  // Comes first: what is re-evaluated later is looked up in this index.
  await checkNearIndex(walk, near, check)
  await check.checkContents()
  await check.checkRows()
  // What was linked to what has been removed is decided as after any sweep.
  const adopt = () => adoptOrphans(walk.backend, { near, layout, semantic })
  if (walk.repairs) await walk.mended(async () => (await adopt()) >= 0)
  await check.checkTallies('The tallies')
}

class NearCheck extends LinkCheck<NearLink, NearSubject> {
  protected override readonly messages = {
    ...LINK_MESSAGES,
    'row-unreadable': 'has a row in near.links that cannot be read.',
    'link-missing': 'is neither linked nor a representative: nothing like it would be found.',
    'link-wrong': 'is linked in a way that a comparison does not confirm.',
    'index-wrong': 'is a representative that searches would miss.',
  }
  protected override readonly unreadable = 'index-wrong'
  protected override readonly similarityLeast = Number.MIN_VALUE
  readonly #near: StoreNear

  constructor(walk: Walk, near: StoreNear) {
    super(walk, near.graph)
    this.#near = near
  }

  protected override async subjectOf(
    digest: Buffer,
    { id, bytes }: Known,
  ): Promise<NearSubject | undefined> {
    const value = this.#near.canCompare ? await this.#valueOf(id, bytes) : undefined
    return this.#near.canCompare && !value ? undefined : { id, digest, bytes, value }
  }

  async #valueOf(id: Buffer, bytes: number): Promise<NearValue | undefined> {
    if (bytes > NEAR_BYTES_MAX) return NOTHING
    const { backend, how } = this.walk
    const whole = await backend.read(() => bytesOf({ id, bytes }, how.layout))
    const value = whole && this.#near.prepare(whole)
    return typeof value === 'string' ? NOTHING : value
  }

  // oxlint-disable-next-line require-yield -- other methods have to read for it
  protected override *isMissing({ value }: NearSubject): Transaction<boolean> {
    return value !== undefined && value.probes.length > 0
  }

  protected override *ownProblem(
    { id, digest, bytes, value }: NearSubject,
    { group, to }: NearLink,
  ): Transaction<LinkProblem | undefined> {
    const own = value?.probes[0]
    if (value && (!own || !equalBytes(own.partition, group))) return 'link-wrong'
    if (to || !own) return undefined
    const payload = encodePayload({ digest, bytes })
    const isWhole = yield* this.#near.index.isWhole(group, id, own.signature, payload)
    return isWhole && (yield* this.#isFoundByPassages(id, value, payload))
      ? undefined
      : 'index-wrong'
  }

  *#isFoundByPassages(id: Buffer, { contained }: NearValue, payload: Buffer): Transaction<boolean> {
    const { containment } = this.#near
    if (!containment || !contained) return true
    return yield* containment.index.isWhole(containment.partition, id, contained.signature, payload)
  }

  protected override *isConfirmed(
    { value }: NearSubject,
    { id, digest, similarity }: LinkTarget,
    { group }: NearLink,
  ): Transaction<boolean> {
    const known = knownOf((yield* read(cell(raw.digests, digest)))[0])
    if (!known || !equalBytes(known.id, id)) return false
    const other = value && (yield* bytesOf(known, this.walk.how.layout))
    // Not comparable, or damaged, which is for others to say.
    if (!value || !other) return true
    const measured = this.#near.similarity(value, group, other) ?? 0
    return measured === similarity && measured >= this.#near.settings.similarityMin
  }

  protected override repairOf(subject: NearSubject): () => Promise<boolean> {
    return () => this.#reevaluate(subject)
  }

  /** In two steps: a content that is cut off between them is one without a link, which is found again. */
  async #reevaluate(subject: NearSubject): Promise<boolean> {
    const { value, id } = subject
    const { backend } = this.walk
    if (!value) return false // Nothing can be compared without the function.
    for (const probe of value.probes) {
      if (!backend.serial) await backend.run(clearBuckets, this.#near, probe)
    }
    await backend.run((scope) => this.removeContent(scope, id, subject))
    await backend.run((scope) => this.#near.decide(scope, subject, value))
    return true
  }

  /** It may have been a representative of any group its text is looked up in. */
  protected override *removeFromIndex(
    scope: Scope,
    id: Buffer,
    subject?: NearSubject,
  ): Transaction<void> {
    const { index, containment } = this.#near
    const groups = (subject?.value?.probes ?? []).map(({ partition }) => partition)
    for (const group of groups) yield* removeFrom(scope, index, nearRows, group, id)
    if (!containment) return
    yield* removeFrom(scope, containment.index, containmentRows, containment.partition, id)
  }
}

function* removeFrom(
  scope: Scope,
  index: Pick<MatchIndex<never>, 'remove'>,
  { representatives }: typeof nearRows,
  group: Buffer,
  id: Buffer,
): Transaction<void> {
  const place = cell(representatives, Buffer.concat([group, id]))
  const [row] = yield* read(place)
  if (row && !representativeOf(row)) scope.remove(place)
  else if (row) yield* index.remove(scope, group, id)
}

/** A bucket that cannot be read names nobody: its representatives are found to be missing from it. */
function* clearBuckets(
  scope: Scope,
  { index }: StoreNear,
  { partition, signature }: NearValue['probes'][number],
): Transaction<void> {
  const places = index.bucketsOf(partition, signature).map(({ key }) => cell(nearRows.buckets, key))
  const found = yield* read(...places)
  for (const [at, place] of places.entries()) {
    const bytes: Bytes | undefined = found[at]
    if (bytes && !isBucket(bytes)) scope.remove(place)
  }
}
