/** A job whose index has less memory than it needs writes what one without a bound writes, to the byte. */

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { openLmdb } from '../src/backends/lmdb/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/index.ts'
import { dedupeSpaces, near, simhash } from '../src/dedupe/rows.ts'
import { State } from '../src/dedupe/state.ts'
import { beginStream } from '../src/dedupe/streams.ts'
import { readConfig } from '../src/dedupe/config/config.ts'
import { openDedupe } from '../src/index.ts'
import { inProcess, prestige } from './children/cli.ts'
import { corpus, type Doc, jsonl, published, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-bound-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
/** Some 260 documents are in memory, of two times 350 that are kept. */
const BOUND = ['--memory', '200KB']

/** What two workers decide does not depend on who is faster: no document of one file is like one of the other. */
const FIRST = { 'a.jsonl': jsonl(corpus(500)), 'b.jsonl': jsonl(corpus(500, 2)) }

/** Copies of documents of all ages, and new ones. */
const LATER: Doc[] = [...corpus(500), ...corpus(500, 2)]
  .filter((_, number) => number % 5 === 0)
  .map(({ id, text }) => ({ id: `later-${id}`, text: `${text} again` }))
  .concat(corpus(200, 3))

async function pagesIn(state: string, space = near.snapshots): Promise<number> {
  const backend = await openLmdb(state, { spaces: dedupeSpaces })
  let pages = 0
  for await (const { key } of backend.scan(space)) {
    if (key.toString('latin1').startsWith('page')) pages++
  }
  await backend.close()
  return pages
}

describe('a job with bounded memory', () => {
  it.each([
    { name: 'as documents come', args: [], workers: [], reopens: true },
    {
      name: 'in whatever order they come',
      args: ['--order-independent'],
      workers: [],
      reopens: true,
    },
    {
      name: 'as they come, with two workers',
      args: [],
      workers: ['--workers', '2'],
      reopens: false,
    },
    {
      name: 'in whatever order they come, with two workers',
      args: ['--order-independent'],
      workers: ['--workers', '2'],
      reopens: true,
    },
  ])('writes the same $name', async ({ args, workers, reopens }) => {
    writeFiles(at('in'), FIRST)
    const dedupe = async (out: string, ...more: string[]) => {
      const call = ['dedupe', at('in'), '-o', at(out), ...args, ...more]
      const isMany = more.includes('--workers')
      const { code, err } = await (isMany ? prestige(call) : inProcess(call))
      expect([code, err]).toEqual([0, ''])
      return published(at(out))
    }
    const first = await dedupe('free')
    expect(await dedupe('bound', ...BOUND, ...workers)).toEqual(first)
    expect(await pagesIn(at('bound/state'))).toBeGreaterThan(13)
    expect(await pagesIn(at('free/state'))).toBe(0)
    if (!reopens) return
    writeFiles(at('in'), { 'c.jsonl': jsonl(LATER) })
    const second = await dedupe('free')
    expect(second).not.toEqual(first)
    expect(await dedupe('bound', ...BOUND, ...workers)).toEqual(second)
  })

  it('may have another bound than the run before, or none', async () => {
    writeFiles(at('in'), FIRST)
    const call = ['dedupe', at('in'), '-o', at('out'), '-q']
    expect((await inProcess([...call, ...BOUND])).code).toBe(0)
    writeFiles(at('in'), { 'c.jsonl': jsonl(LATER) })
    expect((await inProcess(call)).code).toBe(0)
    writeFiles(at('in'), { 'd.jsonl': jsonl(corpus(300, 4)) })
    expect((await inProcess([...call, '--memory', '2GiB'])).code).toBe(0)
    const reference = ['dedupe', at('in'), '-o', at('free'), '-q']
    expect((await inProcess(reference)).code).toBe(0)
    const kept = (out: string) =>
      Object.entries(published(at(out))).filter(([name]) => name.startsWith('kept/'))
    expect(kept('out')).toEqual(kept('free'))
  })

  it('bounds SimHash too', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(2000)) })
    writeFiles(directory, {
      'simhash.yaml': 'near: { enabled: false }\nsimhash: { enabled: true }',
    })
    const call = ['dedupe', at('in'), '--config', at('simhash.yaml'), '-q', '-o']
    expect((await inProcess([...call, at('free')])).code).toBe(0)
    expect((await inProcess([...call, at('bound'), ...BOUND])).code).toBe(0)
    expect(published(at('bound'))).toEqual(published(at('free')))
    expect(await pagesIn(at('bound/state'), simhash.snapshots)).toBeGreaterThan(0)
  })

  it('holds no more than it may, however much is in the state', async () => {
    const bytesMax = 300_000
    const backend = await openLmdb(at('state'), { spaces: dedupeSpaces, durability: 'os' })
    const state = await State.open(backend, readConfig({}), { memory: bytesMax })
    await beginStream(state, 'live')
    const texts = corpus(1200, 9)
    let most = 0
    for (let from = 0; from < texts.length; from += 100) {
      const documents = texts.slice(from, from + 100).map((one) => state.prepare(one))
      await state.decide(documents, { run: 'live', session: 'one' })
      most = Math.max(most, state.engine.near.index.bytes)
    }
    expect(most).toBeLessThan(bytesMax)
    expect(most).toBeGreaterThan(bytesMax / 8)
    const again = await State.open(backend, readConfig({}), { memory: bytesMax })
    expect(again.engine.near.index.bytes).toBeLessThan(bytesMax)
    const free = await State.open(backend, readConfig({}))
    expect(free.engine.near.index.bytes).toBeGreaterThan(bytesMax)
    await backend.close()
  })
})

describe('--memory', () => {
  const dedupe = (...args: string[]) => inProcess(['dedupe', at('in'), '-o', at('out'), ...args])

  it('refuses what is no size, or too small, in the words that were typed', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(5)) })
    const small = await dedupe('--memory', '10KB')
    expect([small.code, small.err]).toEqual([
      2,
      expect.stringMatching(/--memory 10KB: must be .* from 100KB, such as 2GB/),
    ])
    expect((await dedupe('--memory', 'much')).err).toContain('--memory much')
    expect((await dedupe('--memory', '2GB', '--plan')).err).toContain('--memory')
    expect(existsSync(at('out'))).toBe(false)
  })

  it('refuses to bound what is not there', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(5)) })
    writeFiles(directory, { 'exact.yaml': 'near: { enabled: false }' })
    const { code, err } = await dedupe('--memory', '2GB', '--config', at('exact.yaml'))
    expect([code, err]).toEqual([2, expect.stringContaining('neither is enabled')])
    const shared = new SimulatedWorld(1).open('worker')
    await expect(openDedupe(shared, { memory: 2e9 })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('a state on a server has none'),
    })
    await expect(openDedupe('memory:', { memory: 1000 })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('memory'),
    })
  })
})
