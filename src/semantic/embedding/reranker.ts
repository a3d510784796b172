/**
 * A cross-encoder by its path: reads two texts together and says how much alike they are, from 0 to 1. For `rerank` of
 * stores and caches.
 *
 * The directory has `tokenizer.json` and ONNX weights that give one logit for a pair, as cross-encoders of
 * sentence-transformers do. Texts that are too long together are cut at their ends, the longer one first.
 */

import { join, resolve } from 'node:path'

import { PrestigeError } from '../../platform/errors.ts'
import { readOptions } from '../../platform/options.ts'
import { locatePairModel } from './locate.ts'
import { type RerankerOptions, rerankerOptions } from './options.ts'
import { loadRuntime, type Runtime, type Session } from './runtime.ts'
import { openedTokenizer, readVerified } from './sentence-model.ts'
import { PairEncoder, type TokenPair } from './tokens.ts'

export class Reranker {
  readonly #runtime: Runtime
  readonly #session: Session
  readonly #encoder: PairEncoder

  /** @internal */
  constructor(runtime: Runtime, session: Session, encoder: PairEncoder) {
    this.#runtime = runtime
    this.#session = session
    this.#encoder = encoder
  }

  /** From 0 to 1. Bound, so that it can be given as `rerank`. */
  readonly rerank = async (a: string, b: string): Promise<number> => {
    const logit = await this.#logit(this.#encoder.encode(a.toWellFormed(), b.toWellFormed()))
    return 1 / (1 + Math.exp(-logit))
  }

  async #logit({ ids, types }: TokenPair): Promise<number> {
    const inputs: Record<string, readonly number[]> = {
      input_ids: ids,
      attention_mask: ids.map(() => 1),
      token_type_ids: types,
    }
    const feeds = this.#session.inputNames.map((name) => {
      const numbers = inputs[name]
      if (numbers) return [name, this.#runtime.int64(numbers)] as const
      throw new PrestigeError('MODEL_CORRUPT', `The model wants ${name}, which is not known here.`)
    })
    const outputs = await this.#session.run(Object.fromEntries(feeds))
    const [first = ''] = this.#session.outputNames
    const { data } = outputs['logits'] ?? outputs[first] ?? { data: [] }
    if (data instanceof Float32Array && data.length === 1) return data[0] ?? 0
    throw new PrestigeError(
      'MODEL_CORRUPT',
      'The model does not give one number for a pair of texts, so it is not a cross-encoder.',
    )
  }

  /** Frees the memory of the model. */
  async close(): Promise<void> {
    await this.#session.release()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** Opens the cross-encoder in a directory. */
export async function openReranker(
  directory: string,
  options: RerankerOptions = {},
): Promise<Reranker> {
  const read = readOptions(rerankerOptions, options, 'How to open a reranker')
  const plan = locatePairModel(resolve(directory), read)
  const weights = await readVerified(plan.directory, plan.weights, read.sha256)
  const tokenizer = await readVerified(plan.directory, 'tokenizer.json', undefined)
  const encoder = new PairEncoder(
    await openedTokenizer(plan.directory, tokenizer.bytes),
    plan.tokensMax,
  )
  const runtime = await loadRuntime(read.runtime)
  const session = await runtime.open(weights.bytes).catch((cause: unknown) => {
    const path = join(plan.directory, plan.weights)
    throw new PrestigeError('MODEL_CORRUPT', `${runtime.name} cannot open ${path}.`, { cause })
  })
  const reranker = new Reranker(runtime, session, encoder)
  // One pair goes through before anybody relies on it.
  await reranker.rerank('a', 'b')
  return reranker
}
