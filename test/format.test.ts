/**
 * The stored format, row by row. What formats 3, 4 and 5 write is in golden files; a difference here is a format change, and
 * needs a new format number, or a new version of a canonical profile. `GOLDEN=write npx vitest run test/format.test.ts` writes them again. Files of earlier
 * formats and versions (`unicode-1`) stay as they are, and must still be read.
 */

import { readFile, writeFile } from 'node:fs/promises'

import { describe, expect, it } from 'vitest'

import { cell, type Range, type Row, type Scope, type Space } from '../src/backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { openStore } from '../src/index.ts'
import { bucketKey } from '../src/match/rows.ts'
import { nearLinks, storeNear } from '../src/store/near/rows.ts'

const golden = (name: string) => new URL(`./golden/${name}.json`, import.meta.url)
const GOLDEN = golden('store-format-3')
const GOLDEN_FEED = golden('store-format-4')
const GOLDEN_METADATA = golden('store-format-5')
const FEED = [
  'link linked',
  'put expires',
  'put duplicate',
  'delete trimmed',
  'put first',
  'put \u0000\u00ff',
  'expire expires',
  'evict duplicate',
  'link new',
]
const GOLDEN_NEAR = golden('near-store-format-3')
/** With deltas, whose bytes differ from one version of Node to the next: it is read, and not compared. */
const GOLDEN_DELTAS = golden('near-store-format-4')
/** Cut into some chunks, which what begins with it shares. */
const LINES = Array.from({ length: 1000 }, (_, at) => `line ${(at * 7919) % 9973}\n`).join('')
type Rows = Record<string, [key: string, value: string][]>

/** Everything a store can hold, from a fixed clock and fixed randomness. */
async function writeStore(engine: MemoryEngine): Promise<void> {
  let time = 1_700_000_000_000
  const fixed = { clock: () => time, random: (count: number) => Buffer.alloc(count, 7) }
  const store = await openStore(new MemoryBackend(fixed, engine), {
    canonical: 'unicode',
    gc: 'manual',
    compression: 'none',
    chunks: { fromBytes: 4096, averageBytes: 2048 },
  })
  await store.put('first', 'Straße')
  time += 1
  await store.put('linked', 'STRASSE')
  await store.put('duplicate', 'Straße')
  await store.put('expires', 'नमस्ते', { ttlMs: 60_000 })
  await store.put('empty', '')
  await store.put(Buffer.from([0, 255]), 'binary key')
  await store.put('gone', 'released')
  await store.delete('gone')
  await store.put('large', Buffer.alloc(4 * 1024 * 1024 + 3, 'x'))
  await store.put('long', LINES)
  await store.put('longer', `${LINES}and an end of its own`)
  // What compressing makes of them differs from one version of Node to the next: the golden rows are of none.
  await store.close()
}

const NEAR_TEXT = Array.from({ length: 60 }, (_, at) => `word${at}`).join(' ')

/** Everything that near duplicates add: linked, representatives, one that went, a note, shared bytes. */
async function writeNearStores(engine: MemoryEngine, deltas = false): Promise<void> {
  let time = 1_700_000_000_000
  const fixed = { clock: () => time, random: (count: number) => Buffer.alloc(count, 7) }
  const own = new MemoryBackend({ ...fixed, namespace: 'own' }, engine)
  const store = await openStore(own, {
    dedup: 'near',
    near: { threshold: 0.85, profile: 'auto' },
    gc: 'manual',
    deltas,
  })
  await store.put('first', NEAR_TEXT)
  time += 1
  await store.put('linked', `${NEAR_TEXT} end`)
  await store.put('other', 'something else altogether, and of another length')
  await store.put('binary', Buffer.from([255, 0]))
  await store.put('empty', '')
  await store.put('gone', 'this one is taken away again before the end')
  await store.delete('gone')
  await store.collect()
  if (deltas) {
    time += 1
    await leaveHeldBase(new Stopping({ ...fixed, namespace: 'own' }, engine))
  }
  const shared = new MemoryBackend({ ...fixed, namespace: 'shared' }, engine)
  const near = { threshold: 0.5, profile: 'words-3' } as const
  const sharing = await openStore(shared, { dedup: 'near', fidelity: 'representative', near })
  await sharing.put('first', NEAR_TEXT)
  await sharing.put('near', `${NEAR_TEXT} end`)
  // What a crash between the sweep of a representative and the next step leaves behind.
  await own.run(function* (scope: Scope) {
    scope.write(cell(nearLinks.orphaned, Buffer.alloc(16, 9)), Buffer.alloc(0))
  })
}

/** Format 4 adds what a feed of changes keeps: every kind of change, of which some are trimmed, and a feed that is off. */
async function writeFeeds(engine: MemoryEngine): Promise<void> {
  let time = 1_700_000_000_000
  const fixed = { clock: () => time, random: (count: number) => Buffer.alloc(count, 7) }
  const on = new MemoryBackend({ ...fixed, namespace: 'on' }, engine)
  const store = await openStore(on, {
    canonical: 'unicode',
    changes: { maxChanges: 8, retentionMs: 60_000 },
    compression: 'none',
  })
  await store.put('trimmed', 'by the end')
  time += 1
  await store.put('first', 'Straße')
  await store.put('linked', 'STRASSE')
  await store.put('expires', 'नमस्ते', { ttlMs: 10 })
  await store.transaction([{ put: 'duplicate', value: 'Straße' }, { delete: 'trimmed' }])
  await store.put('first', 'replaced')
  time += 10
  await store.put(Buffer.from([0, 255]), 'binary key')
  await store.evict({ toKeys: 3 })
  await store.collect()
  const off = new MemoryBackend({ ...fixed, namespace: 'off' }, engine)
  await openStore(off, { changes: true })
  await openStore(off, { changes: false })
}

const HELD_TEXT = Array.from({ length: 60 }, (_, at) => `term${at}`).join(' ')

/** Nothing happens in it after the sweep of a content. */
class Stopping extends MemoryBackend {
  override scan<T>(space: Space<T>, range?: Range): AsyncGenerator<Row<T>> {
    if (['near.orphaned', 'delta.held'].includes(space.name)) throw new Error('stopped')
    return super.scan(space, range)
  }
}

/** What a crash leaves that comes before the deltas of a content that is gone are written otherwise. */
async function leaveHeldBase(backend: MemoryBackend): Promise<void> {
  const store = await openStore(backend, { gc: 'immediate' })
  await store.put('base', HELD_TEXT)
  await store.put('coded', `${HELD_TEXT} end`)
  await expect(store.delete('base')).rejects.toThrow('stopped')
}

/** Format 5 adds metadata of keys. */
async function writeMetadata(engine: MemoryEngine): Promise<void> {
  const clock = () => 1_700_000_000_000
  const random = (count: number) => Buffer.alloc(count, 7)
  const options = { canonical: 'unicode', fidelity: 'representative', compression: 'none' } as const
  const store = await openStore(new MemoryBackend({ clock, random }, engine), options)
  await store.put('plain', 'Straße')
  await store.put('typed', 'STRASSE', { metadata: { step: '', 'content-type': 'text/plain' } })
  await store.put('expires', 'other', { metadata: { author: 'नमस्ते' }, ttlMs: 60_000 })
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1)

function dump(engine: MemoryEngine): Rows {
  const rows: Rows = {}
  for (const [name, map] of [...engine.spaces].toSorted(byName)) {
    rows[name] = map.slice('', undefined, 1000).map(([key, value]) => {
      const isLong = value.byteLength > 1000 && value.every((byte) => byte === 0x78)
      const shown = isLong ? `${value.byteLength} times 78` : Buffer.from(value).toString('hex')
      return [Buffer.from(key, 'latin1').toString('hex'), shown]
    })
  }
  return withRows(rows)
}

/** A space without rows was only asked for. */
function withRows(rows: Rows): Rows {
  return Object.fromEntries(Object.entries(rows).filter(([, all]) => all.length > 0))
}

async function written(file: URL): Promise<Rows> {
  return withRows(JSON.parse(await readFile(file, 'utf8')))
}

function load(rows: Rows): MemoryEngine {
  const engine = new MemoryEngine()
  for (const [name, all] of Object.entries(rows)) {
    for (const [key, value] of all) {
      const long = /^(\d+) times 78$/.exec(value)
      const bytes = long ? Buffer.alloc(Number(long[1]), 'x') : Buffer.from(value, 'hex')
      engine.space(name).set(Buffer.from(key, 'hex').toString('latin1'), bytes)
    }
  }
  return engine
}

describe('the stored format', () => {
  it('is, byte for byte, the one written down', async () => {
    const engine = new MemoryEngine()
    await writeStore(engine)
    if (process.env['GOLDEN'] === 'write') {
      await writeFile(GOLDEN, `${JSON.stringify(dump(engine), undefined, 1)}\n`)
    }
    expect(dump(engine)).toEqual(await written(GOLDEN))
  })

  it.each([
    ['format-1', 1, 1],
    ['unicode-1', 2, 1],
    ['format-2', 2, 2],
    ['format-3', 3, 2],
  ])('%s can be read, verified and written to', async (name, format, version) => {
    const engine = load(JSON.parse(await readFile(golden(`store-${name}`), 'utf8')))
    const clock = () => 1_700_000_010_000
    await using store = await openStore(new MemoryBackend({ clock }, engine))
    expect(store.settings).toMatchObject({ format, canonical: { name: 'unicode', version } })
    expect(await store.getText('linked')).toBe('STRASSE')
    expect(await store.getText('expires')).toBe('नमस्ते')
    expect((await store.get('large'))?.byteLength).toBe(4 * 1024 * 1024 + 3)
    expect((await store.verify()).problems).toEqual([])
    expect((await store.put('new', 'strasse')).of?.firstKey).toEqual(Buffer.from('first'))
    expect(await store.collect()).toMatchObject({ contents: 1, contentBytes: 8 })
    expect((await store.verify()).problems).toEqual([])
  })

  it('of a store is raised by its first write, so that older versions refuse it by name', async () => {
    const engine = load(JSON.parse(await readFile(golden('store-format-1'), 'utf8')))
    const formatNow = () => String(engine.space('settings').slice('', undefined, 1)[0]?.[1])
    await using store = await openStore(new MemoryBackend({}, engine))
    await store.get('first')
    expect(formatNow()).toContain('"format":1')
    await store.delete('first')
    expect(formatNow()).toMatch(/"format":2.*"sum":/)
    await using again = await openStore(new MemoryBackend({}, engine))
    expect(again.settings.format).toBe(2)
  })

  it('of a feed of changes is the one written down as well', async () => {
    const engine = new MemoryEngine()
    await writeFeeds(engine)
    if (process.env['GOLDEN'] === 'write') {
      await writeFile(GOLDEN_FEED, `${JSON.stringify(dump(engine), undefined, 1)}\n`)
    }
    expect(dump(engine)).toEqual(await written(GOLDEN_FEED))
  })

  it('format-4 of a feed of changes can be read, verified and written to', async () => {
    const engine = load(JSON.parse(await readFile(GOLDEN_FEED, 'utf8')))
    const clock = () => 1_700_000_010_000
    await using store = await openStore(new MemoryBackend({ clock, namespace: 'on' }, engine))
    expect(store.settings).toMatchObject({ format: 4, changes: { maxChanges: 8 } })
    await store.put('new', 'strasse')
    const kinds: string[] = []
    for await (const { kind, key } of store.changes())
      kinds.push(`${kind} ${key.toString('latin1')}`)
    expect(kinds).toEqual(FEED)
    expect((await store.verify()).problems).toEqual([])
    await using off = await openStore(new MemoryBackend({ clock, namespace: 'off' }, engine))
    expect(off.settings.format).toBe(3)
    await expect(off.changesCursor()).rejects.toMatchObject({ code: 'CHANGES_OFF' })
  })

  it('of metadata is the one written down as well, and can be read, verified and written to', async () => {
    const engine = new MemoryEngine()
    await writeMetadata(engine)
    if (process.env['GOLDEN'] === 'write') {
      await writeFile(GOLDEN_METADATA, `${JSON.stringify(dump(engine), undefined, 1)}\n`)
    }
    const rows = await written(GOLDEN_METADATA)
    expect(dump(engine)).toEqual(rows)
    const clock = () => 1_700_000_010_000
    await using store = await openStore(new MemoryBackend({ clock }, load(rows)))
    expect(store.settings).toMatchObject({ format: 5, metadata: true })
    expect((await store.head('typed'))?.metadata).toEqual({
      'content-type': 'text/plain',
      step: '',
    })
    expect((await store.head('expires'))?.metadata).toEqual({ author: 'नमस्ते' })
    expect(await store.getText('typed')).toBe('Straße')
    expect((await store.put('plain', 'Straße', { metadata: { a: 'b' } })).key).toBe('replaced')
    expect((await store.verify()).problems).toEqual([])
  })

  it('of near duplicates is the one written down as well', async () => {
    const engine = new MemoryEngine()
    await writeNearStores(engine)
    if (process.env['GOLDEN'] === 'write') {
      await writeFile(GOLDEN_NEAR, `${JSON.stringify(dump(engine), undefined, 1)}\n`)
    }
    expect(dump(engine)).toEqual(await written(GOLDEN_NEAR))
    const coded = new MemoryEngine()
    await writeNearStores(coded, true)
    if (process.env['GOLDEN'] === 'write') {
      await writeFile(GOLDEN_DELTAS, `${JSON.stringify(dump(coded), undefined, 1)}\n`)
    }
    const { deltas, tallies: _tallies, ...others } = dump(coded)
    const { deltas: expected, tallies: _expected, ...rest } = await written(GOLDEN_DELTAS)
    expect(others).toEqual(rest)
    // The key; then format, base, length and sum.
    const heads = (rows: Rows[string] = []) => rows.map(([key, row]) => [key, row.slice(0, 50)])
    expect(heads(deltas)).toEqual(heads(expected))
    expect(deltas).toHaveLength(2)
    expect(others['delta.held']).toHaveLength(1)
  })

  it('of near duplicates where there is no journal is the one written down as well', () => {
    const [signature, payload] = [Buffer.from([1, 2]), Buffer.from([3])]
    const representative = { sequence: 0, signature, payload }
    const { representatives, buckets } = storeNear
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
    expect(hex(representatives.codec.encode(representative))).toBe('100000000000000002010203')
    const ids = Buffer.alloc(16, 7)
    expect(hex(buckets.codec.encode({ isFull: false, ids }))).toBe(`10${'07'.repeat(16)}`)
    expect(hex(buckets.codec.encode({ isFull: true, ids: Buffer.alloc(0) }))).toBe('11')
    const page = { isFull: false, isContinued: true, ids }
    expect(hex(buckets.codec.encode(page))).toBe(`12${'07'.repeat(16)}`)
    expect(buckets.codec.decode(buckets.codec.encode(page))).toMatchObject(page)
    expect(hex(bucketKey(ids, 1, 2))).toBe(`${'07'.repeat(16)}000100000002`)
  })

  it.each([
    ['format-1', 1],
    ['unicode-1', 1],
    ['format-2', 2],
    ['format-3', 2],
    ['format-4', 2],
  ])('%s of near duplicates can be read, verified and written to', async (name, version) => {
    const file = golden(`near-store-${name}`)
    const engine = load(JSON.parse(await readFile(file, 'utf8')))
    const clock = () => 1_700_000_010_000
    await using store = await openStore(new MemoryBackend({ clock, namespace: 'own' }, engine))
    const near = { threshold: 0.85, canonical: { name: 'unicode', version } }
    expect(store.settings).toMatchObject({ dedup: 'near', near })
    expect(await store.getText('linked')).toBe(`${NEAR_TEXT} end`)
    expect((await store.explain('linked'))?.of?.firstKey).toEqual(Buffer.from('first'))
    expect((await store.verify()).problems).toEqual([])
    expect(await store.put('new', `start ${NEAR_TEXT}`)).toMatchObject({ method: 'near' })
    await using shared = await openStore(new MemoryBackend({ clock, namespace: 'shared' }, engine))
    expect(await shared.getText('near')).toBe(NEAR_TEXT)
    expect(await shared.explain('near')).toMatchObject({ method: 'near', threshold: 0.5 })
    expect((await shared.verify()).problems).toEqual([])
  })

  it('format-4 may have a base without a key: its deltas are read, and written otherwise', async () => {
    const engine = load(JSON.parse(await readFile(GOLDEN_DELTAS, 'utf8')))
    const held = () => engine.space('delta.held').slice('', undefined, 10).length
    await using store = await openStore(new MemoryBackend({ namespace: 'own' }, engine))
    expect([await store.get('base'), held()]).toEqual([undefined, 1])
    expect((await store.explain('coded'))?.delta).toBeDefined()
    expect(await store.getText('coded')).toBe(`${HELD_TEXT} end`)
    await store.collect()
    expect(held()).toBe(0)
    expect((await store.explain('coded'))?.delta).toBeUndefined()
    expect(await store.getText('coded')).toBe(`${HELD_TEXT} end`)
    expect((await store.verify()).problems).toEqual([])
  })
})
