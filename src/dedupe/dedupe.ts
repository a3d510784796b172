/** `dedupe(documents)`: a stream of documents in, a stream of decisions out. */

import { randomBytes } from 'node:crypto'

import { BatchSize } from './phases/batch-size.ts'
import type { DocumentLike } from './decision/prepare.ts'
import type { Decision } from './decision/decision.ts'
import type { State } from './state.ts'
import { keepStreamed } from './streams.ts'

const BATCHES_UNDER_WAY = 4

export interface StreamOptions {
  /** Names this run in the state. */
  readonly run: string
  readonly signal?: AbortSignal | undefined
  /** Nothing is kept: documents are only held against what is there. */
  readonly against?: boolean | undefined
}

/** Decisions in the order of the documents; goes on only as they are taken. */
export async function* decideStream(
  state: State,
  documents: AsyncIterable<DocumentLike> | Iterable<DocumentLike>,
  { run, signal, against = false }: StreamOptions,
): AsyncGenerator<Decision> {
  const session = randomBytes(6).toString('base64url')
  const underWay: Promise<Decision[]>[] = []
  let batch: DocumentLike[] = []
  const size = new BatchSize()
  const begin = () => {
    const prepared = batch.map((document) => state.prepare(document))
    batch = []
    size.clear()
    const decided = against
      ? Promise.all(prepared.map((one) => state.lookAt(one, signal)))
      : state.decide(prepared, { run, session, signal }, keepStreamed(run))
    // Whoever stops taking decisions must not leave a rejection that nobody hears.
    decided.catch(() => {})
    underWay.push(decided)
  }
  for await (const document of documents) {
    signal?.throwIfAborted()
    batch.push(document)
    if (size.add(document.text?.length ?? 0)) begin()
    if (underWay.length >= BATCHES_UNDER_WAY) yield* (await underWay.shift()) ?? []
  }
  if (batch.length > 0) begin()
  for (const decided of underWay) yield* await decided
}
