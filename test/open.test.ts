/** The four functions that open something accept, and refuse, the same locations and options in the same words. */

import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { openDedupe, openLedger, openResolver, openStore, PrestigeError } from '../src/index.ts'
import { MemoryBackend } from '../src/backends/memory/index.ts'

type Open = (location: never, options?: never) => Promise<{ close(): Promise<void> }>

const functions = { openStore, openResolver, openLedger, openDedupe } as unknown as Readonly<
  Record<string, Open>
>
const names = Object.keys(functions)

let parent = ''
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'prestige-open-'))
})
afterAll(() => rm(parent, { recursive: true }))

async function refusal(name: string, location: unknown, options?: unknown): Promise<PrestigeError> {
  const opening = functions[name]!(location as never, options as never)
  const error: unknown = await opening.then(
    (opened) => opened.close(),
    (reason: unknown) => reason,
  )
  expect(error, `${name}(${String(location)}) is refused`).toBeInstanceOf(PrestigeError)
  return error as PrestigeError
}

/** Of every function; they all say the same but for the name of what was to be opened. */
async function refusals(location: unknown, options?: unknown): Promise<PrestigeError> {
  const all = await Promise.all(names.map((name) => refusal(name, location, options)))
  const texts = all.map(
    ({ code, message }) => `${code} ${message.replace(/^\w+ options/, 'Options')}`,
  )
  expect(new Set(texts).size, texts.join('\n')).toBe(1)
  return all[0]!
}

const halfBackend = { run: 5, read: () => {}, scan: () => {}, close: () => {} }
const noRun = { read: () => {}, scan: () => {}, close: () => {} }

describe('opening a store, a resolver, a ledger or a job state', () => {
  it.each([
    ['5', 5],
    ['null', null],
    ['undefined', undefined],
    ['the empty text', ''],
    ['an empty object', {}],
    ['a function', () => {}],
    ['a backend without run()', noRun],
    ['a backend whose run is no function', halfBackend],
    ['an unknown scheme', 'ftp://host/path'],
    ['a path with a NUL', 'a\0b'],
  ])('refuses %s as a location', async (_name, location) => {
    const error = await refusals(location)
    expect(error.code).toBe('INVALID_LOCATION')
    expect(error.message).toContain("'memory:'")
    expect(error.message).toContain('dynamodb://')
  })

  it.each([
    ['null', null],
    ['a number', 5],
    ['a text', 'fsync'],
    ['a list', []],
  ])('refuses %s as options', async (_name, options) => {
    expect(await refusals('memory:', options)).toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it.each([
    ['namespace', 5],
    ['namespace', 'n'.repeat(65)],
    ['durability', 'sometimes'],
    ['create', 'yes'],
    ['timeoutMs', 0],
    ['clock', 7],
    ['random', 'dice'],
  ])('refuses %s: %j', async (name, value) => {
    const error = await refusals(join(parent, 'wrong'), { [name]: value })
    expect(error.code).toBe('INVALID_OPTIONS')
    expect(existsSync(join(parent, 'wrong'))).toBe(false)
  })

  it.each([
    ['namespace', 'n'],
    ['namespace', ''],
    ['durability', 'os'],
    ['create', false],
    ['create', true],
    ['timeoutMs', 1000],
    ['clock', () => 0],
    ['random', () => Buffer.alloc(16)],
  ])('refuses %s with a backend that is given', async (name, value) => {
    const error = await refusals(new MemoryBackend(), { [name]: value })
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(error.message).toBe(
      `${name} cannot be used here: a backend that is given brings its own.`,
    )
  })

  it.each([
    ['memory:', 'durability', 'os'],
    [':memory:', 'durability', 'fsync'],
    ['memory:', 'timeoutMs', 1000],
    ['dynamodb://eu-central-1/t', 'durability', 'os'],
  ])('refuses, at %s, %s', async (location, name, value) => {
    const error = await refusals(location, { [name]: value })
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(error.message).toContain(`${name} cannot be used here: `)
  })

  it.each(['memory:', ':memory:'])('finds nothing at %s without create', async (location) => {
    const error = await refusals(location, { create: false })
    expect(error).toMatchObject({ code: 'STORE_NOT_FOUND' })
  })

  it('says of a server that is not there what it is', async () => {
    const error = await refusals('redis://127.0.0.1:1?timeoutMs=200')
    expect(error).toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
  })

  it.each(names)('%s opens memory by either name, and a backend', async (name) => {
    for (const location of ['memory:', ':memory:', new MemoryBackend()]) {
      await (await functions[name]!(location as never)).close()
    }
    expect(existsSync(':memory:')).toBe(false)
  })

  it.each(names)('%s opens a directory with every option of a location', async (name) => {
    const directory = join(parent, name)
    const options = { namespace: 'n', durability: 'os', timeoutMs: 5000, clock: Date.now }
    await (await functions[name]!(directory as never, options as never)).close()
    const again = { namespace: 'n', create: false }
    await (await functions[name]!(directory as never, again as never)).close()
    expect(await refusal(name, directory, { namespace: 'm', create: false })).toMatchObject({
      code: 'STORE_NOT_FOUND',
    })
  })

  it.each(names)(
    '%s leaves a given backend open when it fails, and closes its own',
    async (name) => {
      const backend = new MemoryBackend()
      await refusal(name, backend, { similarityMin: 7, retentionMs: -1, near: 'x' })
      expect(
        await backend.read(function* () {
          return 1
        }),
      ).toBe(1)
    },
  )
})
