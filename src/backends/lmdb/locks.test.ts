import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { rows, type Scope, type Transaction } from '../contract.ts'
import { openLmdb } from './backend.ts'
import { DirectoryLock, ReadPause } from './locks.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-locks-'))
})
afterEach(() => rm(directory, { recursive: true }))

describe('the lock of a directory', () => {
  it('is held by one at a time, also within one instance', async () => {
    const one = new DirectoryLock(directory)
    const other = new DirectoryLock(directory)
    expect(one.tryAcquire()).toBe(true)
    expect(one.tryAcquire()).toBe(false)
    expect(other.tryAcquire()).toBe(false)
    one.release()
    expect(other.tryAcquire()).toBe(true)
    other.release()
    one.close()
    other.close()
  })

  it('goes to the one that waits before the one that had it', () => {
    const one = new DirectoryLock(directory)
    const waiting = new DirectoryLock(directory)
    expect(one.tryAcquire()).toBe(true)
    expect(waiting.tryAcquire()).toBe(false)
    one.release()
    expect(one.tryAcquire()).toBe(false)
    expect(waiting.tryAcquire()).toBe(true)
    waiting.release()
    one.close()
    waiting.close()
  })

  it('is shared by those that read, and keeps writers out meanwhile', async () => {
    const writer = new DirectoryLock(directory)
    const readers = [new ReadPause(directory, 100), new ReadPause(directory, 100)]
    const seen = await Promise.all(readers.map((reader) => reader.run(() => writer.tryAcquire())))
    expect(seen).toEqual([false, false])
    await expect(writer.acquire(() => false)).resolves.toBe(true)
    await expect(readers[0]?.run(() => 1)).rejects.toMatchObject({ code: 'CONTENDED' })
    writer.release()
    for (const reader of readers) reader.close()
    writer.close()
  })

  it('is not given away by opening more tables while a commit is under way', async () => {
    const raw = { encode: (bytes: Uint8Array) => bytes, decode: (bytes: Uint8Array) => bytes }
    const [first, ...more] = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => rows(name, raw))
    if (!first) throw new Error('no space')
    const backend = await openLmdb(directory, { spaces: [first], durability: 'fsync' })
    function* write(scope: Scope, n: number): Transaction<void> {
      scope.write({ space: first!, key: Buffer.of(n) }, Buffer.alloc(100_000, n))
    }
    const writes = Promise.all(Array.from({ length: 40 }, (_, n) => backend.run(write, n)))
    for (const space of more) {
      const other = await openLmdb(directory, { spaces: [space], durability: 'fsync' })
      await other.close()
    }
    await writes
    await backend.close()
  })
})
