/**
 * Middleware for the AI SDK: answers of a language model are kept and given again.
 * `wrapLanguageModel({ model, middleware: cachedAnswers({ answers: storedAnswers(store) }) })`
 *
 * A stream is kept part by part once it has ended well, and given again in the same parts. What failed, or was left before its
 * end, is not kept. Nothing of the AI SDK is loaded: middleware is a shape.
 */

import { ReadableStream, TransformStream } from 'node:stream/web'

import { type JsonValue, jsonText } from '../store/index.ts'
import type { AnswerCache } from './answers.ts'

export interface CachedAnswersOptions {
  /** Where answers are kept: `storedAnswers(store)`, or a cache that finds prompts by their meaning. */
  readonly answers: AnswerCache
  /** What else keeps answers apart, such as a tenant. Any JSON. Default: nothing. */
  readonly scope?: JsonValue | undefined
  /** Called with what reading or keeping an answer throws; the model is asked then. Default: nothing is called. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** A call as the AI SDK describes it. */
interface Call {
  readonly params: object
  readonly model: { readonly provider: string; readonly modelId: string }
}

export interface AnswersMiddleware {
  readonly specificationVersion: 'v4'
  wrapGenerate<R extends object>(call: Call & { doGenerate(): PromiseLike<R> }): Promise<R>
  wrapStream<R extends { stream: unknown }>(call: Call & { doStream(): PromiseLike<R> }): Promise<R>
}

/** Of a call, what an answer does not depend on. */
const IRRELEVANT = new Set(['prompt', 'abortSignal', 'headers'])

export function cachedAnswers(options: CachedAnswersOptions): AnswersMiddleware {
  const kept = new KeptAnswers(options)
  return {
    specificationVersion: 'v4',
    async wrapGenerate(call) {
      const at = addressOf(call, 'answer', options.scope)
      const known = await kept.get(at)
      // safe: kept below, from a result of the same model
      if (known !== undefined) return decoded(known) as Awaited<ReturnType<typeof call.doGenerate>>
      const result = await call.doGenerate()
      await kept.set(at, withoutRequest(result))
      return result
    },
    async wrapStream(call) {
      const at = addressOf(call, 'stream', options.scope)
      const known = await kept.get(at)
      if (Array.isArray(known)) {
        const replayed: unknown = { stream: streamOf(known.map(decoded)) }
        return replayed as Awaited<ReturnType<typeof call.doStream>> // safe: parts kept below
      }
      const result = await call.doStream()
      const stream = result.stream as ReadableStream<unknown> // safe: as the AI SDK has it
      return { ...result, stream: stream.pipeThrough(recorder((parts) => kept.set(at, parts))) }
    },
  }
}

interface Address {
  readonly prompt: string
  readonly scope: JsonValue
}

/** The prompt as text where it is one question of a user, so that a cache can understand it. */
function addressOf(
  { params, model }: Call,
  kind: 'answer' | 'stream',
  scope: JsonValue | undefined,
): Address {
  const prompt: unknown = Reflect.get(params, 'prompt')
  const messages = Array.isArray(prompt) ? prompt : [prompt]
  const question = questionIn(messages.at(-1))
  const context = question === undefined ? messages : messages.slice(0, -1)
  const settings = Object.fromEntries(
    Object.entries(params).filter(([name]) => !IRRELEVANT.has(name)),
  )
  const rest = { kind, model: `${model.provider}/${model.modelId}`, settings, context }
  return {
    prompt: question ?? jsonText(encoded(messages)),
    scope: encoded({ ...rest, own: scope ?? null }),
  }
}

/** The text of a user's message that has no other part. */
function questionIn(message: unknown): string | undefined {
  if (typeof message !== 'object' || message === null) return undefined
  const { role, content, ...rest } = { role: '', content: [], ...message }
  const [part, ...more]: unknown[] = Array.isArray(content) ? content : []
  if (role !== 'user' || more.length > 0 || Object.values(rest).some(isSaid)) return undefined
  if (typeof part !== 'object' || part === null) return undefined
  const { type, text, ...marks } = { type: '', text: '', ...part }
  return type === 'text' && text !== '' && !Object.values(marks).some(isSaid) ? text : undefined
}

const isSaid = (value: unknown) => value !== undefined

/** What was sent is no part of an answer, and may hold what must not be kept. */
function withoutRequest(result: object): object {
  const { request: _, ...rest } = { request: undefined, ...result }
  return rest
}

/** A cache that fails must not fail the model. */
class KeptAnswers {
  readonly #options: CachedAnswersOptions

  constructor(options: CachedAnswersOptions) {
    this.#options = options
  }

  async get({ prompt, scope }: Address): Promise<JsonValue | undefined> {
    try {
      const found = await this.#options.answers.get(prompt, { scope })
      return typeof found?.answer === 'string' ? JSON.parse(found.answer) : undefined
    } catch (error) {
      this.#options.onError?.(error)
      return undefined
    }
  }

  /** As one text: members stay in their order, so that what is given again is the same to the byte. */
  async set({ prompt, scope }: Address, answer: object): Promise<void> {
    try {
      await this.#options.answers.set(prompt, JSON.stringify(encoded(answer)), { scope })
    } catch (error) {
      this.#options.onError?.(error)
    }
  }
}

/** Passes parts on, and calls `keep` with all of them if the stream ended well: with a finish, and no error. */
function recorder(
  keep: (parts: readonly unknown[]) => Promise<void>,
): TransformStream<unknown, unknown> {
  const parts: unknown[] = []
  return new TransformStream({
    transform(part, controller) {
      parts.push(part)
      controller.enqueue(part)
    },
    async flush() {
      const types = new Set(parts.map((part) => Object(part).type))
      if (types.has('finish') && !types.has('error')) await keep(parts)
    },
  })
}

function streamOf(parts: readonly unknown[]): ReadableStream<unknown> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

/**
 * Values in JSON, each of which comes back as it was: dates and bytes are marked, and so is an object that looks like a mark.
 * Members that are undefined are left out.
 */
function encoded(value: unknown): JsonValue {
  if (value === undefined) return null
  if (value instanceof Date) return { $date: value.toISOString() }
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') }
  if (value instanceof URL) return { $url: value.href }
  if (value instanceof RegExp) return { $pattern: String(value) }
  if (Array.isArray(value)) return value.map(encoded)
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    const plain = Object.fromEntries(members.map(([name, member]) => [name, encoded(member)]))
    return members.length === 1 && members[0]?.[0].startsWith('$') ? { $object: plain } : plain
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new RangeError(`JSON has no ${value}`)
  return value as JsonValue // safe: a text, a number, a boolean or null is all that models answer with
}

function decoded(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map((one: JsonValue) => decoded(one))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value)
  const [[mark, content] = ['', null]] = members
  if (members.length === 1 && mark.startsWith('$')) {
    if (mark === '$object') return membersOf(Object(content))
    const text = typeof content === 'string' ? content : ''
    if (mark === '$date') return new Date(text)
    if (mark === '$bytes') return new Uint8Array(Buffer.from(text, 'base64'))
    if (mark === '$url') return new URL(text)
  }
  return membersOf(Object(value))
}

function membersOf(value: Record<string, JsonValue>): object {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, decoded(member)]))
}
