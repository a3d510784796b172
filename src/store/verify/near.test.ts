/** What verify finds in the rows of near duplicates, one damage at a time, and how it mends it. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { describe, expect, it } from 'vitest'

import { edited, textOf } from '../../../test/texts/near-texts.ts'
import { type Backend, cell, read, type Scope, type Space } from '../../backends/contract.ts'
import { openLmdb } from '../../backends/lmdb/backend.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { seededRandom, SimulatedWorld } from '../../backends/simulated/backend.ts'
import type { Bytes } from '../../platform/bytes.ts'
import { openStore, type Store, type StoreOptions } from '../../index.ts'
import { sequenceKey } from '../../match/rows.ts'
import { HEAD_KEY } from '../../match/journal.ts'
import { encodeSimilarity, type NearLink, nearLinks, storeNear } from '../near/rows.ts'
import { refKey, storeSpaces } from '../rows.ts'
import { linkRows } from './links.ts'
import { nearRows, representativeOf } from './near-index.ts'
import { entryOf, raw } from './raw.ts'
import type { ProblemKind } from './verify.ts'

const ENGINES = ['memory', 'lmdb', 'simulated'] as const
type Engine = (typeof ENGINES)[number]
const NEAR: StoreOptions = { dedup: 'near', near: { bucketMax: 20 } }
const SHARED: StoreOptions = { ...NEAR, fidelity: 'representative' }
const A = textOf(1, 100)
/** Two groups of texts that are alike, one that stands alone, and what is not compared. */
const VALUES: Readonly<Record<string, string | Buffer>> = {
  first: A,
  near: edited(A, 1),
  nearer: `${A} end`,
  alone: textOf(2, 100),
  other: textOf(3, 100),
  'near other': edited(textOf(3, 100), 1, 'y'),
  empty: '',
  binary: Buffer.from([255, 254, 0, 1]),
}
const rawNear = { ...nearRows, ...linkRows(nearLinks) }
const linkedKey = (representative: Buffer, id: Buffer) => Buffer.concat([representative, id])
const STRANGE = Buffer.alloc(16, 0xee)

class Lab {
  readonly backend: Backend
  readonly connect: () => Promise<Backend>

  constructor(connect: () => Promise<Backend>, backend: Backend) {
    this.connect = connect
    this.backend = backend
  }

  async get(space: Space<Bytes>, key: Bytes): Promise<Buffer> {
    const found = await this.backend.read(function* () {
      return (yield* read(cell(space, key)))[0]
    })
    if (!found) throw new Error(`The test expects row ${Buffer.from(key).toString('hex')}.`)
    return Buffer.from(found)
  }

  change(space: Space<Bytes>, key: Bytes, value: Bytes | undefined): Promise<void> {
    return this.backend.run(function* (scope: Scope) {
      if (value === undefined) scope.remove(cell(space, key))
      else scope.write(cell(space, key), value)
    })
  }

  async id(key: string): Promise<Buffer> {
    return entryOf(await this.get(raw.entries, Buffer.from(key)))!.id
  }

  async link(key: string): Promise<NearLink> {
    return nearLinks.links.codec.decode(await this.get(rawNear.links, await this.id(key)))
  }

  /** The key of its row among the representatives. */
  async place(key: string): Promise<Buffer> {
    return Buffer.concat([(await this.link(key)).group, await this.id(key)])
  }

  /** The number of its row in the journal. */
  async sequence(key: string): Promise<Buffer> {
    const row = await this.get(rawNear.representatives, await this.place(key))
    return sequenceKey(representativeOf(row)!.sequence)
  }

  async relink(key: string, change: Partial<NonNullable<NearLink['to']>>): Promise<void> {
    const { group, to } = await this.link(key)
    const id = await this.id(key)
    const link = nearLinks.links.codec.encode({ group, to: { ...to!, ...change } }, id)
    await this.change(rawNear.links, id, link)
  }

  async flip(space: Space<Bytes>, key: Bytes, at = 0): Promise<void> {
    const row = await this.get(space, key)
    row[at] = row[at]! ^ 0x40
    await this.change(space, key, row)
  }

  async head(change: number): Promise<void> {
    const head = storeNear.heads.codec.decode(await this.get(rawNear.heads, HEAD_KEY))
    const { sequence } = head
    const wrong = storeNear.heads.codec.encode({ ...head, sequence: sequence + change })
    await this.change(rawNear.heads, HEAD_KEY, wrong)
  }

  async buckets(key: string): Promise<Buffer[]> {
    // Buckets cannot be listed; their keys are those of the group.
    const row = representativeOf(await this.get(rawNear.representatives, await this.place(key)))!
    const { textNearSettings } = await import('../../match/index.ts')
    const { slots, bands, rows } = textNearSettings({ similarityMin: 0.8, evidence: 'text' })
    const { MatchIndex } = await import('../../match/match-index.ts')
    const { TextScheme } = await import('../../match/scheme/text.ts')
    const likeness = new TextScheme(slots, { bands, rows })
    const index = new MatchIndex(storeNear, likeness, {
      serial: false,
      candidatesMax: 100,
      bucketMax: 20,
    })
    const { group } = await this.link(key)
    const cells = index.bucketsOf(group, likeness.fromBytes(row.signature))
    return cells.map(({ key: place }) => Buffer.from(place))
  }
}

async function withLab(engine: Engine, work: (lab: Lab) => Promise<void>): Promise<void> {
  if (engine === 'memory') {
    const shared = new MemoryEngine()
    const connect = async () => new MemoryBackend({}, shared)
    return work(new Lab(connect, await connect()))
  }
  if (engine === 'simulated') {
    const world = new SimulatedWorld(3)
    let workers = 0
    const connect = async () => world.open(`w${++workers}`)
    return work(new Lab(connect, await connect()))
  }
  const directory = await mkdtemp(join(tmpdir(), 'prestige-verify-near-'))
  const opened: Backend[] = []
  const connect = async () => {
    const backend = await openLmdb(directory, { spaces: storeSpaces, durability: 'os' })
    opened.push(backend)
    return backend
  }
  try {
    await work(new Lab(connect, await connect()))
  } finally {
    for (const backend of opened) await backend.close()
    await rm(directory, { recursive: true })
  }
}

async function fill(store: Store): Promise<void> {
  for (const [key, value] of Object.entries(VALUES)) await store.put(key, value)
}

interface Damage {
  readonly name: string
  readonly only?: 'serial' | 'optimistic'
  readonly input?: StoreOptions
  readonly damage: (lab: Lab) => Promise<unknown>
  /** What it shows as, as long as it is not mended, without repetition. */
  readonly kinds: readonly ProblemKind[]
  /** Keys whose values are lost. */
  readonly lost?: readonly string[]
}

const change = (lab: Lab, space: Space<Bytes>, key: Bytes, value?: Bytes) =>
  lab.change(space, key, value)

const damages: readonly Damage[] = [
  {
    name: 'a linked content has lost its link',
    damage: async (lab) => change(lab, rawNear.links, await lab.id('near')),
    kinds: ['link-missing', 'row-unaccounted', 'tallies-wrong'],
  },
  {
    name: 'a representative has lost its link',
    damage: async (lab) => change(lab, rawNear.links, await lab.id('first')),
    kinds: ['row-unaccounted', 'link-missing', 'link-orphaned'],
  },
  {
    name: 'the link of a linked content cannot be read',
    damage: async (lab) => lab.flip(rawNear.links, await lab.id('near')),
    kinds: ['row-unreadable', 'tallies-wrong'],
  },
  {
    name: 'the link of a representative is cut off',
    damage: async (lab) =>
      change(lab, rawNear.links, await lab.id('alone'), Buffer.from([0x10, 1, 2, 3])),
    kinds: ['row-unreadable'],
  },
  {
    name: 'a link tells another similarity',
    damage: (lab) => lab.relink('near', { similarity: 0.86 }),
    kinds: ['link-wrong'],
  },
  {
    name: 'a link tells a similarity that is none',
    damage: (lab) => lab.relink('near', { similarity: 7 }),
    kinds: ['row-unreadable', 'tallies-wrong'],
  },
  {
    name: 'a link names another digest',
    damage: (lab) => lab.relink('near', { digest: Buffer.alloc(32, 1) }),
    kinds: ['link-wrong'],
  },
  {
    name: 'a link is in another group',
    damage: async (lab) => lab.flip(rawNear.links, await lab.id('near'), 1),
    kinds: ['link-wrong'],
  },
  {
    name: 'a text is linked to one it is not like',
    damage: async (lab) => {
      const [id, from, to] = [await lab.id('near'), await lab.id('first'), await lab.id('alone')]
      const digest = await lab.get(rawNear.linked, linkedKey(from, id))
      const { digest: other } = entryOf(await lab.get(raw.entries, Buffer.from('alone')))!
      await lab.relink('near', { id: to, digest: other })
      await change(lab, rawNear.linked, linkedKey(from, id))
      await change(lab, rawNear.linked, linkedKey(to, id), digest)
    },
    kinds: ['link-wrong'],
  },
  {
    name: 'a link has no row among those linked',
    damage: async (lab) =>
      change(lab, rawNear.linked, linkedKey(await lab.id('first'), await lab.id('near'))),
    kinds: ['linked-missing'],
  },
  {
    name: 'the row among those linked has another digest',
    damage: async (lab) =>
      lab.flip(rawNear.linked, linkedKey(await lab.id('first'), await lab.id('near')), 3),
    kinds: ['linked-missing'],
  },
  {
    name: 'what it is linked to is gone, and there is no note',
    damage: async (lab) => {
      const [id, from] = [await lab.id('near'), await lab.id('first')]
      const digest = await lab.get(rawNear.linked, linkedKey(from, id))
      await lab.relink('near', { id: STRANGE })
      await change(lab, rawNear.linked, linkedKey(from, id))
      await change(lab, rawNear.linked, linkedKey(STRANGE, id), digest)
    },
    kinds: ['link-orphaned'],
  },
  {
    name: 'there is a link of a representative that is no content',
    damage: async (lab) => {
      const { group } = await lab.link('first')
      await change(
        lab,
        rawNear.links,
        STRANGE,
        nearLinks.links.codec.encode({ group, to: undefined }, STRANGE),
      )
    },
    kinds: ['row-unaccounted'],
  },
  {
    name: 'there is a link of nothing to a representative',
    damage: async (lab) =>
      change(
        lab,
        rawNear.links,
        STRANGE,
        nearLinks.links.codec.encode(await lab.link('near'), STRANGE),
      ),
    kinds: ['row-unaccounted', 'tallies-wrong'],
  },
  {
    name: 'there is a row among those linked of what is not',
    damage: async (lab) =>
      change(lab, rawNear.linked, linkedKey(await lab.id('first'), STRANGE), Buffer.alloc(32)),
    kinds: ['row-unaccounted'],
  },
  {
    name: 'rows have keys that are none',
    damage: async (lab) => {
      for (const space of [rawNear.links, rawNear.linked, rawNear.orphaned]) {
        await change(lab, space, Buffer.from('short'), Buffer.alloc(1))
      }
      await change(lab, rawNear.representatives, Buffer.from('short'), Buffer.alloc(1))
    },
    kinds: ['row-unaccounted'],
  },
  {
    name: 'a representative is not in the index',
    damage: async (lab) => change(lab, rawNear.representatives, await lab.place('first')),
    kinds: ['index-wrong'],
    only: 'optimistic',
  },
  {
    name: 'a representative is in the journal only',
    damage: async (lab) => change(lab, rawNear.representatives, await lab.place('first')),
    kinds: ['row-unaccounted', 'index-wrong'],
    only: 'serial',
  },
  {
    name: 'a representative tells another content',
    damage: async (lab) => {
      const place = await lab.place('first')
      const row = await lab.get(rawNear.representatives, place)
      await lab.flip(rawNear.representatives, place, row.byteLength - 1)
    },
    kinds: ['index-wrong'],
  },
  {
    name: 'a representative cannot be read',
    damage: async (lab) => lab.flip(rawNear.representatives, await lab.place('first')),
    kinds: ['row-unreadable', 'index-wrong'],
  },
  {
    name: 'there is a representative of no content',
    damage: async (lab) => {
      const row = await lab.get(rawNear.representatives, await lab.place('first'))
      const { group } = await lab.link('first')
      await change(lab, rawNear.representatives, Buffer.concat([group, STRANGE]), row)
    },
    kinds: ['row-unaccounted'],
    only: 'optimistic',
  },
  {
    name: 'a linked content is in the index as well',
    damage: async (lab) => {
      const { group } = await lab.link('near')
      const representative = { sequence: 0, signature: Buffer.alloc(0), payload: Buffer.alloc(38) }
      const row = storeNear.representatives.codec.encode(representative)
      const place = Buffer.concat([group, await lab.id('near')])
      await change(lab, rawNear.representatives, place, row)
    },
    kinds: ['row-unaccounted'],
  },
  {
    name: 'a signature is another',
    damage: async (lab) => lab.flip(rawNear.representatives, await lab.place('first'), 12),
    kinds: ['index-wrong'],
    only: 'optimistic',
  },
  {
    name: 'a bucket has lost who is in it',
    damage: async (lab) => change(lab, rawNear.buckets, (await lab.buckets('first'))[2]!),
    kinds: ['index-wrong'],
    only: 'optimistic',
  },
  {
    name: 'a bucket cannot be read',
    damage: async (lab) => lab.flip(rawNear.buckets, (await lab.buckets('first'))[2]!),
    kinds: ['index-wrong'],
    only: 'optimistic',
  },
  {
    name: 'a row of the journal is gone',
    damage: async (lab) => change(lab, rawNear.journal, await lab.sequence('first')),
    kinds: ['index-wrong'],
    only: 'serial',
  },
  {
    name: 'a row of the journal cannot be read',
    damage: async (lab) => lab.flip(rawNear.journal, await lab.sequence('first')),
    kinds: ['row-unreadable', 'index-wrong'],
    only: 'serial',
  },
  {
    name: 'a row of the journal is of a kind that is none',
    damage: async (lab) => {
      const place = await lab.sequence('first')
      const row = await lab.get(rawNear.journal, place)
      row[0] = 0x17
      await change(lab, rawNear.journal, place, row)
    },
    kinds: ['row-unreadable', 'index-wrong'],
    only: 'serial',
  },
  {
    name: "a representative names another's row of the journal",
    damage: async (lab) => {
      const place = await lab.place('first')
      const row = representativeOf(await lab.get(rawNear.representatives, place))!
      const { sequence } = representativeOf(
        await lab.get(rawNear.representatives, await lab.place('alone')),
      )!
      const wrong = storeNear.representatives.codec.encode({ ...row, sequence })
      await change(lab, rawNear.representatives, place, wrong)
    },
    kinds: ['row-unaccounted', 'index-wrong'],
    only: 'serial',
  },
  {
    name: 'a signature in the journal is another',
    damage: async (lab) => lab.flip(rawNear.journal, await lab.sequence('first'), 60),
    kinds: ['index-wrong'],
    only: 'serial',
  },
  {
    name: 'a representative is noted as dead',
    damage: async (lab) => change(lab, rawNear.dead, await lab.sequence('first'), Buffer.alloc(0)),
    kinds: ['index-wrong'],
    only: 'serial',
  },
  {
    name: 'a change that nobody needs is not noted as dead',
    damage: async (lab) => {
      for await (const { key } of lab.backend.scan(rawNear.dead)) {
        return change(lab, rawNear.dead, key)
      }
      throw new Error('The test expects a note.')
    },
    kinds: ['row-unaccounted'],
    only: 'serial',
  },
  {
    name: 'a change that is not there is noted as dead',
    damage: (lab) => change(lab, rawNear.dead, sequenceKey(999), Buffer.alloc(0)),
    kinds: ['row-unaccounted'],
    only: 'serial',
  },
  {
    name: 'the head is behind the journal',
    damage: (lab) => lab.head(-1),
    kinds: ['index-wrong'],
    only: 'serial',
  },
  {
    name: 'the head is gone',
    damage: (lab) => change(lab, rawNear.heads, HEAD_KEY),
    kinds: ['index-wrong'],
    only: 'serial',
  },
  {
    name: 'the head cannot be read',
    damage: (lab) => lab.flip(rawNear.heads, HEAD_KEY),
    kinds: ['row-unreadable'],
    only: 'serial',
  },
  {
    name: 'the tally of links is wrong',
    damage: (lab) =>
      lab.backend.run(function* (scope: Scope) {
        scope.add(cell(nearLinks.tallies, Buffer.from('links')), 5)
      }),
    kinds: ['tallies-wrong'],
  },
  {
    name: 'a reference tells a similarity where bytes are not shared',
    damage: async (lab) => {
      const row = refKey(await lab.id('first'), Buffer.from('first'))
      await change(lab, raw.refs, row, encodeSimilarity(0.9))
    },
    kinds: ['ref-wrong'],
  },
  {
    name: 'a reference tells a similarity below the threshold',
    input: SHARED,
    damage: async (lab) => {
      const row = refKey(await lab.id('near'), Buffer.from('near'))
      await change(lab, raw.refs, row, encodeSimilarity(0.1))
    },
    kinds: ['ref-wrong'],
  },
  {
    name: 'the content of a representative is gone',
    damage: async (lab) => change(lab, raw.contents, await lab.id('first')),
    // What is kept as a delta of it would be lost with it.
    input: { ...NEAR, deltas: false },
    kinds: ['content-missing', 'row-unaccounted'],
    lost: ['first'],
  },
]

/** What was put, however it is found. */
async function expectHealthy(store: Store, { input, lost = [] }: Damage, mark: string) {
  for (const [key, value] of Object.entries(VALUES)) {
    if (lost.includes(key)) continue
    const shown = input === SHARED && key.startsWith('near') ? undefined : Buffer.from(value)
    if (shown) expect(await store.get(key), key).toEqual(shown)
  }
  for (const seed of [1, 2, 3]) {
    const copy = `${textOf(seed, 100)} ${mark}`
    expect(await store.put(`copy ${seed}`, copy)).toMatchObject({ method: 'near' })
  }
}

function applies(engine: Engine, { only }: Damage): boolean {
  if (only === undefined) return true
  return (only === 'optimistic') === (engine === 'simulated')
}

describe.each(ENGINES)('in a store on %s', (engine) => {
  const here = damages.filter((one) => applies(engine, one))
  it.each(here.map((one) => [one.name, one] as const))('%s', async (_name, one) => {
    await withLab(engine, async (lab) => {
      const { input = NEAR, damage, kinds } = one
      const first = await openStore(await lab.connect(), input)
      await fill(first)
      await first.put('gone', textOf(9, 100))
      await first.delete('gone')
      expect((await first.verify()).problems).toEqual([])
      await damage(lab)
      const store = await openStore(await lab.connect(), { near: { bucketMax: 20 } })
      const report = await store.verify()
      expect(new Set(report.problems.map(({ kind }) => kind))).toEqual(new Set(kinds))
      expect(report.isSound).toBe(false)
      const mended = await store.verify({ repair: true })
      const isLoss = one.lost !== undefined
      expect(mended.isSound).toBe(!isLoss)
      if (isLoss) for (const key of one.lost) await store.delete(key)
      expect((await store.verify()).problems).toEqual([])
      await expectHealthy(store, one, 'one')
      // Those who had it open all the time see it mended too.
      await expectHealthy(first, one, 'two')
      expect((await first.verify()).problems).toEqual([])
    })
  })

  it('a representative that was lost, and replaced since, gives its links to the new one', async () => {
    await withLab(engine, async (lab) => {
      const store = await openStore(await lab.connect(), NEAR)
      await store.put('first', A)
      const copies = Array.from({ length: 6 }, (_, at) => `${A} copy${at}`)
      for (const [at, copy] of copies.entries()) await store.put(`copy ${at}`, copy)
      await change(lab, rawNear.representatives, await lab.place('first'))
      expect(await store.put('new', `${A} new`)).toMatchObject({ content: 'new' })
      expect((await store.verify({ repair: true })).isSound).toBe(true)
      expect((await store.verify()).problems).toEqual([])
      expect(await store.stats()).toMatchObject({ near: { links: 7 } })
      expect(await store.explain('copy 3')).toMatchObject({ of: { firstKey: Buffer.from('new') } })
    })
  })

  it('a damage that is not mended makes puts fail by name, never miss', async () => {
    if (engine === 'simulated') return
    await withLab(engine, async (lab) => {
      await fill(await openStore(await lab.connect(), NEAR))
      await lab.flip(rawNear.journal, await lab.sequence('first'))
      const store = await openStore(await lab.connect(), {})
      await expect(store.put('x', `${A} x`)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
      expect(await store.get('first')).toEqual(Buffer.from(A))
      await store.verify({ repair: true })
      expect(await store.put('x', `${A} x`)).toMatchObject({ method: 'near' })
    })
  })

  it('nothing is found beside those who put, delete and collect', async () => {
    await withLab(engine, async (lab) => {
      const random = seededRandom(engine.length)
      const stores = [await openStore(await lab.connect(), NEAR)]
      stores.push(await openStore(await lab.connect(), NEAR))
      let left = engine === 'simulated' ? 60 : 150
      const work = stores.map(async (store) => {
        while (left-- > 0) {
          const key = `k${Math.floor(random() * 6)}`
          const text = edited(textOf(Math.floor(random() * 2), 60), 1, `${left % 5}`)
          const dice = random()
          if (dice < 0.6) await store.put(key, text)
          else if (dice < 0.95) await store.delete(key)
          else await store.collect()
          await nextTurn()
        }
      })
      const watcher = await openStore(await lab.connect(), {})
      const found: unknown[] = []
      const watch = async () => {
        while (left > 0) {
          found.push(...(await watcher.verify({ repair: left % 2 === 0 })).problems)
          await nextTurn()
        }
      }
      await Promise.all([...work, watch()])
      expect(found).toEqual([])
      expect((await watcher.verify()).problems).toEqual([])
    })
  })
})
