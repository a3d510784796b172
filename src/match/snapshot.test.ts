/** Whoever starts with a snapshot answers exactly as one who has read the journal; whatever does not fit is not used. */

import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'

import { type Backend, cell, rowsOf, type Scope } from '../backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../backends/memory/backend.ts'
import { digestOf, type GroupedTables } from '../fingerprint/index.ts'
import { randomWords } from '../fingerprint/mix.ts'
import { MatchIndex } from './match-index.ts'
import type { SignatureLayout } from './scheme/scheme.ts'
import { SimHashScheme } from './scheme/simhash.ts'
import { TextScheme } from './scheme/text.ts'
import { nearSpaces } from './rows.ts'

const spaces = nearSpaces('test')
const GROUPS = [1, 2, 200].map((byte) => Buffer.alloc(16, byte))
const next = randomWords(7)

interface Kind<Signature> {
  readonly scheme: () => SignatureLayout<Signature>
  readonly signatures: readonly Signature[]
}

const SLOTS = 64
const base = Uint16Array.from({ length: SLOTS }, () => next() >>> 16)
const texts: Kind<Uint16Array> = {
  scheme: () => new TextScheme(SLOTS, { bands: 16, rows: 4 }),
  signatures: Array.from({ length: 6 }, (_, of) =>
    base.map((slot, at) => (at % 8 < of ? next() >>> 16 : slot)),
  ),
}
const bits = Uint8Array.from({ length: 16 }, () => next() & 0xff)
/** Tables begin to have bands when they hold more than four. */
const vectors: Kind<Uint8Array> = {
  scheme: () => new SimHashScheme(128, { bands: 16, rows: 8 }, 4),
  signatures: Array.from({ length: 6 }, (_, of) =>
    bits.map((byte, at) => (at < of ? next() & 0xff : byte)),
  ),
}

/** A backend on the same rows that fails every transaction from some on, as a process that is killed does. */
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
  readonly writer: MatchIndex<Signature>
  readonly inserted: { readonly group: Buffer; readonly id: Buffer }[] = []

  constructor(kind: Kind<Signature>) {
    this.kind = kind
    this.writer = this.newIndex()
  }

  newIndex(scheme: SignatureLayout<Signature> = this.kind.scheme()): MatchIndex<Signature> {
    return new MatchIndex(spaces, scheme, { serial: true, candidatesMax: 8, bucketMax: 12 })
  }

  async loaded(scheme?: SignatureLayout<Signature>): Promise<MatchIndex<Signature>> {
    const index = this.newIndex(scheme)
    await index.load(this.backend)
    return index
  }

  async insert(
    group: number,
    which: number,
    index: MatchIndex<Signature> = this.writer,
  ): Promise<void> {
    const key = GROUPS[group]!
    const signature = this.kind.signatures[which]!
    const id = await this.backend.run(function* (scope: Scope) {
      const made = scope.id()
      yield* index.find(key, signature, 0.2, scope)
      yield* index.insert(scope, key, made, signature, Buffer.alloc(0))
      return made
    })
    this.inserted.push({ group: key, id })
  }

  async remove(at: number): Promise<void> {
    const { writer } = this
    const [one] = this.inserted.splice(at % Math.max(1, this.inserted.length), 1)
    if (!one) return
    await this.backend.run((scope: Scope) => writer.remove(scope, one.group, one.id))
  }

  /** All that an index answers, to the letter. */
  async answers(index: MatchIndex<Signature>): Promise<unknown[]> {
    const all: unknown[] = []
    for (const group of GROUPS) {
      for (const signature of this.kind.signatures) {
        all.push(await this.backend.read(() => index.find(group, signature, 0.2, undefined)))
      }
      const stats = await this.backend.read(() => index.stats(group))
      all.push(stats?.representatives)
    }
    return all
  }

  /** All rows of the journal but the last are gone: only who starts with a snapshot knows what they were. */
  async forgetJournal(): Promise<void> {
    await this.backend.run(function* (scope: Scope) {
      const rows = yield* rowsOf(spaces.journal, { limit: 100_000 })
      for (const { key } of rows.slice(0, -1)) scope.remove(cell(spaces.journal, key))
    })
  }

  async rowsKept(): Promise<number> {
    let rows = 0
    for await (const _ of this.backend.scan(spaces.snapshots)) rows++
    return rows
  }
}

type Step =
  | { readonly op: 'insert'; readonly group: number; readonly which: number }
  | { readonly op: 'remove'; readonly at: number }
  | { readonly op: 'keep' }
  | { readonly op: 'die'; readonly after: number }
  | { readonly op: 'trim'; readonly kept: number }
  | { readonly op: 'load' }

const which = fc.nat(5)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ op: fc.constant('insert' as const), group: fc.nat(2), which }),
  },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('remove' as const), at: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.constant({ op: 'keep' } as const) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('die' as const), after: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('trim' as const), kept: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.constant({ op: 'load' } as const) },
)

async function perform<Signature>(world: World<Signature>, one: Step): Promise<void> {
  if (one.op === 'insert') await world.insert(one.group, one.which)
  else if (one.op === 'remove') await world.remove(one.at)
  else if (one.op === 'keep') await world.writer.keepSnapshot(world.backend, 0)
  else if (one.op === 'trim') await world.writer.trim(world.backend, one.kept)
  else if (one.op === 'die') {
    const other = await world.loaded()
    await other.keepSnapshot(dyingAfter(world.engine, one.after), 0).catch(() => {})
  } else {
    expect(await world.answers(await world.loaded())).toEqual(await world.answers(world.newIndex()))
  }
}

async function filled(): Promise<World<Uint16Array>> {
  const world = new World(texts)
  for (let at = 0; at < 40; at++) await world.insert(at % 3, at % 6)
  await world.remove(3)
  await world.remove(20)
  await world.insert(0, 1)
  return world
}

describe('a view that starts with a snapshot', () => {
  it.each([
    { name: 'texts', kind: texts },
    { name: 'vectors', kind: vectors },
  ])(
    'answers as one of the journal after any history of $name',
    async ({ kind }) => {
      const property = fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const world = new World<unknown>(kind)
        for (const one of steps) await perform(world, one)
        await perform(world, { op: 'load' })
      })
      await fc.assert(property, { numRuns: 200 })
    },
    60_000,
  )

  it('does not read what is before it in the journal', async () => {
    const world = await filled()
    expect(await world.writer.keepSnapshot(world.backend, 0)).toBe(true)
    const before = await world.answers(world.newIndex())
    const decode = vi.spyOn(spaces.journal.codec, 'decode')
    await world.loaded()
    // The row it stands at, before and after.
    expect(decode).toHaveBeenCalledTimes(2)
    decode.mockRestore()
    await world.forgetJournal()
    expect(await world.answers(await world.loaded())).toEqual(before)
    expect(await world.answers(world.newIndex())).not.toEqual(before)
  })

  it('goes on from there: what came and went later is seen, and slots are used again', async () => {
    const world = await filled()
    await world.writer.keepSnapshot(world.backend, 0)
    await world.remove(0)
    const own = await world.loaded()
    for (let at = 0; at < 30; at++) await world.insert(at % 3, at % 6, own)
    expect(await world.answers(own)).toEqual(await world.answers(world.newIndex()))
  })

  it('is over pages and parts', async () => {
    const world = new World(texts)
    for (let at = 0; at < 9000; at++) await world.insert(at % 2, at % 6, world.writer)
    expect(await world.writer.keepSnapshot(world.backend)).toBe(true)
    expect(await world.rowsKept()).toBeGreaterThan(4)
    const before = await world.answers(world.newIndex())
    await world.forgetJournal()
    expect(await world.answers(await world.loaded())).toEqual(before)
  })
})

interface TableStep {
  readonly id: number
  readonly which: number
  readonly isRemoval: boolean
}

describe('the memory of tables', () => {
  const tableStep: fc.Arbitrary<TableStep> = fc.record({
    id: fc.nat(25),
    which: fc.nat(5),
    isRemoval: fc.nat(4).map((one) => one === 0),
  })
  const steps = fc.array(tableStep, { maxLength: 60 })
  const bytesOf = (tables: GroupedTables<unknown>) =>
    Buffer.concat([...tables.memory()]).toString('hex')

  it.each(['texts', 'vectors'])('makes tables of %s that go on in the same way', (name) => {
    // safe: which kind it is makes no difference to what is done with it
    const kind = (name === 'texts' ? texts : vectors) as Kind<unknown>
    const apply = (tables: GroupedTables<unknown>, all: readonly TableStep[]) => {
      for (const { id, which: of, isRemoval } of all) {
        const group = `group ${id % 3}`
        if (isRemoval) tables.remove(group, Buffer.alloc(16, id))
        else tables.insert(group, Buffer.alloc(16, id), kind.signatures[of])
      }
    }
    const property = fc.property(steps, steps, (before, after) => {
      const [first, second] = [kind.scheme().tables(), kind.scheme().tables()]
      apply(first, before)
      const memory = Buffer.concat([...first.memory()])
      let at = 0
      for (const piece of second.memoryToFill()) {
        piece.set(memory.subarray(at, at + piece.byteLength))
        at += piece.byteLength
      }
      expect(at).toBe(memory.byteLength)
      for (const tables of [first, second]) apply(tables, after)
      expect(bytesOf(second)).toBe(bytesOf(first))
    })
    fc.assert(property, { numRuns: 300 })
  })

  it.each([
    ['texts', '3b7b4cc0f781f146d64206f990b737d7'],
    ['vectors', '25896b684311bcc9c2a064fd9b81a827'],
  ])(
    'is laid out as ever for %s: another layout is another format of snapshots',
    (name, digest) => {
      const tables = (name === 'texts' ? texts : vectors)
        .scheme()
        .tables() as GroupedTables<unknown>
      for (let id = 0; id < 9; id++) {
        const signature =
          name === 'texts'
            ? Uint16Array.from({ length: SLOTS }, (_, at) => at * 257 + (at < 32 ? 0 : id))
            : Uint8Array.from({ length: 16 }, (_, at) => at * 5 + (at < 8 ? 0 : id))
        tables.insert(`group ${id % 2}`, Buffer.alloc(16, id), signature)
      }
      tables.remove('group 0', Buffer.alloc(16, 4))
      expect(
        digestOf(Buffer.concat([...tables.memory()]))
          .toString('hex')
          .slice(0, 32),
      ).toBe(digest)
    },
  )
})

type Damage = (world: World<Uint16Array>) => Promise<unknown>

/** Changes the rows of a snapshot. */
function changing(change: (parts: [string, Uint8Array][]) => void): Damage {
  return async ({ engine }) => {
    const space = engine.space(spaces.snapshots.name)
    const all = space.slice('', '\uffff', 1e6)
    for (const [key] of all) space.delete(key)
    change(all)
    for (const [key, bytes] of all) space.set(key, bytes)
  }
}

const isHead = ([key]: [string, Uint8Array]) => key.endsWith('head')

/** Changes a byte of the head, or of the first part. */
function flipping(what: 'head' | 'part', at: number): Damage {
  return changing((all) => {
    const row = all.find((one) => isHead(one) === (what === 'head'))!
    const bytes = Uint8Array.from(row[1])
    bytes[at < 0 ? bytes.length + at : at]! ^= 0x20
    row[1] = bytes
  })
}

const damages: Record<string, Damage> = {
  'a part is missing': changing((all) =>
    all.splice(
      all.findIndex((one) => !isHead(one)),
      1,
    ),
  ),
  'a part is cut off': changing((all) => {
    const row = all.findLast((one) => !isHead(one))!
    row[1] = row[1].subarray(0, -1)
  }),
  'a part is damaged': flipping('part', -40),
  'its digest is damaged': flipping('part', 3),
  'it has no head': changing((all) => all.splice(all.findIndex(isHead), 1)),
  'its head is cut off': changing((all) => {
    const row = all.find(isHead)!
    row[1] = row[1].subarray(0, 20)
  }),
  'it is of another format': flipping('head', 0),
  'the row it stands at has another nonce': flipping('head', 10),
  'it has parts of another': flipping('head', 30),
  'it has fewer parts than it says': changing((all) => {
    const row = all.find(isHead)!
    const bytes = Uint8Array.from(row[1])
    bytes[42]! += 1
    row[1] = bytes
  }),
  'its tables are of another shape': flipping('head', 45),
  'the row it stands at was trimmed': ({ backend }) =>
    backend.run(function* (scope: Scope) {
      const [last] = (yield* rowsOf(spaces.journal, { limit: 100_000 })).slice(-1)
      scope.remove(cell(spaces.journal, last!.key))
    }),
}

describe('a snapshot that does not fit', () => {
  it.each(Object.keys(damages))('is not used: %s', async (name) => {
    const world = await filled()
    await world.writer.keepSnapshot(world.backend, 0)
    await world.forgetJournal()
    const kept = await world.answers(await world.loaded())
    await damages[name]!(world)
    // What the journal has left is what is found, because the snapshot is not used.
    const found = await world.answers(await world.loaded())
    expect(found).not.toEqual(kept)
    expect(found).toEqual(await world.answers(world.newIndex()))
  })

  it('is not used if it is of another journal, and is replaced', async () => {
    const [world, other] = [await filled(), await filled()]
    await other.writer.keepSnapshot(other.backend, 0)
    const foreign = other.engine.space(spaces.snapshots.name).slice('', '\uffff', 1e6)
    const space = world.engine.space(spaces.snapshots.name)
    for (const [key, bytes] of foreign) space.set(key, bytes)
    const before = await world.answers(world.newIndex())
    expect(await world.answers(await world.loaded())).toEqual(before)
    expect(await world.writer.keepSnapshot(world.backend)).toBe(false)
    expect(await world.writer.keepSnapshot(world.backend, 0)).toBe(true)
    await world.forgetJournal()
    expect(await world.answers(await world.loaded())).toEqual(before)
  })

  it('is withdrawn when something is trimmed that it does not know of', async () => {
    const world = await filled()
    await world.writer.keepSnapshot(world.backend, 0)
    await world.remove(5)
    // The removal is forgotten, and what was removed is in the snapshot.
    await world.insert(0, 0)
    expect(await world.writer.trim(world.backend, 0)).toBeGreaterThan(0)
    expect(await world.answers(await world.loaded())).toEqual(await world.answers(world.newIndex()))
  })

  it('stays when what is trimmed was gone before', async () => {
    const world = await filled()
    await world.insert(0, 0)
    await world.writer.keepSnapshot(world.backend, 0)
    expect(await world.writer.trim(world.backend, 0)).toBeGreaterThan(0)
    const before = await world.answers(world.newIndex())
    await world.forgetJournal()
    expect(await world.answers(await world.loaded())).toEqual(before)
  })

  it('is not kept if the index changes while it is written', async () => {
    const world = await filled()
    const other = await world.loaded()
    const backend = new MemoryBackend({}, world.engine)
    const run = backend.run.bind(backend)
    let runs = 0
    backend.run = async (body, ...args) => {
      const result = await run(body, ...args)
      if (++runs === 3) await world.insert(1, 2)
      return result
    }
    expect(await other.keepSnapshot(backend, 0)).toBe(false)
    expect(await world.answers(await world.loaded())).toEqual(await world.answers(world.newIndex()))
    expect(await other.keepSnapshot(world.backend, 0)).toBe(true)
  })

  it('is written again only when an eighth has changed, and leaves nothing of the old one', async () => {
    const world = await filled()
    expect(await world.writer.keepSnapshot(world.backend, 10)).toBe(true)
    const rows = await world.rowsKept()
    expect(await world.writer.keepSnapshot(world.backend, 0)).toBe(false)
    for (let at = 0; at < 5; at++) await world.insert(0, 0)
    expect(await world.writer.keepSnapshot(world.backend, 1)).toBe(false)
    for (let at = 0; at < 5; at++) await world.insert(0, 0)
    await world
      .loaded()
      .then((index) => index.keepSnapshot(dyingAfter(world.engine, 3), 1).catch(() => {}))
    expect(await world.writer.keepSnapshot(world.backend, 1)).toBe(true)
    expect(await world.rowsKept()).toBe(rows)
  })
})
