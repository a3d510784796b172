import { join } from 'node:path'

import { afterAll, describe, expect, it } from 'vitest'

import { removeTemporaryDirectories, temporaryDirectory } from '../../test/subjects.ts'
import { MemoryBackend, MemoryEngine } from '../backends/memory/backend.ts'
import { cell, read, type Scope } from '../backends/index.ts'
import { checkBackup, restoreBackup } from '../exports/backup.ts'
import { archiveStore, openStore, restoreStore, type Store } from '../index.ts'
import { encodeMetadata } from './metadata.ts'
import { entries, Entry } from './rows.ts'
import { salvageStore } from './verify-location.ts'

afterAll(removeTemporaryDirectories)

const PNG = { 'content-type': 'image/png', author: 'Zoë' }
const OS = { durability: 'os' } as const

/** Keys with and without metadata, that share a value, expire, or have a long one. */
async function fill(store: Store): Promise<void> {
  await store.put('a', 'shared', { metadata: PNG })
  await store.put('b', 'shared')
  await store.put('c', 'shared', { metadata: { step: '2' } })
  await store.put('expires', 'soon', { metadata: PNG, ttlMs: 3_600_000 })
  await store.put('long', Buffer.alloc(9_000_000, 'a long value '), { metadata: PNG })
}

const ALL = { a: PNG, b: undefined, c: { step: '2' }, expires: PNG, long: PNG }

async function metadataOf(store: Store): Promise<Record<string, unknown>> {
  const all: Record<string, unknown> = {}
  for await (const key of store.keys()) all[String(key)] = (await store.head(key))?.metadata
  return all
}

describe('metadata', () => {
  it('are in backups, also in those that are restored over the same values', async () => {
    const directory = await temporaryDirectory()
    await using store = await openStore('memory:')
    await fill(store)
    const target = join(directory, 'backups')
    await store.backup(target)
    expect(await checkBackup(target, { readData: true })).toMatchObject({ isSound: true, keys: 5 })
    const location = join(directory, 'restored')
    await restoreBackup(target, location, OS)
    await using restored = await openStore(location, OS)
    expect(await metadataOf(restored)).toEqual(ALL)
    await restored.put('c', 'shared')
    await restored.close()
    const again = restoreBackup(target, location, OS)
    await expect(again).rejects.toMatchObject({ code: 'TARGET_NOT_EMPTY' })
    await restoreBackup(target, location, { ...OS, overwrite: true })
    await using replaced = await openStore(location, OS)
    expect(await metadataOf(replaced)).toEqual(ALL)
    expect((await replaced.verify()).problems).toEqual([])
  })

  it('are in archives and in what is salvaged', async () => {
    const location = await temporaryDirectory()
    await using store = await openStore(location, OS)
    await fill(store)
    await using other = await openStore('memory:')
    await restoreStore(other, archiveStore(location))
    expect(await metadataOf(other)).toEqual(ALL)
    await store.close()
    const copy = await temporaryDirectory()
    await salvageStore(location, join(copy, 'copy'), {}, {})
    await using copied = await openStore(join(copy, 'copy'), OS)
    expect(await metadataOf(copied)).toEqual(ALL)
  })

  it('stay when an entry is repaired', async () => {
    const backend = new MemoryBackend()
    const store = await openStore(backend)
    await store.put('a', 'value', { metadata: PNG })
    const key = Buffer.from('a')
    await backend.run(function* (scope: Scope) {
      const [entry] = yield* read(cell(entries, key))
      if (entry) scope.write(cell(entries, key), entry.with({ bytes: 9 }))
    })
    const { problems } = await store.verify({ repair: true })
    expect(problems.map(({ kind }) => kind)).toContain('entry-wrong')
    expect(await store.head('a')).toMatchObject({ bytes: 5, metadata: PNG })
    expect((await store.verify()).problems).toEqual([])
  })

  it('raise the format of a store with the first of them, and no other row changes', async () => {
    const engine = new MemoryEngine()
    const open = () => openStore(new MemoryBackend({}, engine))
    const settings = () => String(engine.space('settings').slice('', undefined, 1)[0]?.[1])
    const store = await open()
    await store.put('a', 'value', { metadata: {} })
    expect(settings()).toContain('"format":3')
    await store.put('a', 'value', { metadata: PNG })
    expect(settings()).toMatch(/"format":5.*"metadata":true,"sum":/)
    expect((await open()).settings).toMatchObject({ format: 5, metadata: true })
    await store.put('b', 'other')
    expect(engine.space('entries').slice('', undefined, 9)[1]?.[1].byteLength).toBe(61 + 4)
  })
})

describe('an entry', () => {
  const fields = {
    id: Buffer.alloc(16, 1),
    digest: Buffer.alloc(32, 2),
    putAt: 3,
    bytes: 4,
    expiresAt: 5,
    outcome: 'linked',
    exact: Buffer.alloc(32, 6),
    metadata: encodeMetadata(PNG),
  } as const

  it('has all its fields, whichever of them it has', () => {
    for (const expiresAt of [undefined, 5])
      for (const exact of [undefined, fields.exact])
        for (const metadata of [undefined, fields.metadata]) {
          const wanted = { ...fields, expiresAt, exact, metadata }
          expect(new Entry(Entry.of(wanted).row)).toMatchObject(wanted)
          expect(Entry.of(wanted).with({ bytes: 9 })).toMatchObject({ ...wanted, bytes: 9 })
        }
  })

  it('with metadata is refused where it is cut off anywhere, or has another outcome', () => {
    const { row } = Entry.of(fields)
    const isRefused = (bytes: Buffer) => expect(() => new Entry(bytes)).toThrow('entries')
    for (let length = 0; length < row.byteLength; length++) {
      // What ends between two names is whole, as far as lengths tell; the checksum of the row tells the rest.
      if (length !== 100 + 1 + 6 + 2 + 4) isRefused(row.subarray(0, length))
    }
    isRefused(Buffer.concat([row, Buffer.of(0)]))
    const other = Buffer.from(row)
    other[99] = 3
    isRefused(other)
  })
})
