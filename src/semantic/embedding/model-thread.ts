/** One worker thread with a model in it, which is opened at first use, and again if the thread died. */

import { startThread, Thread } from '../../platform/thread.ts'
import type { FromModel, ToModel } from './model-worker.ts'
import type { ModelFacts, ModelRequest } from './sentence-model.ts'

export class ModelThread {
  readonly #request: ModelRequest
  readonly #thread = new Thread<ToModel, FromModel>('A thread with a model', () => {
    this.#facts = undefined
    return startThread(import.meta.url, './model-worker')
  })
  #facts: ModelFacts | undefined

  constructor(request: ModelRequest) {
    this.#request = request
  }

  async open(): Promise<ModelFacts> {
    if (this.#thread.isRunning && this.#facts) return this.#facts
    const { facts } = await this.#thread.ask({ open: this.#request })
    this.#facts = facts
    return facts
  }

  /** One at a time: whoever owns the thread sees to it. */
  async embed(text: string): Promise<readonly Float32Array[]> {
    await this.open()
    return (await this.#thread.ask({ text })).vectors
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
