import { describe, expect, it } from 'vitest'

import { openStore, type ItemOutcome, type Receipt } from '../index.ts'

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
    let ended = 0
    let most = 0
    async function* heavy() {
      for (let at = 0; at < 40; at++) {
        taken++
        most = Math.max(most, taken - ended)
        yield { key: `k${at}`, value: Buffer.alloc(4 * 1024 * 1024, at) }
      }
    }
    for await (const outcome of store.putMany(heavy())) if (outcome.ok) ended++
    expect(ended).toBe(40)
    expect(most).toBeLessThan(12)
  })

  it('holds a bounded weight of results', async () => {
    await using store = await openStore('memory:')
    await store.put('heavy', Buffer.alloc(8 * 1024 * 1024))
    let taken = 0
    let ended = 0
    let most = 0
    async function* keys() {
      for (let at = 0; at < 60; at++) {
        taken++
        most = Math.max(most, taken - ended)
        yield 'heavy'
      }
    }
    for await (const outcome of store.getMany(keys())) if (outcome.ok) ended++
    expect(ended).toBe(60)
    expect(most).toBeLessThan(20)
  })

  it('stops when the signal aborts, after what was begun has ended', async () => {
    await using store = await openStore('memory:')
    const stop = new AbortController()
    const outcomes: ItemOutcome<Receipt>[] = []
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
    const outcomes: ItemOutcome<Receipt>[] = []
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

  it('tells what was stored before its source broke', async () => {
    await using store = await openStore('memory:')
    const ended: string[] = []
    async function* broken() {
      yield* items(100)
      throw new Error('the source broke')
    }
    const running = (async () => {
      for await (const { key } of store.putMany(broken())) ended.push(String(key))
    })()
    await expect(running).rejects.toThrow('the source broke')
    expect(ended).toHaveLength(100)
  })

  it('stops at once when its source is silent', async () => {
    await using store = await openStore('memory:')
    const stop = new AbortController()
    async function* silent() {
      yield { key: 'a', value: 'v' }
      await new Promise(() => {})
    }
    const ended: string[] = []
    const running = (async () => {
      for await (const { key } of store.putMany(silent(), { signal: stop.signal }))
        ended.push(String(key))
    })()
    setTimeout(() => stop.abort(new Error('enough')), 20)
    await expect(running).rejects.toThrow('enough')
    expect(ended).toEqual(['a'])
  })

  it('lets the last item of a key win, however long the others take', async () => {
    await using store = await openStore('memory:')
    const large = Buffer.alloc(9 * 1024 * 1024, 1)
    const outcomes = await store.putMany([
      { key: 'clé', value: large },
      { key: Buffer.from('clé'), value: 'second' },
      { key: 'other', value: 'x' },
      { key: 'clé', value: large },
      { key: 'clé', value: 'last' },
    ])
    expect(outcomes.map((one) => one.ok && one.result.key)).toEqual([
      'created',
      'replaced',
      'created',
      'replaced',
      'replaced',
    ])
    expect(await store.getText('clé')).toBe('last')
  })

  it('takes everything that is there at once, and no text for a list of letters', async () => {
    await using store = await openStore('memory:')
    const outcomes = await store.putMany(new Set([{ key: 'a', value: 'v' }]))
    expect(outcomes).toHaveLength(1)
    expect(await store.deleteMany(new Map([['a', 1]]).keys())).toMatchObject([{ result: true }])
    const lists = ['users/alice', Buffer.from('bytes'), 5, null] as unknown as string[][]
    for (const list of lists) {
      expect(() => store.deleteMany(list)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTIONS' }),
      )
    }
  })

  it('gives even what is no item its outcome', async () => {
    await using store = await openStore('memory:')
    const odd = [{ key: 'a', value: 'v' }, null, { key: 'b', value: 'v', ttl: 5 }] as {
      key: string
      value: string
    }[]
    const outcomes = await store.putMany(odd)
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, false])
    expect(outcomes[2]).toMatchObject({ error: { code: 'INVALID_OPTIONS' } })
  })

  it('tells every item that its store was closed', async () => {
    const store = await openStore('memory:')
    await store.close()
    const outcomes = await store.getMany(['a', 'b'])
    expect(outcomes.map((one) => one.ok)).toEqual([false, false])
  })
})
