/** The cache: what is asked of it, and what it counts. What is found is decided in find.ts. */

import { randomBytes } from 'node:crypto'

import { PrestigeError } from '../platform/errors.ts'
import { scoreThresholds, type ThresholdTuning, type Wanted } from '../compare/index.ts'
import type { Embedder } from '../semantic/index.ts'
import { type JsonValue, jsonText, parseJson, refuseUnknown, type Store } from '../store/index.ts'
import {
  answerKey,
  decodeLabel,
  encodeRow,
  keepPrompt,
  LABELS,
  labelKey,
  promptKey,
  removeEntry,
} from './entries.ts'
import { find, type Found } from './find.ts'
import { type Flight, Flights } from './flights.ts'
import { invalidate, type InvalidateOptions } from './invalidate.ts'
import type { CheckedCacheOptions } from './options.ts'
import { type Address, addressOf } from './scope.ts'
import { SharedStream } from './shared-stream.ts'
import { Tally } from './tally.ts'
import type { CacheCall, CacheHit, CacheKeep, CacheLookup, CacheStats } from './types.ts'

interface CacheDeps {
  readonly store: Store
  readonly options: CheckedCacheOptions
  /** Absent: equal wording only. */
  readonly embedder: Embedder | undefined
  readonly closeModel: () => Promise<void>
}

/** A lookup that can be labelled. */
interface Served {
  readonly at: Address
  readonly prompt: string
  readonly found: Found
}

/** What `wrap` keeps answers with, unless a call says otherwise. */
export interface WrapOptions<T> extends Omit<CacheKeep, 'scope' | 'tokens'> {
  /** Tokens that an answer took. Default: 0. */
  readonly tokensOf?: ((answer: T) => number) | undefined
}

type Wrapped<A, R> = (prompt: string, call: A) => R

const CALL = ['scope']
const KEEP = [...CALL, 'tags', 'source', 'ttlMs', 'tokens']
const LOOKUPS_MAX = 10_000
/** Answers that expired leave their prompts behind until the store collects them. */
const COLLECT_EVERY_MS = 60_000

export class Cache {
  readonly #store: Store
  readonly #options: CheckedCacheOptions
  readonly #closeModel: () => Promise<void>
  readonly #tally: Tally
  readonly #calls: Flights<Promise<JsonValue>>
  readonly #streams: Flights<SharedStream<JsonValue>>
  readonly #lookups = new Map<string, Served>()
  readonly #name = randomBytes(8).toString('hex')
  #lookupCount = 0
  #invalidations = 0
  #collectedAt = -Infinity

  /** @internal */
  constructor({ store, options, embedder, closeModel }: CacheDeps) {
    this.#store = store
    this.#options = options
    this.#closeModel = closeModel
    this.#tally = new Tally(options.metrics)
    const { threshold, guards } = options
    this.#calls = new Flights({ embedder, threshold, guards })
    this.#streams = new Flights({ embedder: undefined, threshold: undefined, guards })
  }

  /** The answer to this prompt, or to one that asks the same; `undefined` where there is none. */
  async get<T extends JsonValue = JsonValue>(
    prompt: string,
    call: CacheCall = {},
  ): Promise<CacheHit<T> | undefined> {
    refuseUnknown(call, CALL)
    const at = addressOf(checked(prompt), call.scope, 'answer')
    const found = await this.#find(prompt, at)
    const lookup = this.#note(prompt, at, found)
    const { entry, method, similarity = 1 } = found
    if (!isServed(found, this.#options.shadow) || !entry || !method) return undefined
    const { tags, source, setAt } = entry
    const answer = entry.answer as T // safe: as far as the caller knows what was set
    return { answer, method, similarity, prompt: entry.prompt, setAt, tags, source, lookup }
  }

  /** Keeps an answer to a prompt, in place of an earlier one. */
  async set(prompt: string, answer: JsonValue, keep: CacheKeep = {}): Promise<void> {
    refuseUnknown(keep, KEEP)
    const at = addressOf(checked(prompt), keep.scope, 'answer')
    await this.#set(prompt, at, answer, keep, true)
  }

  /**
   * The function with the cache before it. Prompts that ask the same at the same time are asked once. What the function
   * throws is not kept.
   */
  wrap<T extends JsonValue>(
    fn: (prompt: string, call: CacheKeep) => Promise<T> | T,
    options: WrapOptions<T> = {},
  ): (prompt: string, call?: CacheKeep) => Promise<T> {
    const { tokensOf, ...defaults } = options
    refuseUnknown(defaults, KEEP)
    return async (prompt, given = {}) => {
      refuseUnknown(given, KEEP)
      const call = { ...defaults, ...given }
      const at = addressOf(checked(prompt), call.scope, 'answer')
      const ask = async () => {
        const answer = await fn(prompt, call)
        return { answer, keep: tokensOf ? { tokens: tokensOf(answer), ...call } : call }
      }
      return (await this.#through(prompt, at, ask)) as T // safe: made by fn, or kept from it
    }
  }

  /**
   * As `wrap`, for a function that gives its answer in chunks. It is kept when it has ended well, and given again in the same
   * chunks. A reader that comes while it is on its way gets it from the beginning.
   */
  wrapStream<C extends JsonValue>(
    fn: (prompt: string, call: CacheKeep) => AsyncIterable<C> | Promise<AsyncIterable<C>>,
    options: WrapOptions<C[]> = {},
  ): (prompt: string, call?: CacheKeep) => AsyncGenerator<C> {
    const { tokensOf, ...defaults } = options
    refuseUnknown(defaults, KEEP)
    const open: Wrapped<CacheKeep, AsyncGenerator<JsonValue>> = (prompt, call) => {
      const at = addressOf(checked(prompt), call.scope, 'stream')
      const keepOf = (chunks: JsonValue[]) =>
        // safe: all chunks are of fn
        tokensOf ? { tokens: tokensOf(chunks as C[]), ...call } : call
      return this.#stream(prompt, at, () => fn(prompt, call), keepOf)
    }
    return async function* (prompt, given = {}) {
      refuseUnknown(given, KEEP)
      // safe: all chunks are of fn, or kept from it
      yield* open(prompt, { ...defaults, ...given }) as AsyncGenerator<C>
    }
  }

  /** Takes away answers by tag, source or age, and says how many. What is being asked for meanwhile is not kept. */
  async invalidate(options: InvalidateOptions): Promise<number> {
    this.#invalidations++
    return invalidate(this.#store, options, this.#now())
  }

  /**
   * Says whether the answer of a lookup was right. A wrong one is not served to that prompt again, and what is said is what
   * `tune` goes by. `lookup`: of a hit, or of `onLookup`; one of the last 10,000 of this cache.
   */
  async feedback(lookup: string, wasRight: boolean): Promise<void> {
    const served = this.#lookups.get(lookup)
    if (!served) {
      throw new PrestigeError(
        'KEY_NOT_FOUND',
        `There is no lookup ${lookup} with an answer among the last ${LOOKUPS_MAX} of this cache.`,
      )
    }
    const { at, prompt, found } = served
    const { id = at.id, entry, similarity = 1 } = found
    if (!entry) return
    if (found.method === 'exact') {
      if (!wasRight) await removeEntry(this.#store, id, encodeRow(entry))
      return
    }
    const label = { asked: prompt, served: entry.prompt, similarity, isRight: wasRight }
    const key = labelKey(at.id, id)
    await this.#store.put(key, encodeRow(label), { ttlMs: Infinity })
    await this.#store.pin(key)
  }

  /** What every threshold would have got right, by what `feedback` said; with `precision`, the lowest that is proven to have it. */
  async tune(wanted: Wanted = {}): Promise<ThresholdTuning> {
    const pairs = []
    for await (const [, value] of this.#store.entries({ prefix: LABELS })) {
      const { similarity, isRight } = decodeLabel(value)
      pairs.push({ similarity, isDuplicate: isRight })
    }
    return scoreThresholds(pairs, wanted)
  }

  async stats(): Promise<CacheStats> {
    const { keys, contentBytes } = await this.#store.stats()
    return { ...this.#tally.stats, keys, bytes: contentBytes }
  }

  async close(): Promise<void> {
    await this.#store.close()
    await this.#closeModel()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #through(
    prompt: string,
    at: Address,
    ask: () => Promise<{ answer: JsonValue; keep: CacheKeep }>,
  ): Promise<JsonValue> {
    const { shadow } = this.#options
    for (;;) {
      const same = shadow ? undefined : this.#calls.get(at)
      if (same) return this.#joined(await same.result)
      const since = this.#calls.moment
      const found = await this.#find(prompt, at)
      if (isServed(found, shadow) && found.entry) {
        this.#note(prompt, at, found)
        return found.entry.answer
      }
      const vectors = await this.#orMiss(() => this.#calls.vectorsOf(at), undefined)
      // From here to `begin` nothing is awaited.
      const other = shadow ? undefined : this.#calls.equivalent(prompt, at, vectors, since)
      if (other) {
        await other.ended
        continue
      }
      this.#note(prompt, at, found)
      const asked = this.#ask(prompt, at, found, ask)
      const ended = asked.then(ignored, ignored)
      const flight = { prompt, at, vectors, result: asked, ended }
      if (!shadow) this.#calls.begin(flight)
      try {
        return await asked
      } finally {
        if (!shadow) this.#calls.end(flight)
      }
    }
  }

  async #ask(
    prompt: string,
    at: Address,
    found: Found,
    ask: () => Promise<{ answer: JsonValue; keep: CacheKeep }>,
  ): Promise<JsonValue> {
    const invalidations = this.#invalidations
    const { answer, keep } = await ask()
    if (invalidations !== this.#invalidations) return answer
    await this.#orMiss(() => this.#set(prompt, at, answer, keep, isSearchable(found)), undefined)
    return answer
  }

  /** Everybody gets an answer of its own, to change as it likes. */
  #joined(answer: JsonValue): JsonValue {
    this.#tally.saved(0)
    return parseJson(jsonText(answer)) as JsonValue // safe: made by jsonText
  }

  async *#stream(
    prompt: string,
    at: Address,
    open: () => AsyncIterable<JsonValue> | Promise<AsyncIterable<JsonValue>>,
    keepOf: (chunks: JsonValue[]) => CacheKeep,
  ): AsyncGenerator<JsonValue> {
    const { shadow } = this.#options
    const found = await this.#find(prompt, at)
    const same = shadow ? undefined : this.#streams.get(at)
    if (same?.result.isOpen) {
      this.#tally.saved(0)
      yield* same.result.read()
      return
    }
    this.#note(prompt, at, found)
    if (isServed(found, shadow) && Array.isArray(found.entry?.answer)) {
      yield* found.entry.answer
      return
    }
    const invalidations = this.#invalidations
    const lazily = async function* () {
      yield* await open()
    }
    let flight: Flight<SharedStream<JsonValue>> | undefined
    const shared = new SharedStream(lazily(), async (chunks) => {
      if (flight && !shadow) this.#streams.end(flight)
      flight = undefined
      if (!chunks || invalidations !== this.#invalidations) return
      const keep = () => this.#set(prompt, at, chunks, keepOf(chunks), isSearchable(found))
      await this.#orMiss(keep, undefined)
    })
    flight = { prompt, at, vectors: undefined, result: shared, ended: Promise.resolve() }
    if (!shadow) this.#streams.begin(flight)
    yield* shared.read()
  }

  async #find(prompt: string, at: Address): Promise<Found & { readonly tookMs: number }> {
    const started = performance.now()
    const { threshold, margin, guards, model } = this.#options
    const wanted = { threshold: model === false ? undefined : threshold, margin, guards }
    const found = await this.#orMiss<Found>(() => this.#look(prompt, at, wanted), {
      outcome: 'miss',
    })
    return { ...found, tookMs: performance.now() - started }
  }

  async #look(prompt: string, at: Address, wanted: Parameters<typeof find>[3]): Promise<Found> {
    let found = await find(this.#store, prompt, at, wanted)
    if (found.hasDead && performance.now() - this.#collectedAt >= COLLECT_EVERY_MS) {
      this.#collectedAt = performance.now()
      await this.#store.collect()
      found = await find(this.#store, prompt, at, wanted)
    }
    const { maxBytes, maxEntries } = this.#options
    const isBounded = maxBytes !== undefined || maxEntries !== undefined
    // A use of the answer is one of its prompt: they are evicted together.
    if (isBounded && found.outcome === 'hit' && found.id) await this.#store.get(promptKey(found.id))
    return found
  }

  /** With `onError: 'miss'` what fails is counted, and is `otherwise`. What cannot be kept at all is an error all the same. */
  async #orMiss<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const isOurs = error instanceof PrestigeError && error.kind === 'invalid'
      if (this.#options.onError === 'throw' || isOurs) throw error
      this.#tally.failed()
      return otherwise
    }
  }

  #note(prompt: string, at: Address, found: Found & { readonly tookMs: number }): string {
    const { shadow: isShadow, onLookup } = this.#options
    const lookup = `${this.#name}-${++this.#lookupCount}`
    this.#tally.found(found, isShadow, found.tookMs)
    const { outcome, method, similarity, entry, vetoes } = found
    if (entry) {
      this.#lookups.set(lookup, { at, prompt, found })
      const [oldest] = this.#lookups.keys()
      if (this.#lookups.size > LOOKUPS_MAX && oldest !== undefined) this.#lookups.delete(oldest)
    }
    const report: CacheLookup = {
      lookup,
      prompt,
      outcome,
      ...(method && { method }),
      ...(similarity !== undefined && { similarity }),
      ...(entry && { nearest: entry.prompt }),
      ...(vetoes && { vetoes }),
      isShadow,
    }
    onLookup?.(report)
    return lookup
  }

  async #set(
    prompt: string,
    { id, text }: Address,
    answer: JsonValue,
    keep: CacheKeep,
    isFoundByMeaning: boolean,
  ): Promise<void> {
    const { tags = [], source, ttlMs, tokens = 0 } = keep
    const setAt = this.#now()
    const entry = { prompt, answer, tags, setAt, tokens, ...(source !== undefined && { source }) }
    const value = encodeRow(entry)
    await this.#store.put(answerKey(id), value, { ttlMs })
    if (this.#options.model === false || !isFoundByMeaning) return
    await keepPrompt(this.#store, id, text, value, ttlMs)
  }

  #now(): number {
    return (this.#options.clock ?? Date.now)()
  }
}

/** A prompt between two others would make every further one between them ambiguous as well. */
const isSearchable = ({ outcome }: Found) => outcome !== 'ambiguous'

const isServed = ({ outcome }: Found, isShadow: boolean) => outcome === 'hit' && !isShadow

function ignored(): void {}

function checked(prompt: string): string {
  if (typeof prompt === 'string' && prompt.isWellFormed()) return prompt
  throw new PrestigeError('INVALID_VALUE', 'A prompt is a string without lone surrogates.')
}
