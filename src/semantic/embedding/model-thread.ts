/** One worker thread with a model in it, which is opened at first use, and again if the thread died. */

import { PrestigeError } from '../../platform/errors.ts'
import { startThread, Thread } from '../../platform/thread.ts'
import type { FromModel, ToModel } from './model-worker.ts'
import type { ModelFacts, ModelRequest } from './sentence-model.ts'

export class ModelThread {
  readonly #request: ModelRequest
  readonly #thread = new Thread<ToModel, FromModel | undefined>('A thread with a model', () => {
    this.#facts = undefined
    return startThread(import.meta.url, './model-worker')
  })
  #facts: ModelFacts | undefined

  constructor(request: ModelRequest) {
    this.#request = request
  }

  async open(): Promise<ModelFacts> {
    if (this.#thread.isRunning && this.#facts) return this.#facts
    const { facts } = opened(await this.#thread.ask({ open: this.#request }))
    this.#facts = facts
    return facts
  }

  /** One at a time: whoever owns the thread sees to it. */
  async embed(text: string): Promise<readonly Float32Array[]> {
    await this.open()
    return opened(await this.#thread.ask({ text })).vectors
  }

  /** A thread that ends while the runtime computes a window takes the process with it: that window is waited for. */
  async close(): Promise<void> {
    if (this.#thread.busy > 0) await this.#thread.ask({ stop: true }).catch(() => undefined)
    await this.#thread.close()
  }
}

function opened(answer: FromModel | undefined): FromModel {
  if (answer) return answer
  throw new PrestigeError('WORKER_FAILED', 'A thread with a model gave no answer.')
}
