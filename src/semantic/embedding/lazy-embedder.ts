/** The embedder of a store: one that was given, or a model that is opened when it is first needed. */

import { PrestigeError } from '../../platform/errors.ts'
import { Deadline } from '../deadline.ts'
import { type Embedder, type EmbedOptions, requireEmbedder } from './embedder.ts'
import type { SentenceEmbedder } from './open-embedder.ts'

/** What a store says of the vectors it has. */
export interface EmbedderIdentity {
  readonly embedder: string
  readonly dimensions: number
  /** The model's name, where the store was made with a name. */
  readonly model?: string | undefined
}

export class StoreEmbedder {
  readonly #given: Embedder | string | undefined
  /** What was given, with a deadline; one that is not given by the user needs none. */
  readonly #guarded: Embedder | undefined
  #opened: Promise<SentenceEmbedder> | undefined
  #expected: EmbedderIdentity | undefined

  /** Without `timeoutMs` it is waited for without an end, as where one call has many texts. */
  constructor(given: Embedder | string | undefined, timeoutMs?: number) {
    this.#given = given
    if (typeof given !== 'object') return
    requireEmbedder(given)
    this.#guarded = timeoutMs === undefined ? given : guarded(given, timeoutMs)
  }

  /** The name it was given by. */
  get model(): string | undefined {
    return typeof this.#given === 'string' ? this.#given : undefined
  }

  /** Says at once what differs, as far as that is known without loading a model. */
  expect(identity: EmbedderIdentity): void {
    this.#expected = identity
    const given = this.#given
    if (typeof given === 'object') requireSame(given, identity)
    else if (given !== undefined && identity.model !== undefined && given !== identity.model) {
      throw otherEmbedder(identity.embedder, `model ${given}`)
    }
  }

  /** Whether texts can be embedded, as far as anyone knows. */
  get isThere(): boolean {
    return this.#given !== undefined || this.#expected?.model !== undefined
  }

  async get(): Promise<Embedder> {
    if (this.#guarded) return this.#guarded
    const given = this.#given ?? this.#expected?.model
    if (typeof given === 'object') return given
    if (given === undefined) {
      throw new PrestigeError(
        'SETTINGS_MISMATCH',
        `This store compares texts by embedder ${this.#expected?.embedder ?? 'unknown'}. Give it when opening the store, as semantic.embedder.`,
      )
    }
    this.#opened ??= open(given)
    const embedder = await this.#opened.catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    if (this.#expected) requireSame(embedder, this.#expected)
    return embedder
  }

  /** What was opened here is closed here. */
  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined)
    await opened?.close()
  }
}

/** An embedder of the user's: it has to answer in time, and what it throws gets a code. */
function guarded(embedder: Embedder, timeoutMs: number): Embedder {
  const deadline = new Deadline(`Embedder ${embedder.id}`, timeoutMs)
  const call = async <T>(embed: (options: EmbedOptions) => Promise<T>, options: EmbedOptions) => {
    try {
      return await deadline.run((signal) => embed({ ...options, signal }), options.signal)
    } catch (error) {
      if (error instanceof PrestigeError || options.signal?.aborted) throw error
      const reason = error instanceof Error ? error.message : String(error)
      throw new PrestigeError(
        'EMBEDDER_FAILED',
        `Embedder ${embedder.id} failed: ${reason}. Nothing was stored.`,
        { cause: error },
      )
    }
  }
  const embedWindows = embedder.embedWindows?.bind(embedder)
  return {
    id: embedder.id,
    dimensions: embedder.dimensions,
    embed: (texts, options) => call((own) => embedder.embed(texts, own), options),
    ...(embedWindows && {
      embedWindows: (texts: readonly string[], options: EmbedOptions) =>
        call((own) => embedWindows(texts, own), options),
    }),
  }
}

async function open(model: string): Promise<SentenceEmbedder> {
  const { openEmbedder } = await import('./open-embedder.ts')
  return openEmbedder(model)
}

function requireSame(embedder: Embedder, { embedder: id, dimensions }: EmbedderIdentity): void {
  if (embedder.id !== id) throw otherEmbedder(id, `'${embedder.id}'`)
  if (embedder.dimensions === dimensions) return
  throw otherEmbedder(id, `one of ${embedder.dimensions} dimensions instead of ${dimensions}`)
}

function otherEmbedder(stored: string, wanted: string): PrestigeError {
  return new PrestigeError(
    'SETTINGS_MISMATCH',
    `The vectors of this store are of embedder '${stored}', and ${wanted} was asked for. Vectors of different embedders do not compare: open the store with its own, or run \`prestige reembed\`.`,
  )
}
