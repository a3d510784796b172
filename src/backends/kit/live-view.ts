/** A view of a backend that writes nothing: the snapshot of one that cannot hold a moment, or holds one already. */

import type { Backend, BackendLimits, Range, ReadBody, Row, Space } from '../contract.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { Gate } from './gate.ts'

export class LiveView implements Backend {
  readonly limits: BackendLimits
  readonly serial: boolean
  readonly snapshots: boolean
  readonly #backend: Omit<Backend, 'close'>
  readonly #gate = new Gate('snapshot')

  constructor(backend: Omit<Backend, 'close'>) {
    this.#backend = backend
    this.limits = backend.limits
    this.serial = backend.serial
    this.snapshots = backend.snapshots
  }

  now(): number {
    return this.#backend.now()
  }

  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    return this.#gate.pass(() => this.#backend.read(body, ...args))
  }

  async *scan<V>(space: Space<V>, range?: Range): AsyncGenerator<Row<V>> {
    this.#gate.assertOpen()
    yield* this.#backend.scan(space, range)
  }

  async run(): Promise<never> {
    this.#gate.assertOpen()
    throw readOnlySnapshot()
  }

  async snapshot(): Promise<Backend> {
    this.#gate.assertOpen()
    return new LiveView(this)
  }

  close(): Promise<void> {
    return this.#gate.close(async () => {})
  }
}

export function readOnlySnapshot(): PrestigeError {
  return new PrestigeError('READ_ONLY', 'A snapshot is for reading only. Write to its backend.')
}
