/** An index whose memory is bounded answers exactly as one that has everything in memory. */

import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'

import { type Backend, cell, rowsOf, type Scope } from '../../backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { randomWords } from '../../fingerprint/mix.ts'
import { MatchIndex } from '../match-index.ts'
import { nearSpaces } from '../rows.ts'
import type { SignatureLayout } from '../scheme/scheme.ts'
import { SimHashScheme } from '../scheme/simhash.ts'
import { TextScheme } from '../scheme/text.ts'
import type { MemoryBound } from './spill.ts'

const spaces = nearSpaces('test')
const GROUPS = [1, 200].map((byte) => Buffer.alloc(16, byte))
const LIMITS = { candidatesMax: 4, bucketMax: 3 }
const next = randomWords(11)

interface Kind<Signature> {
  readonly scheme: () => SignatureLayout<Signature>
  /** Some are similar. */
  readonly signatures: readonly Signature[]
}

const SLOTS = 64
const base = Uint16Array.from({ length: SLOTS }, () => next() >>> 16)
const texts: Kind<Uint16Array> = {
  scheme: () => new TextScheme(SLOTS, { bands: 16, rows: 4 }),
  signatures: Array.from({ length: 7 }, (_, of) =>
    base.map((slot, at) => (at % 8 < of || of === 6 ? next() >>> 16 : slot)),
  ),
}
const bits = Uint8Array.from({ length: 16 }, () => next() & 0xff)
const vectors: Kind<Uint8Array> = {
  scheme: () => new SimHashScheme(128, { bands: 16, rows: 8 }, 0),
  signatures: Array.from({ length: 7 }, (_, of) =>
    bits.map((byte, at) => (at < of || of === 6 ? next() & 0xff : byte)),
  ),
}

/** Tables are sealed at every opportunity, into pages of a few entries. */
const TINY: MemoryBound = { bytesMax: 1, pageEntries: 2 }
/** A dozen representatives fits, and the filters of all. */
const SMALL: MemoryBound = { bytesMax: 6000, pageEntries: 3 }

function dyingAfter(engine: MemoryEngine, transactions: number): Backend {
  const backend = new MemoryBackend({}, engine)
  const run = backend.run.bind(backend)
  let left = transactions
  backend.run = (body, ...args) =>
    left-- > 0 ? run(body, ...args) : Promise.reject(new Error('killed'))
  return backend
}

class World<Signature> {
  readonly engine = new MemoryEngine()
  readonly backend = new MemoryBackend({}, this.engine)
  readonly kind: Kind<Signature>
  readonly bound: MemoryBound
  /** Two processes with a bound; the reference has none. */
  readonly indexes: MatchIndex<Signature>[]
  readonly inserted: { readonly group: Buffer; readonly id: Buffer }[] = []

  constructor(kind: Kind<Signature>, bound: MemoryBound) {
    this.kind = kind
    this.bound = bound
    this.indexes = [this.newIndex(bound), this.newIndex(bound)]
  }

  newIndex(memory?: MemoryBound): MatchIndex<Signature> {
    return new MatchIndex(spaces, this.kind.scheme(), { serial: true, ...LIMITS, memory })
  }

  async reopened(memory: MemoryBound | undefined = this.bound): Promise<MatchIndex<Signature>> {
    const index = this.newIndex(memory)
    await index.load(this.backend)
    return index
  }

  async insert(by: number, group: number, which: number, fails = false): Promise<void> {
    const index = this.indexes[by % 2]!
    const [key, signature] = [GROUPS[group]!, this.kind.signatures[which]!]
    // Several are a block of the journal, of two groups.
    const keys = which % 2 === 0 ? [key] : [key, GROUPS[1 - group]!, key]
    const inserting = this.backend.run(function* (scope: Scope) {
      const made = keys.map((one) => ({ group: one, id: scope.id() }))
      if (made.length > 1) index.gather(scope)
      yield* index.find(key, signature, 0.2, scope)
      for (const one of made)
        yield* index.insert(scope, one.group, one.id, signature, Buffer.alloc(0))
      yield* index.find(key, signature, 0.2, scope)
      index.flush(scope)
      if (fails) throw new Error('never committed')
      return made
    })
    if (fails) {
      await inserting.catch(() => {})
      index.invalidate()
    } else this.inserted.push(...(await inserting))
  }

  async remove(by: number, at: number): Promise<void> {
    const index = this.indexes[by % 2]!
    const [one] = this.inserted.splice(at % Math.max(1, this.inserted.length), 1)
    if (!one) return
    await this.backend.run((scope: Scope) => index.remove(scope, one.group, one.id))
  }

  async answers(index: MatchIndex<Signature>): Promise<unknown[]> {
    const all: unknown[] = []
    for (const group of GROUPS) {
      for (const signature of this.kind.signatures) {
        all.push(await this.backend.read(() => index.find(group, signature, 0.2, undefined)))
      }
    }
    return all
  }

  /** Keys of segments: pages and the rest. */
  async keys(prefix = ''): Promise<string[]> {
    const found = await this.backend.read(() => rowsOf(spaces.snapshots, { limit: 100_000 }))
    return found.map(({ key }) => key.toString('latin1')).filter((key) => key.startsWith(prefix))
  }
}

type Step =
  | {
      readonly op: 'insert'
      readonly by: number
      readonly group: number
      readonly which: number
      readonly fails: boolean
    }
  | { readonly op: 'remove'; readonly by: number; readonly at: number }
  | { readonly op: 'spill' | 'keep' | 'reopen'; readonly by: number }
  | { readonly op: 'die'; readonly after: number }
  | { readonly op: 'trim'; readonly kept: number }
  | { readonly op: 'compare' }

const by = fc.nat(1)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      op: fc.constant('insert' as const),
      by,
      group: fc.nat(1),
      which: fc.nat(6),
      fails: fc.nat(9).map((one) => one === 0),
    }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('remove' as const), by, at: fc.nat(99) }) },
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constantFrom('spill', 'spill', 'keep', 'reopen'), by }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('die' as const), after: fc.nat(8) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('trim' as const), kept: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.constant({ op: 'compare' } as const) },
)

async function perform<Signature>(world: World<Signature>, one: Step): Promise<void> {
  const { backend, indexes } = world
  if (one.op === 'insert') await world.insert(one.by, one.group, one.which, one.fails)
  else if (one.op === 'remove') await world.remove(one.by, one.at)
  else if (one.op === 'spill') await indexes[one.by]!.spill(backend)
  else if (one.op === 'keep') await indexes[one.by]!.keepSnapshot(backend, 0)
  else if (one.op === 'reopen') indexes[one.by] = await world.reopened()
  else if (one.op === 'trim') {
    // A view must not be behind what is trimmed: that is what the last rows of the journal are kept for.
    for (const index of indexes) await world.answers(index)
    await indexes[0]!.trim(backend, one.kept)
  } else if (one.op === 'die') {
    const other = await world.reopened()
    await other.spill(dyingAfter(world.engine, one.after)).catch(() => {})
  } else {
    const expected = await world.answers(world.newIndex())
    for (const index of indexes) expect(await world.answers(index)).toEqual(expected)
    // Last: what is loaded is sealed.
    expect(await world.answers(await world.reopened())).toEqual(expected)
  }
}

async function filled(bound = TINY, documents = 60): Promise<World<Uint16Array>> {
  const world = new World(texts, bound)
  for (let at = 0; at < documents; at++) {
    await world.insert(0, at % 2, at % 7)
    if (at % 5 === 4) await world.indexes[0]!.spill(world.backend)
  }
  return world
}

describe('an index with bounded memory', () => {
  it.each([
    { name: 'texts', kind: texts, bound: TINY },
    { name: 'texts, and a filter', kind: texts, bound: SMALL },
    { name: 'bits', kind: vectors, bound: TINY },
  ])(
    'answers as one without a bound after any history of $name',
    async ({ kind, bound }) => {
      const property = fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }),
        async (steps) => {
          const world = new World<unknown>(kind, bound)
          for (const one of steps) await perform(world, one)
          await perform(world, { op: 'compare' })
        },
      )
      await fc.assert(property, { numRuns: 10 })
    },
    60_000,
  )
})

describe('buckets of which a part is sealed', () => {
  const SAME = 0
  const insertSame = async (world: World<Uint16Array>, count: number) => {
    for (let at = 0; at < count; at++) await world.insert(0, 0, SAME)
  }

  it('are full if both parts together are', async () => {
    const world = new World(texts, TINY)
    await insertSame(world, 2)
    await world.indexes[0]!.spill(world.backend)
    await insertSame(world, 2)
    const expected = await world.answers(world.newIndex())
    expect(expected[SAME]).toMatchObject({ candidates: [], passedOver: 16 })
    expect(await world.answers(world.indexes[0]!)).toEqual(expected)
  })

  it('are not full any more when enough has gone, even if that was trimmed from the journal', async () => {
    for (const kept of [Infinity, 0]) {
      const world = new World(texts, TINY)
      await insertSame(world, 5)
      await world.indexes[0]!.spill(world.backend)
      for (let count = 0; count < 3; count++) await world.remove(1, 0)
      if (kept === 0) expect(await world.indexes[1]!.trim(world.backend, kept)).toBe(5)
      const expected = await world.answers(world.newIndex())
      expect(expected[SAME]).toMatchObject({ candidates: [{}, {}], passedOver: 0 })
      expect(await world.answers(await world.reopened())).toEqual(expected)
      expect(await world.answers(world.indexes[0]!)).toEqual(expected)
    }
  })

  it('are not read if they are known to be full', async () => {
    const world = new World(texts, TINY)
    await insertSame(world, 200)
    await world.indexes[0]!.spill(world.backend)
    const decode = vi.spyOn(spaces.snapshots.codec, 'decode')
    const expected = await world.answers(world.newIndex())
    decode.mockClear()
    const [found] = await world.answers(world.indexes[0]!)
    expect(found).toEqual(expected[SAME])
    // Once a search, for the list.
    expect(decode.mock.calls.length).toBeLessThan(2 * GROUPS.length * texts.signatures.length + 20)
    decode.mockRestore()
  })
})

describe('segments', () => {
  const idsOf = (keys: readonly string[]) => new Set(keys.map((key) => key.slice(4, 20)))

  it('become few as they become many', async () => {
    const world = await filled(TINY, 200)
    expect(idsOf(await world.keys('rest')).size).toBeLessThan(6)
  })

  it('that were never finished are removed by the next', async () => {
    const world = await filled()
    // After its pages, and after the rest.
    for (const after of [3, 4]) {
      await world.insert(0, 0, after)
      const other = world.newIndex(TINY)
      await world.answers(other)
      await expect(other.spill(dyingAfter(world.engine, after))).rejects.toThrow('killed')
    }
    const before = idsOf(await world.keys('page'))
    await world.insert(0, 0, 1)
    await world.indexes[0]!.spill(world.backend)
    const [pages, rests] = [idsOf(await world.keys('page')), idsOf(await world.keys('rest'))]
    expect(pages).toEqual(rests)
    expect([...before].some((id) => !pages.has(id))).toBe(true)
    expect(await world.keys('claim')).toEqual([])
  })

  it.each([
    { name: 'missing', prefix: 'page', damaged: undefined },
    { name: 'another', prefix: 'page', damaged: Buffer.alloc(16, 7) },
    { name: 'not whole', prefix: 'rest', damaged: Buffer.alloc(40) },
  ])('are not used if a row is $name, and are made again', async ({ prefix, damaged }) => {
    const world = await filled()
    const expected = await world.answers(world.newIndex())
    const damage = async () => {
      const keys = await world.keys(prefix)
      // oxlint-disable-next-line require-yield -- it only writes
      await world.backend.run(function* (scope: Scope) {
        for (const key of keys) {
          const place = cell(spaces.snapshots, Buffer.from(key, 'latin1'))
          if (damaged) scope.write(place, damaged)
          else scope.remove(place)
        }
      })
    }
    await damage()
    for (const index of world.indexes) expect(await world.answers(index)).toEqual(expected)
    expect(await world.answers(await world.reopened())).toEqual(expected)
    await world.insert(0, 0, 3)
    await world.indexes[0]!.spill(world.backend)
    const next = await world.answers(world.newIndex())
    for (const index of [...world.indexes, await world.reopened()]) {
      expect(await world.answers(index)).toEqual(next)
    }
  })
})
