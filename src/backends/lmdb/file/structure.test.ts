import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { amount } from '../../../../test/amount.ts'
import { blobs, noPause, pick, randomBytesOf, writeAll } from '../../../../test/lmdb-file-kit.ts'
import { removeTemporaryDirectories, temporaryDirectory } from '../../../../test/subjects.ts'
import { type Bytes, equalBytes, latin1 } from '../../../platform/bytes.ts'
import { cell, read, type Space } from '../../contract.ts'
import { seededRandom } from '../../simulated/backend.ts'
import { openLmdb } from '../backend.ts'
import { openLmdbFile, treeNamed } from './backend.ts'
import { DataFile } from './data-file.ts'
import { Page } from './format.ts'
import { type LostRange, readableRows } from './salvage.ts'
import { checkStructure } from './structure.ts'
import { pagesOf } from './traversal.ts'

const spaces = ['large', 'small'].map(blobs) as [Space<Bytes>, Space<Bytes>]
const [large, small] = spaces
const PAGE_BYTES = 4096

let sound: string
let bytes: Buffer
/** What is in each space, by whole key. */
const expected = new Map<string, Map<string, Buffer>>()

beforeAll(async () => {
  sound = await temporaryDirectory()
  const random = seededRandom(3)
  const writer = await openLmdb(sound, { spaces, durability: 'os' })
  for (const space of spaces) {
    const kept = new Map<string, Buffer>()
    expected.set(space.name, kept)
    for (let round = 0; round < 6; round++) {
      const values = new Map<Buffer, Bytes | undefined>()
      for (let n = 0; n < (space === large ? 20 : 400); n++) {
        const name = `\0key ${String(Math.floor(random() * 1500)).padStart(30, '0')}`
        const length = space === large ? pick(random, [100, 3000, 3000, 9000]) : 20 + (n % 90)
        const value = random() < 0.2 ? undefined : randomBytesOf(random, length)
        values.set(Buffer.from(name.slice(1)), value)
        if (value) kept.set(name, value)
        else kept.delete(name)
      }
      await writeAll(writer, space, values)
    }
  }
  await writer.close()
  bytes = readFileSync(join(sound, 'data.mdb'))
})
afterAll(removeTemporaryDirectories)

let place: string | undefined

/** The same place for each, as only one is open at a time. */
async function damagedStore(data: Buffer): Promise<string> {
  place ??= await temporaryDirectory()
  writeFileSync(join(place, 'data.mdb'), data)
  return place
}

/** The value itself, but for one byte or the length: values have no checksum at this layer. */
function isLike(found: Bytes, written: Bytes): boolean {
  if (equalBytes(found, written)) return true
  const shared = Math.min(found.length, written.length)
  let differing = found.length === written.length ? 0 : 1
  for (let at = 0; at < shared && differing < 2; at++) if (found[at] !== written[at]) differing++
  return differing < 2
}

/** Never rejects with anything but CONTENT_CORRUPT. */
async function isRefused(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return false
  } catch (error) {
    expect(error).toMatchObject({ code: 'CONTENT_CORRUPT' })
    return true
  }
}

interface Reading {
  isRefused: boolean
  /** Keys that were written and not found, without an error. */
  missing: string[]
  /** Keys that were found and not written. */
  foreign: string[]
  /** Keys with other bytes than were written. */
  changed: string[]
}

/** Scans everything, and looks up every eighth key from a random one on. */
async function readAll(directory: string, random: () => number): Promise<Reading> {
  const reading: Reading = { isRefused: false, missing: [], foreign: [], changed: [] }
  const opening = openLmdbFile(directory, { spaces }, noPause)
  if (await isRefused(opening)) return { ...reading, isRefused: true }
  const backend = await opening
  const judge = (space: Space<Bytes>, name: string, value: Bytes | undefined) => {
    const written = expected.get(space.name)!.get(name)
    if (value === undefined) reading.missing.push(name)
    else if (written === undefined) reading.foreign.push(name)
    else if (!equalBytes(value, written)) reading.changed.push(name)
    if (value && written && !isLike(value, written)) reading.changed.push(`${name}: much`)
  }
  for (const space of spaces) {
    const scan = async () => {
      let last = ''
      for await (const { key, value } of backend.scan(space)) {
        expect(latin1(key) > last).toBe(true)
        last = latin1(key)
        judge(space, `\0${last}`, value)
      }
    }
    if (await isRefused(scan())) reading.isRefused = true
    const names = [...expected.get(space.name)!.keys()]
    for (let n = Math.floor(random() * 8); n < names.length; n += 8) {
      const name = names[n]!
      const get = backend.read(function* () {
        const [value] = yield* read(cell(space, Buffer.from(name.slice(1), 'latin1')))
        judge(space, name, value)
      })
      if (await isRefused(get)) reading.isRefused = true
    }
  }
  await backend.close()
  return reading
}

async function salvaged(directory: string, space: Space<Bytes>) {
  const rows = new Map<string, Bytes>()
  const lost: LostRange[] = []
  const doubtful: string[] = []
  for await (const one of readableRows(directory, space.name)) {
    if (!('key' in one)) lost.push(one)
    else {
      rows.set(latin1(one.key), one.value)
      if (one.isMisplaced) doubtful.push(latin1(one.key))
    }
  }
  return { rows, lost, doubtful }
}

/** Keys that are neither salvaged nor in a range that is reported as lost. */
async function forgotten(directory: string): Promise<string[]> {
  const names: string[] = []
  for (const space of spaces) {
    const { rows, lost } = await salvaged(directory, space)
    for (const name of expected.get(space.name)!.keys()) {
      const isCovered = ({ low, high }: LostRange) =>
        (!low || name >= latin1(low)) && (!high || name < latin1(high))
      if (!rows.has(name) && !lost.some(isCovered)) names.push(name)
    }
  }
  return names
}

describe('a sound store', () => {
  it('has no structural problem, and all its rows are readable', async () => {
    const { problems, entries, pages } = await checkStructure(sound)
    expect(problems).toEqual([])
    expect(entries).toBe(expected.get('large')!.size + expected.get('small')!.size)
    expect(pages).toBeGreaterThan(100)
    for (const space of spaces) {
      const { rows, lost, doubtful } = await salvaged(sound, space)
      expect({ lost, doubtful }).toEqual({ lost: [], doubtful: [] })
      const written = expected.get(space.name)!
      expect([...rows.keys()].toSorted()).toEqual([...written.keys()].toSorted())
      for (const [name, value] of rows) expect(equalBytes(value, written.get(name)!)).toBe(true)
    }
    expect(await salvaged(sound, blobs('never-written'))).toMatchObject({ lost: [] })
    const { isRefused: refused, ...faults } = await readAll(sound, () => 0)
    expect({ refused, ...faults }).toEqual({
      refused: false,
      missing: [],
      foreign: [],
      changed: [],
    })
  })
})

/** Branch and leaf pages of the newest commit, and the meta pages. */
function treePages(): number[] {
  const file = new DataFile(sound)
  const trees = [
    file.meta.main,
    file.meta.free,
    ...spaces.map(({ name }) => treeNamed(file, name)!),
  ]
  const pages = [0, 1]
  for (const tree of trees) {
    for (const visit of pagesOf(file, tree, () => true)) {
      if ('page' in visit) pages.push(visit.page.number)
    }
  }
  file.close()
  return pages
}

const isLeafPage = (page: number) => bytes.readUInt16LE(page * PAGE_BYTES + 18) === 2

describe('a store with a changed byte', () => {
  it('gives what was written, or an error', async () => {
    const random = seededRandom(11)
    const pages = treePages()
    const flips = amount(120, 300)
    let refused = 0
    for (let flip = 0; flip < flips; flip++) {
      // Every other one where a page says what is where.
      const page =
        flip % 2 ? pick(random, pages) : Math.floor((random() * bytes.length) / PAGE_BYTES)
      const at = page * PAGE_BYTES + Math.floor(random() * (flip % 4 === 1 ? 128 : PAGE_BYTES))
      const damaged = Buffer.from(bytes)
      damaged.writeUInt8(damaged.readUInt8(at) ^ (1 << Math.floor(random() * 8)), at)
      const directory = await damagedStore(damaged)
      const reading = await readAll(directory, random)
      const { problems } = await checkStructure(directory)
      const what = `byte ${at}: ${JSON.stringify({ reading, problems })}`
      // A key that changed without leaving its place cannot be distinguished from another key.
      const isKey = isLeafPage(page)
      expect(reading.missing.length, what).toBeLessThanOrEqual(isKey ? 1 : 0)
      expect(reading.foreign.length, what).toBeLessThanOrEqual(isKey ? 1 : 0)
      expect(new Set(reading.changed).size, what).toBeLessThanOrEqual(1)
      expect((await forgotten(directory)).length, what).toBeLessThanOrEqual(isKey ? 1 : 0)
      if (!reading.isRefused) continue
      refused++
      expect(problems.length, what).toBeGreaterThan(0)
    }
    expect(refused).toBeGreaterThan(flips / 6)
  })
})

describe('a store with a lost page', () => {
  it('never takes what was on it for a miss, and salvages all the rest', async () => {
    const random = seededRandom(12)
    let refused = 0
    for (let round = 0; round < 60; round++) {
      const page = Math.floor((random() * bytes.length) / PAGE_BYTES)
      const damaged = Buffer.from(bytes)
      const lost = damaged.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
      if (round % 2 === 0) lost.fill(0)
      else for (let at = 0; at < lost.length; at++) lost[at] = Math.floor(random() * 256)
      const directory = await damagedStore(damaged)
      const reading = await readAll(directory, random)
      const { problems } = await checkStructure(directory)
      const what = `page ${page}: ${JSON.stringify({ reading, problems })}`
      expect(reading.missing, what).toEqual([])
      expect(reading.foreign, what).toEqual([])
      expect(await forgotten(directory), what).toEqual([])
      if (!reading.isRefused) continue
      refused++
      expect(problems.length, what).toBeGreaterThan(0)
    }
    expect(refused).toBeGreaterThan(10)
  })
})

describe('a truncated store', () => {
  it('is refused, or is whole, and is salvaged as far as it goes', async () => {
    const random = seededRandom(13)
    for (let round = 0; round < 20; round++) {
      const length = Math.floor(random() * bytes.length)
      const directory = await damagedStore(bytes.subarray(0, length))
      const { isRefused: refused, ...faults } = await readAll(directory, random)
      const { problems } = await checkStructure(directory)
      expect(faults).toEqual({ missing: [], foreign: [], changed: [] })
      expect(refused, `${length} bytes`).toBe(problems.length > 0)
      expect(await forgotten(directory)).toEqual([])
    }
  })
})

/** The root of the small space, which is a branch page, as part of bytes that may be changed. */
function rootOf(data: Buffer): Page {
  const file = new DataFile(sound)
  const { root } = treeNamed(file, small.name)!
  file.close()
  const page = new Page(root, data.subarray(root * PAGE_BYTES, (root + 1) * PAGE_BYTES))
  expect(page.isLeaf).toBe(false)
  return page
}

/** Where entry `index` of a page begins in the file. */
const entryAt = (page: Page, index: number) =>
  page.number * PAGE_BYTES + 24 + page.bytes.readUInt16LE(24 + 2 * index)

/** The first leaf entry of the large space whose value has pages of its own, and where these begin. */
function overflowOf(): { readonly entry: number; readonly first: number; readonly key: Buffer } {
  const file = new DataFile(sound)
  for (const visit of pagesOf(file, treeNamed(file, large.name)!, () => true)) {
    for (let n = 0; 'page' in visit && visit.page.isLeaf && n < visit.page.count; n++) {
      if (visit.page.value(n)) continue
      file.close()
      const key = visit.page.key(n).subarray(1)
      return { entry: entryAt(visit.page, n), first: visit.page.overflow(n).first, key }
    }
  }
  throw new Error('There is no large value.')
}

type Damage = (data: Buffer, root: Page) => void
const DAMAGES: readonly (readonly [string, RegExp, Damage])[] = [
  [
    'a reference beyond the last page',
    /the store has pages 2 to/,
    (data, root) => data.writeUInt32LE(1_000_000, entryAt(root, 4)),
  ],
  [
    'a page in the place of another',
    /its header names page/,
    (data, root) => data.writeUInt32LE(7, root.child(4) * PAGE_BYTES),
  ],
  [
    'a branch page where a leaf belongs',
    /it is a branch page at level 2/,
    (data, root) => data.writeUInt32LE(root.number, entryAt(root, 4)),
  ],
  [
    'a page of a later commit',
    /it was written by transaction/,
    (data, root) => data.writeUInt32LE(1_000_000, root.child(4) * PAGE_BYTES + 8),
  ],
  [
    'a large value with another number of pages',
    /it claims 99 pages/,
    (data) => data.writeUInt32LE(99, overflowOf().first * PAGE_BYTES + 20),
  ],
  [
    'a large value that is longer than its pages',
    /bytes on \d pages/,
    (data) => data.writeUInt32LE(1_000_000, overflowOf().entry),
  ],
]

describe.each(DAMAGES)('%s', (_name, reason, damage) => {
  it('is named by reads and by checkStructure, and hides no other row', async () => {
    const damaged = Buffer.from(bytes)
    damage(damaged, rootOf(damaged))
    const directory = await damagedStore(damaged)
    const backend = await openLmdbFile(directory, { spaces }, noPause)
    const scans = spaces.map(async (space) => {
      for await (const row of backend.scan(space)) expect(row.key.length).toBeGreaterThan(0)
    })
    await expect(Promise.all(scans)).rejects.toMatchObject({
      code: 'CONTENT_CORRUPT',
      message: expect.stringMatching(reason),
    })
    await Promise.allSettled(scans)
    await backend.close()
    const { problems } = await checkStructure(directory)
    expect(problems).toContainEqual(
      expect.objectContaining({ reason: expect.stringMatching(reason) }),
    )
    expect(await forgotten(directory)).toEqual([])
  })
})

describe('a file of another length than its header says', () => {
  it('is no problem if only free pages are missing', async () => {
    const damaged = Buffer.from(bytes)
    const file = new DataFile(sound)
    const { meta } = file
    file.close()
    const list = new Page(0, damaged.subarray(meta.free.root * PAGE_BYTES)).value(0)!
    const at = (meta.transaction % 2) * PAGE_BYTES + 144
    damaged.writeUInt32LE(meta.pageMax + 1, at)
    const short = await damagedStore(damaged)
    const promised = `its header promises ${meta.pageMax + 2} pages`
    await expect(openLmdbFile(short, { spaces }, noPause)).rejects.toThrow(promised)
    expect((await checkStructure(short)).problems).toMatchObject([
      { tree: 'header', reason: expect.stringContaining(promised) },
    ])
    list.writeUInt32LE(meta.pageMax + 1, 8)
    const sparing = await damagedStore(damaged)
    expect((await checkStructure(sparing)).problems).toEqual([])
    expect(await readAll(sparing, () => 0)).toMatchObject({ isRefused: false, missing: [] })
  })

  it('is noticed also if it is cut inside a value while it is open', async () => {
    const directory = await damagedStore(bytes)
    const backend = await openLmdbFile(directory, { spaces }, noPause)
    const { first, key } = overflowOf()
    const get = () =>
      backend.read(function* () {
        return yield* read(cell(large, key))
      })
    await get()
    truncateSync(join(directory, 'data.mdb'), first * PAGE_BYTES + 100)
    await expect(get()).rejects.toMatchObject({
      code: 'CONTENT_CORRUPT',
      message: expect.stringContaining('beyond the end of the file'),
    })
    await backend.close()
  })
})

describe('readableRows', () => {
  it('relies on no separator of a branch page that is damaged', async () => {
    const damaged = Buffer.from(bytes)
    const root = rootOf(damaged)
    // Entry 3 is now another view of entry 6, so its key no longer says where the keys below it are.
    root.bytes.writeUInt16LE(root.bytes.readUInt16LE(24 + 2 * 6), 24 + 2 * 3)
    expect(await forgotten(await damagedStore(damaged))).toEqual([])
  })

  it('reports a space as lost if an entry of the main tree is damaged', async () => {
    const damaged = Buffer.from(bytes)
    const file = new DataFile(sound)
    damaged.writeUInt8(0xff, file.meta.main.root * PAGE_BYTES + 24)
    file.close()
    const { lost } = await salvaged(await damagedStore(damaged), large)
    expect(lost).toMatchObject([{ low: undefined, high: undefined }])
  })

  it('reports the keys of a page as lost if it no longer says how many it has', async () => {
    const damaged = Buffer.from(bytes)
    const leaf = rootOf(damaged).child(2)
    damaged.writeUInt16LE(damaged.readUInt16LE(leaf * PAGE_BYTES + 20) - 8, leaf * PAGE_BYTES + 20)
    const directory = await damagedStore(damaged)
    expect((await salvaged(directory, small)).lost).toMatchObject([{ page: leaf }])
    expect(await forgotten(directory)).toEqual([])
  })
})

describe('checkStructure', () => {
  it.each([1, -1])(
    'finds a separator that sends lookups to the wrong page (%i)',
    async (change) => {
      const damaged = Buffer.from(bytes)
      const separator = rootOf(damaged).key(3)
      const before = latin1(separator)
      // The digits before the last are the same on both sides, so the separator stays between its neighbours.
      const at = separator.length - 2
      separator.writeUInt8(separator.readUInt8(at) + change, at)
      const directory = await damagedStore(damaged)
      const { problems } = await checkStructure(directory)
      expect(problems).toContainEqual(
        expect.objectContaining({
          tree: 'small',
          reason: expect.stringContaining('the pages above'),
        }),
      )
      const [low, high] = [before, latin1(separator)].toSorted() as [string, string]
      const misled = [...expected.get('small')!.keys()].filter((name) => name >= low && name < high)
      expect(misled.length).toBeGreaterThan(0)
      const backend = await openLmdbFile(directory, { spaces }, noPause)
      for (const name of misled) {
        const get = backend.read(function* () {
          yield* read(cell(small, Buffer.from(name.slice(1), 'latin1')))
        })
        await expect(get, name).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
      }
      await backend.close()
      expect(await forgotten(directory)).toEqual([])
    },
  )

  it('finds a page that is referenced twice, and one that is free and in use', async () => {
    const damaged = Buffer.from(bytes)
    const root = rootOf(damaged)
    const start = 24 + root.bytes.readUInt16LE(24 + 2 * 4)
    root.bytes.writeUInt32LE(root.child(5), start)
    const file = new DataFile(sound)
    const list = new Page(0, damaged.subarray(file.meta.free.root * PAGE_BYTES)).value(0)!
    file.close()
    list.writeUInt32LE(root.number, 8)
    const { problems } = await checkStructure(await damagedStore(damaged))
    expect(problems).toContainEqual(
      expect.objectContaining({ page: root.child(5), reason: 'it is referenced more than once' }),
    )
    expect(problems).toContainEqual({
      tree: 'free list',
      page: root.number,
      reason: 'it is free, but in use',
    })
  })

  it('finds a count of entries that is wrong', async () => {
    const damaged = Buffer.from(bytes)
    const file = new DataFile(sound)
    const main = new Page(0, damaged.subarray(file.meta.main.root * PAGE_BYTES))
    file.close()
    const record = main.value(1)!
    record.writeUInt32LE(record.readUInt32LE(32) + 1, 32)
    const { problems } = await checkStructure(await damagedStore(damaged))
    const count = expected.get('small')!.size
    expect(problems).toMatchObject([
      { tree: 'small', reason: `entries: ${count + 1} recorded, ${count} found` },
    ])
  })
})
