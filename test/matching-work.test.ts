/** What comparing costs: what is not read twice, and what is never done while others wait for the one writer. */

import { describe, expect, it } from 'vitest'

import type { Ask, Backend, Body, Scope, Transaction } from '../src/backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { openResolver, openStore } from '../src/index.ts'
import { edited, textOf } from './texts/near-texts.ts'

interface Watched {
  readonly backend: Backend
  /** Names of spaces, once for each cell that was asked for. */
  readonly asked: string[]
  isWriting: boolean
  /** Called before the next body that may write. */
  beforeWriting?: (() => Promise<unknown>) | undefined
}

function spacesOf(ask: Ask): string[] {
  if ('space' in ask) return [ask.space.name]
  return ask.cells.map(({ space }) => space.name)
}

/** A backend that says what bodies ask for, and when one runs that may write. */
function watch(engine = new MemoryEngine()): Watched {
  const inner = new MemoryBackend({}, engine)
  const follow = (scope: Scope, body: Body<never[], unknown>, args: never[], writes: boolean) =>
    (function* (): Transaction<unknown> {
      const steps = body(scope, ...args)
      for (let answer: readonly unknown[] = []; ;) {
        watched.isWriting = writes
        const step = steps.next(answer)
        watched.isWriting = false
        if (step.done) return step.value
        watched.asked.push(...spacesOf(step.value))
        answer = yield step.value
      }
    })()
  const verbs = {
    read: (body: Body<never[], unknown>, ...args: never[]) =>
      inner.read((scope) => follow(scope as Scope, body, args, false)),
    run: async (body: Body<never[], unknown>, ...args: never[]) => {
      const { beforeWriting } = watched
      watched.beforeWriting = undefined
      await beforeWriting?.()
      return inner.run((scope) => follow(scope, body, args, true))
    },
  }
  const backend = new Proxy(inner, {
    get: (target, name) => {
      if (name === 'read' || name === 'run') return verbs[name]
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const watched: Watched = { backend, asked: [], isWriting: false }
  return watched
}

const A = textOf(1)
/** More than a body measures by itself. */
const LONG = Array.from({ length: 30 }, (_, at) => textOf(100 + at)).join(' ')

describe('a resolver', () => {
  it('reads the evidence of a representative once, and then knows it', async () => {
    const watched = watch()
    await using resolver = await openResolver(watched.backend, { cacheMax: 0 })
    await resolver.resolve('g', A)
    expect(await resolver.resolve('g', edited(A, 1))).toMatchObject({ status: 'match' })
    expect(watched.asked.filter((name) => name === 'resolve.evidence')).toHaveLength(1)
    watched.asked.length = 0
    expect(await resolver.resolve('g', edited(A, 2))).toMatchObject({ status: 'match' })
    expect(watched.asked).not.toContain('resolve.evidence')
  })

  it('reads no row at all of a candidate that it knows to be unlike', async () => {
    const watched = watch()
    const all = { profile: 'words-3', slots: 64, bands: 64, rows: 1, threshold: 0.9 } as const
    await using resolver = await openResolver(watched.backend, { ...all, cacheMax: 0 })
    await resolver.resolve('g', A)
    // Some 0.87, so they are measured.
    expect(await resolver.lookup('g', edited(A, 7, 'q'))).toBeUndefined()
    expect(watched.asked).toContain('resolve.evidence')
    watched.asked.length = 0
    expect(await resolver.lookup('g', edited(A, 7, 'r'))).toBeUndefined()
    expect(watched.asked.filter((name) => /evidence|representatives/.test(name))).toEqual([])
  })
})

describe('a near store with one writer', () => {
  async function open(engine?: MemoryEngine) {
    const watched = watch(engine)
    const cut = { reading: 0, writing: 0 }
    const canonical = {
      version: 'counting-1',
      canonicalise: (bytes: Uint8Array) => {
        cut[watched.isWriting ? 'writing' : 'reading']++
        return bytes
      },
    }
    const store = await openStore(watched.backend, { dedup: 'near', canonical })
    return { store, watched, cut }
  }

  it('prepares what is long and new before it asks for the writer, and what is known not at all', async () => {
    const { store, cut } = await open()
    await store.put('a', LONG)
    // For its digest, and to compare it.
    expect(cut).toEqual({ reading: 2, writing: 0 })
    expect(await store.put('again', LONG)).toMatchObject({ content: 'duplicate', method: 'digest' })
    expect(cut).toEqual({ reading: 3, writing: 0 })
    await store.close()
  })

  it('prepares a long value whose content goes away before the transaction, outside of it too', async () => {
    const engine = new MemoryEngine()
    const { store, watched, cut } = await open(engine)
    await store.put('a', LONG)
    cut.reading = 0
    watched.beforeWriting = async () => {
      await store.delete('a')
      await store.collect()
    }
    expect(await store.put('again', LONG)).toMatchObject({ content: 'new' })
    expect(cut).toEqual({ reading: 2, writing: 0 })
    expect((await store.verify()).problems).toEqual([])
    await store.close()
  })

  it('measures long representatives that are not in memory before the transaction', async () => {
    const engine = new MemoryEngine()
    const first = await open(engine)
    await first.store.put('long', LONG)
    const { store, cut } = await open(engine)
    expect(await store.put('near', edited(LONG, 1))).toMatchObject({ method: 'near' })
    expect(cut).toEqual({ reading: 3, writing: 0 })
    // It is in memory now.
    expect(await store.put('near, too', edited(LONG, 2))).toMatchObject({ method: 'near' })
    expect(cut).toEqual({ reading: 5, writing: 0 })
    await store.close()
    await first.store.close()
  })
})
