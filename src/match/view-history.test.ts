/** Tables in memory are a view of the rows: whatever happened, an old view answers like one that was just made. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { textsOf } from '../../test/resolver/texts.ts'
import type { Scope, Transaction } from '../backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../backends/memory/backend.ts'
import { sketchOf } from '../fingerprint/index.ts'
import { MatchIndex } from './match-index.ts'
import { TextScheme } from './scheme/text.ts'
import { JournalBlock, nearSpaces } from './rows.ts'
import { partitionKey } from './settings.ts'

const SLOTS = 64
const spaces = nearSpaces('test')
const GROUP = partitionKey('test')
const { words, variant } = textsOf(1)
const BASE = words(20)
const SIGNATURES = Array.from({ length: 8 }, () => {
  return sketchOf(variant(BASE, 2), { profile: 'chars-3', slots: SLOTS }).slots
})

type Index = MatchIndex<Uint16Array>
type Rows = Map<string, [string, Uint8Array][]>

function newIndex(): Index {
  const likeness = new TextScheme(SLOTS, { bands: SLOTS, rows: 1 })
  return new MatchIndex(spaces, likeness, { serial: true, candidatesMax: 100, bucketMax: 1000 })
}

/** An engine whose past can be brought back, as a roll-back does, or shown to a reader that began earlier. */
class World {
  readonly engine = new MemoryEngine()
  readonly backend = new MemoryBackend({}, this.engine)
  readonly writer = newIndex()

  moment(): Rows {
    const all: Rows = new Map()
    for (const [name, map] of this.engine.spaces) all.set(name, map.slice('', '\uffff', 1e6))
    return all
  }

  bringBack(rows: Rows): void {
    this.engine.spaces.clear()
    for (const [name, all] of rows) {
      const space = this.engine.space(name)
      for (const [key, bytes] of all) space.set(key, bytes)
    }
  }

  async insert(which: number): Promise<Buffer> {
    const { writer } = this
    return this.backend.run(function* (scope: Scope) {
      const id = scope.id()
      yield* writer.insert(scope, GROUP, id, SIGNATURES[which]!, Buffer.from('payload'))
      return id
    })
  }

  /** In one transaction, as blocks of the journal. */
  async insertMany(all: readonly number[]): Promise<Buffer[]> {
    const { writer } = this
    return this.backend.run(function* (scope: Scope) {
      writer.gather(scope)
      const ids = all.map(() => scope.id())
      for (const [at, one] of all.entries())
        yield* writer.insert(scope, GROUP, ids[at]!, SIGNATURES[one]!, Buffer.from('payload'))
      writer.flush(scope)
      return ids
    })
  }

  async remove(id: Buffer, retire: boolean): Promise<void> {
    const { writer } = this
    await this.backend.run(function* (scope: Scope) {
      if (retire) yield* writer.retire(scope, GROUP, id, Buffer.from('retired'))
      else yield* writer.remove(scope, GROUP, id)
    })
  }

  async ids(): Promise<Buffer[]> {
    const ids: Buffer[] = []
    for await (const { key, value } of this.backend.scan(spaces.representatives)) {
      if (value.sequence > 0) ids.push(key.subarray(16))
    }
    return ids
  }

  /** Names of what is found, but for those whose row is gone: whoever measures them finds that out. */
  async find(index: Index, which: number, as: 'writer' | 'reader'): Promise<string[]> {
    const signature = SIGNATURES[which]!
    const { candidates } = await (as === 'writer'
      ? this.backend.run((scope: Scope) => index.find(GROUP, signature, 0.3, scope))
      : this.backend.read(() => index.find(GROUP, signature, 0.3, undefined)))
    const live = new Set((await this.ids()).map((id) => id.toString('hex')))
    return candidates
      .map(({ id, estimate }) => `${id.toString('hex')} ${estimate}`)
      .filter((name) => live.has(name.slice(0, 32)))
  }

  /** By the journal, and nothing else; whoever starts with a snapshot finds the same. */
  async findAnew(which: number): Promise<string[]> {
    const loaded = newIndex()
    await loaded.load(this.backend)
    const found = await this.find(newIndex(), which, 'reader')
    expect(await this.find(loaded, which, 'reader')).toEqual(found)
    return found
  }
}

type Step =
  | { readonly op: 'insert'; readonly which: number }
  | { readonly op: 'insertMany'; readonly all: readonly number[] }
  | { readonly op: 'remove'; readonly at: number; readonly retire: boolean }
  | { readonly op: 'find'; readonly view: number; readonly which: number; readonly reads: boolean }
  | { readonly op: 'trim'; readonly kept: number }
  | { readonly op: 'keep'; readonly view: number }
  | { readonly op: 'older'; readonly view: number; readonly which: number }
  | { readonly op: 'rollBack'; readonly view: number; readonly steps: readonly Step[] }

const which = fc.nat(SIGNATURES.length - 1)
const view = fc.nat(2)
const change: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ op: fc.constant('insert' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('insertMany' as const),
      all: fc.array(which, { maxLength: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('remove' as const),
      at: fc.nat(20),
      retire: fc.boolean(),
    }),
  },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: change },
  {
    weight: 4,
    arbitrary: fc.record({ op: fc.constant('find' as const), view, which, reads: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('trim' as const), kept: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('keep' as const), view }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('older' as const), view, which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('rollBack' as const),
      view,
      steps: fc.array(change, { minLength: 1, maxLength: 4 }),
    }),
  },
)

async function perform(world: World, views: readonly Index[], past: Rows[], one: Step) {
  const index = 'view' in one ? views[one.view]! : world.writer
  past.push(world.moment())
  switch (one.op) {
    case 'insert':
      await world.insert(one.which)
      return
    case 'insertMany':
      await world.insertMany(one.all)
      return
    case 'remove': {
      const ids = await world.ids()
      const id = ids[one.at % Math.max(1, ids.length)]
      if (id) await world.remove(id, one.retire)
      return
    }
    case 'find': {
      const found = await world.find(index, one.which, one.reads ? 'reader' : 'writer')
      expect(found).toEqual(await world.findAnew(one.which))
      return
    }
    case 'trim':
      await world.writer.trim(world.backend, one.kept)
      return
    case 'keep':
      await index.keepSnapshot(world.backend, 0)
      return
    case 'older': {
      // A reader's moment may be any that has been; it must only not spoil the view for those who come next.
      const now = world.moment()
      world.bringBack(past[Math.max(0, past.length - 3)]!)
      await world.find(index, one.which, 'reader')
      world.bringBack(now)
      return
    }
    case 'rollBack': {
      const before = world.moment()
      for (const inner of one.steps) await perform(world, views, [], inner)
      await world.find(index, 0, 'writer')
      world.bringBack(before)
      // Whoever drove it gets the failure.
      index.invalidate()
    }
  }
}

interface Several {
  readonly steps: readonly { readonly op: string; readonly which: number }[]
  readonly end: string
  readonly gathers: boolean
}

function* severalSteps(
  scope: Scope,
  index: Index,
  { steps, end, gathers }: Several,
): Transaction<void> {
  const inserted: Buffer[] = []
  if (gathers) index.gather(scope)
  for (const { op, which: at } of steps) {
    const signature = SIGNATURES[at]!
    const id = inserted[at % Math.max(1, inserted.length)]
    if (op === 'insert') {
      const made = scope.id()
      yield* index.insert(scope, GROUP, made, signature, Buffer.from('payload'))
      inserted.push(made)
    } else if (op === 'remove' && id) yield* index.remove(scope, GROUP, id)
    else {
      const found = yield* index.find(GROUP, signature, 0.3, scope)
      if (op === 'find') continue
      // Only then does another view see what was gathered.
      index.flush(scope)
      expect(found).toEqual(yield* newIndex().find(GROUP, signature, 0.3, scope))
    }
  }
  if (end !== 'commit') throw new Error('rolled back')
  index.flush(scope)
}

describe('an old view of the journal', () => {
  it('answers like a new one after any history', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const world = new World()
      const views = [newIndex(), newIndex(), newIndex()]
      const past: Rows[] = []
      for (const one of steps) await perform(world, views, past, one)
      for (const index of views) {
        expect(await world.find(index, 0, 'writer')).toEqual(await world.findAnew(0))
      }
    })
    await fc.assert(property, { numRuns: 400 })
  }, 60_000)

  it('answers like a new one at every step of a transaction, whatever came of those before', async () => {
    const inner = fc.record({
      op: fc.constantFrom('insert', 'insert', 'insert', 'remove', 'find', 'compare'),
      which,
    })
    const several = fc.record({
      steps: fc.array(inner, { maxLength: 10 }),
      end: fc.constantFrom('commit', 'throw', 'throw and say so'),
      gathers: fc.boolean(),
    })
    const property = fc.asyncProperty(fc.array(several, { maxLength: 8 }), async (transactions) => {
      const world = new World()
      const index = newIndex()
      for (const one of transactions) {
        await world.backend.run(severalSteps, index, one).catch((error: unknown) => {
          expect(String(error)).toContain('rolled back')
        })
        if (one.end === 'throw and say so') index.invalidate()
      }
      expect(await world.find(index, 0, 'writer')).toEqual(await world.findAnew(0))
    })
    await fc.assert(property, { numRuns: 400 })
  }, 60_000)

  it('reads the rest of a block of which it has applied a part, when it knows only what follows', async () => {
    const world = new World()
    const index = newIndex()
    const steps = ['find', 'insert', 'find', 'insert'].map((op) => ({ op, which: 0 }))
    await world.backend.run(severalSteps, index, { steps, end: 'commit', gathers: true })
    const more = { steps: [{ op: 'insert', which: 0 }], end: 'commit', gathers: false }
    await world.backend.run(severalSteps, index, more)
    expect(await world.find(index, 0, 'writer')).toEqual(await world.findAnew(0))
  })

  it('does not believe in what was rolled back, even if nobody says so', async () => {
    const world = new World()
    const kept = await world.insert(0)
    const index = newIndex()
    await world.find(index, 0, 'writer')
    const before = world.moment()
    await world.remove(kept, false)
    await world.insert(1)
    expect(await world.find(index, 0, 'writer')).toHaveLength(1)
    world.bringBack(before)
    const found = await world.find(index, 0, 'writer')
    expect(found.map((name) => name.slice(0, 32))).toEqual([kept.toString('hex')])
    // Others have taken the numbers that were rolled back.
    await world.insert(2)
    await world.insert(3)
    expect(await world.find(index, 0, 'writer')).toEqual(await world.findAnew(0))
    expect(await world.find(index, 0, 'writer')).toHaveLength(3)
  })

  it('does not take what has the number of something rolled back for it', async () => {
    const world = new World()
    const kept = await world.insert(0)
    const index = newIndex()
    const before = world.moment()
    await world.remove(kept, false)
    await world.insert(1)
    expect(await world.find(index, 0, 'writer')).toHaveLength(1)
    world.bringBack(before)
    await world.insert(2)
    await world.insert(3)
    expect(await world.find(index, 0, 'writer')).toEqual(await world.findAnew(0))
    expect(await world.find(index, 0, 'reader')).toHaveLength(3)
  })

  it('catches up from wherever it is, over pages of the journal', async () => {
    const world = new World()
    const index = newIndex()
    await world.insert(0)
    await world.find(index, 0, 'reader')
    for (let count = 0; count < 2100; count++) await world.insert(count % SIGNATURES.length)
    const limited = await world.find(index, 0, 'reader')
    expect(limited).toHaveLength(100)
    expect(limited).toEqual(await world.findAnew(0))
  })

  it('catches up with blocks from wherever it is, in full ones and over their pages', async () => {
    const world = new World()
    const index = newIndex()
    const all = Array.from({ length: 300 }, (_, at) => at % SIGNATURES.length)
    for (let count = 0; count < 3; count++) await world.insertMany(all)
    const limited = await world.find(index, 0, 'reader')
    expect(limited).toHaveLength(100)
    expect(limited).toEqual(await world.findAnew(0))
    let rows = 0
    for await (const { value } of world.backend.scan(spaces.journal)) {
      expect(value.kind).toBe('block')
      rows++
    }
    // 140 inserts of 64 slots fill five pages of 4 KB.
    expect(rows).toBe(9)
  })

  it('has blocks of the same bytes as ever, and refuses one that is cut short', () => {
    const [nonce, one, other] = [1, 2, 3].map((byte) => Buffer.alloc(16, byte))
    const ids = [4, 5, 6].map((byte) => Buffer.alloc(16, byte))
    const inserts = [one, other, one].map((partition, at) => ({
      partition: partition!,
      id: ids[at]!,
      signature: Buffer.of(at, 7),
    }))
    const hex = (...bytes: number[]) => bytes.map((byte) => `0${byte}`.repeat(16)).join('')
    const { row } = JournalBlock.of(nonce!, inserts)
    const expected = `13${hex(1)}020003${hex(2, 3)}000100${hex(4, 5, 6)}000701070207`
    expect(row.toString('hex')).toBe(expected)
    const { codec } = spaces.journal
    expect(codec.decode(Buffer.from(expected, 'hex'))).toEqual(JournalBlock.of(nonce!, inserts))
    expect(() => codec.decode(row.subarray(0, 60))).toThrow('cannot be read')
    const left = JournalBlock.of(nonce!, inserts).without(8, 9)
    expect(left?.row.toString('hex')).toBe(
      `13${hex(1)}020003${hex(2, 3)}00ff00${hex(4, 5, 6)}00070207`,
    )
  })

  it('keeps the rest of a block of which something is gone, and trims what is gone as a whole', async () => {
    const world = new World()
    const index = newIndex()
    const [first, second, third] = await world.insertMany([0, 1, 2])
    expect(await world.find(index, 0, 'writer')).toHaveLength(3)
    const kinds = async () => {
      const found: string[] = []
      for await (const { value } of world.backend.scan(spaces.journal)) found.push(value.kind)
      return found
    }
    await world.remove(second!, false)
    expect(await world.backend.read(() => index.signatureOf(GROUP, third!))).toEqual(SIGNATURES[2])
    expect(await world.find(index, 0, 'writer')).toEqual(await world.findAnew(0))
    await world.remove(first!, false)
    expect(await world.writer.trim(world.backend, 0)).toBe(1)
    expect(await kinds()).toEqual(['block', 'remove'])
    await world.remove(third!, false)
    expect(await kinds()).toEqual(['gone', 'remove', 'remove'])
    expect(await world.find(index, 0, 'writer')).toEqual([])
    await world.writer.trim(world.backend, 0)
    expect(await kinds()).toEqual(['remove'])
  })

  it('is trimmed of what is gone, and of nothing else', async () => {
    const world = new World()
    const ids: Buffer[] = []
    for (let count = 0; count < 20; count++) ids.push(await world.insert(count % 8))
    for (const id of ids.slice(0, 10)) await world.remove(id, false)
    const rows = async () => {
      let count = 0
      for await (const _ of world.backend.scan(spaces.journal)) count++
      return count
    }
    expect(await rows()).toBe(30)
    expect(await world.writer.trim(world.backend)).toBe(0)
    expect(await world.writer.trim(world.backend, 0)).toBe(19)
    expect(await rows()).toBe(11)
    expect(await world.findAnew(0)).toHaveLength(10)
  })
})
