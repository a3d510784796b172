import { describe, expect, it } from 'vitest'

import {
  type Backend,
  type Body,
  MemoryBackend,
  MemoryEngine,
  type Range,
  type ReadBody,
  type Row,
  type Space,
} from '../../exports/backend.ts'
import { SimulatedWorld } from '../../backends/simulated/backend.ts'
import { openStore, type PrestigeError, type Store } from '../../index.ts'
import { contents, staged } from '../rows.ts'

/** An engine that lets a test decide when it begins and when it answers. */
class HeldBackend implements Backend {
  readonly inner: Backend
  readonly limits: Backend['limits']
  readonly serial: boolean
  readonly snapshots: boolean
  before: Promise<unknown> | undefined
  after: Promise<void> | undefined
  runs = 0
  onRun: ((runs: number) => void) | undefined

  constructor(inner: Backend = new MemoryBackend({})) {
    this.inner = inner
    this.limits = inner.limits
    this.serial = inner.serial
    this.snapshots = inner.snapshots
  }

  now(): number {
    return this.inner.now()
  }

  async read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    await this.before
    return this.inner.read(body, ...args)
  }

  async run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    this.onRun?.(++this.runs)
    await this.before
    const end = await this.inner.run(body, ...args)
    await this.after
    return end
  }

  async *scan<V>(space: Space<V>, range?: Range): AsyncGenerator<Row<V>> {
    await this.before
    yield* this.inner.scan(space, range)
  }

  snapshot(): Promise<Backend> {
    return this.inner.snapshot()
  }

  close(): Promise<void> {
    return this.inner.close()
  }
}

function held(): { promise: Promise<void>; release: () => void } {
  let release = () => {}
  const promise = new Promise<void>((resolve) => (release = resolve))
  return { promise, release }
}

async function opened(): Promise<{ engine: HeldBackend; store: Store }> {
  const engine = new HeldBackend()
  return { engine, store: await openStore(engine) }
}

async function failureOf(work: Promise<unknown>): Promise<Partial<PrestigeError>> {
  return work.then(
    () => ({}),
    (error: PrestigeError) => error,
  )
}

/** When a call has ended, what it leaves is removed behind it. */
async function rowsLeft(backend: Backend, space: Space<unknown>): Promise<number> {
  let rows = 1
  for (let turns = 0; rows > 0 && turns < 1000; turns++) {
    rows = 0
    for await (const _row of backend.scan(space)) rows++
    if (rows > 0) await new Promise(setImmediate)
  }
  return rows
}

/** Of long values, so much is written in one transaction. */
const PART_BYTES = 4 * 1024 * 1024

const reason = new Error('the user went away')

describe('a call that is given up', () => {
  it('before it began: nothing is asked of the engine', async () => {
    const { engine, store } = await opened()
    const before = engine.runs
    const signal = AbortSignal.abort(reason)
    for (const work of [
      store.put('k', 'v', { signal }),
      store.putJson('k', 1, { signal }),
      store.delete('k', { signal }),
      store.get('k', { signal }),
      store.has('k', { signal }),
      store.head('k', { signal }),
      store.collect({ signal }),
      store.clear({ signal }),
      store.transaction([{ put: 'k', value: 'v' }], { signal }),
      store.update('k', () => 'v', { signal }),
      store.keys({ signal }).next(),
    ]) {
      const { code, outcome, cause, retryable } = await failureOf(work)
      expect({ code, outcome, cause, retryable }).toEqual({
        code: 'ABORTED',
        outcome: 'not-done',
        cause: reason,
        retryable: false,
      })
    }
    expect(engine.runs).toBe(before)
    await store.close()
  })

  it('while it waits for the engine: at once, and it is never done', async () => {
    const { engine, store } = await opened()
    const gate = held()
    engine.before = gate.promise
    const stop = new AbortController()
    const { signal } = stop
    const calls = [
      store.put('k', 'v', { signal }),
      store.transaction([{ put: 'k', value: 'v' }], { signal }),
      store.get('k', { signal }),
    ]
    const failures = Promise.all(calls.map(failureOf))
    stop.abort(reason)
    for (const failure of await failures) {
      expect(failure).toMatchObject({ code: 'ABORTED', outcome: 'not-done' })
    }
    expect(JSON.stringify((await failures)[0])).toContain('"outcome":"not-done"')
    gate.release()
    engine.before = undefined
    expect(await store.has('k')).toBe(false)
    expect(await store.stats()).toMatchObject({ keys: 0, contents: 0 })
    await store.close()
  })

  it('in the middle of its transaction: that never commits', async () => {
    const world = new SimulatedWorld(9)
    world.audits = false
    const store = await openStore(world.open('w'))
    const stop = new AbortController()
    const pause = world.pause.bind(world)
    // The first of the engine's steps is the one that reads for the body.
    world.pause = (worker) => {
      stop.abort(reason)
      return pause(worker)
    }
    const failure = await failureOf(store.put('k', 'v', { signal: stop.signal }))
    expect(failure).toMatchObject({ code: 'ABORTED', outcome: 'not-done' })
    await store.put('other', 'w')
    expect(await store.has('k')).toBe(false)
    expect((await store.stats()).keys).toBe(1)
    await store.close()
  })

  it('while it is committed: what the engine answers soon, or that it is not known', async () => {
    const { engine, store } = await opened()
    const stop = new AbortController()
    engine.after = new Promise((resolve) => {
      setImmediate(() => {
        stop.abort(reason)
        setImmediate(resolve)
      })
    })
    expect(await store.put('soon', 'v', { signal: stop.signal })).toMatchObject({ key: 'created' })

    const gate = held()
    engine.after = gate.promise
    const late = await failureOf(store.put('late', 'v', { timeoutMs: 5 }))
    expect(late).toMatchObject({ code: 'TIMED_OUT', outcome: 'unknown', retryable: true })
    expect(late.message).toContain('5 ms')
    gate.release()
    await store.close()
  })

  it('after a time: nothing was written', async () => {
    const { engine, store } = await opened()
    const gate = held()
    engine.before = gate.promise
    for (const work of [
      store.put('k', 'v', { timeoutMs: 5 }),
      store.delete('k', { timeoutMs: 5 }),
      store.get('k', { timeoutMs: 5 }),
      store.update('k', () => 'v', { timeoutMs: 5 }),
      store.keys({ timeoutMs: 5 }).next(),
      store.collect({ timeoutMs: 5 }),
    ]) {
      expect(await failureOf(work)).toMatchObject({ code: 'TIMED_OUT', outcome: 'not-done' })
    }
    gate.release()
    engine.before = undefined
    expect(await store.has('k')).toBe(false)
    await store.close()
  })

  it('in the middle of a long value: it goes no further, and its parts are removed behind it', async () => {
    const { engine, store } = await opened()
    const stop = new AbortController()
    const first = engine.runs
    engine.onRun = (runs) => {
      if (runs === first + 3) stop.abort(reason)
    }
    const large = Buffer.alloc(4 * PART_BYTES, 'x')
    await failureOf(store.put('k', large, { signal: stop.signal }))
    expect(await rowsLeft(engine.inner, staged)).toBe(0)
    expect(await rowsLeft(engine.inner, contents)).toBe(0)
    // The first look, the announcement, one part; then burying and removing them.
    expect(engine.runs - first).toBeLessThanOrEqual(5)
    await store.close()
  })

  it('in the last transaction of a long value: its parts are removed behind it', async () => {
    const inner = new MemoryBackend({})
    const store = await openStore(inner)
    const stop = new AbortController()
    const run = inner.run.bind(inner)
    let runs = 0
    inner.run = (body, ...args) =>
      run(
        function* (scope, ...own) {
          const work = body(scope, ...own)
          let step = work.next()
          // A look, the announcement, one part; then the transaction that makes it visible, which has begun by now.
          if (++runs === 4) stop.abort(reason)
          while (step.done !== true) step = work.next(yield step.value)
          return step.value
        },
        ...args,
      )
    const failure = await failureOf(store.put('k', Buffer.alloc(1e6), { signal: stop.signal }))
    expect(failure).toMatchObject({ code: 'ABORTED', outcome: 'not-done' })
    expect(await rowsLeft(inner, staged)).toBe(0)
  })

  it('while it cleans up after the commit: done', async () => {
    const world = new SimulatedWorld(3)
    const engine = new HeldBackend(world.open('w'))
    const store = await openStore(engine)
    await store.put('k', 'old')
    const stop = new AbortController()
    const first = engine.runs
    // The second transaction of a put that replaces is the collector's.
    engine.onRun = (runs) => {
      if (runs !== first + 2) return
      engine.before = held().promise
      stop.abort(reason)
    }
    const failure = await failureOf(store.put('k', 'new', { signal: stop.signal }))
    expect(failure).toMatchObject({ code: 'ABORTED', outcome: 'done' })
    engine.before = undefined
    expect(await store.getText('k')).toBe('new')
  })

  it('while parts that were not needed are removed: it was done all the same', async () => {
    const shared = new MemoryEngine()
    const engine = new HeldBackend(new MemoryBackend({}, shared))
    const store = await openStore(engine)
    const other = await openStore(new MemoryBackend({}, shared))
    const large = Buffer.alloc(2 * PART_BYTES, 'x')
    const stop = new AbortController()
    const first = engine.runs
    // A look, the announcement, two parts; then another puts the same, so that they are not needed.
    engine.onRun = (runs) => {
      if (runs === first + 5) engine.before = other.put('other', large)
      if (runs === first + 7) stop.abort(reason)
    }
    const receipt = await store.put('k', large, { signal: stop.signal })
    expect([receipt.content, stop.signal.aborted]).toEqual(['duplicate', true])
    expect(engine.runs).toBeGreaterThan(first + 7)
    await other.close()
    await store.close()
  })

  it('between the steps of a collection: some are done, and the next one goes on', async () => {
    let time = 1
    const engine = new HeldBackend()
    const store = await openStore(engine, { gc: 'manual' })
    Object.defineProperty(engine.inner, 'now', { value: () => time })
    // Two slices, of which the first is done.
    for (let key = 0; key < 100; key++) await store.put(`k${key}`, `v${key}`)
    await store.clear()
    time++
    const stop = new AbortController()
    const first = engine.runs
    engine.onRun = (runs) => {
      if (runs === first + 70) stop.abort(reason)
    }
    const failure = await failureOf(store.collect({ signal: stop.signal }))
    expect(failure).toMatchObject({ code: 'ABORTED', outcome: 'partial' })
    expect((await store.collect()).contents).toBe(36)
    await store.close()
  })

  it('of a verification: after a time', async () => {
    const { engine, store } = await opened()
    await using _closed = store
    await store.put('k', 'v')
    const gate = held()
    engine.before = gate.promise
    const failure = failureOf(store.verify({ timeoutMs: 1 }))
    await new Promise((resolve) => setTimeout(resolve, 20))
    gate.release()
    expect(await failure).toMatchObject({ code: 'TIMED_OUT', outcome: 'not-done' })
  })

  it('of many items: those under way are finished', async () => {
    const { store } = await opened()
    async function* endless() {
      for (let at = 0; ; at++) {
        yield { key: `k${at}`, value: 'v' }
        await new Promise(setImmediate)
      }
    }
    let done = 0
    const work = (async () => {
      for await (const { ok } of store.putMany(endless(), { timeoutMs: 20 })) if (ok) done++
    })()
    expect(await failureOf(work)).toMatchObject({ code: 'TIMED_OUT', outcome: 'partial' })
    expect((await store.stats()).keys).toBe(done)
    await store.close()
  })
})

describe('retriesMax', () => {
  const contended = () => {
    const world = new SimulatedWorld(5)
    world.audits = false
    return { world, open: () => openStore(world.open('w')) }
  }

  it('bounds how often a transaction is run again', async () => {
    const { world, open } = contended()
    await using store = await open()
    world.faults = { ...world.faults, conflict: 1 }
    const failure = await failureOf(store.put('k', 'v', { retriesMax: 2 }))
    expect(failure).toMatchObject({ code: 'CONTENDED', retryable: true })
    expect(failure.message).toContain('after 3 attempts (retriesMax: 2)')
    world.faults = { ...world.faults, conflict: 0 }
    expect(await store.has('k')).toBe(false)
    expect((await store.put('k', 'v', { retriesMax: 0 })).key).toBe('created')
  })

  it('of a store is refused where it would do nothing', async () => {
    await expect(openStore('memory:', { retriesMax: 1 })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('retriesMax cannot be used here') as string,
    })
    await expect(openStore('redis://x', { retriesMax: -1 })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('whole number from 0') as string,
    })
  })
})
