/** The other end of a `SketchWorker`: sketches batches until no more are sent. */

import { parentPort } from 'node:worker_threads'

import { kernels } from './kernels.ts'
import { answerOf, type BatchFailure, type BatchRequest } from './text-batch.ts'

parentPort?.on('message', (request: BatchRequest) => {
  try {
    const answer = answerOf(request, (text, profile, slots) =>
      kernels().sketch(text, profile, slots),
    )
    parentPort?.postMessage(answer, [answer.bytes, answer.slots.buffer, answer.counts.buffer])
  } catch (failure) {
    const answer: BatchFailure = { id: request.id, failure }
    parentPort?.postMessage(answer, [])
  }
})
