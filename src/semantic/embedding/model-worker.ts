/** The other end of a `ModelThread`: loads the model it is given, then embeds one text after another. */

import { serve } from '../../platform/thread.ts'
import { type ModelFacts, type ModelRequest, SentenceModel } from './sentence-model.ts'

export type ToModel =
  | { readonly open: ModelRequest }
  | { readonly text: string }
  /** Ends what it is busy with at the next window, and answers when that is done. */
  | { readonly stop: true }

export interface FromModel {
  readonly facts: ModelFacts
  /** Of the text, if one was given. */
  readonly vectors: readonly Float32Array[]
}

let model: SentenceModel | undefined
let work: Promise<FromModel> | undefined
const stopping = new AbortController()

async function answerTo(message: ToModel): Promise<FromModel | undefined> {
  if ('stop' in message) {
    stopping.abort(new Error('It was closed.'))
    await work?.catch(() => undefined)
    return undefined
  }
  work = perform(message)
  return work
}

async function perform(message: Exclude<ToModel, { stop: true }>): Promise<FromModel> {
  if ('open' in message) model = await SentenceModel.open(message.open)
  if (!model) throw new Error('No model is open.')
  const vectors = 'text' in message ? await model.embed(message.text, stopping.signal) : []
  return { facts: model.facts, vectors }
}

// safe: vectors are made here, in memory of their own that is not shared.
serve(answerTo, (answer) => answer?.vectors.map(({ buffer }) => buffer as ArrayBuffer) ?? [])
