/**
 * Another embedder for a store: every text that is compared gets vectors of the new one, then everything is
 * re-evaluated by them, the oldest first. Bytes and keys are never touched.
 *
 * It can be cut off at any point and run again: vectors that are there are not computed twice, and a store on its way
 * is refused to everybody else by name. Nobody else should have the store open meanwhile.
 */

import { Layout } from '../contents/layout.ts'
import { equalBytes } from '../../platform/bytes.ts'
import { type Backend, cell, type Scope, type Transaction } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { CALLBACK_TIMEOUT_MS, type Embedder, StoreEmbedder } from '../../semantic/index.ts'
import { adoptMeanings } from './adopt.ts'
import { readSemantic } from './options.ts'
import { semanticLinks, semanticPending, semanticVectors } from './rows.ts'
import { semanticGraph } from './view.ts'
import { SemanticOpening, settingsOf } from './settings.ts'
import type { SemanticContent, StoreSemantic } from './store-semantic.ts'
import {
  findSettings,
  replaceSettings,
  type SemanticSettings,
  type StoreSettings,
} from '../settings.ts'
import { findKnown } from '../transactions/get.ts'

export interface ReembedOptions {
  /** The new one; without it, the model the store names, as it is installed now. */
  readonly embedder?: Embedder | string | undefined
  /** Minimum cosine of texts that mean the same: another model has others. Without it, the threshold stays as it was. */
  readonly threshold?: number | undefined
  /** Stops when it is aborted, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called with the number of texts so far. Default: none. */
  readonly onProgress?: ((progress: { readonly texts: number }) => void) | undefined
}

export interface Reembedded {
  readonly from: string
  readonly to: string
  readonly threshold: number
  /** Texts that were compared again, and how many of them had to be embedded. */
  readonly texts: number
  readonly embedded: number
}

export async function reembed(backend: Backend, input: ReembedOptions): Promise<Reembedded> {
  const found = await backend.read(findSettings)
  if (!found?.semantic) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      "This store compares no meanings, so it has no vectors. Only one with dedup: 'semantic' or 'hybrid' can be re-embedded.",
    )
  }
  const { semantic: old } = found
  const embedder = new StoreEmbedder(input.embedder ?? old.model, CALLBACK_TIMEOUT_MS)
  try {
    const wanted = await wantedOf(old, input, embedder)
    const semantic = semanticOf(backend, found, wanted, embedder)
    const { texts, embedded } = await embedAll(backend, semantic, input)
    const moving = { ...found, semantic: { ...wanted, isMigrating: true } }
    await backend.run(replaceSettings, found, moving)
    for await (const { key } of backend.scan(semanticLinks.links)) {
      input.signal?.throwIfAborted()
      await backend.run(setAside, key)
    }
    await adoptMeanings(backend, semantic)
    await dropOthers(backend, semantic)
    await backend.run(replaceSettings, moving, { ...found, semantic: wanted })
    return {
      from: old.embedder,
      to: wanted.embedder,
      threshold: wanted.similarityMin,
      texts,
      embedded,
    }
  } finally {
    await embedder.close()
  }
}

async function wantedOf(
  { similarityMin: before, guards, textBytesMax, model }: SemanticSettings,
  { embedder: given, threshold = before }: ReembedOptions,
  embedder: StoreEmbedder,
): Promise<SemanticSettings> {
  const options = readSemantic({ threshold, guards, textBytesMax })
  return settingsOf(options, embedder, given === undefined ? model : embedder.model)
}

function semanticOf(
  backend: Backend,
  settings: StoreSettings,
  wanted: SemanticSettings,
  embedder: StoreEmbedder,
): StoreSemantic {
  const opening = new SemanticOpening(readSemantic({}), embedder, undefined)
  return opening.make(backend, wanted, new Layout(settings), undefined)
}

/** Every text that is compared has vectors of the new embedder when it resolves. */
async function embedAll(
  backend: Backend,
  semantic: StoreSemantic,
  { signal, onProgress }: ReembedOptions,
): Promise<{ readonly texts: number; readonly embedded: number }> {
  let texts = 0
  let embedded = 0
  for await (const { id, digest } of compared(backend)) {
    signal?.throwIfAborted()
    const known = await backend.read(() => findKnown({ id, digest }))
    if (!known) continue
    texts++
    if (await embedOne(backend, semantic, { id, digest, bytes: known.bytes })) embedded++
    onProgress?.({ texts })
  }
  return { texts, embedded }
}

/** Contents that have been decided about, and those that are to be. */
async function* compared(backend: Backend): AsyncGenerator<Pick<SemanticContent, 'id' | 'digest'>> {
  for await (const { key: id, value } of backend.scan(semanticLinks.links))
    yield { id, digest: value.digest }
  for await (const { key: id, value } of backend.scan(semanticPending))
    yield { id, digest: Buffer.from(value) }
}

async function embedOne(
  backend: Backend,
  semantic: StoreSemantic,
  content: SemanticContent,
): Promise<boolean> {
  if (await backend.read(() => semantic.vectors.read(content.id))) return false
  const text = await semantic.textIn(content)
  const vectors = text === undefined ? undefined : await semantic.vectorsFor(text)
  if (!vectors || vectors === 'too-large') return false
  await backend.run(function* (scope: Scope): Transaction<void> {
    // Swept meanwhile: what nobody refers to gets no vectors.
    if (yield* findKnown(content)) semantic.vectors.write(scope, content.id, vectors)
  })
  return true
}

/** What was decided by the old vectors is removed, and noted to be re-evaluated. */
function* setAside(scope: Scope, id: Buffer): Transaction<void> {
  const link = yield* semanticGraph.leave(scope, id)
  if (link) scope.write(cell(semanticPending, id), link.digest)
}

/** Vectors of other embedders. */
async function dropOthers(backend: Backend, { vectors }: StoreSemantic): Promise<void> {
  for await (const { key } of backend.scan(semanticVectors)) {
    if (equalBytes(key.subarray(0, vectors.scope.byteLength), vectors.scope)) continue
    await backend.run(removeVectors, key)
  }
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* removeVectors(scope: Scope, key: Buffer): Transaction<void> {
  scope.remove(cell(semanticVectors, key))
}
