import { describe, expect, it } from 'vitest'

import { SimulatedWorld } from '../backends/simulated/backend.ts'
import { openStore } from '../index.ts'

describe('the health of a store', () => {
  it('says how much there is, what waits to be collected, and how old contents are', async () => {
    let now = 1_000_000
    await using store = await openStore('memory:', { clock: () => now, gc: 'manual' })
    await store.put('a', 'value')
    now += 50
    await store.put('b', 'value')
    await store.put('b', 'other')
    await store.put('c', 'third', { ttlMs: 10 })
    now += 1000
    await store.put('c', 'fourth', { ttlMs: 10 })
    await store.put('d', 'third', { ttlMs: 100 })
    now += 20
    expect(await store.health()).toEqual({
      totalKeys: 4,
      totalObjects: 4,
      totalBytes: 21,
      dedupRatio: 1,
      expiredKeys: 1,
      orphanedObjects: 2,
      oldestObjectAgeMs: 1070,
      newestObjectAgeMs: 20,
    })
    await store.collect()
    expect(await store.health()).toMatchObject({ expiredKeys: 0, orphanedObjects: 0 })
  })

  it('has no ages where there is nothing, or where rows are not in one order', async () => {
    await using empty = await openStore('memory:')
    const nothing = {
      totalKeys: 0,
      totalObjects: 0,
      totalBytes: 0,
      dedupRatio: 1,
      expiredKeys: 0,
      orphanedObjects: 0,
    }
    expect(await empty.health()).toEqual(nothing)
    await using elsewhere = await openStore(new SimulatedWorld(1).open('w'))
    await elsewhere.put('a', 'v')
    expect(await elsewhere.health()).toEqual({
      ...nothing,
      totalKeys: 1,
      totalObjects: 1,
      totalBytes: 1,
    })
  })

  it('counts a thousand at most of what waits', async () => {
    let now = 1_000_000
    await using store = await openStore('memory:', { clock: () => now })
    const items = Array.from({ length: 1005 }, (_, at) => ({ key: `${at}`, value: 'v', ttlMs: 1 }))
    await store.putMany(items)
    now += 10
    const { totalKeys, expiredKeys } = await store.health()
    expect([totalKeys, expiredKeys]).toEqual([1005, 1000])
  })
})
