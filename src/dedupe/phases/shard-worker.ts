/** A thread that reads and prepares one shard after another. It stays a few batches ahead, and no more. */

import { parentPort } from 'node:worker_threads'

import { sentFailure } from '../../platform/thread.ts'
import type { Document, ReadingInput, Reject, Shard } from '../../input/index.ts'
import { Preparer, type Preparing } from '../decision/prepare.ts'
import { batchesOf, itemOf, type ReplayedItem } from './shard-batches.ts'

export interface ShardRequest {
  readonly preparing: Preparing
  readonly shard: Shard
  readonly reading: ReadingInput
  readonly strict: boolean
  /** Number of the run, if texts are packed. */
  readonly run: number | undefined
  /** What is in it is sent, each time `more` is asked for. */
  readonly isReplayed: boolean
}

/** Some of the documents and rejects of a shard; `undefined`: there are no more. */
export interface Fed {
  readonly items: readonly ReplayedItem[] | undefined
}

/** `taken`: one batch was taken, so there is room for another. */
export type ToWorker = ShardRequest | Fed | 'taken'

const AHEAD = 8

let room = AHEAD
let hasRoom: (() => void) | undefined
let feed: ((fed: Fed) => void) | undefined

parentPort?.on('message', (message: ToWorker) => {
  if (message === 'taken') {
    room++
    hasRoom?.()
    return
  }
  if ('items' in message) feed?.(message)
  else void work(message)
})

async function* itemsSent(): AsyncGenerator<readonly (Document | Reject)[]> {
  for (;;) {
    const { items } = await new Promise<Fed>((resolve) => {
      feed = resolve
      parentPort?.postMessage('more', [])
    })
    if (!items) return
    yield items.map(itemOf)
  }
}

async function work(request: ShardRequest): Promise<void> {
  const { preparing, shard, reading, strict, run, isReplayed } = request
  const { config, valueBytesMax, cellsMax, formVersion } = preparing
  try {
    for await (const batch of batchesOf(
      new Preparer(config, valueBytesMax, cellsMax, formVersion),
      shard,
      reading,
      strict,
      run,
      isReplayed ? itemsSent() : undefined,
    )) {
      while (room <= 0) {
        await new Promise<void>((resolve) => {
          hasRoom = resolve
        })
      }
      room--
      parentPort?.postMessage({ batch }, [])
    }
  } catch (failure) {
    parentPort?.postMessage({ failure: sentFailure(failure) }, [])
  }
}
