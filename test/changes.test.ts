/** The feed of changes as a whole: on the command line, between processes, in copies of a store, and against a model. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, describe, expect, it } from 'vitest'

import { MemoryBackend } from '../src/backends/memory/backend.ts'
import { seededRandom } from '../src/backends/simulated/backend.ts'
import { restoreBackup } from '../src/exports/backup.ts'
import {
  archiveStore,
  openStore,
  restoreStore,
  type Store,
  type StoreChange,
} from '../src/index.ts'
import { salvageStore } from '../src/store/verify-location.ts'
import { apply, catchUp, type Replica, requireReplay } from './changes-kit.ts'
import { inProcess as prestige } from './children/cli.ts'
import { removeTemporaryDirectories, temporaryDirectory } from './subjects.ts'

const WRITER = fileURLToPath(new URL('./children/sharing-writer.mjs', import.meta.url))
const RECORDED = { durability: 'os', changes: true } as const

afterAll(removeTemporaryDirectories)

async function all(store: Store, after?: string): Promise<StoreChange[]> {
  const list: StoreChange[] = []
  for await (const change of store.changes({ after })) list.push(change)
  return list
}

const short = ({ kind, key }: Pick<StoreChange, 'kind' | 'key'>) => `${kind} ${String(key)}`

describe('prestige changes', () => {
  it('turns the feed on, lists it, goes on behind a cursor, and turns it off', async () => {
    const store = join(await temporaryDirectory(), 'store')
    const run = (...args: string[]) => prestige(args, { store })
    await run('put', 'before', '0', '-q')
    const none = await run('changes')
    expect([none.code, none.err]).toEqual([2, expect.stringContaining('prestige changes on')])
    const on = await run('changes', 'on', '--kept-for', '30d', '--max-changes', '9', '--json')
    expect(on.json).toEqual({ isOn: true, cursor: expect.stringMatching(/^\d+-[0-9a-f]{16}$/) })
    await using open = await openStore(store, { readOnly: true })
    expect(open.settings.changes).toEqual({ retentionMs: 2_592_000_000, maxChanges: 9 })
    for (const key of ['a/1', 'a/2', 'b']) await run('put', key, 'the same', '-q')
    await run('del', 'b')
    const listed = await run('changes')
    const lines = listed.text.trimEnd().split('\n')
    const words = lines.map((line) => line.split(/ {2,}/).slice(2))
    expect(words.map(([what, , key]) => `${what} ${key}`)).toEqual([
      'put a/1',
      'put again a/2',
      'put again b',
      'delete b',
    ])
    const cursors = lines.map((line) => line.split(' ')[0] ?? '')
    expect(listed.err).toBe(`Go on with: prestige changes --after ${cursors[3]}\n`)
    const json = await run('changes', '--after', cursors[1] ?? '', '--json', '--limit', '1')
    expect(json.json).toMatchObject({ cursor: cursors[2], kind: 'put', content: 'duplicate' })
    const some = await run('changes', '--prefix', 'a/', '--json')
    expect(some.text.trimEnd().split('\n')).toHaveLength(2)
    const wrong = await run('changes', '--after', 'yesterday')
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('"yesterday"')])
    expect((await run('changes', 'of')).code).toBe(2)
    expect((await run('changes', 'off')).text).toBe('changes are not recorded any more\n')
    expect((await run('changes')).code).toBe(2)
  })

  it('with --follow prints changes of others until it is interrupted, then the cursor', async () => {
    const directory = await temporaryDirectory()
    await using store = await openStore(directory, RECORDED)
    await store.put('a', '1')
    const run = await prestige(['changes', '--follow', '--json'], {
      store: directory,
      meanwhile: async (child) => {
        await once(child.stdout, 'data')
        await store.put('b', '2')
        await once(child.stdout, 'data')
        child.kill('SIGINT')
      },
    })
    const seen = run.text.trimEnd().split('\n')
    expect(seen.map((line) => JSON.parse(line).kind)).toEqual(['put', 'put'])
    expect(run.err).toContain(`--after ${await store.changesCursor()}`)
  })
})

describe('a reader that follows while several processes write', () => {
  it('knows what the store has, and has seen every change once and in order', async () => {
    const directory = await temporaryDirectory()
    await using store = await openStore(directory, RECORDED)
    const replica: Replica = new Map()
    const seen: StoreChange[] = []
    const ending = new AbortController()
    const following = (async () => {
      const options = { follow: true, pollMs: 5, signal: ending.signal }
      for await (const change of store.changes(options)) {
        seen.push(change)
        apply(replica, change)
      }
    })()
    const writers = [1, 2, 3].map(async (seed) => {
      const child = spawn(process.execPath, [WRITER, directory, `${seed}`, '150'])
      const [code] = await once(child, 'close')
      return code
    })
    expect(await Promise.all(writers)).toEqual([0, 0, 0])
    const last = await store.changesCursor()
    await expect.poll(() => seen.at(-1)?.cursor, { timeout: 20_000 }).toBe(last)
    ending.abort()
    await following
    await requireReplay(store, replica)
    expect(seen.map(({ cursor }) => Number.parseInt(cursor, 10))).toEqual(
      seen.map((_, at) => at + 1),
    )
    expect(seen).toEqual(await all(store))
    expect(seen.length).toBeGreaterThan(100)
  })
})

describe('copies of a store with a feed', () => {
  async function filled(directory: string): Promise<Store> {
    const store = await openStore(directory, { durability: 'os', changes: { maxChanges: 500 } })
    await store.put('a', '1')
    await store.put('b', '2')
    await store.put('a', '3')
    await store.delete('b')
    await store.put('c', '3')
    return store
  }

  it('a restored backup has a feed of its own, with all that was restored', async () => {
    const directory = await temporaryDirectory()
    const target = join(await temporaryDirectory(), 'target')
    const copy = await temporaryDirectory()
    await using store = await filled(directory)
    await store.backup(target)
    await restoreBackup(target, copy)
    await using restored = await openStore(copy)
    expect(restored.settings.changes).toEqual({ maxChanges: 500 })
    expect((await all(restored)).map(short).toSorted()).toEqual(['put a', 'put c'])
    const after = await store.changesCursor()
    await expect(all(restored, after)).rejects.toMatchObject({ code: 'CURSOR_UNKNOWN' })
    expect((await restored.verify()).problems).toEqual([])
  })

  it('a restored archive is in the feed of the store that it was put into', async () => {
    const directory = await temporaryDirectory()
    await (await filled(directory)).close()
    await using copy = await openStore(new MemoryBackend(), { changes: true })
    await restoreStore(copy, archiveStore(directory))
    expect((await all(copy)).map(short)).toEqual(['put a', 'put c'])
  })

  it('a salvaged store has a feed of its own as well', async () => {
    const directory = await temporaryDirectory()
    const copy = join(await temporaryDirectory(), 'copy')
    await (await filled(directory)).close()
    await salvageStore(directory, copy)
    await using salvaged = await openStore(copy, { create: false })
    expect((await all(salvaged)).map(short)).toEqual(['put a', 'put c'])
    expect(salvaged.settings.changes).toEqual({ maxChanges: 500 })
  })

  it('compacting keeps every change and cursor', async () => {
    await using store = await filled(await temporaryDirectory())
    const before = await all(store)
    expect(before).toHaveLength(5)
    await store.compact()
    await store.put('d', '4')
    expect((await all(store)).slice(0, 5)).toEqual(before)
    expect((await all(store, before[4]?.cursor)).map(short)).toEqual(['put d'])
  })
})

/** What a short random run does. The first ones are frequent. */
async function operationsOn(store: Store, below: (end: number) => number) {
  const key = () => `key ${below(8)}`
  const value = () => `value ${below(5)}`
  const backend = new MemoryBackend()
  const source = await openStore(backend)
  for (const name of ['key 1', 'key 9', 'other']) await source.put(name, `of ${name}`)
  const operations: (() => Promise<unknown>)[] = [
    () => store.put(key(), value()),
    () => store.put(key(), value(), { ttlMs: 1 + below(20) }),
    () => store.delete(key()),
    () => store.transaction([{ put: 'key 0', value: value() }, { delete: 'key 1' }]),
    () => store.putMany([1, 2, 3].map((at) => ({ key: `key ${at}`, value: value() }))),
    () => store.deleteRange({ prefix: 'key 2' }),
    () => store.clear(),
    () => restoreStore(store, archiveStore(backend)),
    () => store.evict({ toKeys: 3 }),
    () => store.collect(),
    () => store.verify({ repair: true }),
  ]
  return operations
}

describe('a model of the feed', () => {
  it.each([1, 2, 3])('replays to what the store has, from every cursor (%i)', async (seed) => {
    const random = seededRandom(seed)
    const below = (end: number) => Math.floor(random() * end)
    let now = 1_700_000_000_000
    const how = { clock: () => now, maxKeys: 7, canonical: 'unicode', gc: 'manual' } as const
    await using store = await openStore('memory:', { changes: true, ...how })
    const operations = await operationsOn(store, below)
    for (let at = 0; at < 120; at++) {
      now += below(8)
      // Clearing is rare, so that there is something to clear.
      const operation = operations[below(at % 5 === 0 ? operations.length : 5)]
      await operation?.()
    }
    now += 100
    await store.collect()
    const changes = await all(store)
    const replica: Replica = new Map()
    await catchUp(store, replica)
    await requireReplay(store, replica)
    for (const [at, { cursor }] of changes.entries()) {
      expect(await all(store, cursor)).toEqual(changes.slice(at + 1))
    }
    const transactions = changes.map(({ transaction }) => transaction)
    expect(transactions).toEqual(transactions.toSorted((one, other) => one - other))
    expect(new Set(changes.map(({ kind }) => kind))).toEqual(
      new Set(['put', 'delete', 'evict', 'expire']),
    )
  })
})
