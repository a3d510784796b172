/** Directories that are only read: on media that cannot be written, beside writers, and of an earlier version. */

import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { DirectoryLock } from '../src/backends/lmdb/locks.ts'
import { archiveStore, openStore, restoreStore } from '../src/index.ts'
import { inProcess as prestige } from './children/cli.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-read-only-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

async function filled(place: string): Promise<void> {
  const store = await openStore(place)
  await store.put('a', 'first')
  await store.put('b', 'first')
  await store.put('large', Buffer.alloc(5_000_000, 'large '))
  await store.close()
}

describe('a store that is open for reading only', () => {
  it('reads everything, and refuses to write with READ_ONLY', async () => {
    await filled(directory)
    const before = await readFile(join(directory, 'data.mdb'))
    await using store = await openStore(directory, { readOnly: true })
    expect(await store.getText('b')).toBe('first')
    expect((await store.get('large'))?.byteLength).toBe(5_000_000)
    expect(await store.stats()).toMatchObject({ keys: 3, contents: 2 })
    expect(await store.explain('b')).toMatchObject({ content: 'duplicate' })
    await expect(store.put('c', 'v')).rejects.toMatchObject({ code: 'READ_ONLY' })
    await expect(store.delete('a')).rejects.toMatchObject({ code: 'READ_ONLY' })
    expect(before.equals(await readFile(join(directory, 'data.mdb')))).toBe(true)
  })

  it('sees what a writer commits meanwhile', async () => {
    await using writer = await openStore(directory, { durability: 'os' })
    await using reader = await openStore(directory, { readOnly: true })
    for (let n = 0; n < 50; n++) {
      await writer.put('a', `value ${n}`)
      expect(await reader.getText('a')).toBe(`value ${n}`)
    }
  })

  it('raises CONTENDED while a writer holds the lock for too long', async () => {
    await filled(directory)
    await using store = await openStore(directory, { readOnly: true, timeoutMs: 100 })
    const lock = new DirectoryLock(directory)
    expect(lock.tryAcquire()).toBe(true)
    await expect(store.get('a')).rejects.toMatchObject({ code: 'CONTENDED' })
    lock.release()
    lock.close()
    expect(await store.getText('a')).toBe('first')
  })

  it('is not made where there is none, and is a directory', async () => {
    const place = join(directory, 'none')
    await expect(openStore(place, { readOnly: true })).rejects.toMatchObject({
      code: 'STORE_NOT_FOUND',
    })
    expect(await readdir(directory)).toEqual([])
    await expect(openStore('memory:', { readOnly: true })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    await expect(openStore(directory, { readOnly: true, durability: 'os' })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })

  it('works on a read-only mount, also from the command line', async () => {
    const disk = join(directory, 'disk')
    await mkdir(disk)
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk]).status !== 0) {
      if (process.env['CI']) throw new Error('CI must be able to mount a tmpfs')
      return console.warn('not tested: read-only media need the right to mount')
    }
    try {
      const place = join(disk, 'store')
      await filled(place)
      spawnSync('mount', ['-o', 'remount,ro', disk])
      for (const [args, expected] of [
        [['get', 'a'], 'first'],
        [['has', 'a'], 'yes\n'],
        [['count'], '3\n'],
        [['keys'], 'a\nb\nlarge\n'],
      ] as const) {
        const { code, text } = await prestige([...args, '--store', place])
        expect({ code, text }).toEqual({ code: 0, text: expected })
      }
      expect((await prestige(['verify', '--store', place])).code).toBe(0)
      expect((await prestige(['stats', '--store', place])).code).toBe(0)
      expect((await prestige(['export', join(directory, 'out'), '--store', place])).code).toBe(0)
      expect((await prestige(['put', 'c', 'v', '--store', place])).code).not.toBe(0)
    } finally {
      spawnSync('umount', ['-l', disk])
    }
  })

  it('works in a directory whose files may only be read', async () => {
    await filled(directory)
    for (const name of await readdir(directory)) await chmod(join(directory, name), 0o444)
    await using store = await openStore(directory, { readOnly: true })
    expect(await store.getText('a')).toBe('first')
  })
})

describe('a directory of the earlier engine, whose free list this one cannot continue', () => {
  beforeEach(async () => {
    const golden = await readFile(new URL('./golden/lmdb-3-data.mdb.gz', import.meta.url))
    await writeFile(join(directory, 'data.mdb'), gunzipSync(golden))
  })

  it('is refused for writing, by name and with the commands that copy it', async () => {
    const before = await readFile(join(directory, 'data.mdb'))
    await expect(openStore(directory)).rejects.toMatchObject({
      code: 'FORMAT_UNSUPPORTED',
      message: expect.stringContaining('export --archive'),
    })
    expect(before.equals(await readFile(join(directory, 'data.mdb')))).toBe(true)
  })

  it('is read, and copied by an archive', async () => {
    await using old = await openStore(directory, { readOnly: true })
    expect(await old.getText('kept')).toBe('by lmdb 3')
    await using copy = await openStore(join(directory, 'copy'))
    await restoreStore(copy, archiveStore(directory))
    expect(await copy.getText('kept')).toBe('by lmdb 3')
    expect((await copy.stats()).keys).toBe((await old.stats()).keys)
  })
})
