/** The same operations on a store that links near duplicates and on a model that compares every pair. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { openStore, type Receipt, type Store, type StoreOptions } from '../src/index.ts'

const KEYS = ['a', 'b', 'c', 'd', 'ключ']
const THRESHOLD = 0.85

const words = Array.from({ length: 20 }, (_, at) => `word${at}`)
/** Sets of words: the fewer replaced, the more similar, and being near is no matter of transitivity. */
const VALUES = [
  [],
  [1],
  [2],
  [1, 2],
  [1, 2, 3],
  [1, 2, 3, 4],
  [2, 3],
  [7],
  [7, 8],
  [1, 7],
  Array.from(words, (_, at) => at),
].map((replaced) => words.map((word, at) => (replaced.includes(at) ? `x${word}` : word)).join(' '))
VALUES.push('', 'one', 'two', 'नमस्ते दुनिया यह पाठ', 'नमस्ते दुनिया यह')

function similarity(one: string, other: string): number {
  const [first, second] = [one, other].map((text) => new Set(text.split(' ').filter(Boolean)))
  const common = [...first!].filter((word) => second!.has(word)).length
  const all = first!.size + second!.size - common
  const measured = all === 0 ? 0 : common / all
  return Math.min(first!.size, second!.size) < 4 && measured < 1 ? 0 : measured
}

interface Content {
  readonly value: string
  readonly firstKey: string
  /** What it is linked to; none for a representative. */
  to: Content | undefined
}

interface Kept {
  readonly content: Content
  readonly outcome: Receipt['content']
  readonly similarity: number | undefined
  readonly expiresAt: number
}

/** All contents in the order in which they came; nothing is indexed. */
class Model {
  contents: Content[] = []
  readonly rows = new Map<string, Kept>()
  readonly released = new Set<Content>()
  readonly shares: boolean
  readonly isManual: boolean

  constructor({ fidelity, gc }: StoreOptions) {
    this.shares = fidelity === 'representative'
    this.isManual = gc === 'manual'
  }

  live(key: string, now: number): Kept | undefined {
    const kept = this.rows.get(key)
    return kept && kept.expiresAt > now ? kept : undefined
  }

  /** Representatives that are similar enough, the best first, of equals the oldest. */
  similar(value: string, least = THRESHOLD): { content: Content; similarity: number }[] {
    return this.contents
      .filter((content) => !content.to && content.value !== '')
      .map((content) => ({ content, similarity: similarity(content.value, value) }))
      .filter((one) => one.similarity >= least)
      .toSorted((one, other) => other.similarity - one.similarity)
  }

  put(key: string, value: string, expiresAt: number) {
    const known = this.contents.find((content) => content.value === value)
    const [hit] = known ? [] : this.similar(value)
    const shared = known ?? (this.shares ? hit?.content : undefined)
    const content = shared ?? { value, firstKey: key, to: hit?.content }
    if (!shared) this.contents.push(content)
    const outcome = shared ? 'duplicate' : hit ? 'linked' : 'new'
    const old = this.rows.get(key)
    const isSame = old?.content === content
    const told = isSame ? old.outcome : outcome
    const near = this.shares ? hit?.similarity : undefined
    const similarity = near ?? (isSame ? old.similarity : undefined)
    this.rows.set(key, { content, outcome: told, similarity, expiresAt })
    if (old && !isSame) this.release(old.content)
    return { outcome, of: shared ?? hit?.content, similarity: hit?.similarity }
  }

  delete(key: string): void {
    const old = this.rows.get(key)
    this.rows.delete(key)
    if (old) this.release(old.content)
  }

  release(content: Content): void {
    this.released.add(content)
    if (!this.isManual) this.sweep()
  }

  collect(now: number): number {
    const expired = [...this.rows].filter(([, { expiresAt }]) => expiresAt <= now)
    for (const [key, { content }] of expired) {
      this.rows.delete(key)
      this.released.add(content)
    }
    this.sweep()
    return expired.length
  }

  sweep(): void {
    const used = new Set([...this.rows.values()].map(({ content }) => content))
    const gone = this.contents.filter((one) => this.released.has(one) && !used.has(one))
    this.released.clear()
    this.contents = this.contents.filter((one) => !gone.includes(one))
    for (const one of gone) {
      for (const orphan of this.contents.filter(({ to }) => to === one)) {
        orphan.to = this.similar(orphan.value)[0]?.content
      }
    }
  }

  stats() {
    const bytes = (values: readonly string[]) =>
      values.reduce((sum, value) => sum + Buffer.byteLength(value), 0)
    return {
      keys: this.rows.size,
      valueBytes: bytes([...this.rows.values()].map(({ content }) => content.value)),
      contents: this.contents.length,
      contentBytes: bytes(this.contents.map(({ value }) => value)),
      near: { links: this.contents.filter(({ to }) => to).length, possibleMisses: 0 },
    }
  }

  explanation(key: string, now: number) {
    const kept = this.live(key, now)
    if (!kept) return undefined
    const { content, outcome, similarity: shared } = kept
    if (outcome === 'duplicate') {
      const method = shared === undefined ? 'digest' : 'near'
      return { content: outcome, method, similarity: shared, of: content.firstKey }
    }
    const { to } = content
    if (outcome === 'new' || !to) return { content: 'new' }
    const measured = similarity(content.value, to.value)
    return { content: 'linked', method: 'near', similarity: measured, of: to.firstKey }
  }
}

type Operation =
  | { readonly op: 'put'; readonly key: string; readonly value: string; readonly ttlMs?: number }
  | { readonly op: 'delete' | 'get' | 'explain'; readonly key: string }
  | {
      readonly op: 'similar'
      readonly value: string
      readonly limit: number
      readonly least: number
    }
  | { readonly op: 'collect' | 'stats' | 'reopen' }
  | { readonly op: 'wait'; readonly ms: number }

const key = fc.constantFrom(...KEYS)
const value = fc.constantFrom(...VALUES)
const ttlMs = fc.integer({ min: 1, max: 100 })
const put = fc.constant('put' as const)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ op: put, key, value }) },
  { weight: 2, arbitrary: fc.record({ op: put, key, value, ttlMs }) },
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constantFrom('delete', 'get', 'explain'), key }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('similar' as const),
      value,
      limit: fc.constantFrom(1, 2, 10),
      least: fc.constantFrom(0.85, 0.7, 1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constantFrom('collect', 'stats', 'reopen') }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 80 }) }),
  },
)

/** Whatever shares one of 64 slots is a candidate, so nothing is missed. */
const NEAR: StoreOptions = {
  dedup: 'near',
  // The model knows similarities only.
  near: { guards: false, threshold: THRESHOLD, profile: 'words-1', slots: 64, bands: 64, rows: 1 },
}
const INPUTS: readonly [string, StoreOptions][] = [
  ['own bytes', NEAR],
  ['own bytes, manual collection', { ...NEAR, gc: 'manual' }],
  ['shared bytes', { ...NEAR, fidelity: 'representative' }],
]

interface Place {
  open(): Promise<Store>
  tearDown(): Promise<void>
}

async function inMemory(input: StoreOptions, clock: { time: number }): Promise<Place> {
  const engine = new MemoryEngine()
  const backend = () => new MemoryBackend({ clock: () => clock.time }, engine)
  return { open: () => openStore(backend(), input), tearDown: async () => {} }
}

async function onDisk(input: StoreOptions, clock: { time: number }): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), 'prestige-model-near-'))
  const all = { ...input, durability: 'os', clock: () => clock.time } as const
  return {
    open: () => openStore(directory, all),
    tearDown: () => rm(directory, { recursive: true }),
  }
}

async function compare(
  place: Place,
  input: StoreOptions,
  clock: { time: number },
  operations: readonly Operation[],
) {
  const model = new Model(input)
  let store = await place.open()
  try {
    for (const operation of operations) {
      if (operation.op === 'reopen') {
        await store.close()
        // Ids of one millisecond are in order within one process only.
        clock.time++
        store = await place.open()
      } else await step(store, model, clock, operation)
    }
    expect(await store.stats()).toMatchObject(model.stats())
    expect((await store.verify()).problems).toEqual([])
  } finally {
    await store.close()
    await place.tearDown()
  }
}

async function step(
  store: Store,
  model: Model,
  clock: { time: number },
  operation: Operation,
): Promise<void> {
  const { time } = clock
  switch (operation.op) {
    case 'put': {
      const { key, value, ttlMs } = operation
      const receipt = await store.put(key, value, ttlMs === undefined ? {} : { ttlMs })
      const told = model.put(key, value, ttlMs === undefined ? Infinity : time + ttlMs)
      expect(receipt.content).toBe(told.outcome)
      expect(receipt.of && String(receipt.of.firstKey)).toBe(told.of?.firstKey)
      expect(receipt.similarity).toBe(told.similarity)
      return
    }
    case 'delete':
      expect(await store.delete(operation.key)).toBe(model.live(operation.key, time) !== undefined)
      model.delete(operation.key)
      return
    case 'get': {
      const kept = model.live(operation.key, time)
      expect(await store.getText(operation.key)).toBe(kept?.content.value)
      return
    }
    case 'explain': {
      const found = await store.explain(operation.key)
      const { content, method, similarity, of } = found ?? {}
      const first = of && String(of.firstKey)
      expect(found && { content, method, similarity, of: first }).toEqual(
        model.explanation(operation.key, time),
      )
      return
    }
    case 'similar': {
      const { value, limit, least } = operation
      const found = await store.similar(value, { limit, threshold: least })
      expect(found.map((one) => [String(one.firstKey), one.similarity])).toEqual(
        model
          .similar(value, least)
          .slice(0, limit)
          .map((one) => [one.content.firstKey, one.similarity]),
      )
      return
    }
    case 'collect':
      expect((await store.collect()).expiredKeys).toBe(model.collect(time))
      return
    case 'stats':
      expect(await store.stats()).toMatchObject(model.stats())
      return
    case 'wait':
      clock.time += operation.ms
      return
    case 'reopen':
      throw new Error('not a step of a store')
  }
}

describe.each(INPUTS)('with %s', (_name, input) => {
  it.each([
    ['memory', inMemory, 150],
    ['lmdb', onDisk, 15],
  ] as const)(
    '%s agrees with a comparison of all pairs',
    async (_engine, setUp, numRuns) => {
      const sequence = fc.array(operation, { minLength: 1, maxLength: 40 })
      const property = fc.asyncProperty(sequence, async (operations) => {
        const clock = { time: 1_000 }
        await compare(await setUp(input, clock), input, clock, operations)
      })
      await fc.assert(property, { numRuns })
    },
    120_000,
  )
})
