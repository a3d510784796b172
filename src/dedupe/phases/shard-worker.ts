/** A thread that reads and prepares one shard after another. It stays a few batches ahead, and no more. */

import { parentPort } from 'node:worker_threads'

import { sentFailure } from '../../platform/thread.ts'
import type { ReadingInput, Shard } from '../../input/index.ts'
import { Preparer, type Preparing } from '../decision/prepare.ts'
import { batchesOf } from './shard-batches.ts'

export interface ShardRequest {
  readonly preparing: Preparing
  readonly shard: Shard
  readonly reading: ReadingInput
  readonly strict: boolean
  /** Number of the run, if texts are packed. */
  readonly run: number | undefined
}

/** `taken`: one batch was taken, so there is room for another. */
export type ToWorker = ShardRequest | 'taken'

const AHEAD = 8

let room = AHEAD
let hasRoom: (() => void) | undefined

parentPort?.on('message', (message: ToWorker) => {
  if (message === 'taken') {
    room++
    hasRoom?.()
    return
  }
  void work(message)
})

async function work({ preparing, shard, reading, strict, run }: ShardRequest): Promise<void> {
  const { config, valueBytesMax, cellsMax, formVersion } = preparing
  try {
    for await (const batch of batchesOf(
      new Preparer(config, valueBytesMax, cellsMax, formVersion),
      shard,
      reading,
      strict,
      run,
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
