/** Remembers facts and says how each relates to what is there: the same, more of it, a contradiction, or new. */

import * as v from 'valibot'

import type { Location } from '../backends/index.ts'
import { canonicalProfile } from '../canonical/index.ts'
import { type GuardOptions, guardsOption, oppositesOf } from '../compare/index.ts'
import { digestOf } from '../fingerprint/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { given, locationOptions, readOptions, share } from '../platform/options.ts'
import type { Embedder } from '../semantic/index.ts'
import {
  decodeRecord,
  encodeRecord,
  type JsonValue,
  openStore,
  type SemanticVeto,
  type Similar,
  type Store,
} from '../store/index.ts'

/** What a memory is opened with. Embedder and guards are remembered. */
export interface MemoryOptions {
  /** An embedder of one's own, the name of a model, or the directory of one. Default: `all-MiniLM-L6-v2`. */
  readonly model?: Embedder | string | undefined
  /** Minimum cosine of facts that may refine or contradict each other: above 0, up to 1. Default: 0.8. */
  readonly threshold?: number | undefined
  /** Minimum cosine of facts that say the same. Default: 0.9, or `threshold` if that is more. */
  readonly sameThreshold?: number | undefined
  /** What makes a contradiction of similar facts; `false`: only opposites do. Default: as in stores that compare meanings. */
  readonly guards?: GuardOptions | false | undefined
  /** Memories of different namespaces in one location never see each other. Default: the unnamed one. */
  readonly namespace?: string | undefined
  /** `fsync`: acknowledged writes survive a power failure. `os`: they survive a crash of the process. Default of a directory: `fsync`. */
  readonly durability?: 'fsync' | 'os' | undefined
  /** Milliseconds that one operation waits for other processes before it fails with `CONTENDED`. Default: 30,000. */
  readonly timeoutMs?: number | undefined
  /** Create the memory if it is missing; `false` makes that an error. Default: `true`. */
  readonly create?: boolean | undefined
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: (() => number) | undefined
  /** So many random bytes. Default: the system's. */
  readonly random?: ((count: number) => Uint8Array) | undefined
}

/** A fact that is kept. */
export interface Fact {
  readonly id: string
  readonly fact: string
  readonly meta: JsonValue
  /** Milliseconds since 1970. */
  readonly rememberedAt: number
  /** Ids of facts that this one says more than. */
  readonly refines: readonly string[]
  /** Ids of facts that cannot be true beside this one. */
  readonly contradicts: readonly string[]
}

/** What became of a fact. */
export interface Remembered {
  /** Of the fact; if it is the `same`, of the one that is kept. */
  readonly id: string
  /**
   * `same`: it was there, and nothing was written. `refines`: it says more than one that is there; both are kept. `contradicts`: it
   * differs from a similar one in a number, a name, a date or a denial; both are kept. `new`: like nothing.
   */
  readonly relation: 'same' | 'refines' | 'contradicts' | 'new'
  /** The facts that it relates to, and what differs. */
  readonly to: readonly RelatedFact[]
}

export interface RelatedFact {
  readonly id: string
  readonly fact: string
  readonly similarity: number
  readonly vetoes: readonly SemanticVeto[]
}

export interface Recalled extends Fact {
  readonly similarity: number
}

const THRESHOLD = 0.8
const SAME_THRESHOLD = 0.9
/** Only texts with the very same vector are linked: every other fact is found by its own. */
const LINKED = 1
const RELATED_MAX = 10
const RECALL_MIN = 1e-6
/** More words than this share of a fact are in one that says the same or more. */
const CONTAINED = 0.8

const isModel = (value: unknown) =>
  typeof value === 'string' || (typeof value === 'object' && value !== null)

const memoryOptions = v.strictObject({
  ...locationOptions,
  model: v.optional(given<Embedder | string>(isModel, 'an embedder, or the name of a model')),
  threshold: v.optional(share('Facts of at least this cosine are compared.'), THRESHOLD),
  sameThreshold: v.optional(share('Facts of at least this cosine say the same (0.9).')),
  guards: guardsOption,
}) satisfies v.GenericSchema<MemoryOptions>

/** Opens the memory at a location, in a namespace where nothing else is. */
export async function openMemory(location: Location, input: MemoryOptions = {}): Promise<Memory> {
  const options = readOptions(memoryOptions, input, 'Memory options')
  const { model, threshold, sameThreshold = SAME_THRESHOLD, guards, ...rest } = options
  const semantic = { embedder: model ?? 'all-MiniLM-L6-v2', threshold: LINKED, guards }
  const store = await openStore(location, { ...rest, dedup: 'semantic', semantic })
  const thresholds = { related: threshold, same: Math.max(threshold, sameThreshold) }
  return new Memory(store, thresholds, options.clock ?? Date.now)
}

interface Thresholds {
  readonly related: number
  readonly same: number
}

const profile = canonicalProfile('unicode')
const factKey = (id: string) => `f/${id}`
const noteKey = (id: string) => `m/${id}`

export class Memory {
  readonly #store: Store
  readonly #thresholds: Thresholds
  readonly #now: () => number
  #turn: Promise<unknown> = Promise.resolve()

  /** @internal */
  constructor(store: Store, thresholds: Thresholds, now: () => number) {
    this.#store = store
    this.#thresholds = thresholds
    this.#now = now
  }

  /** Keeps a fact unless it is there, and says how it relates to what is. One after another, in this process. */
  remember(fact: string, meta: JsonValue = null): Promise<Remembered> {
    const done = this.#turn.then(() => this.#remember(fact, meta))
    this.#turn = done.catch(() => undefined)
    return done
  }

  async #remember(fact: string, meta: JsonValue): Promise<Remembered> {
    const id = idOf(fact)
    const kept = await this.get(id)
    if (kept) return { id, relation: 'same', to: [{ ...kept, similarity: 1, vetoes: [] }] }
    const related = await this.#related(fact)
    const agreeing = related.filter(({ vetoes }) => vetoes.length === 0)
    const alike = agreeing.filter(({ similarity }) => similarity >= this.#thresholds.same)
    const same = alike.find((other) => !saysMore(fact, other.fact))
    if (same) return { id: same.id, relation: 'same', to: [same] }
    const against = related.filter(({ vetoes }) => vetoes.length > 0)
    const refined = agreeing.filter((other) => saysMore(fact, other.fact))
    const refines = refined.map((one) => one.id)
    const contradicts = against.map((one) => one.id)
    const rememberedAt = this.#now()
    // The note first: a fact is found by its text, and whoever finds it needs its note.
    const note = { fact, meta, rememberedAt, refines, contradicts }
    await this.#store.put(noteKey(id), encodeRecord(note))
    await this.#store.put(factKey(id), fact)
    const relation = against.length > 0 ? 'contradicts' : refined.length > 0 ? 'refines' : 'new'
    return { id, relation, to: against.length > 0 ? against : refined }
  }

  /** The facts nearest to a question, the most similar first; those that contradict them say so. */
  async recall(query: string, k = 5): Promise<Recalled[]> {
    if (!(Number.isInteger(k) && k >= 1)) {
      throw new PrestigeError('INVALID_OPTIONS', `k: must be a whole number from 1, not ${k}.`)
    }
    const found: Recalled[] = []
    for (const { id, similarity } of await this.#similar(query, RECALL_MIN, k)) {
      const fact = await this.get(id)
      if (fact) found.push({ ...fact, similarity })
    }
    return found.map((one) => withContradictions(one, found))
  }

  async get(id: string): Promise<Fact | undefined> {
    const bytes = await this.#store.get(noteKey(id))
    // safe: only `remember` writes such keys
    return bytes && { id, ...(decodeRecord(bytes, 'memory') as Omit<Fact, 'id'>) }
  }

  /** Takes a fact away, and says whether it was there. What it contradicted stays. */
  async forget(id: string): Promise<boolean> {
    const done = this.#turn.then(() =>
      this.#store.transaction([{ delete: factKey(id) }, { delete: noteKey(id) }]),
    )
    this.#turn = done.catch(() => undefined)
    return (await done)[1]
  }

  async close(): Promise<void> {
    await this.#turn
    await this.#store.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #related(fact: string): Promise<RelatedFact[]> {
    const related: RelatedFact[] = []
    for (const one of await this.#similar(fact, this.#thresholds.related, RELATED_MAX)) {
      const other = await this.get(one.id)
      if (!other) continue
      const opposite = oppositesOf(fact, other.fact)
      const vetoes = [
        ...(one.vetoes ?? []),
        ...(opposite ? [{ guard: 'words', ...opposite } as const] : []),
      ]
      related.push({ id: one.id, fact: other.fact, similarity: one.similarity, vetoes })
    }
    return related
  }

  async #similar(
    text: string,
    threshold: number,
    limit: number,
  ): Promise<(Similar & { id: string })[]> {
    const found = await this.#store.similar(text, { threshold, limit, vetoed: true })
    return found.map((one) => Object.assign(one, { id: one.firstKey.toString().slice(2) }))
  }
}

/** A contradiction is noted with the later fact, and shown with both. */
function withContradictions(one: Recalled, all: readonly Recalled[]): Recalled {
  const others = all.filter(({ contradicts }) => contradicts.includes(one.id))
  const ids = new Set([...one.contradicts, ...others.map(({ id }) => id)])
  return { ...one, contradicts: [...ids] }
}

function idOf(fact: string): string {
  if (typeof fact !== 'string' || !fact.isWellFormed() || fact.trim() === '') {
    throw new PrestigeError(
      'INVALID_VALUE',
      'A fact is a text with words, without lone surrogates.',
    )
  }
  const bytes = Buffer.from(fact)
  const form = profile?.canonicalise(bytes) ?? bytes
  return digestOf(Buffer.from(form)).subarray(0, 16).toString('hex')
}

const wordsOf = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])

/** Most words of the other are in it. */
function contains(own: string, other: string): boolean {
  const words = wordsOf(own)
  const others = [...wordsOf(other)]
  return others.filter((word) => words.has(word)).length >= others.length * CONTAINED
}

/** It has nearly all that the other has, and more words. */
function saysMore(own: string, other: string): boolean {
  return contains(own, other) && wordsOf(own).size > wordsOf(other).size
}
