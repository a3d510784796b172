/**
 * Near duplicates in the store: which content a value is like, and what becomes of those linked to a content that
 * goes away.
 *
 * Only values that are new are looked for. One that is like a representative is linked to it and keeps its own
 * bytes (or, with `fidelity: 'representative'`, shares those of the representative); any other becomes a
 * representative. When a representative is swept, what was linked to it is re-evaluated, one by one: everything
 * that is linked was measured against what it is linked to.
 */

import { asBuffer, type Bytes, equalBytes } from '../../platform/bytes.ts'
import type { CanonicalProfile } from '../../canonical/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import {
  type Backend,
  cell,
  type Cell,
  glance,
  read,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { fingerprintsOf, type ShingleProfile } from '../../fingerprint/index.ts'
import {
  type Candidate,
  ContainmentIndex,
  type ContainmentProbe,
  judgementOf,
  type Hit,
  LinkGraph,
  Matcher,
  MatchIndex,
  Measured,
  type Measurement,
  partitionKey,
  probeText,
  type Searched,
  type TextProbe,
  TextScheme,
  type Wanted,
} from '../../match/index.ts'
import {
  encodePayload,
  type NearLink,
  nearLinks,
  type Payload,
  payloadCodec,
  storeContainment,
  storeNear,
} from './rows.ts'
import { type Refused, originOf } from '../receipt.ts'
import type { Layout } from '../contents/layout.ts'
import { bytesOf } from '../contents/read-content.ts'
import { digests, type Known } from '../rows.ts'
import type { NearSettings, OpenedSettings } from '../settings.ts'

/** Longer texts are not compared: a sketch of one would keep everybody waiting. */
export const NEAR_BYTES_MAX = 64 * 1024 * 1024
const CANDIDATES_MAX = 100
const BUCKET_MAX = 1000
const BUCKET_MAX_SHARED = 200
/**
 * So much text is cut while others wait for the writer: some 0.1 ms. Reading first whether a shorter value is known
 * would cost more than that saves.
 */
const BRIEF_BYTES = 16 * 1024

/** Why a value was not compared with others. */
export type NotCompared = 'not-text' | 'too-large'

export type NearHit = Hit<TextProbe, Payload>

/** A value made ready for the search. */
export interface NearValue {
  /** Its own probe first; none for a text without a word or a letter. */
  readonly probes: readonly TextProbe[]
  /** Where containment is looked for, and the text is long enough for that. */
  readonly contained?: ContainmentProbe | undefined
  /** How similar it is to candidates that were measured before its transaction. */
  readonly measured?: Map<string, Measurement>
}

/** A value that may have to be compared, made ready once, if it turns out to be new. */
export class NearInput {
  readonly #near: StoreNear
  readonly #value: Bytes
  #made: NearValue | NotCompared | undefined

  /** `made`: what is known of it already. */
  constructor(near: StoreNear, value: Bytes, made?: NotCompared) {
    this.#near = near
    this.#value = value
    this.#made = made
  }

  /** It takes too long to be made ready while others wait for the writer. */
  get isLong(): boolean {
    return this.#value.byteLength > BRIEF_BYTES
  }

  get isReady(): boolean {
    return this.#made !== undefined || !this.isLong
  }

  get(): NearValue | NotCompared {
    return (this.#made ??= this.#near.prepare(this.#value))
  }
}

/** A content to decide about. */
export interface NearContent extends Payload {
  readonly id: Buffer
}

export interface NearLimits {
  readonly candidatesMax?: number | undefined
  readonly bucketMax?: number | undefined
}

const PASSED_OVER = cell(nearLinks.tallies, Buffer.from('passedOver'))

export class StoreNear {
  readonly settings: NearSettings
  readonly index: MatchIndex<Uint16Array>
  readonly graph: LinkGraph<NearLink>
  /** Where containment is looked for. */
  readonly containment: ContainmentIndex<Payload> | undefined
  readonly #matcher: Matcher<TextProbe, Payload>
  /** Absent: a function that was not given. Nothing can be compared then, but what goes away is taken out. */
  readonly #canonical: CanonicalProfile | undefined
  readonly #layout: Layout
  readonly #partitions = new Map<ShingleProfile, Buffer>()

  constructor(
    settings: NearSettings,
    canonical: CanonicalProfile | undefined,
    engine: { readonly serial: boolean; readonly layout: Layout },
    limits: NearLimits,
  ) {
    const { serial, layout } = engine
    const { candidatesMax = CANDIDATES_MAX } = limits
    const { bucketMax = serial ? BUCKET_MAX : BUCKET_MAX_SHARED } = limits
    this.settings = settings
    this.#canonical = canonical
    this.#layout = layout
    const scheme = new TextScheme(settings.slots, settings)
    const { similarityMin } = settings
    const readEvidence = (candidate: Candidate<TextProbe, Payload>) => this.#read(candidate)
    this.index = new MatchIndex(storeNear, scheme, { serial, candidatesMax, bucketMax })
    const policy = { similarityMin, readEvidence, judgement: judgementOf(settings) }
    this.#matcher = new Matcher(this.index, scheme, payloadCodec, policy)
    this.containment =
      settings.containment &&
      new ContainmentIndex(storeContainment, serial, {
        owner: 'store',
        min: settings.containment.min,
        payloads: payloadCodec,
        readText: (id, { bytes }) => this.valueOf(id, bytes),
      })
    this.graph = new LinkGraph(nearLinks, {
      countsRepresentatives: false,
      isRepresentative: ({ to }) => to === undefined,
      removeFromIndex: (scope, id, { group }) => this.#removeFromIndex(scope, id, group),
    })
  }

  get canCompare(): boolean {
    return this.#canonical !== undefined
  }

  prepare(value: Bytes): NearValue | NotCompared {
    if (value.byteLength > NEAR_BYTES_MAX) return 'too-large'
    const form = this.#formOf(value)
    if (form === undefined) return 'not-text'
    const text = { original: value, form, canonicalise: this.#canonicalise }
    const { probes } = probeText(text, this.settings, (profile) => this.#partition(profile))
    const contained = this.containment?.probeOf(value, fingerprintsOf(value))
    return { probes, measured: new Map(), ...(contained && { contained }) }
  }

  /** `scope` is given by those who may write. */
  *search(
    { probes, measured }: NearValue,
    scope: Scope | undefined,
    wanted: Omit<Wanted<TextProbe, Payload>, 'measured'> = {},
  ): Transaction<Searched<TextProbe, Payload>> {
    return yield* this.#matcher.find(probes, scope, { ...wanted, measured })
  }

  /** A search for somebody whom others wait for: what takes long is left to `search` in a read. */
  *searchBriefly(
    { probes, measured }: NearValue,
    scope: Scope,
  ): Transaction<Searched<TextProbe, Payload>> {
    let bytesLeft = scope.serial ? BRIEF_BYTES : Infinity
    const defers = ({ payload }: Candidate<TextProbe, Payload>) => (bytesLeft -= payload.bytes) < 0
    return yield* this.#matcher.find(probes, scope, { defers, measured })
  }

  /** What a hit relies on: the row that goes when the representative does. */
  relied({ probe, id }: NearHit): Cell<unknown> {
    return this.#matcher.representative(probe.partition, id)
  }

  /** The most similar that is not the same, and why it is not. */
  *refusedOf(hit: NearHit | undefined): Transaction<Refused | undefined> {
    const vetoes = hit?.verdict?.vetoes
    if (!hit || !vetoes) return undefined
    const [known] = yield* glance(cell(digests, hit.payload.digest))
    const { probability } = hit.verdict
    const why = probability === undefined ? { vetoes } : { vetoes, probability }
    return known && { of: originOf(known), similarity: hit.similarity, ...why }
  }

  /** The same for the bytes of a content that is linked to nothing. */
  *refusedBy(own: Pick<Known, 'id'>, value: Bytes): Transaction<Refused | undefined> {
    const prepared = this.prepare(value)
    if (typeof prepared === 'string') return undefined
    const counts = ({ id }: { readonly id: Bytes }) => !equalBytes(id, own.id)
    const { refused } = yield* this.search(prepared, undefined, { counts })
    return yield* this.refusedOf(refused)
  }

  /** Makes a content a representative. */
  *begin(
    scope: Scope,
    value: NearValue,
    id: Buffer,
    payload: Payload,
    passedOver: number,
  ): Transaction<void> {
    const [probe] = value.probes
    if (probe === undefined) return
    yield* this.index.insert(scope, probe.partition, id, probe.signature, encodePayload(payload))
    this.graph.add(scope, { id, digest: payload.digest }, { group: probe.partition, to: undefined })
    const { contained } = value
    if (contained && this.containment) yield* this.containment.insert(scope, id, contained, payload)
    if (passedOver > 0) scope.add(PASSED_OVER, 1)
  }

  /** The content keeps its bytes, and is linked to what it is like. */
  link(
    scope: Scope,
    value: NearValue,
    content: { readonly id: Buffer; readonly digest: Buffer },
    hit: NearHit,
    known: Known,
  ): void {
    const { partition: group } = value.probes[0] ?? hit.probe
    const { digest } = hit.payload
    const { storedAt, firstKey } = known
    const to = { id: hit.id, digest, similarity: hit.similarity, storedAt, firstKey }
    this.graph.add(scope, content, { group, to })
  }

  *#removeFromIndex(scope: Scope, id: Buffer, group: Buffer): Transaction<void> {
    yield* this.index.remove(scope, Buffer.from(group), id)
    if (this.containment) yield* this.containment.remove(scope, id)
  }

  /** Something that was applied to the tables in memory may have been rolled back. */
  invalidate(): void {
    this.index.invalidate()
    this.containment?.index.invalidate()
  }

  async trim(backend: Backend): Promise<void> {
    await this.index.trim(backend)
    await this.containment?.index.trim(backend)
  }

  /** Re-evaluates a content whose representative is gone. Returns whether it was still to be decided. */
  *adopt(scope: Scope, gone: Buffer, content: NearContent, value: NearValue): Transaction<boolean> {
    if (!(yield* this.graph.unlink(scope, gone, content.id))) return false
    yield* this.#decide(scope, content, value)
    return true
  }

  /** Decides about a content that is listed, but neither linked nor a representative. */
  *decide(scope: Scope, content: NearContent, value: NearValue): Transaction<void> {
    const [link, known] = yield* read(this.graph.row(content.id), cell(digests, content.digest))
    if (link || !known || !equalBytes(known.id, content.id)) return
    yield* this.#decide(scope, content, value)
  }

  *#decide(scope: Scope, content: NearContent, value: NearValue): Transaction<void> {
    const { hits, relied, passedOver } = yield* this.search(value, scope)
    const [hit] = hits
    scope.rely(...(hit ? [this.relied(hit)] : relied))
    const known = hit && (yield* this.knownOf(hit))
    if (hit && known) this.link(scope, value, content, hit, known)
    else yield* this.begin(scope, value, content.id, content, passedOver)
  }

  /** The content of a hit, which is there as long as what the hit rests on. */
  *knownOf(hit: NearHit): Transaction<Known> {
    const [known] = yield* glance(cell(digests, hit.payload.digest))
    if (known) return known
    throw new PrestigeError(
      'CONTENT_CORRUPT',
      'A representative of near duplicates has no content. Run verify on this store.',
    )
  }

  *stats(): Transaction<{ readonly links: number; readonly passedOver: number }> {
    const { links } = yield* this.graph.readCounts()
    const [passedOver = 0] = yield* read(PASSED_OVER)
    return { links, passedOver }
  }

  /** How similar a value is to the bytes of a representative of this group; `undefined`: they do not compare. */
  similarity({ probes }: NearValue, group: Bytes, other: Bytes): number | undefined {
    const probe = probes.find((one) => equalBytes(one.partition, group))
    const measured = probe && this.#measuredOf(other, probe.profile)
    return measured && probe?.own.similarityTo(measured)
  }

  #measuredOf(value: Bytes, profile: ShingleProfile): Measured | undefined {
    const form = this.#formOf(value)
    return form && Measured.ofText(value, this.#canonicalise, profile, { form })
  }

  /** The text of a representative, from its content. */
  *#read({ probe, id, payload }: Candidate<TextProbe, Payload>): Transaction<Measured | undefined> {
    const value = yield* this.valueOf(id, payload.bytes)
    return value && this.#measuredOf(value, probe.profile)
  }

  /** `undefined` where it is damaged: that is like nothing, and verify finds it. */
  *valueOf(id: Buffer, bytes: number): Transaction<Buffer | undefined> {
    return yield* bytesOf({ id, bytes }, this.#layout)
  }

  readonly #canonicalise = (value: Bytes): Bytes => {
    if (this.#canonical) return asBuffer(this.#canonical.canonicalise(value))
    throw new PrestigeError(
      'SETTINGS_MISMATCH',
      'This store compares texts by a canonical function. Give the same function when opening it.',
    )
  }

  /** The canonical form of a text. */
  #formOf(value: Bytes): Bytes | undefined {
    try {
      return this.#canonicalise(value)
    } catch (error) {
      if (error instanceof PrestigeError && error.code === 'UNREADABLE_VALUE') return undefined
      throw error
    }
  }

  #partition(profile: ShingleProfile): Buffer {
    let known = this.#partitions.get(profile)
    if (known) return known
    const { slots, hashVersion, canonical } = this.settings
    const { name, version } = canonical
    known = partitionKey('store', profile, String(slots), hashVersion, name, String(version))
    this.#partitions.set(profile, known)
    return known
  }
}

/** Where near duplicates are linked. */
export function nearOf(
  backend: Backend,
  { settings: { near }, nearProfile }: OpenedSettings,
  layout: Layout,
  limits: NearLimits,
): StoreNear | undefined {
  if (!near) return undefined
  return new StoreNear(near, nearProfile, { serial: backend.serial, layout }, limits)
}

/** Fills the tables of what is there. */
export async function loadNear(backend: Backend, near: StoreNear | undefined): Promise<void> {
  const load = async () => {
    await near?.index.load(backend)
    await near?.containment?.index.load(backend)
  }
  await load().catch((error: unknown) => {
    // A store whose index is damaged must open, or nobody could verify it. Every search will fail by name.
    if (!(error instanceof PrestigeError) || error.code !== 'CONTENT_CORRUPT') throw error
    near?.invalidate()
  })
}
