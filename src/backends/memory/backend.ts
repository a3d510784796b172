/**
 * The memory backend: runs every body at once, straight through. For tests, for small jobs, and as the
 * plainest statement of what the contract means. Gone when the process ends.
 */

import { type Bytes, copyOf, latin1 } from '../../platform/bytes.ts'
import type { BackendLimits, BackendOptions, Range, Space } from '../contract.ts'
import type { Draft } from '../kit/draft.ts'
import { namespacePrefix, within } from '../kit/namespace.ts'
import { OrderedMap } from '../kit/ordered-map.ts'
import type { Page, PageRange, RawRow } from '../kit/pages.ts'
import { SerialBackend, type SerialEngine } from '../kit/serial-backend.ts'

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

/** One namespace of the data. */
class MemoryRows implements SerialEngine {
  readonly name = 'memory backend'
  readonly limits: BackendLimits = LIMITS
  readonly #data: MemoryEngine
  readonly #prefix: Buffer

  constructor(data: MemoryEngine, prefix: Buffer) {
    this.#data = data
    this.#prefix = prefix
  }

  read<T>(work: () => T): T {
    return work()
  }

  async write(work: () => Draft): Promise<void> {
    this.#apply(work())
  }

  page(space: Space<unknown>, range: PageRange): Page {
    const limit = Math.min(range.limit, SCAN_PAGE)
    const rows = this.rows(space, { ...range, limit })
    return { rows, isLast: rows.length < limit }
  }

  /** A copy of the map; the bytes in it never change. */
  snapshot(): MemoryRows {
    const copy = new MemoryEngine()
    for (const [name, map] of this.#data.spaces) {
      const { start, end } = within(this.#prefix, {})
      const rows = copy.space(name)
      for (const [key, bytes] of map.slice(latin1(start), latin1(end), Infinity))
        rows.set(key, bytes)
    }
    return new MemoryRows(copy, this.#prefix)
  }

  async close(): Promise<void> {}

  get(space: Space<unknown>, key: Bytes): Bytes | undefined {
    const bytes = this.#data.space(space.name).get(this.#name(key))
    return bytes && copyOf(bytes)
  }

  *keys(space: Space<unknown>, range: Range): Generator<Buffer> {
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

  rows(space: Space<unknown>, range: PageRange): RawRow[] {
    const { start, end } = within(this.#prefix, range)
    return this.#slice(space, start, end, range.limit).map(([name, bytes]) => ({
      key: this.#key(name),
      bytes: copyOf(bytes),
    }))
  }

  #slice(space: Space<unknown>, start: Buffer, end: Buffer, limit: number): [string, Bytes][] {
    return this.#data.space(space.name).slice(latin1(start), latin1(end), limit)
  }

  #apply(draft: Draft): void {
    for (const { space, key, bytes } of draft.writes) {
      const map = this.#data.space(space.name)
      if (bytes === undefined) map.delete(this.#name(key))
      else map.set(this.#name(key), copyOf(bytes))
    }
    for (const { space, key, delta } of draft.additions) {
      const current = this.get(space, key)
      const sum = (current ? space.codec.decode(current) : 0) + delta
      this.#data.space(space.name).set(this.#name(key), space.codec.encode(sum))
    }
  }

  #name(key: Bytes): string {
    return latin1(this.#prefix) + latin1(key)
  }

  #key(name: string): Buffer {
    return Buffer.from(name.slice(this.#prefix.byteLength), 'latin1')
  }
}

export class MemoryBackend extends SerialBackend {
  constructor(options: Omit<BackendOptions, 'spaces'> = {}, engine = new MemoryEngine()) {
    super(new MemoryRows(engine, namespacePrefix(options.namespace)), options)
  }
}
