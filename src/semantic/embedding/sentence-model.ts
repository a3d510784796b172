/**
 * A sentence model, loaded and verified: text in, the vectors of its windows out. Runs inside a worker thread.
 *
 * Windows are computed one at a time. Batches would gain a fifth at best, and quantised models give other numbers
 * for the same text in other company; so a vector depends on its text alone.
 */

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { PrestigeError } from '../../platform/errors.ts'
import type { ModelPlan } from './locate.ts'
import type { Pooling } from './models.ts'
import {
  loadRuntime,
  type Runtime,
  type RuntimeName,
  type RuntimeWanted,
  type Session,
} from './runtime.ts'
import { type Encoder, openEncoder, TokenWindows } from './tokens.ts'

export interface ModelRequest {
  readonly plan: ModelPlan
  readonly runtime: RuntimeWanted
  readonly overlapTokens: number
  readonly windowsMax: number
}

/** What is known only after loading. */
export interface ModelFacts {
  readonly runtime: RuntimeName
  readonly dimensions: number
  readonly weightsSha256: string
  readonly tokenizerSha256: string
}

export class SentenceModel {
  readonly facts: ModelFacts
  readonly #runtime: Runtime
  readonly #session: Session
  readonly #windows: TokenWindows
  readonly #pooling: Pooling

  private constructor(
    runtime: Runtime,
    session: Session,
    windows: TokenWindows,
    pooling: Pooling,
    facts: ModelFacts,
  ) {
    this.#runtime = runtime
    this.#session = session
    this.#windows = windows
    this.#pooling = pooling
    this.facts = facts
  }

  static async open(request: ModelRequest): Promise<SentenceModel> {
    const { plan, overlapTokens, windowsMax } = request
    const tokenizer = await readVerified(plan.directory, 'tokenizer.json', plan.tokenizerSha256)
    const weights = await readVerified(plan.directory, plan.weights, plan.weightsSha256)
    const encoder = await openedTokenizer(plan.directory, tokenizer.bytes)
    const { prefix, tokensMax } = plan
    const windows = new TokenWindows(encoder, { prefix, tokensMax, overlapTokens, windowsMax })
    const runtime = await loadRuntime(request.runtime)
    const session = await openSession(runtime, plan, weights.bytes)
    const digests = { weightsSha256: weights.sha256, tokenizerSha256: tokenizer.sha256 }
    const facts = { runtime: runtime.name, dimensions: plan.dimensions, ...digests }
    const model = new SentenceModel(runtime, session, windows, plan.pooling, facts)
    return model.#tried(plan)
  }

  /** One text goes through before anybody relies on it, which also gives the dimensions. */
  async #tried(plan: ModelPlan): Promise<SentenceModel> {
    const [vector] = await this.embed('a')
    const dimensions = vector?.length ?? 0
    if (plan.dimensions !== 0 && dimensions !== plan.dimensions) {
      throw new PrestigeError(
        'EMBEDDER_MISMATCH',
        `${plan.model} is to give vectors of ${plan.dimensions} dimensions, and gives ${dimensions}.`,
      )
    }
    return new SentenceModel(this.#runtime, this.#session, this.#windows, this.#pooling, {
      ...this.facts,
      dimensions,
    })
  }

  async embed(text: string, signal?: AbortSignal): Promise<Float32Array[]> {
    const vectors: Float32Array[] = []
    for (const ids of this.#windows.cut(text)) {
      signal?.throwIfAborted()
      vectors.push(await this.#vectorOf(ids))
    }
    return vectors
  }

  async #vectorOf(ids: readonly number[]): Promise<Float32Array> {
    const inputs: Record<string, () => readonly number[]> = {
      input_ids: () => ids,
      attention_mask: () => ids.map(() => 1),
      token_type_ids: () => ids.map(() => 0),
      position_ids: () => ids.map((_, at) => at),
    }
    const feeds = Object.fromEntries(
      this.#session.inputNames.map((name) => {
        const values = inputs[name]
        if (values) return [name, this.#runtime.int64(values())]
        throw new PrestigeError(
          'MODEL_CORRUPT',
          `The model wants ${name}, which is not known here.`,
        )
      }),
    )
    const outputs = await this.#session.run(feeds)
    const [first = ''] = this.#session.outputNames
    const { data, dims } = outputs['last_hidden_state'] ?? outputs[first] ?? { data: [], dims: [] }
    const [, tokens, dimensions] = dims
    if (!(data instanceof Float32Array) || tokens !== ids.length || dimensions === undefined) {
      throw new PrestigeError(
        'MODEL_CORRUPT',
        'The model gives no vector for every token, so it is not a sentence encoder.',
      )
    }
    return unit(this.#pooling === 'cls' ? data.slice(0, dimensions) : meanOf(data, dimensions))
  }
}

function meanOf(data: Float32Array, dimensions: number): Float64Array {
  const sums = new Float64Array(dimensions)
  for (let from = 0; from < data.length; from += dimensions) {
    for (let at = 0; at < dimensions; at++) sums[at] = (sums[at] ?? 0) + (data[from + at] ?? 0)
  }
  return sums
}

function unit(vector: Float64Array | Float32Array): Float32Array {
  let square = 0
  for (const number of vector) square += number * number
  const length = Math.sqrt(square)
  return Float32Array.from(vector, (number) => number / length)
}

interface Verified {
  readonly bytes: Buffer
  readonly sha256: string
}

/** What is verified is what is used: the bytes are read once. */
export async function readVerified(
  directory: string,
  name: string,
  expected: string | undefined,
): Promise<Verified> {
  const path = join(directory, name)
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new PrestigeError('MODEL_NOT_FOUND', `${path} cannot be read.`, { cause })
  })
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  if (expected === undefined || expected === sha256) return { bytes, sha256 }
  throw new PrestigeError(
    'MODEL_CORRUPT',
    `${path} has the SHA-256 ${sha256} and not ${expected}. It is damaged or another model; install it again.`,
  )
}

function parsed(bytes: Buffer, name: string): object {
  try {
    return Object(JSON.parse(bytes.toString('utf8')))
  } catch (cause) {
    throw new PrestigeError('MODEL_CORRUPT', `${name} is not JSON.`, { cause })
  }
}

export async function openedTokenizer(directory: string, bytes: Buffer): Promise<Encoder> {
  return openEncoder(parsed(bytes, 'tokenizer.json'), await tokenizerConfig(directory))
}

async function tokenizerConfig(directory: string): Promise<object> {
  const path = join(directory, 'tokenizer_config.json')
  return existsSync(path) ? parsed(await readFile(path), 'tokenizer_config.json') : {}
}

async function openSession(runtime: Runtime, plan: ModelPlan, weights: Buffer): Promise<Session> {
  const graph =
    plan.format === 'onnx'
      ? weights
      : (await import('./safetensors-graph.ts')).graphOf(
          weights,
          plan.directory,
          plan.precision === 'int8' ? 'int8' : 'fp32',
        )
  try {
    return await runtime.open(graph)
  } catch (cause) {
    throw new PrestigeError(
      'MODEL_CORRUPT',
      `${runtime.name} cannot open ${join(plan.directory, plan.weights)}.`,
      { cause },
    )
  }
}
