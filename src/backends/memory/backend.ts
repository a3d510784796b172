/**
 * The memory backend: runs every body at once, straight through. For tests, for small jobs, and as the
 * plainest statement of what the contract means. Gone when the process ends.
 */

import { type Bytes, copyOf, latin1 } from '../../platform/bytes.ts'
import type {
  Backend,
  BackendLimits,
  BackendOptions,
  Body,
  Range,
  ReadBody,
  Row,
  Space,
} from '../contract.ts'
import { Draft, ReadDraft } from '../kit/draft.ts'
import { Gate } from '../kit/gate.ts'
import { checkedClock, IdSource, systemRandom } from '../kit/ids.ts'
import { checkWrites } from '../kit/limits.ts'
import { namespacePrefix, within } from '../kit/namespace.ts'
import { OrderedMap } from '../kit/ordered-map.ts'
import { drive, type RawRow, type SerialReader } from '../kit/serial.ts'

const LIMITS: BackendLimits = {
  keyBytesMax: 1900,
  valueBytesMax: 4 * 1024 * 1024,
  cellsMax: 100_000,
}
const SCAN_PAGE = 256

/** What several memory backends of one process can share, each in its own namespace. */
export class MemoryEngine {
  readonly spaces = new Map<string, OrderedMap<Bytes>>()

  space(name: string): OrderedMap<Bytes> {
    const known = this.spaces.get(name)
    if (known) return known
    const made = new OrderedMap<Bytes>()
    this.spaces.set(name, made)
    return made
  }
}

export class MemoryBackend implements Backend {
  readonly limits: BackendLimits = LIMITS
  readonly serial = true
  readonly #engine: MemoryEngine
  readonly #prefix: Buffer
  readonly #ids: IdSource
  readonly #clock: () => number
  readonly #gate = new Gate('memory backend')
  readonly #reader: SerialReader

  constructor(options: Omit<BackendOptions, 'spaces'> = {}, engine = new MemoryEngine()) {
    this.#engine = engine
    this.#prefix = namespacePrefix(options.namespace)
    this.#clock = checkedClock(options.clock)
    this.#ids = new IdSource(this.#clock, options.random ?? systemRandom)
    this.#reader = {
      get: (space, key) => this.#get(space, key),
      keys: (space, range) => this.#keys(space, range),
      rows: (space, range) => this.#rows(space, range),
    }
  }

  now(): number {
    return this.#clock()
  }

  async read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    this.#gate.assertOpen()
    return drive(this.#reader, body(new ReadDraft(this.#clock()), ...args), undefined)
  }

  async run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    this.#gate.assertOpen()
    const draft = new Draft(true, this.#ids, this.#clock())
    const result = drive(this.#reader, body(draft, ...args), draft)
    checkWrites(draft, this.limits)
    this.#apply(draft)
    return result
  }

  async *scan<V>(space: Space<V>, range: Range = {}): AsyncGenerator<Row<V>> {
    let left = range.limit ?? Infinity
    let { start, end } = within(this.#prefix, range)
    while (left > 0) {
      this.#gate.assertOpen()
      const page = this.#slice(space, start, end, Math.min(left, SCAN_PAGE))
      for (const [name, bytes] of page) {
        start = Buffer.from(`${name}\0`, 'latin1')
        const key = this.#key(name)
        yield { key, value: space.codec.decode(copyOf(bytes), key) }
      }
      if (page.length < SCAN_PAGE) return
      left -= page.length
    }
  }

  close(): Promise<void> {
    return this.#gate.close(async () => {})
  }

  #get(space: Space<unknown>, key: Bytes): Bytes | undefined {
    const bytes = this.#engine.space(space.name).get(this.#name(key))
    return bytes && copyOf(bytes)
  }

  *#keys(space: Space<unknown>, range: Range): Generator<Buffer> {
    let { start, end } = within(this.#prefix, range)
    for (;;) {
      const page = this.#slice(space, start, end, 8)
      for (const [name] of page) {
        yield this.#key(name)
        start = Buffer.from(`${name}\0`, 'latin1')
      }
      if (page.length === 0) return
    }
  }

  #rows(space: Space<unknown>, range: Range & { readonly limit: number }): RawRow[] {
    const { start, end } = within(this.#prefix, range)
    return this.#slice(space, start, end, range.limit).map(([name, bytes]) => ({
      key: this.#key(name),
      bytes: copyOf(bytes),
    }))
  }

  #slice(space: Space<unknown>, start: Buffer, end: Buffer, limit: number): [string, Bytes][] {
    return this.#engine.space(space.name).slice(latin1(start), latin1(end), limit)
  }

  #apply(draft: Draft): void {
    for (const { space, key, bytes } of draft.writes) {
      const map = this.#engine.space(space.name)
      if (bytes === undefined) map.delete(this.#name(key))
      else map.set(this.#name(key), copyOf(bytes))
    }
    for (const { space, key, delta } of draft.additions) {
      const current = this.#get(space, key)
      const sum = (current ? space.codec.decode(current) : 0) + delta
      this.#engine.space(space.name).set(this.#name(key), space.codec.encode(sum))
    }
  }

  #name(key: Bytes): string {
    return latin1(this.#prefix) + latin1(key)
  }

  #key(name: string): Buffer {
    return Buffer.from(name.slice(this.#prefix.byteLength), 'latin1')
  }
}
