import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../backends/memory/index.ts'
import { SimulatedWorld } from '../backends/simulated/index.ts'
import { cell, Gate, type Scope, type Transaction } from '../backends/index.ts'
import type { RecipePart } from './contents/chunk-rows.ts'
import { Layout } from './contents/layout.ts'
import { BackgroundCollector } from './background-collector.ts'
import { type CollectingStep, collectingSteps, hasNotes } from './collecting-steps.ts'
import { GC_LEASE_MS, GcLease } from './gc-lease.ts'
import { openStore } from './open.ts'
import { released } from './rows.ts'

let base: string
beforeAll(async () => void (base = await mkdtemp(join(tmpdir(), 'prestige-background-'))))
afterAll(() => rm(base, { recursive: true }))

const NOW = 1_800_000_000_000
const QUICK = { gc: 'background', gcGraceMs: 40, gcBudgetMs: 1000 } as const

/** Until it is so; a test that waits for ever fails by its time limit. */
async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await sleep(5)
}

function sharedMemory(clock?: () => number) {
  const engine = new MemoryEngine()
  return () => new MemoryBackend({ ...(clock && { clock }) }, engine)
}

// oxlint-disable-next-line require-yield -- a body that reads nothing is one too
function* noteReleased(scope: Scope): Transaction<void> {
  scope.write(cell(released, Buffer.alloc(32)), scope.id())
}

function isRecipe(row: unknown): row is RecipePart {
  return typeof row === 'object' && row !== null && 'sharedBytes' in row
}

describe('a store that collects in the background', () => {
  it.each([
    ['memory', () => 'memory:'],
    ['a directory', () => join(base, 'store')],
  ])('in %s: contents, expired keys and their contents go by themselves', async (_name, at) => {
    await using store = await openStore(at(), QUICK)
    for (let at = 0; at < 300; at++) await store.put(`key ${at}`, `value ${at}`)
    await store.put('kept', 'value 1')
    await store.put('short', 'lived', { ttlMs: 1 })
    for (let at = 0; at < 300; at++) await store.delete(`key ${at}`)
    await until(async () => (await store.stats()).contents === 1)
    expect(await store.stats()).toMatchObject({ keys: 1, contents: 1, contentBytes: 7 })
    expect(await store.getText('kept')).toBe('value 1')
    expect(await store.verify()).toMatchObject({ isSound: true })
  })

  it('on an engine whose transactions overlap, as well', async () => {
    const backend = new SimulatedWorld(1).open('worker', { clock: Date.now })
    await using store = await openStore(backend, QUICK)
    await store.put('a', 'one')
    await store.put('b', 'two')
    await store.delete('a')
    await until(async () => (await store.stats()).contents === 1)
    expect(await store.getText('b')).toBe('two')
  })

  it('keeps a content for the grace period: a put within it writes the key alone', async () => {
    let now = NOW
    const open = sharedMemory(() => now)
    await using store = await openStore(open(), { ...QUICK, gcGraceMs: 1000 })
    const first = await store.put('a', 'revived')
    await store.put('b', 'dropped')
    await store.delete('a')
    await store.delete('b')
    now += 900
    await sleep(600) // two passes, which must not take them
    const again = await store.put('c', 'revived')
    expect(again).toMatchObject({ content: 'duplicate', contentId: first.contentId })
    expect(await store.stats()).toMatchObject({ contents: 2 })
    now += 101
    await until(async () => (await store.stats()).contents === 1)
    expect(await store.getText('c')).toBe('revived')
  })

  it('leaves what is released to the next one that opens it, and never keeps anything', async () => {
    const path = join(base, 'never')
    await using before = await openStore(path, { gc: 'never' })
    await before.put('a', 'one')
    await before.delete('a')
    await expect(before.collect()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(await before.stats()).toMatchObject({ keys: 0, contents: 1 })
    await before.close()
    await using after = await openStore(path, QUICK)
    await until(async () => (await after.stats()).contents === 0)
  })

  it('refuses its options where nothing collects in the background', async () => {
    const code = 'INVALID_OPTIONS'
    const opened = openStore('memory:', { gc: 'manual', gcGraceMs: 5 })
    await expect(opened).rejects.toMatchObject({ code })
    const zero = openStore('memory:', { gc: 'background', gcBudgetMs: 0 })
    await expect(zero).rejects.toMatchObject({ code })
  })

  it('does not keep a program running that never closes it', async () => {
    const script = `import { openStore } from '${new URL('../../dist/index.js', import.meta.url)}'
      const store = await openStore(process.argv[1], { gc: 'background', gcGraceMs: 1 })
      await store.put('a', 'one')
      await store.delete('a')
      console.log('end')`
    const path = join(base, 'never-closed')
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, path])
    const [code] = await once(child, 'exit')
    expect(code).toBe(0)
  })
})

describe('the background collector', () => {
  function collectorOf(step: CollectingStep, gate = new Gate('store'), open = sharedMemory()) {
    const layout = new Layout({ partBytes: 1000 })
    const keeping = { layout, near: undefined, semantic: undefined, tracking: undefined }
    const subject = { backend: open(), gate, preparation: { keeping }, isOld: false }
    const options = { graceMs: 1, budgetMs: 1000 }
    return new BackgroundCollector({ ...subject, observer: undefined }, options, [step])
  }

  it('has one slice in flight, and stop waits for it and begins no other', async () => {
    const events: string[] = []
    const collector = collectorOf(async function* () {
      for (;;) {
        events.push('begin')
        await sleep(20)
        events.push('end')
        yield {}
      }
    })
    collector.start()
    await until(() => events.length >= 5)
    await collector.stop()
    const ended = [...events]
    expect(ended.length % 2).toBe(0)
    expect(ended.every((event, at) => event === (at % 2 ? 'end' : 'begin'))).toBe(true)
    await sleep(60)
    expect(events).toEqual(ended)
  })

  it('lets operations go first, but not for ever', async () => {
    const gate = new Gate('store')
    const seen: boolean[] = []
    const collector = collectorOf(async function* () {
      seen.push(gate.isBusy)
      yield {}
    }, gate)
    gate.enter()
    collector.start()
    const leaving = sleep(60).then(() => gate.leave())
    await until(() => seen.length > 0)
    await leaving
    gate.enter()
    seen.length = 0
    // The other one only takes turns with operations that are never at their end.
    const busy = collectorOf(async function* () {
      seen.push(gate.isBusy)
      yield {}
    }, gate)
    busy.start()
    await until(() => seen.includes(true))
    await Promise.all([collector.stop(), busy.stop()])
    gate.leave()
  })

  it('looks at everything at first and every ten minutes, and else only where there are notes', async () => {
    let now = 0
    const passes: { at: number; isThorough: boolean }[] = []
    const timing = {
      now: () => now,
      after(ms: number, callback: () => void) {
        now += ms
        const immediate = setImmediate(callback)
        return () => clearImmediate(immediate)
      },
    }
    const layout = new Layout({ partBytes: 1000 })
    const keeping = { layout, near: undefined, semantic: undefined, tracking: undefined }
    const [gate, backend] = [new Gate('store'), sharedMemory()()]
    const subject = { backend, gate, preparation: { keeping }, isOld: false, observer: undefined }
    const step: CollectingStep = async function* ({ isThorough }) {
      passes.push({ at: now, isThorough })
      yield {}
    }
    const options = { graceMs: 60_000, budgetMs: 1000 }
    const collector = new BackgroundCollector(subject, options, [step], timing)
    collector.start()
    await until(() => passes.length >= 3)
    const minutes = passes.slice(0, 3).map(({ at }) => Math.floor(at / 60_000))
    expect(minutes).toEqual([0, 10, 20])
    expect(passes.every(({ isThorough }) => isThorough)).toBe(true)
    await backend.run(noteReleased)
    // Time goes by between the two: there may be another thorough one first.
    await until(() => passes.some(({ isThorough }) => !isThorough))
    await collector.stop()
  })

  it('looks for chunks in slices of some rows, and not at all for little garbage', async () => {
    const engine = new MemoryEngine()
    const options = { gc: 'manual', chunks: { fromBytes: 1024, averageBytes: 256 } } as const
    await using store = await openStore(new MemoryBackend({}, engine), options)
    for (let at = 0; at < 60; at++) await store.put(`key ${at}`, randomBytes(20_000))
    await store.delete('key 0')
    const backend = new MemoryBackend({}, engine)
    let rows = 0
    const scan = backend.scan.bind(backend)
    backend.scan = async function* (space, range) {
      for await (const row of scan(space, range)) {
        const isAll = space.name === 'chunks' || (space.name === 'recipes' && !range?.limit)
        if (isAll) rows += isRecipe(row.value) ? row.value.chunks.length : 1
        yield row
      }
    }
    const layout = new Layout({ chunks: store.settings.chunks }, 'fast')
    const keeping = { layout, near: undefined, semantic: undefined }
    const slices: number[] = []
    const pass = async (isThorough: boolean) => {
      const how = { backend, keeping, releasedBefore: Infinity, atOnce: 64, isThorough }
      for (const step of collectingSteps) {
        for await (const _slice of step(how)) {
          slices.push(rows)
          rows = 0
        }
      }
    }
    await pass(false)
    expect(Math.max(...slices)).toBe(0)
    expect(await hasNotes(backend, keeping)).toBe(false)
    await pass(true)
    expect(slices.reduce((sum, count) => sum + count)).toBeGreaterThan(5000)
    expect(Math.max(...slices)).toBeLessThan(2000)
    expect((await store.stats()).storedBytes).toBeLessThan(59 * 21_000)
    for (let at = 1; at < 60; at++) await store.delete(`key ${at}`)
    for (const step of collectingSteps.slice(0, 2)) {
      const how = { backend, keeping, releasedBefore: Infinity, atOnce: 64, isThorough: false }
      for await (const _slice of step(how));
    }
    expect(await hasNotes(backend, keeping)).toBe(true)
    await pass(false)
    expect((await store.stats()).storedBytes).toBe(0)
  })

  it('of two processes one collects, and the other one when that has died', async () => {
    let now = NOW
    const open = sharedMemory(() => now)
    const [one, other] = [new GcLease(open()), new GcLease(open())]
    expect(await one.take()).toBe(true)
    expect(await other.take()).toBe(false)
    now += GC_LEASE_MS - 1
    expect(await one.take()).toBe(true) // renewed
    now += GC_LEASE_MS - 1
    expect(await other.take()).toBe(false)
    now += 1
    expect(await other.take()).toBe(true)
    expect(await one.take()).toBe(false)
    await one.release()
    expect(await one.take()).toBe(false)
    await other.release()
    expect(await one.take()).toBe(true)
  })

  it('goes on after a failure that may pass, and after one that does not', async () => {
    const warnings: string[] = []
    const onWarning = (warning: Error) => void warnings.push(warning.message)
    process.on('warning', onWarning)
    let passes = 0
    const collector = collectorOf(async function* () {
      passes++
      yield {}
      throw new Error('broken')
    })
    collector.start()
    await until(() => passes === 3)
    await collector.stop()
    await until(() => warnings.length > 0)
    process.off('warning', onWarning)
    expect(warnings).toEqual(['Background collection failed: Error: broken'])
  })
})
