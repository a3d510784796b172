/** The thread of a `FingerprintPool`: sketches batches until no more are sent. */

import { serve } from '../platform/thread.ts'
import { kernels } from './kernels.ts'
import { answerOf, type BatchAnswer, type BatchRequest } from './text-batch.ts'

serve<BatchAnswer>(
  (request: BatchRequest) =>
    answerOf(request, (text, profile, slots) => kernels().sketch(text, profile, slots)),
  ({ bytes, slots, counts }) => [bytes, slots.buffer, counts.buffer],
)
