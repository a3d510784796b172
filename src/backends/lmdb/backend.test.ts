import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'

import { removeTemporaryDirectories, temporaryDirectory } from '../../../test/subjects.ts'
import type { Bytes } from '../../platform/bytes.ts'
import {
  type Backend,
  cell,
  type Codec,
  first,
  read,
  rows,
  type Scope,
  type Space,
  tallies,
  type Transaction,
} from '../contract.ts'
import type { Durability, LmdbOptions } from './options.ts'
import { type LmdbBackend, openLmdb } from './backend.ts'
import { LmdbDatabase } from './database.ts'

const textCodec: Codec<string> = {
  encode: (text) => Buffer.from(text),
  decode: (bytes) => Buffer.from(bytes).toString(),
}
const texts: Space<string> = rows('texts', textCodec, { ordered: true })
const sums = tallies('sums')
const undeclared: Space<string> = rows('undeclared', textCodec, { ordered: true })
const spaces = [texts, sums]

const at = (name: string) => cell(texts, Buffer.from(name))

function* write(scope: Scope, name: string, text = name): Transaction<void> {
  scope.write(at(name), text)
  scope.add(cell(sums, Buffer.from('writes')), 1)
}

function* increment(scope: Scope, name: string): Transaction<void> {
  const [current = '0'] = yield* read(at(name))
  scope.write(at(name), String(Number(current) + 1))
}

async function textOf(backend: Backend, name: string): Promise<string | undefined> {
  const [text] = await backend.read(function* () {
    return yield* read(at(name))
  })
  return text
}

async function names(backend: Backend): Promise<string[]> {
  const found: string[] = []
  for await (const row of backend.scan(texts)) found.push(row.key.toString())
  return found
}

async function writesOf(backend: Backend): Promise<number> {
  const [sum = 0] = await backend.read(function* () {
    return yield* read(cell(sums, Buffer.from('writes')))
  })
  return sum
}

const opened: Backend[] = []

async function open(path: string, options: Partial<LmdbOptions> = {}): Promise<LmdbBackend> {
  const backend = await openLmdb(path, { spaces, durability: 'os', ...options })
  opened.push(backend)
  return backend
}

afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(opened.splice(0).map((backend) => backend.close()))
})
afterAll(removeTemporaryDirectories)

describe('a commit that failed', () => {
  it('is followed by another one, and reads wait while LMDB is opened again', async () => {
    const backend = await openLmdb(await temporaryDirectory(), { spaces })
    await backend.run(write, 'a')
    const commit = vi.spyOn(LmdbDatabase.prototype, 'commitKept')
    commit.mockRejectedValueOnce(new Error('the disk is gone'))
    await expect(backend.run(write, 'b')).rejects.toThrow()
    let open: () => void = () => undefined
    const opened = new Promise<void>((resolve) => (open = resolve))
    const reopen = vi.spyOn(LmdbDatabase.prototype, 'reopen').mockReturnValueOnce(opened)
    const writing = backend.run(write, 'c')
    await vi.waitFor(() => expect(reopen).toHaveBeenCalled())
    let text: string | undefined
    const reading = textOf(backend, 'a').then((found) => (text = found))
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    expect(text).toBeUndefined()
    open()
    await Promise.all([writing, reading])
    expect(text).toBe('a')
    expect(await names(backend)).toEqual(['a', 'c'])
    await backend.close()
    vi.restoreAllMocks()
  })
})

describe('reads one after another', () => {
  it('let timers and writers have their turn', async () => {
    const backend = await open(await temporaryDirectory())
    let ticks = 0
    const timer = setInterval(() => ticks++, 1)
    const writing = backend.run(function* (scope) {
      yield* read()
      scope.write(at('written'), 'meanwhile')
    })
    let isWritten = false
    void writing.then(() => (isWritten = true))
    let reads = 0
    for (; reads < 50_000 && !(isWritten && ticks > 3); reads++) {
      await backend.read(function* () {
        return yield* read(at('a'))
      })
    }
    clearInterval(timer)
    expect(isWritten).toBe(true)
    expect(ticks).toBeGreaterThan(3)
  })
})

for (const durability of ['fsync', 'os'] as const) {
  describe(`group commit with ${durability}`, () => {
    it('takes few commits for many transactions at once', async () => {
      const backend = await open(await temporaryDirectory(), { durability })
      const before = backend.commits
      await Promise.all(Array.from({ length: 256 }, (_, n) => backend.run(write, `row ${n}`)))
      expect(backend.commits - before).toBeLessThanOrEqual(16)
      expect(await names(backend)).toHaveLength(256)
      expect(await writesOf(backend)).toBe(256)
    })

    it('takes a commit for every transaction that waits for the one before', async () => {
      const backend = await open(await temporaryDirectory(), { durability })
      const before = backend.commits
      for (let n = 0; n < 5; n++) await backend.run(write, `row ${n}`)
      expect(backend.commits - before).toBe(5)
    })

    it('lets a body that throws leave the others of its group alone', async () => {
      const backend = await open(await temporaryDirectory(), { durability })
      const refusal = new Error('on purpose')
      const before = backend.commits
      const ends = await Promise.allSettled(
        Array.from({ length: 60 }, (_, n) =>
          backend.run(function* (scope) {
            yield* write(scope, `row ${n}`)
            if (n % 3 === 0) throw refusal
          }),
        ),
      )
      ends.forEach((end, n) =>
        expect(end.status === 'rejected' ? end.reason : undefined).toBe(
          n % 3 === 0 ? refusal : undefined,
        ),
      )
      expect(backend.commits - before).toBeLessThanOrEqual(8)
      expect(await names(backend)).toHaveLength(40)
      expect(await writesOf(backend)).toBe(40)
    })

    it('lets a transaction that the engine refuses fail alone', async () => {
      const backend = await open(await temporaryDirectory(), { durability })
      let driven = 0
      const ends = await Promise.allSettled(
        Array.from({ length: 40 }, (_, n) =>
          backend.run(function* (scope) {
            driven++
            yield* write(scope, `row ${n}`)
            yield* increment(scope, 'count')
            if (n === 7) scope.write(cell(undeclared, Buffer.from('x')), 'x')
            if (n === 23) scope.add(cell(tallies('undeclared-too'), Buffer.from('x')), 1)
          }),
        ),
      )
      const guilty = ends.flatMap((end, n) => (end.status === 'rejected' ? [[n, end.reason]] : []))
      expect(guilty).toEqual([
        [7, expect.objectContaining({ code: 'BODY_MISUSE' })],
        [23, expect.objectContaining({ code: 'BODY_MISUSE' })],
      ])
      expect(driven).toBeLessThanOrEqual(3 * 40)
      expect(await textOf(backend, 'count')).toBe('38')
      expect(await names(backend)).toHaveLength(39)
      expect(await writesOf(backend)).toBe(38)
      const before = backend.commits
      await Promise.all(Array.from({ length: 40 }, () => backend.run(increment, 'count')))
      expect(backend.commits - before).toBeLessThanOrEqual(8)
    })

    it('lets the event loop turn between groups', async () => {
      const backend = await open(await temporaryDirectory(), { durability })
      let turns = 0
      let isOver = false
      const turning = (async () => {
        while (!isOver) {
          await new Promise((resolve) => {
            setImmediate(resolve)
          })
          turns++
        }
      })()
      const slow = function* (scope: Scope, n: number): Transaction<void> {
        const start = performance.now()
        while (performance.now() - start < 2);
        yield* write(scope, `row ${n}`)
      }
      await Promise.all(Array.from({ length: 100 }, (_, n) => backend.run(slow, n)))
      isOver = true
      await turning
      // 200 ms of work, at most about 10 ms at a time.
      expect(turns).toBeGreaterThanOrEqual(10)
    })

    it('ends a group that has grown large', async () => {
      const backend = await open(await temporaryDirectory(), { durability })
      const before = backend.commits
      // A group also ends after some time; with the clock standing still it must be the bytes.
      vi.spyOn(performance, 'now').mockReturnValue(0)
      const large = 'x'.repeat(2 * 1024 * 1024)
      await Promise.all(Array.from({ length: 12 }, (_, n) => backend.run(write, `row ${n}`, large)))
      expect(backend.commits - before).toBeGreaterThanOrEqual(3)
      expect(await names(backend)).toHaveLength(12)
    })

    it('takes what is started while a group is committing into the next', async () => {
      const backend = await open(await temporaryDirectory(), { durability })
      const all: Promise<void>[] = []
      for (let n = 0; n < 30; n++) {
        all.push(backend.run(increment, 'count'))
        if (n % 3 === 0) await new Promise((resolve) => setTimeout(resolve, n % 4))
      }
      await Promise.all(all)
      expect(await textOf(backend, 'count')).toBe('30')
    })
  })
}

describe('several backends on one directory', () => {
  it('share one environment, by whatever path they came', async () => {
    const directory = await temporaryDirectory()
    const link = join(await temporaryDirectory(), 'link')
    await symlink(directory, link)
    const all = await Promise.all([directory, `${directory}/`, link].map((path) => open(path)))
    const before = all[0]!.commits
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => all[n % 3]!.run(increment, `count ${n % 2}`)),
    )
    expect(all[0]!.commits - before).toBeLessThanOrEqual(2)
    for (const one of all) {
      expect(one.commits).toBe(all[0]!.commits)
      expect(await textOf(one, 'count 0')).toBe('30')
    }
    await all[0]!.close()
    await all[1]!.run(increment, 'count 0')
    await all[1]!.close()
    expect(await textOf(all[2]!, 'count 0')).toBe('31')
  })

  it('may each name spaces of their own', async () => {
    const directory = await temporaryDirectory()
    const one = await open(directory)
    const other = await open(directory, { spaces: [undeclared] })
    await other.run(function* (scope) {
      scope.write(cell(undeclared, Buffer.from('a')), 'x')
    })
    await one.run(write, 'a')
    expect(await textOf(one, 'a')).toBe('a')
  })

  it('may each have a durability of their own, and still share their groups', async () => {
    const directory = await temporaryDirectory()
    const link = join(await temporaryDirectory(), 'link')
    await symlink(directory, link)
    const fast = await open(directory, { durability: 'os' })
    const safe = await open(link, { durability: 'fsync' })
    const before = fast.commits
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => (n % 2 ? fast : safe).run(increment, 'count')),
    )
    expect(fast.commits - before).toBeLessThanOrEqual(4)
    for (let n = 0; n < 10; n++) {
      await Promise.all([fast.run(increment, 'count'), fast.run(increment, 'count')])
      await safe.run(increment, 'count')
    }
    await safe.close()
    await fast.run(increment, 'count')
    await fast.close()
    expect(await textOf(await open(directory, { durability: 'fsync' }), 'count')).toBe('91')
  })

  it('can be opened while the last one closes', async () => {
    const directory = await temporaryDirectory()
    for (let round = 0; round < 5; round++) {
      const backend = await open(directory)
      const work = Promise.all(Array.from({ length: 20 }, () => backend.run(increment, 'count')))
      const closing = backend.close()
      const next = await open(directory)
      await Promise.all([work, closing])
      await next.run(increment, 'count')
      await next.close()
    }
    expect(await textOf(await open(directory), 'count')).toBe('105')
  })
})

describe('opening', () => {
  it('makes the directory, and those above it', async () => {
    const directory = join(await temporaryDirectory(), 'not', 'yet')
    const backend = await open(directory)
    await backend.run(write, 'a')
    expect(existsSync(join(directory, 'data.mdb'))).toBe(true)
  })

  it('creates nothing with create: false', async () => {
    const parent = await temporaryDirectory()
    const missing = open(join(parent, 'missing'), { create: false })
    await expect(missing).rejects.toMatchObject({ code: 'STORE_NOT_FOUND', kind: 'missing' })
    await mkdir(join(parent, 'empty'))
    const empty = open(join(parent, 'empty'), { create: false })
    await expect(empty).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' })
    expect(await readdir(parent, { recursive: true })).toEqual(['empty'])
  })

  it('opens what is there with create: false', async () => {
    const directory = await temporaryDirectory()
    const backend = await open(directory)
    await backend.run(write, 'a')
    await backend.close()
    expect(await textOf(await open(directory, { create: false }), 'a')).toBe('a')
  })

  it('refuses a location that is a file, or lies under one', async () => {
    const file = join(await temporaryDirectory(), 'file')
    await writeFile(file, 'mine')
    for (const path of [file, join(file, 'below')]) {
      await expect(open(path)).rejects.toMatchObject({ code: 'INVALID_LOCATION', kind: 'invalid' })
    }
  })

  it('refuses a data file that is none of its own, and lives to tell', async () => {
    const directory = await temporaryDirectory()
    const file = join(directory, 'data.mdb')
    for (const foreign of ['abc', Buffer.alloc(65_536), Buffer.alloc(65_536, 'not a database ')]) {
      await writeFile(file, foreign)
      await expect(open(directory)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
    }
    await writeFile(file, '')
    await (await open(directory)).run(write, 'a')
  })

  it('refuses a namespace that is too long, and leaves nothing open', async () => {
    const directory = await temporaryDirectory()
    const long = open(directory, { namespace: 'n'.repeat(65) })
    await expect(long).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(await readdir(directory)).toEqual([])
    await open(directory, { namespace: 'n'.repeat(64) })
  })

  it('counts its namespace among the bytes of a key', async () => {
    const directory = await temporaryDirectory()
    const bytesMax = async (namespace: string) => (await open(directory, { namespace })).limits
    expect(await bytesMax('')).toMatchObject({ keyBytesMax: 1977 })
    expect(await bytesMax('abc')).toMatchObject({ keyBytesMax: 1974 })
  })
})

describe('a space that was not named at open', () => {
  const misuse = { code: 'BODY_MISUSE', message: expect.stringContaining('undeclared') }

  it('is refused by name, whatever is asked of it', async () => {
    const backend = await open(await temporaryDirectory())
    const there = cell(undeclared, Buffer.from('a'))
    const reading = function* (): Transaction<unknown> {
      return yield* read(there)
    }
    await expect(backend.read(reading)).rejects.toMatchObject(misuse)
    await expect(backend.run(reading)).rejects.toMatchObject(misuse)
    const seeking = backend.run(function* () {
      return yield* first(undeclared, Buffer.from('a'))
    })
    await expect(seeking).rejects.toMatchObject(misuse)
    const writing = backend.run(function* (scope) {
      yield* write(scope, 'a')
      scope.write(there, 'x')
    })
    await expect(writing).rejects.toMatchObject(misuse)
    const scanning = backend.scan(undeclared)[Symbol.asyncIterator]().next()
    await expect(scanning).rejects.toMatchObject(misuse)
    expect(await names(backend)).toEqual([])
  })
})

describe('a scan of large values', () => {
  it('holds few of them at a time, and gives them all', async () => {
    const blobs = rows<Bytes>('blobs', { encode: (bytes) => bytes, decode: (bytes) => bytes })
    const backend = await open(await temporaryDirectory(), { spaces: [blobs] })
    const large = Buffer.alloc(2 * 1024 * 1024, 'large')
    for (let n = 0; n < 40; n++) {
      await backend.run(function* (scope) {
        scope.write(cell(blobs, Buffer.of(n)), large)
      })
    }
    const sizes: number[] = []
    const before = process.memoryUsage().arrayBuffers
    for await (const { value } of backend.scan(blobs, { limit: 39 })) {
      if (sizes.push(value.byteLength) > 1) continue
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(30 * 1024 * 1024)
    }
    expect(sizes).toEqual(Array(39).fill(large.byteLength))
  })
})

describe('closing', () => {
  it('waits for everything accepted, and what was acknowledged is there afterwards', async () => {
    for (const durability of ['fsync', 'os'] as const) {
      const directory = await temporaryDirectory()
      const backend = await open(directory, { durability })
      const work = Array.from({ length: 1200 }, () => backend.run(increment, 'count'))
      await backend.close()
      await Promise.all(work)
      await expect(backend.run(increment, 'count')).rejects.toMatchObject({
        code: 'BACKEND_CLOSED',
      })
      expect(await textOf(await open(directory, { durability }), 'count')).toBe('1200')
    }
  })

  it('ends a scan that is under way with an error, never with fewer rows', async () => {
    const backend = await open(await temporaryDirectory())
    await Promise.all(Array.from({ length: 300 }, (_, n) => backend.run(write, `row ${n}`)))
    const scan = backend.scan(texts)[Symbol.asyncIterator]()
    await scan.next()
    await backend.close()
    const drained = (async () => {
      while (!(await scan.next()).done);
    })()
    await expect(drained).rejects.toMatchObject({ code: 'BACKEND_CLOSED' })
  })
})

// -----------------------------------------------------------------------------------------------------

const NEIGHBOUR = fileURLToPath(
  new URL('../../../test/children/lmdb-neighbour.mjs', import.meta.url),
)
const BUILT = fileURLToPath(new URL('../../../dist/backends/lmdb/backend.js', import.meta.url))

beforeAll(() => {
  if (!existsSync(BUILT)) throw new Error('Neighbours run from dist/: run `npm run build` first.')
})

interface Neighbour {
  tell(...command: unknown[]): Promise<unknown>
  close(): Promise<void>
}

async function neighbour(port: ChildProcess | Worker): Promise<Neighbour> {
  const send = (message: unknown[]) =>
    'send' in port ? port.send(message) : port.postMessage(message)
  const exit = once(port, 'exit')
  const [ready] = await once(port, 'message')
  expect(ready).toBe('open')
  const tell = async (...command: unknown[]) => {
    const answer = once(port, 'message')
    send(command)
    return (await answer)[0]
  }
  return {
    tell,
    async close() {
      expect(await tell('close')).toBe('closed')
      expect((await exit)[0]).toBe(0)
    },
  }
}

const asProcess = (directory: string, durability: Durability) =>
  neighbour(fork(NEIGHBOUR, [directory, durability]))
const asThread = (directory: string, durability: Durability) =>
  neighbour(new Worker(NEIGHBOUR, { workerData: [directory, durability] }))

for (const [kind, start] of [
  ['process', asProcess],
  ['worker thread', asThread],
] as const) {
  describe(`another ${kind} on the same directory`, () => {
    it('is seen at once by every verb, however often it commits', async () => {
      const directory = await temporaryDirectory()
      const backend = await open(directory, { durability: 'fsync' })
      const other = await start(directory, 'fsync')
      for (let n = 0; n < 20; n++) {
        expect(await textOf(backend, 'a')).toBe(n === 0 ? undefined : String(n - 1))
        await other.tell('write', 'a', String(n))
        expect(await textOf(backend, 'a')).toBe(String(n))
        await other.tell('write', `row ${n}`, 'x')
        expect(await names(backend)).toContain(`row ${n}`)
        await other.tell('write', 'b', String(n))
        const [inside] = await backend.run(function* () {
          return yield* read(at('b'))
        })
        expect(inside).toBe(String(n))
        await other.tell('write', 'b', 'gone')
      }
      await other.close()
    })

    it('counts on together with this one', async () => {
      const directory = await temporaryDirectory()
      const backend = await open(directory, { durability: 'os' })
      const other = await start(directory, 'os')
      const theirs = other.tell('increment', 'count', 300)
      const ours = async () => {
        for (let n = 0; n < 30; n++) {
          await Promise.all(Array.from({ length: 10 }, () => backend.run(increment, 'count')))
        }
      }
      await Promise.all([theirs, ours()])
      expect(await textOf(backend, 'count')).toBe('600')
      await other.close()
      await backend.run(increment, 'count')
      expect(await textOf(backend, 'count')).toBe('601')
    })
  })
}

describe('a process that is killed', () => {
  it('leaves all it has acknowledged, and hands the directory to the next', async () => {
    const directory = await temporaryDirectory()
    for (const durability of ['fsync', 'os'] as const) {
      const child = fork(NEIGHBOUR, [directory, durability])
      const acknowledged: string[] = []
      const enough = new Promise<void>((resolve) => {
        child.on('message', (message: string) => {
          if (message === 'open') child.send(['flood'])
          else if (acknowledged.push(message) === 200) resolve()
        })
      })
      await enough
      child.kill('SIGKILL')
      await once(child, 'exit')
      const backend = await open(directory, { durability })
      const there = new Set(await names(backend))
      expect(acknowledged.filter((name) => !there.has(name))).toEqual([])
      await backend.run(write, 'still', 'works')
      expect(await textOf(backend, 'still')).toBe('works')
      await backend.close()
    }
  })
})
