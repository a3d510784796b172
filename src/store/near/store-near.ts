/**
 * Near duplicates in the store: which content a value is like, and what becomes of those linked to a content that
 * goes away.
 *
 * Only values that are new are looked for. One that is like a representative is linked to it and keeps its own
 * bytes (or, with `fidelity: 'representative'`, shares those of the representative); any other becomes a
 * representative. When a representative is swept, what was linked to it is re-evaluated, one by one: everything
 * that is linked was measured against what it is linked to.
 */

import { asBuffer, type Bytes, EMPTY, equalBytes } from '../../platform/bytes.ts'
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
import { profilesOf, type ShingleProfile, sketchOf } from '../../fingerprint/index.ts'
import {
  type Candidate,
  groupKey,
  type Hit,
  LinkGraph,
  type Look,
  Measured,
  MeasuredCache,
  NearIndex,
  search,
  type Searched,
  TextLikeness,
} from '../../match/index.ts'
import {
  decodePayload,
  encodePayload,
  type NearLink,
  nearLinks,
  type Payload,
  storeNear,
} from './rows.ts'
import { contents, digests, type Known, partCount, partKey } from '../rows.ts'
import type { NearSettings, OpenedSettings } from '../settings.ts'

/** Longer texts are not compared: a sketch of one would keep everybody waiting. */
export const NEAR_BYTES_MAX = 64 * 1024 * 1024
const CANDIDATES_MAX = 100
const BUCKET_MAX = 1000
const BUCKET_MAX_SHARED = 200

/** Why a value was not compared with others. */
export type NotCompared = 'not-text' | 'too-large'

export interface StoreLook extends Look<Uint16Array> {
  readonly own: Measured
  readonly profile: ShingleProfile
}

/** A value made ready for the search. */
export interface NearValue {
  /** Its own look first; none for a text without a word or a letter. */
  readonly looks: readonly StoreLook[]
}

/** A content to decide about. */
export interface NearContent extends Payload {
  readonly id: Buffer
}

/** What is asked of a search: the store's own threshold, and the best hit, unless said otherwise. */
export interface Wanted {
  readonly similarityMin?: number | undefined
  readonly hitsMax?: number | undefined
}

export interface NearLimits {
  readonly candidatesMax?: number | undefined
  readonly bucketMax?: number | undefined
}

const PASSED_OVER = cell(nearLinks.tallies, Buffer.from('passedOver'))

export class StoreNear {
  readonly settings: NearSettings
  readonly index: NearIndex<Uint16Array>
  readonly graph: LinkGraph<NearLink>
  /** Absent: a function that was not given. Nothing can be compared then, but what goes away is taken out. */
  readonly #canonical: CanonicalProfile | undefined
  readonly #partBytes: number
  readonly #measured: MeasuredCache | undefined

  constructor(
    settings: NearSettings,
    canonical: CanonicalProfile | undefined,
    engine: { readonly serial: boolean; readonly partBytes: number },
    limits: NearLimits,
  ) {
    const { serial, partBytes } = engine
    const { candidatesMax = CANDIDATES_MAX } = limits
    const { bucketMax = serial ? BUCKET_MAX : BUCKET_MAX_SHARED } = limits
    this.settings = settings
    this.#canonical = canonical
    this.#partBytes = partBytes
    const likeness = new TextLikeness(settings.slots, settings)
    this.index = new NearIndex(storeNear, likeness, { serial, candidatesMax, bucketMax })
    this.graph = new LinkGraph(nearLinks, {
      countsRepresentatives: false,
      isRepresentative: ({ to }) => to === undefined,
      removeFromIndex: (scope, id, { group }) => this.#removeFromIndex(scope, id, group),
    })
    this.#measured = serial ? new MeasuredCache() : undefined
  }

  get canCompare(): boolean {
    return this.#canonical !== undefined
  }

  prepare(value: Bytes): NearValue | NotCompared {
    if (value.byteLength > NEAR_BYTES_MAX) return 'too-large'
    const text = this.#textOf(value)
    if (text === undefined) return 'not-text'
    const { profile, similarityMin, slots } = this.settings
    const looks: StoreLook[] = []
    for (const one of profilesOf(text, profile, similarityMin)) {
      const sketch = sketchOf(text, { profile: one, slots })
      if (sketch.isEmpty) continue
      const own = Measured.ofText(text, one)
      looks.push({ group: this.#group(one), signature: sketch.slots, own, profile: one })
    }
    return { looks }
  }

  /** `scope` is given by those who may write. */
  *search(
    value: NearValue,
    scope: Scope | undefined,
    { similarityMin = this.settings.similarityMin, hitsMax }: Wanted = {},
  ): Transaction<Searched<Uint16Array>> {
    const { looks } = value
    return yield* search(
      {
        index: this.index,
        looks,
        similarityMin,
        hitsMax,
        measure: (candidate) => this.#measure(looks, candidate),
      },
      scope,
    )
  }

  /** What a hit rests on: the row that goes when the representative does. */
  relied({ look, id }: Hit<Uint16Array>): Cell<unknown> {
    return this.index.representative(look.group, id)
  }

  /** Makes a content a representative. */
  *begin(
    scope: Scope,
    value: NearValue,
    id: Buffer,
    payload: Payload,
    passedOver: number,
  ): Transaction<void> {
    const [look] = value.looks
    if (look === undefined) return
    yield* this.index.insert(scope, look.group, id, look.signature, encodePayload(payload))
    this.graph.add(scope, { id, digest: payload.digest }, { group: look.group, to: undefined })
    if (passedOver > 0) scope.add(PASSED_OVER, 1)
  }

  /** The content keeps its bytes, and is linked to what it is like. */
  link(
    scope: Scope,
    value: NearValue,
    content: { readonly id: Buffer; readonly digest: Buffer },
    hit: Hit<Uint16Array>,
    known: Known,
  ): void {
    const { group } = value.looks[0] ?? hit.look
    const { digest } = decodePayload(hit.row.payload)
    const { storedAt, firstKey } = known
    const to = { id: hit.id, digest, similarity: hit.similarity, storedAt, firstKey }
    this.graph.add(scope, content, { group, to })
  }

  *#removeFromIndex(scope: Scope, id: Buffer, group: Buffer): Transaction<void> {
    yield* this.index.remove(scope, Buffer.from(group), id)
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
  *knownOf(hit: Hit<Uint16Array>): Transaction<Known> {
    const [known] = yield* glance(cell(digests, decodePayload(hit.row.payload).digest))
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
  similarity({ looks }: NearValue, group: Bytes, other: Bytes): number | undefined {
    const look = looks.find((one) => equalBytes(one.group, group))
    const text = look && this.#textOf(other)
    return text && look?.own.similarityTo(Measured.ofText(text, look.profile))
  }

  *#measure(
    looks: readonly StoreLook[],
    { look, id, row }: Candidate<Uint16Array>,
  ): Transaction<number | undefined> {
    const own = looks.find((one) => one === look)
    if (!own) return undefined
    const known = this.#measured?.get(id)
    const other = known ?? (yield* this.#read(id, decodePayload(row.payload).bytes, own.profile))
    if (!other) return undefined
    const similarity = own.own.similarityTo(other)
    if (!known) this.#measured?.keep(id, other)
    return similarity
  }

  /** The text of a representative, from its content. */
  *#read(id: Buffer, bytes: number, profile: ShingleProfile): Transaction<Measured | undefined> {
    const parts = partCount(bytes, this.#partBytes)
    const cells = Array.from({ length: parts }, (_, part) => cell(contents, partKey(id, part)))
    const found = yield* read(...cells)
    const value = Buffer.concat(found.map((part) => part ?? EMPTY))
    const text = value.byteLength === bytes ? this.#textOf(value) : undefined
    // What is damaged is like nothing; verify finds it.
    return text && Measured.ofText(text, profile)
  }

  #textOf(value: Bytes): Bytes | undefined {
    if (!this.#canonical) {
      throw new PrestigeError(
        'SETTINGS_MISMATCH',
        'This store compares texts by a canonical function. Give the same function when opening it.',
      )
    }
    try {
      return asBuffer(this.#canonical.canonicalise(value))
    } catch (error) {
      if (error instanceof PrestigeError && error.code === 'UNREADABLE_VALUE') return undefined
      throw error
    }
  }

  #group(profile: ShingleProfile): Buffer {
    const { slots, hashVersion, canonical } = this.settings
    const { name, version } = canonical
    return groupKey('store', profile, String(slots), hashVersion, name, String(version))
  }
}

/** Where near duplicates are linked. */
export function nearOf(
  backend: Backend,
  { settings: { near, partBytes }, nearProfile }: OpenedSettings,
  limits: NearLimits,
): StoreNear | undefined {
  if (!near) return undefined
  return new StoreNear(near, nearProfile, { serial: backend.serial, partBytes }, limits)
}
