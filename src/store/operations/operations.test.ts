import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { SimulatedWorld } from '../../backends/simulated/backend.ts'
import { openStore } from '../../index.ts'
import { codeOf, describeOperations } from '../../../test/operations-kit.ts'

describe('in memory', () => {
  describeOperations((clock) => openStore('memory:', { clock }))
})

describe('in a directory', () => {
  let directory: string
  let stores = 0
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prestige-operations-'))
  })
  afterAll(() => rm(directory, { recursive: true }))
  describeOperations((clock) =>
    openStore(directory, { clock, durability: 'os', namespace: `store ${stores++}` }),
  )
})

describe('on an engine that runs bodies again', () => {
  describeOperations((clock) => {
    const world = new SimulatedWorld(7, { conflict: 0.1, lostReply: 0.1, failure: 0.05 })
    Object.defineProperty(world, 'time', { get: clock })
    return openStore(world.open('w'))
  })
})

describe('what is refused', () => {
  it.each<[string, object]>([
    ['ifAbsent and ifMatch cannot both be met', { ifAbsent: true, ifMatch: 'a'.repeat(64) }],
    ['ifMatch is a SHA-256 in hex, as head() reports it, not abc', { ifMatch: 'abc' }],
    ['ifAbsent is true or false, not 1', { ifAbsent: 1 }],
    ['Did you mean ifMatch?', { ifMatched: 'a' }],
    ['timeoutMs is a number of milliseconds greater than 0', { timeoutMs: 0 }],
    ['signal is an AbortSignal', { signal: 'now' }],
    ['retriesMax cannot be used here', { retriesMax: 1 }],
    ['metadata is an object of texts by name', { metadata: ['a'] }],
    ['"Content-Type" is no name of metadata', { metadata: { 'Content-Type': 'a' } }],
    ['"__proto__" is no name of metadata', { metadata: JSON.parse('{"__proto__": "a"}') }],
    ['The metadata "a" is a text without control characters', { metadata: { a: 'b\r\nc: d' } }],
    ['The metadata "a" is a text without control characters', { metadata: { a: 1 } }],
    ['The metadata "a" is a text without control characters', { metadata: { a: '\ud800' } }],
    ['has at most 2048 bytes', { metadata: { a: 'b'.repeat(2048) } }],
  ])('%s', async (message, options) => {
    await using store = await openStore('memory:')
    await expect(store.put('k', 'v', options)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining(message) as string,
    })
    expect(await store.has('k')).toBe(false)
  })

  it('a transaction names what is wrong with it', async () => {
    await using store = await openStore('memory:')
    const problem = async (operation: object, ...more: object[]) => {
      const list = [operation, ...more] as { put: string; value: string }[]
      return store.transaction(list).catch((error: Error) => error.message)
    }
    expect(await problem({ put: 'a', value: 'x' }, { delete: 'a' })).toContain('the key "a"')
    expect(await problem({ get: 'a' })).toContain('put, delete or check')
    expect(await problem({ check: 'a' })).toContain('A check needs')
    expect(await problem({ delete: 'a', ifAbsent: true })).toContain('ifAbsent is not an option')
    await using near = await openStore('memory:', { dedup: 'near' })
    const two = [
      { put: 'a', value: 'x' },
      { put: 'b', value: 'y' },
    ]
    expect(await codeOf(near.transaction(two))).toBe('INVALID_OPTIONS')
    expect(await near.transaction(two.slice(0, 1))).toMatchObject([{ content: 'new' }])
  })

  it('a transaction of more rows than the engine takes', async () => {
    await using store = await openStore(new SimulatedWorld(1).open('w'))
    const operations = Array.from({ length: 60 }, (_, at) => ({ put: `k${at}`, value: `v${at}` }))
    await expect(store.transaction(operations)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('60 operations are too many') as string,
    })
    expect((await store.stats()).keys).toBe(0)
  })
})
