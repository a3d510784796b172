import { describe, expect, it } from 'vitest'

import { openStore, type Outcome, type Receipt } from '../index.ts'

async function* items(count: number) {
  for (let at = 0; at < count; at++) yield { key: `k${at}`, value: `v${at % 10}` }
}

describe('many at once', () => {
  it('answers an array with an array, one outcome an item, in order', async () => {
    await using store = await openStore('memory:')
    const outcomes = await store.putMany([
      { key: 'a', value: 'x' },
      { key: '', value: 'no key' },
      { key: 'b', value: 'x', ttlMs: 1000 },
      { key: 'c', value: 42 as unknown as string },
      { key: 'd', value: undefined as unknown as string },
    ])
    expect(outcomes.map(({ key, ok }) => [key, ok])).toEqual([
      ['a', true],
      ['', false],
      ['b', true],
      ['c', false],
      ['d', false],
    ])
    expect(outcomes[1]).toMatchObject({ error: { code: 'INVALID_KEY' } })
    expect(outcomes[3]).toMatchObject({ error: { code: 'INVALID_VALUE' } })
    const got = await store.getMany(['b', 'missing', 'a'])
    expect(got.map((one) => one.ok && one.result?.toString())).toEqual(['x', undefined, 'x'])
    const gone = await store.deleteMany(['a', 'missing'])
    expect(gone.map((one) => one.ok && one.result)).toEqual([true, false])
  })

  it('answers an async iterable with an async iterable, in order', async () => {
    await using store = await openStore('memory:')
    const seen: string[] = []
    for await (const outcome of store.putMany(items(1000))) seen.push(String(outcome.key))
    expect(seen).toEqual(Array.from({ length: 1000 }, (_, at) => `k${at}`))
    expect(await store.stats()).toMatchObject({ keys: 1000, contents: 10 })
  })

  it('holds a bounded number and weight of items', async () => {
    await using store = await openStore('memory:')
    let taken = 0
    let told = 0
    let most = 0
    async function* heavy() {
      for (let at = 0; at < 40; at++) {
        taken++
        most = Math.max(most, taken - told)
        yield { key: `k${at}`, value: Buffer.alloc(4 * 1024 * 1024, at) }
      }
    }
    for await (const outcome of store.putMany(heavy())) if (outcome.ok) told++
    expect(told).toBe(40)
    expect(most).toBeLessThan(12)
  })

  it('holds a bounded weight of results', async () => {
    await using store = await openStore('memory:')
    await store.put('heavy', Buffer.alloc(8 * 1024 * 1024))
    let taken = 0
    let told = 0
    let most = 0
    async function* keys() {
      for (let at = 0; at < 60; at++) {
        taken++
        most = Math.max(most, taken - told)
        yield 'heavy'
      }
    }
    for await (const outcome of store.getMany(keys())) if (outcome.ok) told++
    expect(told).toBe(60)
    expect(most).toBeLessThan(20)
  })

  it('stops when it is told to, after what was begun has ended', async () => {
    await using store = await openStore('memory:')
    const stop = new AbortController()
    const outcomes: Outcome<Receipt>[] = []
    const running = (async () => {
      for await (const outcome of store.putMany(items(100_000), { signal: stop.signal })) {
        outcomes.push(outcome)
        if (outcomes.length === 300) stop.abort(new Error('enough'))
      }
    })()
    await expect(running).rejects.toThrow('enough')
    const { keys } = await store.stats()
    expect(keys).toBe(outcomes.length)
    expect(keys).toBeLessThan(2000)
  })

  it('does not fail when the signal comes after the last item', async () => {
    await using store = await openStore('memory:')
    const stop = new AbortController()
    const outcomes: Outcome<Receipt>[] = []
    for await (const outcome of store.putMany(items(10), { signal: stop.signal })) {
      outcomes.push(outcome)
      stop.abort()
    }
    expect(outcomes).toHaveLength(10)
  })

  it('refuses to begin with a signal that was given already', async () => {
    await using store = await openStore('memory:')
    const work = store.putMany([{ key: 'a', value: 'v' }], { signal: AbortSignal.abort() })
    await expect(work).rejects.toMatchObject({ name: 'AbortError' })
    expect(await store.has('a')).toBe(false)
  })

  it('ends what was begun when its reader leaves early', async () => {
    await using store = await openStore('memory:')
    let closed = false
    async function* source() {
      try {
        yield* items(5000)
      } finally {
        closed = true
      }
    }
    for await (const _outcome of store.putMany(source())) break
    expect(closed).toBe(true)
    const { keys } = await store.stats()
    expect(keys).toBeGreaterThan(0)
  })

  it('passes on what its source throws', async () => {
    await using store = await openStore('memory:')
    async function* broken() {
      yield { key: 'a', value: 'v' }
      throw new Error('the source broke')
    }
    const running = (async () => {
      for await (const _outcome of store.putMany(broken())) continue
    })()
    await expect(running).rejects.toThrow('the source broke')
    expect(await store.has('a')).toBe(true)
  })

  it('tells every item that its store was closed', async () => {
    const store = await openStore('memory:')
    await store.close()
    const outcomes = await store.getMany(['a', 'b'])
    expect(outcomes.map((one) => one.ok)).toEqual([false, false])
  })
})
