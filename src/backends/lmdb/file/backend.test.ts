import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, afterEach, describe, expect, it } from 'vitest'

import { blobs, noPause, pick, randomBytesOf, writeAll } from '../../../../test/lmdb-file-kit.ts'
import {
  removeTemporaryDirectories,
  subject,
  temporaryDirectory,
} from '../../../../test/subjects.ts'
import { type Bytes, latin1 } from '../../../platform/bytes.ts'
import { describeBackend } from '../../conformance/index.ts'
import {
  type Backend,
  cell,
  first,
  type Range,
  read,
  type Row,
  rowsOf,
  type Space,
} from '../../contract.ts'
import { seededRandom } from '../../simulated/backend.ts'
import { openLmdb } from '../backend.ts'
import { openLmdbFile } from './backend.ts'

const opened: Backend[] = []

async function tracked<B extends Backend>(opening: Promise<B>): Promise<B> {
  const backend = await opening
  opened.push(backend)
  return backend
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((backend) => backend.close()))
})
afterAll(removeTemporaryDirectories)

/** Writes through LMDB and reads from its file: so every scenario of the suite tests the reader. */
describeBackend(
  { describe, it },
  subject('lmdb, read from its file', temporaryDirectory, async (directory, options) => {
    const writer = await openLmdb(directory, { ...options, durability: 'os' })
    const clock = () => writer.now()
    const reader = await openLmdbFile(directory, { ...options, clock }, noPause)
    return {
      limits: reader.limits,
      serial: true,
      now: () => writer.now(),
      read: (body, ...args) => reader.read(body, ...args),
      scan: (space, range) => reader.scan(space, range),
      run: (body, ...args) => writer.run(body, ...args),
      snapshots: reader.snapshots,
      snapshot: () => reader.snapshot(),
      close: async () => {
        await writer.close()
        await reader.close()
      },
    }
  }),
)

const spaces = ['a', 'ab', 'abcd', 'abcde', 'b', 'never-written'].map(blobs)
const NAMESPACES = ['', 'n', 'nn']
const LENGTHS = [0, 1, 7, 100, 100, 100, 1000, 1900, 2100, 4072, 4073, 9000, 70_000, 1_000_000]

const digest = (bytes: Bytes) => createHash('sha1').update(bytes).digest('hex')
const shown = ({ key, value }: Row<Bytes>) => `${latin1(key)}=${value.byteLength} ${digest(value)}`

async function all(backend: Backend, space: Space<Bytes>, range?: Range): Promise<string[]> {
  const found: string[] = []
  for await (const { key, value } of backend.scan(space, range)) {
    found.push(shown({ key, value }))
  }
  return found
}

/** Everything that a body can ask, at random places. */
async function answers(
  backend: Backend,
  space: Space<Bytes>,
  keys: readonly Buffer[],
  seed: number,
) {
  const random = seededRandom(seed)
  const somewhere = () => {
    const key = pick(random, keys)
    return key.subarray(0, Math.ceil(random() * key.length))
  }
  const range = () => ({
    start: random() < 0.8 ? somewhere() : undefined,
    end: random() < 0.8 ? somewhere() : undefined,
    limit: Math.floor(random() * 400),
  })
  const asked = await backend.read(function* () {
    const found: string[] = []
    for (let n = 0; n < keys.length; n++) {
      const key = n % 20 === 0 ? somewhere() : keys[n]!
      const [value] = yield* read(cell(space, key))
      found.push(value ? shown({ key, value }) : 'nothing')
    }
    for (let n = 0; n < 20; n++) {
      found.push(latin1((yield* first(space, somewhere())) ?? Buffer.from('none')))
      found.push(...(yield* rowsOf(space, range())).map(shown))
    }
    return found
  })
  return [asked, await all(backend, space), await all(backend, space, range())]
}

describe('the reader of the file', () => {
  it('gives what LMDB gives, after any writes, overwrites and removals', async () => {
    const random = seededRandom(7)
    const directory = await temporaryDirectory()
    const pairs: [Backend, Backend][] = []
    for (const namespace of NAMESPACES) {
      const options = { spaces, namespace }
      pairs.push([
        await tracked(openLmdb(directory, { ...options, durability: 'os' })),
        await tracked(openLmdbFile(directory, options, noPause)),
      ])
    }
    const keys = Array.from({ length: 600 }, (_, n) =>
      n % 50 === 0 ? Buffer.alloc(1 + n * 3, n) : Buffer.from(`key ${Math.floor(random() * 1e6)}`),
    )
    for (let round = 0; round < 12; round++) {
      for (const [writer] of pairs) {
        const values = new Map<Buffer, Bytes | undefined>()
        for (let n = 0; n < 150; n++) {
          const value = randomBytesOf(random, pick(random, n > 3 ? LENGTHS.slice(0, 12) : LENGTHS))
          values.set(pick(random, keys), random() < 0.1 * (round % 7) ? undefined : value)
        }
        await writeAll(writer, pick(random, spaces.slice(0, 5)), values)
      }
      const [writer, reader] = pick(random, pairs)
      for (const space of round % 4 === 3 ? spaces : [pick(random, spaces)]) {
        const seed = Math.floor(random() * 1e9)
        const expected = await answers(writer, space, keys, seed)
        expect(await answers(reader, space, keys, seed)).toEqual(expected)
      }
    }
  })
})

const [words] = spaces as [Space<Bytes>]

async function store(rows: number): Promise<string> {
  const directory = await temporaryDirectory()
  const writer = await openLmdb(directory, { spaces, durability: 'os' })
  for (let round = 0; round < 3; round++) {
    const values = new Map<Buffer, Bytes>()
    for (let n = 0; n < rows; n++)
      values.set(Buffer.from(`row ${n}`), Buffer.from(`value ${n} of ${round}`))
    await writeAll(writer, words, values)
  }
  await writer.close()
  return directory
}

const open = (directory: string, pause = noPause) =>
  tracked(openLmdbFile(directory, { spaces }, pause))

const valueOf = (backend: Backend, key: string) =>
  backend.read(function* () {
    const [value] = yield* read(cell(words, Buffer.from(key)))
    return value && Buffer.from(value).toString()
  })

describe('a store that is opened by its file', () => {
  it('refuses to write, and says how to', async () => {
    const directory = await store(1)
    const backend = await open(directory)
    const writing = writeAll(backend, words, new Map([[Buffer.from('a'), Buffer.from('b')]]))
    await expect(writing).rejects.toMatchObject({
      code: 'READ_ONLY',
      kind: 'invalid',
      message: 'This store is open for reading only. Open it without readOnly to write.',
    })
    expect(await valueOf(backend, 'a')).toBe(undefined)
  })

  it('creates and changes no file', async () => {
    const directory = await temporaryDirectory()
    const data = await readFile(join(await store(100), 'data.mdb'))
    await writeFile(join(directory, 'data.mdb'), data)
    const backend = await open(directory)
    expect(await valueOf(backend, 'row 7')).toBe('value 7 of 2')
    await backend.close()
    expect(await readdir(directory)).toEqual(['data.mdb'])
    expect(await readFile(join(directory, 'data.mdb'))).toEqual(data)
  })

  it('is not found where there is none', async () => {
    const directory = await temporaryDirectory()
    await expect(open(directory)).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' })
    await expect(open(join(directory, 'below'))).rejects.toMatchObject({ code: 'STORE_NOT_FOUND' })
  })

  it('is corrupt if the file is empty, foreign or too short for its header', async () => {
    const directory = await store(2000)
    const file = join(directory, 'data.mdb')
    await truncate(file, 4096 * 12)
    await expect(open(directory)).rejects.toMatchObject({
      code: 'CONTENT_CORRUPT',
      message: expect.stringMatching(
        /^data\.mdb is truncated: its header promises \d+ pages, the file has 12\./,
      ),
    })
    for (const bytes of ['', 'abc', Buffer.alloc(65_536), Buffer.alloc(65_536, 'no store ')]) {
      await writeFile(file, bytes)
      await expect(open(directory)).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
    }
  })

  it('never shows an older commit because a byte of a meta page changed', async () => {
    const directory = await store(10)
    const file = join(directory, 'data.mdb')
    const sound = await readFile(file)
    let refused = 0
    for (let at = 0; at < 160; at++) {
      for (const place of [at, 4096 + at]) {
        const damaged = Buffer.from(sound)
        damaged.writeUInt8(damaged.readUInt8(place) ^ (1 << (at % 8)), place)
        await writeFile(file, damaged)
        const reading = open(directory).then((backend) => valueOf(backend, 'row 7'))
        const found = await reading.catch((error: { code: string }) => error.code)
        expect(found, `byte ${place}`).toMatch(/^(value 7 of 2|CONTENT_CORRUPT)$/)
        if (found === 'CONTENT_CORRUPT') refused++
      }
    }
    expect(refused).toBeGreaterThan(80)
  })

  it('reports a read that failed with its cause, never as a miss', async () => {
    const directory = await temporaryDirectory()
    await mkdir(join(directory, 'data.mdb'))
    await expect(open(directory)).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      message: expect.stringContaining('EISDIR'),
    })
  })

  it('reads every moment inside the pause, and closes it', async () => {
    const directory = await store(600)
    let runs = 0
    let isClosed = false
    const backend = await open(directory, {
      run: async (work) => {
        runs++
        return work()
      },
      close: () => (isClosed = true),
    })
    expect(runs).toBe(1)
    await valueOf(backend, 'row 7')
    expect(runs).toBe(2)
    expect(await all(backend, words)).toHaveLength(600)
    expect(runs).toBe(2 + 3)
    await backend.close()
    expect(isClosed).toBe(true)
    await expect(valueOf(backend, 'row 7')).rejects.toMatchObject({ code: 'BACKEND_CLOSED' })
  })

  it('sees what is committed while it is open', async () => {
    const directory = await store(1)
    const backend = await open(directory)
    const writer = await tracked(openLmdb(directory, { spaces, durability: 'os' }))
    for (const value of ['one', 'other', 'third']) {
      await writeAll(writer, words, new Map([[Buffer.from('row 0'), Buffer.from(value)]]))
      expect(await valueOf(backend, 'row 0')).toBe(value)
    }
  })

  it('refuses a space that was not named', async () => {
    const backend = await open(await store(1))
    const undeclared = blobs('undeclared')
    await expect(all(backend, undeclared)).rejects.toMatchObject({ code: 'BODY_MISUSE' })
  })
})
