/** What a store does when the world around it fails: the disk is full, rows are damaged, files are gone. */

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { cell, read, type Scope, type Transaction } from '../src/backends/contract.ts'
import { openLmdb } from '../src/backends/lmdb/backend.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { openStore, PrestigeError } from '../src/index.ts'
import { recipeKey, recipes } from '../src/store/contents/chunk-rows.ts'
import { storeSpaces } from '../src/store/rows.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-failures-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const unavailable = () => new PrestigeError('BACKEND_UNAVAILABLE', 'The network is down.')
const FULL_DISK = fileURLToPath(new URL('./children/full-disk.mjs', import.meta.url))

describe('a full disk', () => {
  it.each(['fsync', 'os'])(
    'is told by name, takes nothing along and leaves a sound store (%s)',
    (durability) => {
      const script = 'trap "" XFSZ; ulimit -f 6000; exec "$0" "$@"'
      const args = ['-c', script, process.execPath, FULL_DISK, join(directory, 'store'), durability]
      const { status, stdout } = spawnSync('bash', args, { encoding: 'utf8' })
      expect(status).toBe(0)
      expect(JSON.parse(stdout)).toEqual({
        code: 'BACKEND_FULL',
        large: 'BACKEND_FULL',
        isThere: true,
        lost: 0,
        problems: [],
      })
    },
  )
})

describe('a damaged part of a large value', () => {
  it.each([0, 1])('is an error, never memory of others (%i chunks left)', async (left) => {
    const engine = new MemoryEngine()
    const backend = new MemoryBackend({}, engine)
    await using store = await openStore(backend)
    const { contentId } = await store.put('large', randomBytes(9 * 1024 * 1024))
    await backend.run(function* (scope: Scope): Transaction<void> {
      const place = cell(recipes, recipeKey(Buffer.from(contentId, 'hex'), 1))
      const [part] = yield* read(place)
      scope.write(place, { ...part!, chunks: part!.chunks.slice(0, left) })
    })
    await expect(store.get('large')).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
  })
})

describe('a directory', () => {
  it('that was moved away while it is open is refused, and is whole where it was moved to', async () => {
    const place = join(directory, 'store')
    const first = await openStore(place, { durability: 'os' })
    await first.put('a', 'v')
    await rename(place, join(directory, 'moved'))
    await expect(openStore(place)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
    await first.close()
    await using moved = await openStore(join(directory, 'moved'), { create: false })
    expect(await moved.getText('a')).toBe('v')
  })

  it('whose file was removed while it is open is refused', async () => {
    const store = await openStore(directory, { durability: 'os' })
    await store.put('a', 'v')
    await rm(join(directory, 'data.mdb'))
    await expect(openStore(directory)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
    await store.close().catch(() => {})
  })
})

describe('what is left to clean up', () => {
  it('never makes a delete or a put that was done look undone', async () => {
    const world = new SimulatedWorld(3)
    const backend = world.open('w')
    await using store = await openStore(backend)
    await store.put('a', 'first')
    const scan = backend.scan.bind(backend)
    backend.scan = () => {
      throw unavailable()
    }
    expect(await store.put('a', 'second')).toMatchObject({ key: 'replaced' })
    expect(await store.delete('a')).toBe(true)
    backend.scan = scan
    expect(await store.stats()).toMatchObject({ keys: 0, contents: 2 })
    expect(await store.collect()).toMatchObject({ contents: 2 })
  })

  it('of a large value that could not be written is taken away at once', async () => {
    const backend = await openLmdb(directory, { spaces: storeSpaces, durability: 'os' })
    await using store = await openStore(backend)
    const run = backend.run.bind(backend)
    let left = 3
    backend.run = async (body, ...args) => {
      if (body.name === 'keepPart' && --left === 0) throw unavailable()
      return run(body, ...args)
    }
    const large = Buffer.alloc(17 * 1024 * 1024, 2)
    await expect(store.put('large', large)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
    const report = await store.verify()
    expect(report).toMatchObject({ problems: [], unfinishedUploads: 0 })
    expect(await store.put('large', large)).toMatchObject({ content: 'new' })
  })
})
