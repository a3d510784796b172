/**
 * A real engine that runs bodies one after another (memory, LMDB), shared by some workers: every transaction, every read
 * and every page of a scan waits until the seed says whose turn it is. Rows are handed out for checks after every commit.
 */

import type {
  Backend,
  BackendLimits,
  Body,
  Codec,
  EngineFile,
  Range,
  ReadBody,
  Row,
  Space,
} from '../../src/backends/contract.ts'
import type { MemoryEngine } from '../../src/backends/memory/backend.ts'
import { pagesOf } from '../../src/backends/kit/pages.ts'
import type { SimulatedWorld } from '../../src/backends/simulated/backend.ts'
import type { Bytes } from '../../src/platform/bytes.ts'
import { storeSpaces } from '../../src/store/rows.ts'
import type { RowSource } from './invariants.ts'

const raw: Codec<Bytes> = { encode: (bytes) => bytes, decode: (bytes) => bytes }
/** As a row of the engine begins with its namespace. */
const NAMESPACE = Buffer.of(0)
const PAGE_ROWS = 2

export class SerialWorld {
  readonly #world: SimulatedWorld
  readonly #engine: Backend
  readonly #onChange: (rows: RowSource) => void
  readonly #memory: MemoryEngine | undefined

  /** `memory`: what the engine has in memory, which can be looked at directly. */
  constructor(
    world: SimulatedWorld,
    engine: Backend,
    onChange: (rows: RowSource) => void,
    memory?: MemoryEngine,
  ) {
    this.#world = world
    this.#engine = engine
    this.#onChange = onChange
    this.#memory = memory
  }

  open(worker: string): Backend {
    const changed = async () => this.#onChange(await this.rows())
    return new TurnTaking(this.#world, worker, this.#engine, changed)
  }

  /** No turn of the event loop passes meanwhile, and so no commit. */
  async rows(): Promise<RowSource> {
    const memory = this.#memory
    if (memory) {
      const rows = ({ name }: Space<unknown>) =>
        memory
          .space(name)
          .slice('', undefined, Infinity)
          .map(([key, bytes]) => ({ key: Buffer.from(key, 'latin1'), bytes: Buffer.from(bytes) }))
      return { rows }
    }
    const bySpace = new Map<string, { key: Buffer; bytes: Bytes }[]>()
    for (const space of storeSpaces) {
      const rows: { key: Buffer; bytes: Bytes }[] = []
      const found: AsyncIterable<Row<Bytes>> = this.#engine.scan({ ...space, codec: raw })
      for await (const { key, value } of found)
        rows.push({ key: Buffer.concat([NAMESPACE, key]), bytes: value })
      bySpace.set(space.name, rows)
    }
    return { rows: ({ name }) => bySpace.get(name) ?? [] }
  }
}

/** What one worker sees of the engine. */
class TurnTaking implements Backend {
  readonly limits: BackendLimits
  readonly serial: boolean
  readonly snapshots: boolean
  readonly #world: SimulatedWorld
  readonly #worker: string
  readonly #engine: Backend
  /** Absent: a moment that is held, where nothing changes. */
  readonly #changed: (() => Promise<void>) | undefined

  constructor(
    world: SimulatedWorld,
    worker: string,
    engine: Backend,
    changed?: () => Promise<void>,
  ) {
    this.#world = world
    this.#worker = worker
    this.#engine = engine
    this.#changed = changed
    this.serial = engine.serial
    this.snapshots = engine.snapshots
    // Long values have several parts, as on an engine with short rows.
    const { keyBytesMax } = engine.limits
    this.limits = { ...world.limits, keyBytesMax }
  }

  get file(): EngineFile | undefined {
    const { file } = this.#engine
    if (!file) return undefined
    const compact = async () => {
      await this.#turn()
      await file.compact()
      await this.#changed?.()
    }
    return { bytes: () => file.bytes(), compact, isShared: () => file.isShared() }
  }

  now(): number {
    return this.#engine.now()
  }

  async read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    await this.#turn()
    return this.#engine.read(body, ...args)
  }

  async run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    await this.#turn()
    try {
      return await this.#engine.run(body, ...args)
    } finally {
      await this.#changed?.()
    }
  }

  async *scan<V>(space: Space<V>, range: Range = {}): AsyncGenerator<Row<V>> {
    if (!space.ordered) {
      await this.#turn()
      yield* this.#engine.scan(space, range)
      return
    }
    const raws = { ...space, codec: raw }
    const rows = pagesOf(range, async (page) => {
      await this.#turn()
      const limit = Math.min(page.limit, PAGE_ROWS)
      const found: { key: Buffer; bytes: Bytes }[] = []
      for await (const { key, value } of this.#engine.scan(raws, { ...page, limit }))
        found.push({ key, bytes: value })
      return { rows: found, isLast: found.length < limit }
    })
    for await (const { key, bytes } of rows)
      yield { key: Buffer.from(key), value: space.codec.decode(bytes, key) }
  }

  async snapshot(): Promise<Backend> {
    await this.#turn()
    const moment = await this.#engine.snapshot()
    return new TurnTaking(this.#world, this.#worker, moment)
  }

  /** The engine is shared: whoever made it closes it. A moment is this worker's own. */
  async close(): Promise<void> {
    if (!this.#changed) await this.#engine.close()
  }

  #turn(): Promise<void> {
    return this.#world.pause(this.#worker)
  }
}
