/** Backups of a store: of one moment, incremental, whole or not there, and restored to the same keys and values. */

import { createHash, randomBytes } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { setImmediate as nextTurn } from 'node:timers/promises'

import { afterAll, describe, expect, it } from 'vitest'

import { archiveStore, openStore, restoreStore, type Store } from '../src/index.ts'
import { checkBackup, forgetBackups, listBackups, restoreBackup } from '../src/exports/backup.ts'
import { MemoryBackend, SimulatedWorld } from '../src/exports/backend.ts'
import { flipByte } from './damaged-directory.ts'

const made: string[] = []
afterAll(() => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true })
})

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-backup-'))
  made.push(directory)
  return directory
}

const place = () => join(temporaryDirectory(), 'target')
const OS = { durability: 'os' } as const

async function allOf(store: Store): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for await (const [key, value] of store.entries())
    all.set(key.toString('latin1'), createHash('sha256').update(value).digest('hex'))
  return all
}

/** The files of a target, with their lengths. */
function filesOf(target: string): string[] {
  const names = readdirSync(target, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => statSync(join(target, name)).isFile()).toSorted()
}

const packsOf = (target: string) => filesOf(target).filter((name) => name.endsWith('.pack'))

/** Short, long and repeated values, keys that are no text, and one that expires. */
async function fill(store: Store): Promise<void> {
  const long = randomBytes(3_000_000)
  for (let at = 0; at < 300; at++) await store.put(`key ${at}`, `value ${at % 100}`.repeat(20))
  await store.put('long', long)
  await store.put('long, changed', Buffer.concat([Buffer.from('in front'), long]))
  // Nothing in it says where to cut.
  await store.put('long, without a cut', Buffer.alloc(300_000, 'abc'))
  await store.put('empty', '')
  await store.put(Buffer.of(0, 255, 128), randomBytes(100))
}

describe('a backup', () => {
  it('is restored to the same keys and values, on whatever engine', async () => {
    const directory = temporaryDirectory()
    const target = place()
    await using store = await openStore(directory, OS)
    await fill(store)
    const report = await store.backup(target)
    expect(report).toMatchObject({ keys: 305, isOneMoment: true })
    expect(report.valueBytes).toBe((await store.stats()).valueBytes)
    const wanted = await allOf(store)
    for (const location of [temporaryDirectory(), new MemoryBackend()]) {
      const restored = await restoreBackup(target, location)
      expect(restored).toEqual({ backup: report.id, keys: 305, expired: 0 })
      const copy = await openStore(location)
      expect(await allOf(copy)).toEqual(wanted)
      expect((await copy.verify()).problems).toEqual([])
      await copy.close()
    }
    expect(await listBackups(target)).toEqual([
      {
        id: report.id,
        at: report.at,
        namespace: '',
        isOneMoment: true,
        keys: 305,
        valueBytes: report.valueBytes,
      },
    ])
    expect(await checkBackup(target, { readData: true })).toMatchObject({
      isSound: true,
      keys: 305,
    })
  })

  it('has values that are too long to be held, part by part', async () => {
    const directory = temporaryDirectory()
    const target = place()
    const store = await openStore(directory, OS)
    const long = randomBytes(9_000_000)
    const pieces = async function* () {
      for (let at = 0; at < long.length; at += 1_000_000) yield long.subarray(at, at + 1_000_000)
    }
    await store.put('a', pieces())
    await store.put('b', pieces(), { ttlMs: 3_600_000 })
    const report = await store.backup(target)
    expect(report).toMatchObject({ keys: 2, newBytes: expect.any(Number) })
    expect(report.storedBytes).toBeLessThan(9_200_000)
    const wanted = await allOf(store)
    await store.close()
    expect(await checkBackup(target, { readData: true })).toMatchObject({ isSound: true })
    const location = temporaryDirectory()
    await restoreBackup(target, location)
    await using copy = await openStore(location)
    expect(await allOf(copy)).toEqual(wanted)
    expect(await copy.head('b')).toMatchObject({ expiresAt: expect.any(Number) })
    expect((await copy.verify()).problems).toEqual([])
    await flipByte(directory, long.subarray(5_000_000, 5_000_020), 3)
    await using damaged = await openStore(directory)
    await expect(damaged.backup(place())).rejects.toThrow(/"a" is damaged/)
  })

  it('writes only what earlier ones do not have', async () => {
    const target = place()
    await using store = await openStore('memory:')
    await fill(store)
    const first = await store.backup(target)
    // Two long values have nearly all in common.
    expect(first.newBytes).toBeLessThan(3_900_000)
    const packs = packsOf(target)
    const same = await store.backup(target)
    expect(same).toMatchObject({ keys: 305, newBytes: 0, storedBytes: 0 })
    expect(packsOf(target)).toEqual(packs)
    await store.put('key 7', 'a value that is new')
    const third = await store.backup(target)
    expect(third.newBytes).toBeLessThan(100_000)
    expect(packsOf(target)).toHaveLength(packs.length + 1)
    expect(await listBackups(target)).toHaveLength(3)
    const location = temporaryDirectory()
    await restoreBackup(target, location, { backup: first.id })
    await using copy = await openStore(location, OS)
    expect(await copy.getText('key 7')).toBe('value 7'.repeat(20))
  })

  it('keeps settings and expiries, and leaves out what has expired', async () => {
    let time = 1_700_000_000_000
    const clock = () => time
    const target = place()
    const near = { threshold: 0.7, profile: 'words-3' as const }
    await using store = await openStore('memory:', {
      clock,
      dedup: 'near',
      near,
      canonical: 'unicode',
    })
    await store.put('stays', 'x')
    await store.put('soon', 'y', { ttlMs: 1000 })
    await store.put('later', 'z', { ttlMs: 10_000 })
    await store.put('gone', 'w', { ttlMs: 10 })
    time += 100
    expect(await store.backup(target)).toMatchObject({ keys: 3, at: time })
    time += 2000
    const location = temporaryDirectory()
    const restored = await restoreBackup(target, location, { clock })
    expect(restored).toMatchObject({ keys: 2, expired: 1 })
    await using copy = await openStore(location, { clock, durability: 'os' })
    expect(copy.settings).toEqual(store.settings)
    time += 7000
    expect(await copy.has('later')).toBe(true)
    time += 1000
    expect(await copy.has('later')).toBe(false)
    expect(await copy.has('stays')).toBe(true)
  })

  it('has the bytes that get returns where values share those of a representative', async () => {
    const target = place()
    await using store = await openStore('memory:', {
      canonical: 'unicode',
      fidelity: 'representative',
    })
    await store.put('a', 'Hello World')
    await store.put('b', 'HELLO   WORLD')
    await store.backup(target)
    const location = temporaryDirectory()
    await restoreBackup(target, location)
    await using copy = await openStore(location, OS)
    expect(await copy.getText('b')).toBe('Hello World')
  })

  it('of a store on an engine without moments says so, and has whole values', async () => {
    const target = place()
    const world = new SimulatedWorld(7)
    const store = await openStore(world.open('one'))
    for (let at = 0; at < 40; at++) await store.put(`key ${at}`, `first ${at}`)
    const writer = await openStore(world.open('two'))
    const [report] = await Promise.all([
      store.backup(target),
      (async () => {
        for (let at = 0; at < 40; at++) await writer.put(`key ${at}`, `second ${at}`)
      })(),
    ])
    expect(report).toMatchObject({ isOneMoment: false, keys: 40 })
    const location = temporaryDirectory()
    await restoreBackup(target, location)
    await using copy = await openStore(location, OS)
    for (let at = 0; at < 40; at++)
      expect([`first ${at}`, `second ${at}`]).toContain(await copy.getText(`key ${at}`))
  })

  it.each(['memory:', 'a directory'])(
    'of %s is the state of one moment while others write',
    async (kind) => {
      const target = place()
      await using store = await openStore(
        kind === 'memory:' ? kind : temporaryDirectory(),
        kind === 'memory:' ? {} : OS,
      )
      // Every round goes from the first key to the last: at any moment numbers never rise from a key to the next.
      const keys = Array.from({ length: 400 }, (_, at) => `key ${String(at).padStart(3, '0')}`)
      for (const key of keys) await store.put(key, '0')
      const control = { isOver: false }
      const writing = (async () => {
        for (let round = 1; !control.isOver; round++) {
          for (const [at, key] of keys.entries()) {
            await store.put(key, `${round} ${key}`.padEnd(500))
            // Memory never waits, and others would have no turn.
            if (at % 20 === 0) await nextTurn()
          }
        }
      })()
      const ids: string[] = []
      for (let at = 0; at < 3; at++) ids.push((await store.backup(target)).id)
      control.isOver = true
      await writing
      for (const id of ids) {
        const location = temporaryDirectory()
        await restoreBackup(target, location, { backup: id, durability: 'os' })
        await using copy = await openStore(location, OS)
        const rounds: number[] = []
        for (const key of keys) rounds.push(Number.parseInt((await copy.getText(key)) ?? '', 10))
        expect(rounds).toEqual(rounds.toSorted((one, other) => other - one))
        expect(rounds[0]! - rounds.at(-1)!).toBeLessThanOrEqual(1)
      }
    },
  )

  it('that is given up is not there, and the next one uses what it wrote', async () => {
    const target = place()
    await using store = await openStore('memory:')
    for (let at = 0; at < 200; at++) await store.put(`key ${at}`, randomBytes(100_000))
    const stop = new AbortController()
    const given = store.backup(target, {
      signal: stop.signal,
      onProgress: ({ storedBytes }) => {
        if (storedBytes > 0) stop.abort()
      },
    })
    await expect(given).rejects.toThrow(/abort/i)
    expect(await listBackups(target)).toEqual([])
    await expect(restoreBackup(target, temporaryDirectory())).rejects.toMatchObject({
      code: 'BACKUP_NOT_FOUND',
    })
    const report = await store.backup(target)
    expect(report.newBytes).toBeLessThan(200 * 100_000 - 7_000_000)
    expect(await checkBackup(target, { readData: true })).toMatchObject({
      isSound: true,
      keys: 200,
    })
  })

  it('is refused where something else is', async () => {
    const target = temporaryDirectory()
    writeFileSync(join(target, 'letter.txt'), 'x')
    await using store = await openStore('memory:')
    await expect(store.backup(target)).rejects.toMatchObject({ code: 'TARGET_NOT_EMPTY' })
    await expect(store.backup('')).rejects.toMatchObject({ code: 'INVALID_LOCATION' })
    await expect(listBackups(join(target, 'none'))).rejects.toMatchObject({
      code: 'BACKUP_NOT_FOUND',
    })
    const newer = place()
    await store.backup(newer)
    writeFileSync(join(newer, 'prestige-backup.json'), '{"prestige":"backup","format":2}\n')
    await expect(store.backup(newer)).rejects.toMatchObject({ code: 'FORMAT_UNSUPPORTED' })
  })
})

describe('a restore', () => {
  async function backedUp(count = 50): Promise<string> {
    const target = place()
    await using store = await openStore('memory:')
    for (let at = 0; at < count; at++) await store.put(`key ${at}`, `value ${at}`)
    await store.backup(target)
    return target
  }

  it('that is cut off leaves a store that cannot be opened, and goes on when called again', async () => {
    const target = await backedUp(2000)
    const location = temporaryDirectory()
    const stop = new AbortController()
    const cut = restoreBackup(target, location, {
      durability: 'os',
      signal: stop.signal,
      onProgress: ({ keys }) => {
        if (keys === 100) stop.abort()
      },
    })
    await expect(cut).rejects.toThrow(/abort/i)
    await expect(openStore(location)).rejects.toMatchObject({ code: 'RESTORE_UNFINISHED' })
    expect(await restoreBackup(target, location, OS)).toMatchObject({ keys: 2000 })
    await using copy = await openStore(location, OS)
    expect((await copy.stats()).keys).toBe(2000)
  })

  it('into a store with other keys is refused, unless they may be replaced', async () => {
    const target = await backedUp()
    const location = temporaryDirectory()
    const store = await openStore(location, OS)
    await store.put('key 3', 'another value')
    await store.put('own', 'mine')
    await store.close()
    await expect(restoreBackup(target, location)).rejects.toMatchObject({
      code: 'TARGET_NOT_EMPTY',
      message: expect.stringContaining('"key 3"'),
    })
    await restoreBackup(target, location, { overwrite: true })
    await using copy = await openStore(location, OS)
    expect(await copy.getText('key 3')).toBe('value 3')
    expect(await copy.getText('own')).toBe('mine')
  })

  it('into a store with other settings is refused', async () => {
    const target = await backedUp()
    const location = temporaryDirectory()
    await (await openStore(location, { canonical: 'json' })).close()
    await expect(restoreBackup(target, location)).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
    })
  })

  it('goes into another namespace', async () => {
    const target = await backedUp()
    const location = temporaryDirectory()
    const [only] = await listBackups(target)
    const copied = { namespace: 'copy', durability: 'os', backup: only?.id } as const
    await restoreBackup(target, location, copied)
    await using other = await openStore(location, OS)
    expect((await other.stats()).keys).toBe(0)
    await using copy = await openStore(location, { namespace: 'copy', durability: 'os' })
    expect((await copy.stats()).keys).toBe(50)
  })

  it('is that of the namespace, and never that of another one or of another store', async () => {
    const target = place()
    const location = temporaryDirectory()
    for (const namespace of ['alice', 'bob']) {
      await using store = await openStore(location, { namespace, ...OS })
      await store.put('secret', `of ${namespace}`)
      await store.backup(target)
    }
    const restored = temporaryDirectory()
    await restoreBackup(target, restored, { namespace: 'alice', ...OS })
    await using copy = await openStore(restored, { namespace: 'alice', ...OS })
    expect(await copy.getText('secret')).toBe('of alice')
    await expect(restoreBackup(target, temporaryDirectory(), OS)).rejects.toMatchObject({
      code: 'BACKUP_NOT_FOUND',
      message: expect.stringContaining('"alice", "bob"'),
    })
    await using another = await openStore(temporaryDirectory(), { namespace: 'bob', ...OS })
    const { id } = await another.backup(target)
    const asBob = { namespace: 'bob', ...OS }
    await expect(restoreBackup(target, temporaryDirectory(), asBob)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining(`${id} (0 keys)`),
    })
    // A restored store goes on as the one it was.
    await copy.put('secret', 'of alice, changed')
    const again = await copy.backup(target)
    expect(await forgetBackups(target, { keepLast: 1 })).toMatchObject({ kept: 3 })
    const last = await restoreBackup(target, temporaryDirectory(), { namespace: 'alice', ...OS })
    expect(last.backup).toBe(again.id)
  })

  it('has pins, and expiries to the millisecond, as archives do', async () => {
    let time = 1_000_000
    const clock = () => time
    const backend = new MemoryBackend({ clock })
    await using store = await openStore(backend)
    await store.put('pinned', 'a')
    await store.pin('pinned')
    await store.put('slides', 'b', { ttlMs: 1000, sliding: true })
    await store.put('expires', 'c', { ttlMs: 1000 })
    await store.put('stays', 'd')
    const target = place()
    await store.backup(target)
    const archive = archiveStore(backend)
    const restored = new MemoryBackend({ clock })
    const imported = new MemoryBackend({ clock })
    time += 100
    await restoreBackup(target, restored)
    await using into = await openStore(imported, { defaultTtlMs: 5 })
    await restoreStore(into, archive, { clock })
    for (const copy of [await openStore(restored), into]) {
      expect((await copy.head('expires'))?.expiresAt).toBe(1_001_000)
      expect((await copy.head('slides'))?.expiresAt).toBe(1_001_000)
      expect((await copy.head('stays'))?.expiresAt).toBeUndefined()
      time += 500
      await copy.get('slides')
      expect((await copy.head('slides'))?.expiresAt).toBe(1_001_600)
      time -= 500
      await copy.evict({ toKeys: 0 })
      expect(await copy.has('pinned')).toBe(true)
      expect(await copy.has('stays')).toBe(false)
      await copy.close()
    }
  })

  it('that was cut off goes on, though its keys expire', async () => {
    const target = place()
    await using store = await openStore('memory:')
    for (let at = 0; at < 600; at++) await store.put(`key ${at}`, `v${at}`, { ttlMs: 3_600_000 })
    await store.backup(target)
    const location = temporaryDirectory()
    const cut = new AbortController()
    const onProgress = ({ keys }: { readonly keys: number }) => {
      if (keys === 20) cut.abort(new Error('cut off'))
    }
    const options = { ...OS, onProgress, signal: cut.signal }
    await expect(restoreBackup(target, location, options)).rejects.toThrow('cut off')
    await expect(openStore(location, OS)).rejects.toMatchObject({ code: 'RESTORE_UNFINISHED' })
    expect(await restoreBackup(target, location, OS)).toMatchObject({ keys: 600, expired: 0 })
  })

  it('names a backup that is not there, or that several ids begin like', async () => {
    const target = await backedUp()
    await using store = await openStore('memory:')
    await store.backup(target)
    const restore = (backup: string) => restoreBackup(target, temporaryDirectory(), { backup })
    await expect(restore('1999')).rejects.toMatchObject({ code: 'BACKUP_NOT_FOUND' })
    await expect(restore('2')).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

describe('damage', () => {
  async function damagedTarget(): Promise<string> {
    const target = place()
    await using store = await openStore('memory:')
    await store.put('long', randomBytes(600_000))
    for (let at = 0; at < 20; at++) await store.put(`key ${at}`, randomBytes(1000))
    await store.backup(target)
    return target
  }

  const first = (target: string, end: string) =>
    join(target, filesOf(target).find((name) => name.endsWith(end)) ?? '')

  it.each([
    ['a pack that is missing', '.pack', (path: string) => rmSync(path)],
    ['a pack that is cut', '.pack', (path: string) => truncateSync(path, 1000)],
    ['an index that is missing', '.index', (path: string) => rmSync(path)],
    ['an index with another byte', '.index', flip],
    ['a backup with another byte', 'Z-', flip],
  ])('%s is found, and nothing is restored from it', async (_, end, damage) => {
    const target = await damagedTarget()
    const path =
      end === 'Z-'
        ? join(
            target,
            filesOf(target).find((name) => name.startsWith('backups'))!,
          )
        : first(target, end)
    damage(path)
    const report = await checkBackup(target)
    expect(report.isSound).toBe(false)
    expect(report.problemCount).toBeGreaterThan(0)
    await expect(restoreBackup(target, temporaryDirectory())).rejects.toMatchObject({
      code: 'BACKUP_BROKEN',
    })
  })

  it('of any byte of a pack is found by reading it, and by restoring', async () => {
    for (let at = 0; at < 12; at++) {
      const target = await damagedTarget()
      const path = first(target, '.pack')
      const bytes = readFileSync(path)
      const place = 16 + Math.floor(((bytes.length - 17) * at) / 11)
      bytes[place] = bytes[place]! ^ 1
      writeFileSync(path, bytes)
      expect((await checkBackup(target)).problems.filter(({ backup }) => !backup)).toEqual([])
      expect((await checkBackup(target, { readData: true })).isSound).toBe(false)
      await expect(restoreBackup(target, temporaryDirectory(), OS)).rejects.toMatchObject({
        code: 'BACKUP_BROKEN',
      })
    }
  })

  function flip(path: string): void {
    const bytes = readFileSync(path)
    bytes[60] = bytes[60]! ^ 1
    writeFileSync(path, bytes)
  }
})

describe('forgetting', () => {
  it('removes old backups, and packs that no other needs once they are a day old', async () => {
    const target = place()
    await using store = await openStore('memory:')
    await store.put('stays', randomBytes(1000))
    await store.backup(target)
    await store.put('goes', randomBytes(500_000))
    await store.backup(target)
    await store.delete('goes')
    const last = await store.backup(target)
    const packs = packsOf(target)
    expect(await forgetBackups(target, { keepLast: 1 })).toMatchObject({ kept: 1, packs: 0 })
    expect(packsOf(target)).toEqual(packs)
    expect((await listBackups(target)).map(({ id }) => id)).toEqual([last.id])
    const { utimesSync } = await import('node:fs')
    for (const name of packs) utimesSync(join(target, name), 1, 1)
    const again = await forgetBackups(target, { keepLast: 1 })
    expect(again.packs).toBe(1)
    expect(again.packBytes).toBeGreaterThan(500_000)
    expect(await checkBackup(target, { readData: true })).toMatchObject({ isSound: true, keys: 1 })
    await expect(forgetBackups(target, { keepLast: 0 })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })

  it('takes no pack away from a backup that is being made, which waits until packs are gone', async () => {
    const target = place()
    await using store = await openStore('memory:')
    const fill = async () => {
      for (let at = 0; at < 200; at++) await store.put(`key ${at}`, `value ${at} `.repeat(50))
    }
    await fill()
    await store.backup(target)
    const { utimesSync } = await import('node:fs')
    for (const name of packsOf(target)) utimesSync(join(target, name), 1, 1)
    await store.clear()
    await store.backup(target)
    // What they hold is needed again, and is not written again.
    await fill()
    const running = join(target, 'running')
    const marks: string[] = []
    await store.backup(target, { onProgress: () => void marks.push(...readdirSync(running)) })
    expect(marks[0]).toMatch(/^backup-/)
    expect(readdirSync(running)).toEqual([])
    await store.clear()
    await store.backup(target)
    writeFileSync(join(running, 'backup-1'), '')
    const forgotten = await forgetBackups(target, { keepLast: 1 })
    expect(forgotten).toMatchObject({ isBackupRunning: true, kept: 1, packs: 0 })
    await fill()
    await store.backup(target)
    expect(await checkBackup(target, { readData: true })).toMatchObject({ isSound: true })
    // A mark of somebody who removes packs, and one of a process that has died.
    rmSync(join(running, 'backup-1'))
    writeFileSync(join(running, 'forget-1'), '')
    writeFileSync(join(running, 'forget-2'), '')
    utimesSync(join(running, 'forget-2'), 1, 1)
    let isDone = false
    const waiting = store.backup(target).then(() => (isDone = true))
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(isDone).toBe(false)
    rmSync(join(running, 'forget-1'))
    await waiting
    expect(readdirSync(running)).toEqual([])
  })
})

describe('a backup of format 1', () => {
  it('is restored by every later version', async () => {
    const target = temporaryDirectory()
    const golden = new URL('golden/backup-format-1.json', import.meta.url)
    const files: Record<string, string> = JSON.parse(readFileSync(golden, 'utf8'))
    for (const name of ['packs', 'backups']) mkdirSync(join(target, name))
    for (const [name, bytes] of Object.entries(files))
      writeFileSync(join(target, name), Buffer.from(bytes, 'base64'))
    expect(await checkBackup(target, { readData: true })).toMatchObject({ isSound: true, keys: 7 })
    const [info] = await listBackups(target)
    expect(info).toMatchObject({ at: 1_700_000_000_000, namespace: 'golden', isOneMoment: true })
    const location = temporaryDirectory()
    const clock = () => 1_800_000_000_000
    await restoreBackup(target, location, { clock, durability: 'os', backup: info?.id })
    await using copy = await openStore(location, { clock, durability: 'os' })
    expect(copy.settings.canonical).toEqual({ name: 'unicode', version: 2 })
    expect([await copy.getText('a'), await copy.getText('b')]).toEqual(['one', 'one'])
    expect(await copy.getText('text')).toBe('a sentence, again and again. '.repeat(40))
    expect(await copy.get(Buffer.of(255, 0))).toEqual(Buffer.of(0, 1, 2))
    expect(await copy.getText('empty')).toBe('')
    expect((await copy.explain('expires'))?.expiresAt).toBe(2_700_000_000_000)
    const long = await copy.get('long')
    expect(createHash('sha256').update(long!).digest('hex')).toBe(
      '4838c539dbe9796e178eeca49bf7fe2d2d63bc185e17fed9da59ac62cdd7425f',
    )
  })
})
