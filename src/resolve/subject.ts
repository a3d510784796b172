/**
 * What is to be resolved, made ready: everything that can be computed without a read.
 *
 * Texts and vectors differ in how signatures are made and similarity is measured. A kind knows that; the
 * transactions do not.
 */

import { asBuffer, type Bytes, utf8 } from '../platform/bytes.ts'
import type { Backend } from '../backends/index.ts'
import type { CanonicalProfile } from '../canonical/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { digestOf, type ShingleProfile } from '../fingerprint/index.ts'
import {
  type Candidate,
  type ContainmentProbe,
  judgementOf,
  type IndexOptions,
  Matcher,
  MatchIndex,
  Measured,
  partitionKey,
  type Probe,
  probeText,
  readVector,
  type TextNearSettings,
  type TextProbe,
  TextScheme,
  vectorBytes,
  vectorEvidence,
  type VectorProbe,
  VectorScheme,
} from '../match/index.ts'
import { type ContainedThing, ResolverContainment } from './containment.ts'
import { answerOf, type Ended, lookUp, readEvidence, resolveInput, type Rules } from './resolve.ts'
import { type Payload, payloadCodec, textNear, vectorNear } from './rows.ts'
import type { ResolverSettings, VectorSettings } from './settings.ts'

export type Vector = Float32Array | Float64Array | readonly number[]

type AnyProbe = Probe<unknown, unknown>

/** What only a search needs, which is most of the work. */
interface Prepared<P> {
  /** Its own first. None: it is like nothing but itself. */
  readonly probes: readonly P[]
  /** Where it is kept if it is new. */
  readonly partition: Buffer
  /** Where containment is looked for, and the text is long enough for that. */
  readonly contained?: ContainmentProbe | undefined
  evidence(): Buffer
}

export interface Kind<P extends AnyProbe> {
  readonly name: 'text' | 'vector'
  readonly matcher: Matcher<P, Payload>
  /** Similarities are estimates. */
  readonly isEstimated: boolean
  /** Where containment is looked for. */
  readonly containment?: ResolverContainment | undefined
  /** All it has. */
  readonly indexes: readonly Pick<MatchIndex<unknown>, 'load' | 'trim' | 'invalidate'>[]
}

/** One input of one group. */
export class Subject<P extends AnyProbe> {
  readonly kind: Kind<P>
  readonly group: string
  readonly groupKey: Buffer
  /** Sixteen bytes of the input. */
  readonly id: Buffer
  readonly #prepare: () => Prepared<P>
  #prepared: Prepared<P> | undefined

  constructor(kind: Kind<P>, group: string, bytes: Bytes, prepare: () => Prepared<P>) {
    this.kind = kind
    this.group = group
    this.groupKey = groupKeyOf(kind.name, group)
    this.id = digestOf(bytes).subarray(0, 16)
    this.#prepare = prepare
  }

  /** Made once. What cannot be read is refused here. */
  get prepared(): Prepared<P> {
    return (this.#prepared ??= this.#prepare())
  }

  /**
   * Where reading is local, what is known is answered without waiting for the one writer; and what is not is
   * sketched before the writer is, so that processes sketch side by side.
   */
  async resolve(backend: Backend, rules: Rules): Promise<Ended> {
    const known = backend.serial ? await backend.read(answerOf<P>, this, rules) : undefined
    if (known) return known
    void this.prepared
    try {
      return await backend.run(resolveInput<P>, this, rules)
    } catch (error) {
      // What was applied to the tables may have been rolled back.
      for (const index of this.kind.indexes) index.invalidate()
      throw error
    }
  }

  /** What contains it or is contained in it, if it is new or was matched just now, and somebody wants to know. */
  async containedThings(backend: Backend, ended: Ended): Promise<ContainedThing[] | undefined> {
    const { containment } = this.kind
    if (!containment || (ended.status !== 'new' && ended.status !== 'match')) return undefined
    const { contained } = this.prepared
    return backend.read((scope) => containment.thingsOf(scope, contained, ended))
  }

  lookUp(backend: Backend): Promise<Ended | undefined> {
    return backend.read(lookUp<P>, this)
  }
}

const TEXT_BYTES_MAX = 64 * 1024 * 1024

export function groupKeyOf(kind: 'text' | 'vector', group: string): Buffer {
  return partitionKey('tenant', kind, group)
}

export function requireGroup(group: unknown): asserts group is string {
  if (typeof group === 'string' && group.isWellFormed() && group.length <= 1024) return
  throw new PrestigeError('INVALID_KEY', 'A group is a text of at most 1024 characters.')
}

export class TextKind implements Kind<TextProbe> {
  readonly name = 'text'
  readonly matcher: Matcher<TextProbe, Payload>
  readonly isEstimated: boolean
  readonly containment: ResolverContainment | undefined
  readonly #settings: TextNearSettings
  readonly #canonical: CanonicalProfile

  constructor(
    { text: settings, containment }: ResolverSettings,
    canonical: CanonicalProfile,
    limits: IndexOptions,
  ) {
    this.#settings = settings
    this.#canonical = canonical
    this.isEstimated = settings.evidence === 'sketch'
    const scheme = new TextScheme(settings.slots, settings)
    const { similarityMin } = settings
    const { canonicalise } = canonical
    const policy = {
      similarityMin,
      *readEvidence({ probe, id, payload }: Candidate<TextProbe, Payload>) {
        const evidence = yield* readEvidence(probe.partition, id, payload.parts)
        return Measured.ofEvidence(evidence, canonicalise, probe.profile)
      },
      judgement: judgementOf(settings),
    }
    const index = new MatchIndex(textNear, scheme, limits)
    this.matcher = new Matcher(index, scheme, payloadCodec, policy)
    this.containment =
      containment && new ResolverContainment(this.matcher, containment.min, limits.serial)
  }

  get indexes(): Kind<TextProbe>['indexes'] {
    const { index } = this.matcher
    return this.containment ? [index, this.containment.index] : [index]
  }

  get profile(): ShingleProfile {
    return this.#settings.profile
  }

  subject(group: string, input: string): Subject<TextProbe> {
    requireGroup(group)
    const bytes = requireText(input)
    return new Subject(this, group, bytes, () => this.#prepare(group, bytes))
  }

  get canonical(): CanonicalProfile {
    return this.#canonical
  }

  partition(group: string, profile: ShingleProfile): Buffer {
    const { slots, hashVersion } = this.#settings
    return partitionKey('shelf', group, profile, String(slots), hashVersion)
  }

  /** The text of a representative, where texts are kept. */
  textOf(evidence: Bytes): string | undefined {
    const { text } = Measured.ofEvidence(evidence, this.#canonical.canonicalise, 'chars')
    return text && asBuffer(text).toString()
  }

  #prepare(group: string, original: Buffer): Prepared<TextProbe> {
    const { canonicalise } = this.#canonical
    const text = { original, form: asBuffer(canonicalise(original)), canonicalise }
    const partitionOf = (profile: ShingleProfile) => this.partition(group, profile)
    const { profile, own, probes } = probeText(text, this.#settings, partitionOf)
    const { evidence } = this.#settings
    return {
      probes,
      partition: partitionOf(profile),
      contained: this.containment?.probeOf(groupKeyOf('text', group), original),
      evidence: () => own.evidence(evidence),
    }
  }
}

function requireText(input: unknown): Buffer {
  if (typeof input !== 'string') {
    throw new PrestigeError('INVALID_VALUE', `Text is a string, not ${typeof input}.`)
  }
  const bytes = utf8(input, 'INVALID_VALUE', 'The text')
  if (bytes.byteLength > 0 && bytes.byteLength <= TEXT_BYTES_MAX) return bytes
  throw new PrestigeError(
    'INVALID_VALUE',
    bytes.byteLength === 0
      ? 'The empty text is like nothing, and has no id.'
      : `A text has at most ${TEXT_BYTES_MAX} bytes; this one has ${bytes.byteLength}.`,
  )
}

export class VectorKind implements Kind<VectorProbe> {
  readonly name = 'vector'
  readonly matcher: Matcher<VectorProbe, Payload>
  readonly isEstimated = false
  readonly #settings: VectorSettings
  readonly #scheme: VectorScheme

  constructor(settings: VectorSettings, limits: IndexOptions) {
    this.#settings = settings
    this.#scheme = new VectorScheme(settings, settings)
    const policy = {
      similarityMin: settings.cosineMin,
      *readEvidence({ probe, id, payload }: Candidate<VectorProbe, Payload>) {
        return readVector(yield* readEvidence(probe.partition, id, payload.parts))
      },
    }
    const index = new MatchIndex(vectorNear, this.#scheme, { ...limits, hasPages: true })
    this.matcher = new Matcher(index, this.#scheme, payloadCodec, policy)
  }

  get indexes(): Kind<VectorProbe>['indexes'] {
    return [this.matcher.index]
  }

  subject(group: string, input: Vector): Subject<VectorProbe> {
    requireGroup(group)
    const own = this.#checked(input)
    const partition = this.partition(group)
    return new Subject(this, group, vectorBytes(own), () => {
      // A vector of length 0 has no direction: it is like nothing but itself.
      const isZero = own.every((number) => number === 0)
      const probes = isZero ? [] : [{ partition, signature: this.#scheme.signature(own), own }]
      return { probes, partition, evidence: () => vectorEvidence(own) }
    })
  }

  partition(group: string): Buffer {
    const { dimensions, bits, form, seed, hashVersion } = this.#settings
    const planes = [dimensions, bits, form, seed].join('/')
    return partitionKey('shelf', group, planes, hashVersion)
  }

  #checked(input: Vector): Float64Array {
    if (Array.isArray(input) && !input.every((number) => typeof number === 'number')) {
      throw new PrestigeError('INVALID_VALUE', 'A vector has numbers only.')
    }
    const vector = Float64Array.from(input)
    const { dimensions } = this.#settings
    if (vector.length !== dimensions) {
      throw new PrestigeError(
        'INVALID_VALUE',
        `This resolver takes vectors of ${dimensions} dimensions; this one has ${vector.length}.`,
      )
    }
    if (vector.every(Number.isFinite)) return vector
    throw new PrestigeError('INVALID_VALUE', 'A vector has finite numbers only.')
  }
}
