/** The other end of a `ModelThread`: loads the model it is given, then embeds one text after another. */

import { serve } from '../../platform/thread.ts'
import { type ModelFacts, type ModelRequest, SentenceModel } from './sentence-model.ts'

export type ToModel = { readonly open: ModelRequest } | { readonly text: string }

export interface FromModel {
  readonly facts: ModelFacts
  /** Of the text, if one was given. */
  readonly vectors: readonly Float32Array[]
}

let model: SentenceModel | undefined

async function answerTo(message: ToModel): Promise<FromModel> {
  if ('open' in message) model = await SentenceModel.open(message.open)
  if (!model) throw new Error('No model is open.')
  const vectors = 'text' in message ? await model.embed(message.text) : []
  return { facts: model.facts, vectors }
}

// safe: vectors are made here, in memory of their own that is not shared.
serve(answerTo, ({ vectors }) => vectors.map(({ buffer }) => buffer as ArrayBuffer))
