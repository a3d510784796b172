/** The other end of a `ModelThread`: loads the model it is given, then embeds one text after another. */

import { parentPort } from 'node:worker_threads'

import { PrestigeError } from '../../platform/errors.ts'
import { type ModelFacts, type ModelRequest, SentenceModel } from './sentence-model.ts'

export type ToModel = { readonly open: ModelRequest } | { readonly text: string }

export interface Failure {
  readonly code: string | undefined
  readonly message: string
}

export type FromModel =
  | { readonly facts: ModelFacts }
  | { readonly vectors: readonly Float32Array[] }
  | { readonly failure: Failure }

let model: SentenceModel | undefined

async function answerTo(message: ToModel): Promise<FromModel> {
  try {
    if ('open' in message) {
      model = await SentenceModel.open(message.open)
      return { facts: model.facts }
    }
    if (!model) throw new Error('No model is open.')
    return { vectors: await model.embed(message.text) }
  } catch (failure) {
    return { failure: told(failure) }
  }
}

/** What crosses threads loses its class, so a failure is sent as text. */
function told(failure: unknown): Failure {
  const cause = failure instanceof Error ? failure.cause : undefined
  const because = cause instanceof Error ? ` (${cause.message})` : ''
  return {
    code: failure instanceof PrestigeError ? failure.code : undefined,
    message: `${failure instanceof Error ? failure.message : String(failure)}${because}`,
  }
}

async function answer(message: ToModel): Promise<void> {
  const said = await answerTo(message)
  const buffers = 'vectors' in said ? said.vectors.map(({ buffer }) => buffer) : []
  // safe: vectors are made here, in memory of their own that is not shared.
  parentPort?.postMessage(said, buffers as ArrayBuffer[])
}

parentPort?.on('message', (message: ToModel) => void answer(message))
