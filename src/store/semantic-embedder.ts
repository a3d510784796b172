/** The embedder of a store: one that was given, or a model that is opened when it is first needed. */

import { PrestigeError } from '../errors.ts'
import { type Embedder, requireEmbedder } from '../semantic/embedding/embedder.ts'
import type { SentenceEmbedder } from '../semantic/embedding/open-embedder.ts'

/** What a store says of the vectors it has. */
export interface EmbedderIdentity {
  readonly embedder: string
  readonly dimensions: number
  /** The model's name, where the store was made with a name. */
  readonly model?: string | undefined
}

export class StoreEmbedder {
  readonly #given: Embedder | string | undefined
  #opened: Promise<SentenceEmbedder> | undefined
  #expected: EmbedderIdentity | undefined

  constructor(given: Embedder | string | undefined) {
    this.#given = given
    if (typeof given === 'object') requireEmbedder(given)
  }

  /** The name it was given by. */
  get model(): string | undefined {
    return typeof this.#given === 'string' ? this.#given : undefined
  }

  /** Says at once what differs, as far as that can be told without loading a model. */
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

async function open(model: string): Promise<SentenceEmbedder> {
  const { openEmbedder } = await import('../semantic/embedding/open-embedder.ts')
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
