/**
 * The resolver: text or vector in, the id of the thing it is out. Near duplicates get one id; what is new
 * becomes the representative of its own.
 *
 * Ids are made of the input alone (128 bits of its SHA-256), so a thing has the same id wherever it came first.
 * Groups never see each other: everything that is kept or remembered is under its group.
 */

import { concat, endOfPrefix } from '../platform/bytes.ts'
import { type Backend, Gate } from '../backends/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import type { IndexOptions, TextProbe, VectorProbe } from '../match/index.ts'
import { type AtOnce, type Items, many, type ManyOptions } from '../platform/many.ts'
import { Answers } from './answers.ts'
import { approximateThreshold } from './approximate-threshold.ts'
import type { ContainedThing } from './containment.ts'
import { explainTexts, explainVectors, type PairExplanation } from './explain.ts'
import { Forgetting } from './forget.ts'
import { Instruments } from './instruments.ts'
import {
  type ClusterMember,
  membersOf,
  representativeOf,
  type RepresentativeInfo,
} from './members.ts'
import type { ResolverOptions } from './options.ts'
import { type RefusedThing, shownRefused } from './refused.ts'
import type { Ended, Rules, ResolveStatus } from './resolve.ts'
import { aliases, groups, oldIdOf, publicId, readPublicId } from './rows.ts'
import {
  type OpenedSettings,
  type ResolverSettings,
  type ShownSettings,
  shownSettings,
} from './settings.ts'
import { type GroupStats, statsOf, type StatsOptions } from './stats.ts'
import {
  requireGroup,
  type Subject,
  groupKeyOf,
  TextKind,
  type Vector,
  VectorKind,
} from './subject.ts'

export type ResolverValue = string | Vector

export interface Resolution {
  /** Of the thing: 22 characters of base64url. */
  readonly id: string
  /** `new`, `exact` (it is a representative), `known` (resolved before), `match` (found similar just now). */
  readonly status: ResolveStatus
  /** To the representative; measured, or, where only sketches are kept, estimated. */
  readonly similarity: number
  /** The id of the representative it was measured against: `id`, unless that was merged into another. */
  readonly representative: string
  readonly isEstimated?: true
  /** Of what is new: the most similar thing that it is not the same as, and what speaks against it. */
  readonly refused?: RefusedThing
  /**
   * Where containment is looked for, of what is new or was matched just now: at most five other things whose text
   * contains this one or is contained in it, those with the greatest share first.
   */
  readonly containment?: readonly ContainedThing[]
}

export interface ResolveItem {
  readonly group: string
  readonly value: ResolverValue
}

export type ResolveOutcome =
  | { readonly ok: true; readonly result: Resolution; readonly error?: undefined }
  | { readonly ok: false; readonly error: PrestigeError; readonly result?: undefined }

const CANDIDATES_MAX = 100
const BUCKET_MAX = 1000
const BUCKET_MAX_SHARED = 200
const CACHE_MAX = 100_000
const CACHE_MS = 1000

type AnySubject = Subject<TextProbe> | Subject<VectorProbe>

export function indexOptionsOf(
  serial: boolean,
  options: Pick<ResolverOptions, 'candidatesMax' | 'bucketMax'>,
): IndexOptions {
  const { candidatesMax = CANDIDATES_MAX } = options
  const { bucketMax = serial ? BUCKET_MAX : BUCKET_MAX_SHARED } = options
  return { serial, candidatesMax, bucketMax }
}

export class Resolver {
  /** What the resolver was created with. */
  readonly settings: ShownSettings
  readonly #settings: ResolverSettings
  readonly #backend: Backend
  readonly #gate = new Gate('resolver')
  readonly #text: TextKind
  readonly #vector: VectorKind | undefined
  readonly #rules: Rules
  readonly #answers: Answers
  readonly #instruments: Instruments | undefined
  readonly #forgetting: Forgetting

  /** @internal */
  constructor(backend: Backend, opened: OpenedSettings, options: ResolverOptions) {
    const { settings, canonical } = opened
    const { serial } = backend
    const { ttlMs, metrics } = options
    const limits = indexOptionsOf(serial, options)
    const { vector } = settings
    this.settings = shownSettings(settings)
    this.#settings = settings
    this.#backend = backend
    this.#text = new TextKind(settings, canonical, limits)
    this.#vector = vector && new VectorKind(vector, limits)
    const renewMs = options.renewMs ?? (ttlMs ?? 0) / 10
    this.#rules = { ttlMs, renewMs, partBytes: backend.limits.valueBytesMax }
    // An answer from memory renews nothing: it must not be why a cluster that is in use ends, nor outlive it.
    const livesMs = ttlMs === undefined ? Infinity : Math.min(renewMs, ttlMs - renewMs)
    const cacheMs = Math.min(options.cacheMs ?? CACHE_MS, livesMs)
    this.#answers = new Answers(options.cacheMax ?? CACHE_MAX, cacheMs)
    this.#instruments = metrics && new Instruments(metrics, options.labelGroups ?? false)
    this.#forgetting = new Forgetting(backend, this.#text, this.#vector)
  }

  /**
   * With the tables of what is there already.
   * @internal
   */
  static async open(...opened: ConstructorParameters<typeof Resolver>): Promise<Resolver> {
    const resolver = new Resolver(...opened)
    await resolver.#load()
    return resolver
  }

  async #load(): Promise<void> {
    for (const { indexes } of this.#kinds) {
      for (const index of indexes) await index.load(this.#backend)
    }
  }

  /** What this is. If nothing like it is known, it is the first of its kind from now on. */
  async resolve(group: string, value: ResolverValue): Promise<Resolution> {
    this.#gate.enter()
    const started = this.#instruments ? performance.now() : 0
    try {
      const subject = this.#subject(group, value)
      const now = this.#backend.now()
      const { epoch } = this.#answers
      const remembered = this.#answers.get(subject.groupKey, subject.id, now)
      const ended = remembered ?? (await subject.resolve(this.#backend, this.#rules))
      if (ended.hasMerged) this.#answers.clear()
      else if (!remembered) this.#remember(subject, ended, now, epoch)
      const contained = await subject.containedThings(this.#backend, ended)
      const seconds = (performance.now() - started) / 1000
      const { name } = subject.kind
      this.#instruments?.resolved(name, group, ended, remembered !== undefined, seconds)
      return this.#resolutionOf(subject, ended, contained)
    } finally {
      this.#gate.leave()
    }
  }

  /**
   * Resolves many, in order. What is there at once gives a promise of all outcomes; what comes bit by bit gives
   * outcomes bit by bit.
   */
  resolveMany(
    items: AsyncIterable<ResolveItem>,
    options?: ManyOptions,
  ): AsyncGenerator<ResolveOutcome>
  resolveMany(items: AtOnce<ResolveItem>, options?: ManyOptions): Promise<ResolveOutcome[]>
  resolveMany(
    items: Items<ResolveItem>,
    options?: ManyOptions,
  ): AsyncGenerator<ResolveOutcome> | Promise<ResolveOutcome[]> {
    const work = {
      keyOf: ({ group, value }: ResolveItem) => `${group}\0${nameOf(value)}`,
      weigh: ({ value }: ResolveItem) => value?.length ?? 0,
      perform: ({ group, value }: ResolveItem) => this.resolve(group, value),
      weighResult: () => 0,
    }
    return many(items, work, options)
  }

  /** What this would be, without a trace. `undefined`: it would be new. */
  async lookup(group: string, value: ResolverValue): Promise<Resolution | undefined> {
    return this.#gate.pass(async () => {
      const subject = this.#subject(group, value)
      const ended = await subject.lookUp(this.#backend)
      if (!ended) return undefined
      const contained = await subject.containedThings(this.#backend, ended)
      return this.#resolutionOf(subject, ended, contained)
    })
  }

  /** All that was resolved to an id, the representative first. Old ids lead to what they were merged into. */
  async *members(group: string, id: string): AsyncGenerator<ClusterMember> {
    requireGroup(group)
    this.#gate.assertOpen()
    for (const kind of this.#kinds) {
      yield* membersOf(this.#backend, kind, groupKeyOf(kind.name, group), readPublicId(id))
    }
  }

  /** What stands for an id; `undefined` if there is no such thing. */
  async representative(group: string, id: string): Promise<RepresentativeInfo | undefined> {
    requireGroup(group)
    return this.#gate.pass(async () => {
      for (const kind of this.#kinds) {
        const groupKey = groupKeyOf(kind.name, group)
        const found = await representativeOf(this.#backend, kind, groupKey, readPublicId(id))
        if (found) return found
      }
      return undefined
    })
  }

  /** Ids that were merged into this one. They stay resolvable. */
  async aliases(group: string, id: string): Promise<string[]> {
    requireGroup(group)
    return this.#gate.pass(async () => {
      const old = new Set<string>()
      for (const { name } of this.#kinds) {
        const prefix = concat(groupKeyOf(name, group), readPublicId(id))
        const range = { start: prefix, end: endOfPrefix(prefix) }
        for await (const { key } of this.#backend.scan(aliases, range)) {
          old.add(publicId(oldIdOf(key)))
        }
      }
      return [...old]
    })
  }

  /**
   * Deletes one input, or a whole cluster by its id. Deleting a representative deletes its cluster: its members are
   * resolved again when they next come. Returns whether there was something to delete.
   */
  async delete(group: string, what: ResolverValue | { readonly id: string }): Promise<boolean> {
    return this.#gate.pass(async () => {
      requireGroup(group)
      try {
        if (isId(what)) return await this.#forgetting.id(group, readPublicId(what.id))
        const { kind, groupKey, id } = this.#subject(group, what)
        return await this.#forgetting.input(kind.name, groupKey, id)
      } finally {
        this.#answers.clear()
      }
    })
  }

  /** How and how much two values are alike, whether or not either was ever resolved. */
  async explain(
    group: string,
    first: ResolverValue,
    second: ResolverValue,
  ): Promise<PairExplanation> {
    const one = this.#subject(group, first)
    const other = this.#subject(group, second)
    if (typeof first === 'string' && typeof second === 'string') {
      const { text } = this.#settings
      return explainTexts(first, second, this.#text.canonical, text)
    }
    if (typeof first === 'string' || typeof second === 'string' || !this.#settings.vector) {
      throw new PrestigeError('INVALID_VALUE', 'A text and a vector do not compare.')
    }
    return explainVectors(
      { id: one.id, vector: first },
      { id: other.id, vector: second },
      this.#settings.vector,
    )
  }

  /** Names of groups in which something was resolved. */
  async *groups(): AsyncGenerator<{ readonly kind: string; readonly group: string }> {
    for await (const { value } of this.#backend.scan(groups)) {
      const at = value.indexOf(':')
      yield { kind: value.slice(0, at), group: value.slice(at + 1) }
    }
  }

  /** Looks at every member of the group for the largest clusters, so it is slow: for people. */
  async stats(group: string, options: StatsOptions = {}): Promise<GroupStats> {
    requireGroup(group)
    return this.#gate.pass(() => statsOf(this.#backend, this.#kinds, group, options))
  }

  /** Takes away what has expired, and what is left of what was forgotten. */
  async collect(): Promise<{ readonly clusters: number }> {
    return this.#gate.pass(async () => {
      try {
        return { clusters: await this.#forgetting.expired() }
      } finally {
        this.#answers.clear()
      }
    })
  }

  /** The similarity at which a pair is found about half of the time, before anything is measured. */
  calculateApproximateThreshold(kind: 'text' | 'vector' = 'text'): number {
    const { text, vector } = this.settings
    if (kind === 'text') return approximateThreshold('text', text)
    if (vector) return approximateThreshold('vector', vector)
    throw noVectors()
  }

  close(): Promise<void> {
    return this.#gate.close(() => this.#backend.close())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #kinds(): readonly (TextKind | VectorKind)[] {
    return this.#vector ? [this.#text, this.#vector] : [this.#text]
  }

  #subject(group: string, value: ResolverValue): AnySubject {
    if (typeof value === 'string') return this.#text.subject(group, value)
    if (value === undefined) {
      throw new PrestigeError(
        'INVALID_VALUE',
        "There is no value: the group comes first, as in resolve('default', text).",
      )
    }
    if (!isVector(value)) {
      throw new PrestigeError('INVALID_VALUE', 'Give a text, or a vector of numbers.')
    }
    if (!this.#vector) throw noVectors()
    return this.#vector.subject(group, value)
  }

  #remember({ groupKey, id }: AnySubject, ended: Ended, now: number, epoch: number): void {
    const status = ended.id.equals(id) ? 'exact' : 'known'
    this.#answers.keep(groupKey, id, { ...ended, row: undefined, status }, now, epoch)
  }

  #resolutionOf(
    { kind }: AnySubject,
    { id, status, similarity, representative, refused }: Ended,
    containment: ContainedThing[] | undefined,
  ): Resolution {
    return {
      id: publicId(id),
      status,
      similarity,
      representative: publicId(representative),
      ...(kind.isEstimated && { isEstimated: true }),
      ...(refused && { refused: shownRefused(refused) }),
      ...(containment && { containment }),
    }
  }
}

function noVectors(): PrestigeError {
  return new PrestigeError(
    'INVALID_OPTIONS',
    'This resolver takes no vectors. Open it with vector: { dimensions, threshold }.',
  )
}

function isVector(value: unknown): value is Vector {
  return value instanceof Float32Array || value instanceof Float64Array || Array.isArray(value)
}

function isId(what: unknown): what is { readonly id: string } {
  return typeof what === 'object' && what !== null && 'id' in what && typeof what.id === 'string'
}

/** The same value twice is resolved one after the other. */
function nameOf(value: ResolverValue): string {
  if (typeof value === 'string') return value
  // What is no value at all has no name; its own outcome will say so.
  return isVector(value) && value.length < 64 ? [...value].join() : ''
}
