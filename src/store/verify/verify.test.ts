import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { type Backend, cell, read, type Scope, type Space } from '../../backends/contract.ts'
import { openLmdb } from '../../backends/lmdb/backend.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { seededRandom, SimulatedWorld } from '../../backends/simulated/backend.ts'
import { type Bytes, EMPTY } from '../../platform/bytes.ts'
import { digestOf } from '../../fingerprint/digest.ts'
import { openStore, type Store, type StoreOptions, type VerifyReport } from '../../index.ts'
import {
  Entry,
  expiryKey,
  Known,
  memberKey,
  partKey,
  refKey,
  storeSpaces,
  storeTallies,
} from '../rows.ts'
import { findSettings, replaceSettings } from '../settings.ts'
import { entryOf, formRowOf, knownOf, raw } from './raw.ts'
import type { ProblemKind } from './verify.ts'

const ENGINES = ['memory', 'lmdb', 'simulated'] as const
type Engine = (typeof ENGINES)[number]

/** A store, and a second backend on its rows to damage them with. */
class Lab implements AsyncDisposable {
  readonly open: (input?: StoreOptions, wrap?: (backend: Backend) => Backend) => Promise<Store>
  readonly backend: Backend
  readonly #end: () => Promise<void>
  readonly #opened: Store[] = []

  constructor(connect: () => Promise<Backend>, backend: Backend, end: () => Promise<void>) {
    this.backend = backend
    this.#end = end
    this.open = async (input = {}, wrap = (backend) => backend) => {
      const store = await openStore(wrap(await connect()), input)
      this.#opened.push(store)
      return store
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.#opened) await store.close()
    await this.backend.close()
    await this.#end()
  }

  async get(space: Space<Bytes>, key: Bytes): Promise<Buffer | undefined> {
    const found = await this.backend.read(function* () {
      return (yield* read(cell(space, key)))[0]
    })
    return found && Buffer.from(found)
  }

  async require(space: Space<Bytes>, key: Bytes): Promise<Buffer> {
    const found = await this.get(space, key)
    if (!found) throw new Error(`The test expects row ${Buffer.from(key).toString('hex')}.`)
    return found
  }

  /** Writes a row, or removes it. */
  change(space: Space<Bytes>, key: Bytes, value: Bytes | undefined): Promise<void> {
    return this.backend.run(function* (scope: Scope) {
      if (value === undefined) scope.remove(cell(space, key))
      else scope.write(cell(space, key), value)
    })
  }

  async entry(key: string): Promise<Entry> {
    return entryOf(await this.require(raw.entries, Buffer.from(key)))!
  }

  async known(key: string): Promise<Known> {
    return knownOf(await this.require(raw.digests, (await this.entry(key)).digest))!
  }

  async rows(space: Space<Bytes>): Promise<[string, string][]> {
    const rows: [string, string][] = []
    for await (const { key, value } of this.backend.scan(space)) {
      rows.push([key.toString('hex'), Buffer.from(value).toString('hex')])
    }
    return rows
  }

  async snapshot(): Promise<Record<string, [string, string][]>> {
    const all: Record<string, [string, string][]> = {}
    for (const space of Object.values(raw)) all[space.name] = await this.rows(space)
    return all
  }
}

async function connectTo(engine: Engine, namespace = '', seed = 1) {
  if (engine === 'memory') {
    const shared = new MemoryEngine()
    return { connect: async () => new MemoryBackend({ namespace }, shared), end: async () => {} }
  }
  if (engine === 'simulated') {
    const world = new SimulatedWorld(seed)
    let workers = 0
    const connect = async () => world.open(`w${++workers}`, { namespace })
    return { connect, end: async () => {} }
  }
  const directory = await mkdtemp(join(tmpdir(), 'prestige-verify-'))
  const connect = () => openLmdb(directory, { spaces: storeSpaces, durability: 'os', namespace })
  return { connect, end: () => rm(directory, { recursive: true }) }
}

/** Of format 2, where values longer than this are kept in parts. Chunks have tests of their own. */
const PART_BYTES = 64

async function openLab(engine: Engine, input: StoreOptions = {}, namespace = ''): Promise<Lab> {
  const { connect, end } = await connectTo(engine, namespace)
  const lab = new Lab(connect, await connect(), end)
  await lab.open(input)
  const written = await lab.backend.read(findSettings)
  const { chunks: _, ...others } = written!
  await lab.backend.run(replaceSettings, written!, { ...others, format: 2, partBytes: PART_BYTES })
  return lab
}

const LONG = 'a long value, '.repeat(11)
const VALUES: Readonly<Record<string, string>> = {
  one: 'Shared value',
  two: 'Shared value',
  three: 'another value',
  linked: 'shared  VALUE',
  empty: '',
  long: LONG,
  soon: 'expires',
}

/** Keys that share, link, expire, and one value in three parts. */
async function fill(store: Store): Promise<void> {
  for (const [key, value] of Object.entries(VALUES)) {
    await store.put(key, value, key === 'soon' ? { ttlMs: 3_600_000 } : {})
  }
}

async function expectHealthy(store: Store, lost: readonly string[] = []): Promise<void> {
  for (const [key, value] of Object.entries(VALUES)) {
    if (!lost.includes(key)) expect(await store.getText(key), key).toBe(value)
  }
}

const kinds = ({ problems }: VerifyReport) => problems.map(({ kind }) => kind)
const CLEAN = { problems: [], problemCount: 0, notes: [], isSound: true }

describe.each(ENGINES)('a sound store on %s', (engine) => {
  it.each<[string, StoreOptions]>([
    ['exact', {}],
    ['with canonical links', { canonical: 'unicode' }],
    ['with shared representatives', { canonical: 'unicode', fidelity: 'representative' }],
    ['with manual collection', { gc: 'manual', canonical: 'whitespace' }],
    ['with values the profile cannot read', { canonical: 'json', onUnreadable: 'bytes' }],
    ['with a canonical function', { canonical: lowerCase() }],
  ])('verifies clean: %s', async (_name, input) => {
    await using lab = await openLab(engine, input)
    const store = await lab.open(input)
    await fill(store)
    await store.put('three', LONG.toUpperCase())
    await store.delete('one')
    const stats = await store.stats()
    const report = await store.verify()
    expect(report).toMatchObject({ ...CLEAN, unfinishedUploads: 0 })
    expect(report.keys).toBe(6)
    expect(report.contents).toBe(stats.contents)
    expect(report.contentBytes).toBe(stats.contentBytes)
    expect(await store.verify({ repair: true })).toEqual(report)
  })

  it('verifies clean when it is empty', async () => {
    await using lab = await openLab(engine)
    const store = await lab.open()
    expect(await store.verify()).toMatchObject({ ...CLEAN, keys: 0, contents: 0, contentBytes: 0 })
  })

  it('counts unfinished uploads and calls them no problem', async () => {
    await using lab = await openLab(engine)
    const store = await lab.open()
    await fill(store)
    await stageParts(lab, Buffer.alloc(16, 7), 2)
    expect(await store.verify({ repair: true })).toMatchObject({ ...CLEAN, unfinishedUploads: 1 })
    expect(await lab.get(raw.contents, Buffer.alloc(16, 7))).toBeDefined()
  })

  it('may have more rows than one transaction may rely on', async () => {
    await using lab = await openLab(engine)
    const store = await lab.open()
    for (let at = 0; at < 150; at++) await store.put(`key-${at}`, `value ${at}`)
    expect(await store.verify()).toMatchObject({ ...CLEAN, keys: 150 })
  })

  it('is not mixed up with another namespace', async () => {
    await using lab = await openLab(engine, {}, 'mine')
    const store = await lab.open()
    await fill(store)
    expect(await store.verify()).toMatchObject({ ...CLEAN, keys: 7 })
  })
})

function lowerCase() {
  const canonicalise = (bytes: Uint8Array) =>
    new TextEncoder().encode(new TextDecoder().decode(bytes).toLowerCase())
  return { version: 'lower-1', canonicalise }
}

async function stageParts(lab: Lab, id: Buffer, parts: number): Promise<void> {
  await lab.change(raw.staged, id, Buffer.of(0x10, 0, 0, 0, parts))
  for (let part = 0; part < parts; part++) {
    await lab.change(raw.contents, partKey(id, part), Buffer.alloc(PART_BYTES, part))
  }
}

interface Damage {
  readonly name: string
  readonly input?: StoreOptions
  readonly prepare?: (store: Store) => Promise<unknown>
  readonly damage: (lab: Lab) => Promise<unknown>
  readonly kind: ProblemKind
  /** What else the same damage shows as, when it is mended. */
  readonly also?: readonly ProblemKind[]
  /** What else it shows as, as long as it is not mended. */
  readonly unmended?: readonly ProblemKind[]
  readonly isLoss?: boolean
  /** Keys that fail with CONTENT_CORRUPT afterwards. */
  readonly lost?: readonly string[]
  readonly after?: (lab: Lab, store: Store) => Promise<unknown>
}

const LINKS: StoreOptions = { canonical: 'unicode' }
const STRANGE = Buffer.alloc(16, 0xee)

const flipped = (bytes: Bytes, at = 0): Buffer => {
  const copy = Buffer.from(bytes)
  copy[at] = copy[at]! ^ 0x40
  return copy
}

async function flip(lab: Lab, space: Space<Bytes>, key: Bytes, at = 0): Promise<void> {
  await lab.change(space, key, flipped(await lab.require(space, key), at))
}

async function rewriteEntry(lab: Lab, key: string, change: object): Promise<void> {
  const { id, digest, putAt, bytes, expiresAt, outcome } = await lab.entry(key)
  const entry = Entry.of({ id, digest, putAt, bytes, expiresAt, outcome, ...change })
  await lab.change(raw.entries, Buffer.from(key), entry.row)
}

async function rewriteKnown(lab: Lab, key: string, change: object): Promise<void> {
  const { digest } = await lab.entry(key)
  const { id, bytes, storedAt, form, mark, firstKey } = await lab.known(key)
  const known = Known.of({ id, bytes, storedAt, form, mark, firstKey, ...change })
  await lab.change(raw.digests, digest, known.row)
}

const DAMAGES: readonly Damage[] = [
  {
    name: 'a changed byte in a content',
    damage: async (lab) => flip(lab, raw.contents, (await lab.entry('one')).id, 3),
    kind: 'content-damaged',
    isLoss: true,
    lost: ['one', 'two'],
  },
  {
    name: 'a changed byte in a content that stands for a form',
    input: LINKS,
    damage: async (lab) => flip(lab, raw.contents, (await lab.entry('one')).id, 3),
    kind: 'content-damaged',
    isLoss: true,
    lost: ['one', 'two'],
    after: async (lab) => {
      const form = formRowOf(await lab.require(raw.forms, (await lab.known('linked')).form!))
      expect(form?.id).toEqual((await lab.entry('linked')).id)
    },
  },
  {
    name: 'a changed byte in the last part of a content',
    damage: async (lab) => flip(lab, raw.contents, partKey((await lab.entry('long')).id, 2)),
    kind: 'content-damaged',
    isLoss: true,
    lost: ['long'],
  },
  {
    name: 'a part that is missing in the middle',
    damage: async (lab) =>
      lab.change(raw.contents, partKey((await lab.entry('long')).id, 1), undefined),
    kind: 'content-damaged',
    isLoss: true,
    lost: ['long'],
  },
  {
    name: 'a first part that is missing',
    damage: async (lab) => lab.change(raw.contents, (await lab.entry('long')).id, undefined),
    kind: 'content-damaged',
    isLoss: true,
    lost: ['long'],
  },
  {
    name: 'a last part under a wrong number',
    damage: async (lab) => {
      const { id } = await lab.entry('long')
      const last = await lab.require(raw.contents, partKey(id, 2))
      await lab.change(raw.contents, partKey(id, 2), undefined)
      await lab.change(raw.contents, partKey(id, 3), last)
    },
    kind: 'content-damaged',
    isLoss: true,
    lost: ['long'],
  },
  {
    name: 'parts that are cut at another place',
    damage: async (lab) => {
      const { id } = await lab.entry('long')
      const whole = Buffer.from(LONG)
      await lab.change(raw.contents, id, whole.subarray(0, 50))
      await lab.change(raw.contents, partKey(id, 1), whole.subarray(50, 114))
      await lab.change(raw.contents, partKey(id, 2), whole.subarray(114))
    },
    kind: 'content-damaged',
    isLoss: true,
    lost: ['long'],
  },
  {
    name: 'a damaged content that nothing refers to any more',
    input: { gc: 'manual' },
    prepare: async (store) => {
      await store.put('gone', 'a value that is deleted')
      await store.delete('gone')
    },
    damage: async (lab) => {
      const known = knownOf(
        await lab.require(raw.digests, digestOf(Buffer.from('a value that is deleted'))),
      )
      await flip(lab, raw.contents, known!.id)
    },
    kind: 'content-damaged',
  },
  {
    name: 'a part too many',
    damage: async (lab) =>
      lab.change(raw.contents, partKey((await lab.entry('long')).id, 3), Buffer.from('more')),
    kind: 'row-unaccounted',
  },
  {
    name: 'a part too many behind a small content',
    damage: async (lab) =>
      lab.change(raw.contents, partKey((await lab.entry('one')).id, 9), Buffer.from('more')),
    kind: 'row-unaccounted',
  },
  {
    name: 'a content that is gone',
    damage: async (lab) => lab.change(raw.contents, (await lab.entry('one')).id, undefined),
    kind: 'content-missing',
    isLoss: true,
    lost: ['one', 'two'],
  },
  {
    name: 'a digest that is gone',
    unmended: ['row-unaccounted', 'form-wrong', 'tallies-wrong'],
    input: LINKS,
    damage: async (lab) => lab.change(raw.digests, (await lab.entry('one')).digest, undefined),
    kind: 'content-unlisted',
    after: async (lab) => {
      expect((await lab.known('one')).id).toEqual((await lab.entry('one')).id)
      expect((await lab.known('one')).firstKey.toString()).toBe('one')
    },
  },
  {
    name: 'a digest that cannot be read',
    unmended: ['form-wrong'],
    input: LINKS,
    damage: async (lab) =>
      lab.change(raw.digests, (await lab.entry('long')).digest, Buffer.from('?')),
    kind: 'row-unreadable',
    also: ['content-unlisted'],
  },
  {
    name: 'a digest that is cut off within its form',
    unmended: ['form-wrong'],
    input: LINKS,
    damage: async (lab) => {
      const { digest } = await lab.entry('long')
      await lab.change(
        raw.digests,
        digest,
        (await lab.require(raw.digests, digest)).subarray(0, 40),
      )
    },
    kind: 'row-unreadable',
    also: ['content-unlisted'],
  },
  {
    name: 'a digest that cannot be read, of a content that is gone',
    damage: async (lab) => {
      const { id, digest } = await lab.entry('three')
      await lab.change(raw.digests, digest, EMPTY)
      await lab.change(raw.contents, id, undefined)
    },
    kind: 'key-lost',
    also: ['row-unreadable', 'tallies-wrong'],
    isLoss: true,
    lost: ['three'],
  },
  {
    name: 'a content that nothing knows of',
    damage: (lab) => lab.change(raw.contents, STRANGE, Buffer.from('whose is it?')),
    kind: 'content-unknown',
    after: async (lab) => expect(await lab.get(raw.contents, STRANGE)).toBeUndefined(),
  },
  {
    name: 'a content in parts that nothing knows of',
    damage: async (lab) => {
      for (let part = 0; part < 40; part++) {
        await lab.change(raw.contents, partKey(STRANGE, part), Buffer.alloc(PART_BYTES, part))
      }
    },
    kind: 'content-unknown',
    after: async (lab) => {
      const rows = await lab.rows(raw.contents)
      expect(rows.filter(([key]) => key.startsWith(STRANGE.toString('hex')))).toEqual([])
    },
  },
  {
    name: 'a second copy of a content that nothing refers to',
    damage: (lab) => lab.change(raw.contents, STRANGE, Buffer.from(VALUES.one!)),
    kind: 'content-unknown',
  },
  {
    name: 'a second copy of a content that a key points at',
    damage: async (lab) => {
      const { id } = await lab.entry('two')
      await lab.change(raw.contents, STRANGE, Buffer.from(VALUES.two!))
      await rewriteEntry(lab, 'two', { id: STRANGE })
      await lab.change(raw.refs, refKey(id, Buffer.from('two')), undefined)
      await lab.change(raw.refs, refKey(STRANGE, Buffer.from('two')), EMPTY)
    },
    kind: 'content-doubled',
    after: async (lab) => expect((await lab.entry('two')).id).toEqual((await lab.entry('one')).id),
  },
  {
    name: 'a listed copy that is damaged while another one is sound',
    unmended: ['content-doubled'],
    damage: async (lab) => {
      const { id } = await lab.entry('three')
      await lab.change(raw.contents, STRANGE, Buffer.from(VALUES.three!))
      await flip(lab, raw.contents, id)
      await rewriteEntry(lab, 'three', { id: STRANGE })
      await lab.change(raw.refs, refKey(id, Buffer.from('three')), undefined)
      await lab.change(raw.refs, refKey(STRANGE, Buffer.from('three')), EMPTY)
    },
    kind: 'content-damaged',
    also: ['content-unlisted', 'tallies-wrong'],
  },
  {
    name: 'a reference that is missing',
    unmended: ['content-unreferenced'],
    damage: async (lab) => {
      const { id } = await lab.entry('three')
      await lab.change(raw.refs, refKey(id, Buffer.from('three')), undefined)
      await rewriteKnown(lab, 'three', { mark: Buffer.alloc(16, 5) })
    },
    kind: 'ref-missing',
    after: async (lab) => expect((await lab.known('three')).mark).toBeUndefined(),
  },
  {
    name: 'a reference that is missing, of a content that is not listed',
    unmended: ['content-unknown', 'tallies-wrong'],
    damage: async (lab) => {
      const { id, digest } = await lab.entry('three')
      await lab.change(raw.refs, refKey(id, Buffer.from('three')), undefined)
      await lab.change(raw.digests, digest, undefined)
    },
    kind: 'ref-missing',
    also: ['content-unlisted'],
  },
  {
    name: 'a reference of a key that does not exist',
    damage: async (lab) =>
      lab.change(raw.refs, refKey((await lab.entry('one')).id, Buffer.from('nobody')), EMPTY),
    kind: 'row-unaccounted',
  },
  {
    name: 'a reference of a key that points elsewhere',
    damage: async (lab) =>
      lab.change(raw.refs, refKey((await lab.entry('one')).id, Buffer.from('three')), EMPTY),
    kind: 'row-unaccounted',
  },
  {
    name: 'an expiry that is missing',
    damage: async (lab) => {
      const { expiresAt } = await lab.entry('soon')
      await lab.change(raw.expiries, expiryKey(expiresAt!, Buffer.from('soon')), undefined)
    },
    kind: 'expiry-missing',
  },
  {
    name: 'an expiry of a key that stays',
    damage: (lab) => lab.change(raw.expiries, expiryKey(12345, Buffer.from('one')), EMPTY),
    kind: 'row-unaccounted',
  },
  {
    name: 'a wrong length of a key',
    unmended: ['tallies-wrong'],
    damage: (lab) => rewriteEntry(lab, 'long', { bytes: 3 }),
    kind: 'entry-wrong',
  },
  {
    name: 'a key that points past its content',
    unmended: ['row-unaccounted'],
    damage: async (lab) => {
      await rewriteKnown(lab, 'three', { mark: Buffer.alloc(16, 5) })
      await rewriteEntry(lab, 'three', { id: STRANGE })
    },
    kind: 'entry-astray',
    also: ['ref-missing'],
    after: async (lab) => expect((await lab.known('three')).mark).toBeUndefined(),
  },
  {
    name: 'a key that points at the content of another key',
    unmended: ['row-unaccounted'],
    damage: async (lab) => {
      const { id } = await lab.entry('three')
      await rewriteEntry(lab, 'one', { id })
      await lab.change(raw.refs, refKey(id, Buffer.from('one')), EMPTY)
    },
    kind: 'entry-astray',
  },
  {
    name: 'a key with a digest that nothing has',
    damage: (lab) => rewriteEntry(lab, 'three', { digest: Buffer.alloc(32, 1) }),
    kind: 'entry-doubtful',
    isLoss: true,
    after: async (_lab, store) => {
      await store.delete('three')
      await store.put('three', VALUES.three!)
    },
  },
  {
    name: 'a key that points at nothing',
    damage: (lab) => rewriteEntry(lab, 'three', { id: STRANGE, digest: Buffer.alloc(32, 1) }),
    kind: 'key-lost',
    also: ['row-unaccounted', 'content-unreferenced', 'ref-missing'],
    isLoss: true,
    lost: ['three'],
  },
  {
    name: 'an entry that cannot be read',
    damage: (lab) => lab.change(raw.entries, Buffer.from('two'), Buffer.from('nonsense')),
    kind: 'row-unreadable',
  },
  {
    name: 'an entry that is cut off before the time it expires',
    damage: async (lab) => {
      const row = await lab.require(raw.entries, Buffer.from('soon'))
      await lab.change(raw.entries, Buffer.from('soon'), row.subarray(0, 63))
    },
    kind: 'row-unreadable',
    after: async (lab) => {
      const { expiresAt } = await lab.entry('soon')
      expect(await lab.get(raw.expiries, expiryKey(expiresAt!, Buffer.from('soon')))).toBeDefined()
    },
  },
  {
    name: 'an entry that cannot be read and has no reference',
    damage: async (lab) => {
      const { id } = await lab.entry('three')
      await lab.change(raw.refs, refKey(id, Buffer.from('three')), undefined)
      await lab.change(raw.entries, Buffer.from('three'), EMPTY)
    },
    kind: 'row-unreadable',
    also: ['content-unreferenced', 'tallies-wrong'],
    isLoss: true,
    lost: ['three'],
  },
  {
    name: 'an entry that is gone',
    damage: (lab) => lab.change(raw.entries, Buffer.from('two'), undefined),
    kind: 'row-unaccounted',
    also: ['tallies-wrong'],
    after: async (_lab, store) => store.put('two', VALUES.two!),
  },
  {
    name: 'a wrong length of a content',
    unmended: ['tallies-wrong'],
    damage: (lab) => rewriteKnown(lab, 'long', { bytes: 5 }),
    kind: 'digest-wrong',
  },
  {
    name: 'a wrong canonical form of a content',
    unmended: ['row-unaccounted'],
    input: LINKS,
    damage: (lab) => rewriteKnown(lab, 'one', { form: Buffer.alloc(32, 9) }),
    kind: 'digest-wrong',
  },
  {
    name: 'a canonical form where there should be none',
    damage: (lab) => rewriteKnown(lab, 'one', { form: Buffer.alloc(32, 9) }),
    kind: 'digest-wrong',
  },
  {
    name: 'a digest that names the content of another',
    damage: async (lab) => {
      const { row } = await lab.known('one')
      await lab.change(raw.digests, Buffer.alloc(32, 9), row)
    },
    kind: 'digest-astray',
    also: ['tallies-wrong'],
  },
  {
    name: 'a content that nothing refers to and no collector knows of',
    input: { gc: 'manual' },
    prepare: async (store) => {
      await store.put('gone', 'a value that is deleted')
      await store.delete('gone')
    },
    damage: (lab) =>
      lab.change(raw.released, digestOf(Buffer.from('a value that is deleted')), undefined),
    kind: 'content-unreferenced',
    after: async (_lab, store) => expect((await store.collect()).contents).toBe(1),
  },
  {
    name: 'a member that is missing',
    input: LINKS,
    damage: async (lab) => {
      const { id, form } = await lab.known('linked')
      await lab.change(raw.members, memberKey(form!, id), undefined)
    },
    kind: 'member-missing',
  },
  {
    name: 'a member with another digest',
    unmended: ['row-unaccounted'],
    input: LINKS,
    damage: async (lab) => {
      const { id, form } = await lab.known('linked')
      await lab.change(raw.members, memberKey(form!, id), Buffer.alloc(32, 9))
    },
    kind: 'member-missing',
  },
  {
    name: 'a member that does not have the form',
    input: LINKS,
    damage: async (lab) => {
      const { digest } = await lab.entry('three')
      const { form } = await lab.known('one')
      await lab.change(raw.members, memberKey(form!, STRANGE), digest)
    },
    kind: 'row-unaccounted',
  },
  {
    name: 'a form that is missing',
    input: LINKS,
    damage: async (lab) => lab.change(raw.forms, (await lab.known('linked')).form!, undefined),
    kind: 'form-missing',
    after: async (_lab, store) =>
      expect((await store.put('new', 'SHARED value')).of?.firstKey.toString()).toBe('one'),
  },
  {
    name: 'a form that cannot be read',
    input: LINKS,
    damage: async (lab) => flip(lab, raw.forms, (await lab.known('linked')).form!),
    kind: 'row-unreadable',
  },
  {
    name: 'a form that a stranger stands for',
    input: LINKS,
    damage: async (lab) => {
      const stranger = (await lab.known('three')).form!
      await lab.change(
        raw.forms,
        (await lab.known('linked')).form!,
        await lab.require(raw.forms, stranger),
      )
    },
    kind: 'form-wrong',
  },
  {
    name: 'a form that tells something else than the content that stands for it',
    input: LINKS,
    damage: async (lab) => flip(lab, raw.forms, (await lab.known('linked')).form!, 54),
    kind: 'form-wrong',
  },
  {
    name: 'a form that no content has',
    input: LINKS,
    damage: async (lab) => {
      const row = await lab.require(raw.forms, (await lab.known('three')).form!)
      await lab.change(raw.forms, Buffer.alloc(32, 9), row)
    },
    kind: 'form-wrong',
    after: async (lab) => expect(await lab.get(raw.forms, Buffer.alloc(32, 9))).toBeUndefined(),
  },
  {
    name: 'a visible content that is called unfinished',
    damage: async (lab) =>
      lab.change(raw.staged, (await lab.entry('long')).id, Buffer.of(0x10, 0, 0, 0, 3)),
    kind: 'row-unaccounted',
  },
  {
    name: 'an unfinished upload whose row cannot be read',
    damage: async (lab) => {
      await stageParts(lab, STRANGE, 3)
      await lab.change(raw.staged, STRANGE, Buffer.of(1, 2, 3))
    },
    kind: 'row-unreadable',
    after: async (lab, store) => {
      expect((await store.verify()).unfinishedUploads).toBe(1)
      expect((await store.collect()).abandonedParts).toBe(3)
      expect(await lab.get(raw.contents, partKey(STRANGE, 2))).toBeUndefined()
    },
  },
  ...(
    ['contents', 'digests', 'refs', 'forms', 'members', 'expiries', 'released', 'staged'] as const
  ).map((space): Damage => ({
    name: `a row of ${space} whose key has a length no such key has`,
    damage: (lab) => lab.change(raw[space], Buffer.of(1, 2, 3), Buffer.of(0x10)),
    kind: 'row-unaccounted',
    after: async (lab) => expect(await lab.get(raw[space], Buffer.of(1, 2, 3))).toBeUndefined(),
  })),
  {
    name: 'wrong tallies',
    damage: (lab) =>
      lab.backend.run(function* (scope: Scope) {
        scope.add(cell(storeTallies, Buffer.from('keys')), 3)
        scope.add(cell(storeTallies, Buffer.from('contentBytes')), -100)
      }),
    kind: 'tallies-wrong',
  },
]

describe.each(ENGINES)('verify on %s', (engine) => {
  it.each(DAMAGES.map((one) => [one.name, one] as const))(
    'finds %s, and mends what can be mended',
    async (_name, one) => {
      const { input = {}, lost = [], isLoss = false } = one
      await using lab = await openLab(engine, input)
      const store = await lab.open(input)
      await fill(store)
      await one.prepare?.(store)
      expect(await store.verify()).toMatchObject(CLEAN)
      await one.damage(lab)

      const before = await lab.snapshot()
      const found = await store.verify()
      expect(kinds(found)).toContain(one.kind)
      const expected = new Set<ProblemKind>([one.kind, ...(one.also ?? [])])
      const shown = new Set([...expected, ...(one.unmended ?? [])])
      expect(kinds(found).filter((kind) => !shown.has(kind))).toEqual([])
      expect(found.isSound).toBe(false)
      expect(found.problems.every(({ repaired }) => !repaired)).toBe(true)
      expect(await lab.snapshot()).toEqual(before)

      const mended = await store.verify({ repair: true })
      expect(kinds(mended)).toContain(one.kind)
      expect(kinds(mended).filter((kind) => !expected.has(kind))).toEqual([])
      expect(mended.isSound).toBe(!isLoss)
      for (const { kind, repaired } of mended.problems) {
        expect(repaired, kind).toBe(!(isLoss && kind === one.kind))
      }

      await expectLoss(store, lost)
      await one.after?.(lab, store)
      await expectHealthy(store, lost)
      const after = await store.verify({ repair: true })
      expect(kinds(after).filter((kind) => kind !== 'key-lost')).toEqual([])
      expect(keysOf(after)).toEqual(lost.toSorted())
      for (const key of lost) await store.put(key, VALUES[key]!)
      expect(await store.verify()).toMatchObject(CLEAN)
      await expectHealthy(store)
    },
  )
})

const keysOf = ({ problems }: VerifyReport) =>
  problems.flatMap(({ keys }) => keys.map(String)).toSorted()

/** Lost keys fail by name, all others are as they were. */
async function expectLoss(store: Store, lost: readonly string[]): Promise<void> {
  for (const key of lost) {
    await expect(store.get(key), key).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
  }
}

describe('a damaged content', () => {
  it('is named with the keys that are lost, and never linked to again once it was taken out', async () => {
    await using lab = await openLab('memory')
    const store = await lab.open()
    for (let at = 10; at < 40; at++) await store.put(`key-${at}`, 'the same')
    await store.put('other', 'sound')
    await flip(lab, raw.contents, (await lab.entry('key-10')).id)
    const [problem] = (await store.verify({ repair: true })).problems
    expect(problem).toMatchObject({ kind: 'content-damaged', repaired: false })
    expect(problem?.keys.map(String)).toEqual(
      Array.from({ length: 20 }, (_, at) => `key-${at + 10}`),
    )
    expect(problem?.message).toContain('20 or more keys')
    expect(await store.stats()).toMatchObject({ keys: 31, contents: 1, contentBytes: 5 })
    expect(await store.put('new', 'the same')).toMatchObject({ content: 'new' })
    expect(await store.getText('new')).toBe('the same')
  })

  it('is healed for all its keys by one put and a repair', async () => {
    await using lab = await openLab('memory', { gc: 'manual' })
    const store = await lab.open({ gc: 'manual' })
    await fill(store)
    await flip(lab, raw.contents, (await lab.entry('one')).id)
    await store.verify({ repair: true })
    await store.put('two', VALUES.two!)
    const report = await store.verify({ repair: true })
    expect(report.problems).toMatchObject([{ kind: 'entry-astray', repaired: true }])
    await expectHealthy(store)
    expect(await store.verify()).toMatchObject(CLEAN)
    await store.collect()
    await expectHealthy(store)
  })

  it('is healed with another representative where representatives are shared', async () => {
    const input = { canonical: 'unicode', fidelity: 'representative' } as const
    await using lab = await openLab('memory', input)
    const store = await lab.open(input)
    await fill(store)
    await flip(lab, raw.contents, (await lab.entry('one')).id)
    await store.verify({ repair: true })
    await store.put('two', 'SHARED      VALUE')
    const report = await store.verify({ repair: true })
    expect(kinds(report)).toEqual(['entry-astray', 'entry-astray'])
    expect(await store.getText('one')).toBe('SHARED      VALUE')
    expect(await store.verify()).toMatchObject(CLEAN)
  })

  it('can be deleted by its keys', async () => {
    await using lab = await openLab('memory')
    const store = await lab.open()
    await fill(store)
    await flip(lab, raw.contents, (await lab.entry('one')).id)
    await store.verify({ repair: true })
    expect(await store.delete('one')).toBe(true)
    expect(await store.delete('two')).toBe(true)
    expect(await store.verify()).toMatchObject({ ...CLEAN, keys: 5 })
  })

  it('is found by its canonical form where representatives are shared', async () => {
    const input = { canonical: 'unicode', fidelity: 'representative' } as const
    await using lab = await openLab('memory', input)
    const store = await lab.open(input)
    await fill(store)
    await flip(lab, raw.contents, (await lab.entry('three')).id)
    const report = await store.verify({ repair: true })
    expect(report.problems).toMatchObject([{ kind: 'content-damaged', repaired: false }])
    expect(keysOf(report)).toEqual(['three'])
    await store.put('three', VALUES.three!)
    expect(await store.verify()).toMatchObject(CLEAN)
    expect(await store.getText('linked')).toBe(VALUES.one)
  })
})

describe('a store written with a canonical function', () => {
  it('is verified without the function as far as that goes, and says so', async () => {
    const input = { canonical: lowerCase() }
    await using lab = await openLab('memory', input)
    await fill(await lab.open(input))
    const store = await lab.open()
    const report = await store.verify()
    expect(report).toMatchObject({ problems: [], isSound: true })
    expect(report.notes).toEqual([expect.stringContaining('canonical function was not given')])
    await flip(lab, raw.contents, (await lab.entry('one')).id)
    expect(kinds(await store.verify())).toEqual(['content-damaged'])
  })

  it('is refused by name when its contents are known by nothing else', async () => {
    const input = { canonical: lowerCase(), fidelity: 'representative' } as const
    await using lab = await openLab('memory', input)
    const store = await lab.open()
    await expect(store.verify()).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
  })
})

describe('a verification', () => {
  it('tells its progress now and then, and at its end', async () => {
    await using store = await openStore('memory:')
    for (let at = 0; at < 3000; at++) await store.put(`key-${at}`, `value ${at}`)
    const reports: { rows: number; bytes: number }[] = []
    const started = performance.now()
    await store.verify({ onProgress: (progress) => reports.push(progress) })
    const passed = performance.now() - started
    expect(reports.length).toBeLessThanOrEqual(2 + passed / 100)
    expect(reports.at(-1)?.rows).toBeGreaterThanOrEqual(4 * 3000)
    expect(reports.at(-1)?.bytes).toBeGreaterThan(3000 * 100)
    expect(reports).toEqual(reports.toSorted((one, other) => one.rows - other.rows))
  })

  it.each(['memory', 'lmdb'] as const)(
    'lets others run, and can be called off, on %s',
    async (engine) => {
      await using lab = await openLab(engine)
      const store = await lab.open()
      const items = Array.from({ length: 5000 }, (_, at) => ({
        key: `key-${at}`,
        value: `value ${at}`,
      }))
      await store.putMany(items)
      await expect(store.verify({ signal: AbortSignal.abort() })).rejects.toThrow('aborted')
      const controller = new AbortController()
      setTimeout(() => controller.abort(), 1)
      await expect(store.verify({ signal: controller.signal })).rejects.toThrow('aborted')
      expect(await store.verify()).toMatchObject(CLEAN)
    },
  )

  it('lists the first thousand problems, counts them all and mends them all', async () => {
    await using lab = await openLab('memory')
    const store = await lab.open()
    await fill(store)
    for (let at = 0; at < 1200; at++) {
      const id = Buffer.alloc(16, 0xee)
      id.writeUInt16BE(at)
      await lab.change(raw.contents, id, Buffer.from(`nobody's ${at}`))
    }
    const report = await store.verify({ repair: true })
    expect(report).toMatchObject({ problemCount: 1200, isSound: true })
    expect(report.problems.length).toBe(1000)
    expect(await store.verify()).toMatchObject(CLEAN)
  })

  it('restores many entries that cannot be read', async () => {
    await using lab = await openLab('memory')
    const store = await lab.open()
    for (let at = 0; at < 1500; at++) await store.put(`key-${at}`, `value ${at % 700}`)
    for (let at = 0; at < 1500; at++) await lab.change(raw.entries, Buffer.from(`key-${at}`), EMPTY)
    expect(await store.verify({ repair: true })).toMatchObject({
      problemCount: 1500,
      isSound: true,
    })
    for (let at = 0; at < 1500; at++)
      expect(await store.getText(`key-${at}`)).toBe(`value ${at % 700}`)
    expect(await store.verify()).toMatchObject({ ...CLEAN, keys: 1500, contents: 700 })
  })

  it('names the space and the key of a row it cannot read', async () => {
    await using lab = await openLab('memory')
    const store = await lab.open()
    await fill(store)
    await lab.change(raw.entries, Buffer.from('one'), EMPTY)
    const { digest } = await lab.entry('three')
    await lab.change(raw.digests, digest, EMPTY)
    const { problems, notes } = await store.verify()
    const unreadable = problems.filter(({ kind }) => kind === 'row-unreadable')
    expect(unreadable.map(({ message }) => message)).toEqual([
      'Row "one" of entries cannot be read.',
      `Row ${digest.toString('hex')} of digests cannot be read.`,
    ])
    expect(notes).toEqual([expect.stringContaining('some rows cannot be read')])
  })
})

/** Puts, deletes and collections on few keys and few values, so that everything happens to everything. */
class Traffic {
  readonly #store: Store
  readonly #random: () => number
  readonly #name: string
  /** What this writer's own keys should hold. */
  readonly model = new Map<string, string>()
  isOver = false

  constructor(store: Store, random: () => number, name: string) {
    this.#store = store
    this.#random = random
    this.#name = name
  }

  async run(): Promise<void> {
    while (!this.isOver) {
      await this.#step()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async #step(): Promise<void> {
    const key = `${this.#name}-${this.#whole(12)}`
    const kind = this.#random()
    if (kind < 0.35) {
      this.model.delete(key)
      await this.#store.delete(key)
    } else if (kind < 0.4) {
      await this.#store.collect()
    } else {
      const value = `${this.#random() < 0.5 ? 'Value' : 'value'} ${'of some length '.repeat(this.#whole(12))}${this.#whole(4)}`
      const ttlMs = this.#random() < 0.2 ? 3_600_000 : undefined
      await this.#store.put(key, value, { ttlMs })
      this.model.set(key, value)
    }
  }

  async expectModel(): Promise<void> {
    for (let at = 0; at < 12; at++) {
      const key = `${this.#name}-${at}`
      expect(await this.#store.getText(key)).toBe(this.model.get(key))
    }
  }

  #whole(below: number): number {
    return Math.floor(this.#random() * below)
  }
}

async function duringTraffic<T>(writers: readonly Traffic[], work: () => Promise<T>): Promise<T> {
  const running = writers.map((writer) => writer.run())
  try {
    return await work()
  } finally {
    for (const writer of writers) writer.isOver = true
    await Promise.all(running)
  }
}

/** Lets others run before every read and between the rows of a scan, as an engine far away would. */
function hesitant(backend: Backend): Backend {
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return {
    limits: backend.limits,
    serial: backend.serial,
    now: () => backend.now(),
    snapshots: backend.snapshots,
    snapshot: () => backend.snapshot(),
    close: () => backend.close(),
    async read(body, ...args) {
      await turn()
      return backend.read(body, ...args)
    },
    async run(body, ...args) {
      await turn()
      return backend.run(body, ...args)
    },
    async *scan(space, range) {
      let seen = 0
      for await (const row of backend.scan(space, range)) {
        if (seen++ % 8 === 0) await turn()
        yield row
      }
    },
  }
}

async function leave(store: Store): Promise<void> {
  await store.delete('extra')
  await store.collect()
}

/** Does something before everything that is asked of a backend: a read, a run, a row of a scan. */
function interrupted(backend: Backend, before: () => Promise<unknown>): Backend {
  return {
    limits: backend.limits,
    serial: backend.serial,
    now: () => backend.now(),
    snapshots: backend.snapshots,
    snapshot: () => backend.snapshot(),
    close: () => backend.close(),
    async read(body, ...args) {
      await before()
      return backend.read(body, ...args)
    },
    async run(body, ...args) {
      await before()
      return backend.run(body, ...args)
    },
    async *scan(space, { start, end, limit = Infinity } = {}) {
      let from = start
      for (let left = limit; left > 0; left--) {
        await before()
        const rows = backend.scan(space, { start: from, end, limit: 1 })
        const { value: row } = await rows[Symbol.asyncIterator]().next()
        if (!row) return
        from = Buffer.concat([row.key, Buffer.of(0)])
        yield row
      }
    },
  }
}

describe('while others write', () => {
  it.each([
    ['a small value', LINKS, 'an extra value'],
    ['a value in parts', LINKS, 'an extra value '.repeat(10)],
    ['a small value collected by hand', { ...LINKS, gc: 'manual' as const }, 'an extra value'],
    ['a value that is linked', LINKS, 'Shared VALUE'],
  ])('no moment is wrong for %s to come and go', async (_name, input, value) => {
    await using lab = await openLab('memory', input)
    const store = await lab.open(input)
    await fill(store)
    let step = 0
    let happen = async (_step: number) => {}
    const watched = await lab.open(input, (backend) => interrupted(backend, () => happen(++step)))
    for (let comes = 1, last = comes; comes <= last; comes += 2) {
      for (const later of [1, 2, 3, 5, 8, 20]) {
        step = 0
        happen = async (now) => {
          if (now === comes) await store.put('extra', value)
          if (now === comes + later) await leave(store)
        }
        const { problems } = await watched.verify({ repair: comes % 4 === 1 })
        expect(problems, `comes at ${comes}, goes at ${comes + later}`).toEqual([])
        last = step
        await leave(store)
      }
    }
    expect(await store.verify()).toMatchObject(CLEAN)
    await expectHealthy(store)
  })

  it.each<[Engine, StoreOptions]>([
    ['memory', LINKS],
    ['lmdb', LINKS],
    ['lmdb', { ...LINKS, gc: 'manual' }],
  ])('no problem is seen where there is none, on %s with %j', async (engine, input) => {
    await using lab = await openLab(engine, input)
    const store = await lab.open(input)
    const items = Array.from({ length: 100 }, (_, at) => ({
      key: `quiet-${at}`,
      value: `quiet ${'and long '.repeat(at % 20)}${at}`,
    }))
    await store.putMany(items)
    const writers = Array.from(
      { length: 4 },
      (_, at) => new Traffic(store, seededRandom(at), `writer-${at}`),
    )
    const watched = await lab.open({}, hesitant)
    await duringTraffic(writers, async () => {
      for (let round = 0; round < 4; round++) {
        const report = await watched.verify({ repair: round % 2 === 1 })
        expect(report.problems).toEqual([])
        expect(report.isSound).toBe(true)
        expect(report.keys).toBeGreaterThanOrEqual(100)
      }
    })
    expect(await store.verify()).toMatchObject(CLEAN)
    for (const writer of writers) await writer.expectModel()
    for (const { key, value } of items) expect(await store.getText(key)).toBe(value)
  })

  it.each(Array.from({ length: 12 }, (_, seed) => seed + 1))(
    'no problem is seen where there is none, in simulation %i',
    async (seed) => {
      const { connect } = await connectTo('simulated', '', seed)
      const stores = [await connect(), await connect(), await connect()].map((backend) =>
        openStore(backend, LINKS),
      )
      const [watched, ...others] = await Promise.all(stores)
      const writers = others.map(
        (store, at) => new Traffic(store, seededRandom(seed * 100 + at), `w${at}`),
      )
      await duringTraffic(writers, async () => {
        for (let round = 0; round < 3; round++) {
          const report = await watched!.verify({ repair: round === 1 })
          expect(report.problems).toEqual([])
        }
      })
      expect(await watched!.verify()).toMatchObject(CLEAN)
      for (const writer of writers) await writer.expectModel()
    },
  )

  it('damage is still found and mended', async () => {
    await using lab = await openLab('lmdb', LINKS)
    const store = await lab.open(LINKS)
    await fill(store)
    const writer = new Traffic(store, seededRandom(5), 'writer')
    const watched = await lab.open(LINKS, hesitant)
    const report = await duringTraffic([writer], async () => {
      await lab.change(raw.contents, STRANGE, Buffer.from('whose is it?'))
      const { id, digest } = await lab.entry('three')
      await lab.change(raw.refs, refKey(id, Buffer.from('three')), undefined)
      await lab.change(raw.digests, digest, undefined)
      return watched.verify({ repair: true })
    })
    expect(kinds(report).toSorted()).toEqual(['content-unknown', 'content-unlisted', 'ref-missing'])
    expect(report.isSound).toBe(true)
    expect(await store.verify()).toMatchObject(CLEAN)
    await expectHealthy(store)
    await writer.expectModel()
  })
})

/** Removes, cuts or changes a row anywhere. */
async function vandalise(lab: Lab, random: () => number): Promise<void> {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const spaces = Object.values(raw)
  let rows: [string, string][] = []
  let space = raw.entries
  while (rows.length === 0) {
    space = pick(spaces)
    rows = await lab.rows(space)
  }
  const [key, value] = pick(rows).map((text) => Buffer.from(text, 'hex'))
  const kind = random()
  if (kind < 0.3 || value!.byteLength === 0) return lab.change(space, key!, undefined)
  if (kind < 0.5) {
    const cut = value!.subarray(0, Math.floor(random() * value!.byteLength))
    return lab.change(space, key!, cut)
  }
  value![Math.floor(random() * value!.byteLength)]! ^= 1 << Math.floor(random() * 8)
  return lab.change(space, key!, value)
}

/** More than these can be asked for to look for trouble. */
const SEEDS = Number(process.env['VERIFY_SEEDS'] ?? 48)

function engineOf(seed: number): Engine {
  if (seed % 8 === 0) return 'lmdb'
  return seed % 4 === 3 ? 'simulated' : 'memory'
}

describe('whatever was done to a store', () => {
  it.each(Array.from({ length: SEEDS }, (_, seed) => seed + 1))(
    'a repair leaves no key with other bytes than were put, and putting all again leaves it sound: %i',
    async (seed) => {
      const random = seededRandom(seed)
      const input: StoreOptions = seed % 2 ? LINKS : { gc: 'manual' }
      await using lab = await openLab(engineOf(seed), input)
      const store = await lab.open(input)
      await fill(store)
      for (let at = 0; at < 1 + (seed % 6); at++) await vandalise(lab, random)
      await store.verify()
      for (let round = 0; round < 3; round++) await store.verify({ repair: true })
      const left = new Set(kinds(await store.verify()))
      expect([...left].filter((kind) => kind !== 'key-lost' && kind !== 'entry-doubtful')).toEqual(
        [],
      )
      for (const [key, value] of Object.entries(VALUES)) {
        const text = await store.getText(key).catch((error: { code: string }) => error.code)
        expect([value, undefined, 'CONTENT_CORRUPT']).toContain(text)
        await store.delete(key)
        await store.put(key, value)
      }
      expect(await store.verify()).toMatchObject(CLEAN)
      await expectHealthy(store)
      await store.collect()
      expect(await store.verify()).toMatchObject(CLEAN)
      await expectHealthy(store)
    },
  )
})
