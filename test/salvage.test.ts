/** What verify says of a damaged store, and what salvage saves of it. */

import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import {
  type Backend,
  type Body,
  cell,
  type Range,
  type ReadBody,
  type Row,
  type Space,
} from '../src/backends/contract.ts'
import { MemoryBackend } from '../src/backends/memory/backend.ts'
import { openStore, PrestigeError } from '../src/index.ts'
import { Store } from '../src/store/store.ts'
import { salvage, targetInput } from '../src/store/salvage.ts'
import { tolerantScan } from '../src/store/tolerant-scan.ts'
import { raw } from '../src/store/verify/raw.ts'
import { salvageStore } from '../src/store/verify-location.ts'
import { inProcess as prestige } from './children/cli.ts'
import { flipByte } from './damaged-directory.ts'

let directory: string
let copy: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-salvage-'))
  copy = join(directory, 'copy')
})
afterEach(() => rm(directory, { recursive: true }))

const store = () => join(directory, 'store')

async function fill(): Promise<void> {
  await using open = await openStore(store(), { durability: 'os', canonical: 'unicode' })
  await open.put('whole', 'a value that stays')
  await open.put('damaged', 'a value that is damaged')
  await open.put('shared', 'a value that is damaged')
  await open.put('expires', 'a value that expires', { ttlMs: 3_600_000 })
}

async function all(open: Store): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for await (const [key, value] of open.entries()) found[String(key)] = String(value)
  return found
}

/** Of the entry alone: what follows the digest there is the time of the put. */
async function flipEntry(value: string): Promise<void> {
  const digest = createHash('sha256').update(value).digest()
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(Date.now()))
  await flipByte(store(), Buffer.concat([digest, time.subarray(2, 4)]), 3)
}

describe('a value that is too long to be held', () => {
  it('is copied as it is read, and only if it is right', async () => {
    const values = [randomBytes(9_000_000), randomBytes(9_000_000)] as const
    const open = await openStore(store(), { durability: 'os' })
    await open.put('whole', values[0])
    await open.put('damaged', values[1])
    await open.close()
    await flipByte(store(), values[1].subarray(5_000_000, 5_000_020), 3)
    const lost: string[] = []
    const put = vi.spyOn(Store.prototype, 'put')
    await salvageStore(store(), copy, {}, { onLost: ({ key }) => void lost.push(String(key)) })
    // Otherwise they were held, and put together with others.
    expect(put).toHaveBeenCalledTimes(2)
    put.mockRestore()
    expect(lost).toEqual(['damaged'])
    await using copied = await openStore(copy)
    expect((await copied.get('whole'))?.equals(values[0])).toBe(true)
    expect(await copied.keys().next()).toMatchObject({ value: Buffer.from('whole') })
    expect((await copied.stats()).keys).toBe(1)
  })
})

describe('after a byte of a value was changed', () => {
  beforeEach(async () => {
    await fill()
    await flipByte(store(), 'a value that is damaged', 5)
  })

  it('verify exits with 4, and put heals', async () => {
    const run = (...args: string[]) => prestige(args, { store: store() })
    expect(await run('verify')).toMatchObject({ code: 4 })
    const got = await run('get', 'damaged')
    expect(got).toMatchObject({ code: 4, text: '' })
    expect(got.err).toMatch(/"damaged".*verify --repair/)
    const put = await run('put', 'damaged', 'a value that is damaged')
    expect(put.text).toContain('written again')
    expect(await run('verify')).toMatchObject({ code: 0 })
  })

  it('export writes all others, names the damaged ones and exits with 4', async () => {
    const out = join(directory, 'out')
    const run = await prestige(['export', out, '--json'], { store: store() })
    expect(run.code).toBe(4)
    expect(run.json).toMatchObject({ files: 2, failed: 2 })
    expect(run.json.problems.map(({ key }: { key: string }) => key)).toEqual(['damaged', 'shared'])
  })

  it('salvage keeps all others, lists what is lost and exits with 4', async () => {
    const run = await prestige(['verify', '--salvage', copy], { store: store() })
    expect(run.code).toBe(4)
    expect(run.text).toMatch(/lost: "damaged": .*\nlost: "shared": .*\n.*2 keys.*2 lost\n/)
    await using open = await openStore(copy, { create: false })
    expect(await all(open)).toEqual({
      whole: 'a value that stays',
      expires: 'a value that expires',
    })
    expect(open.settings.canonical.name).toBe('unicode')
    const { expiresAt } = (await open.explain('expires'))!
    expect(expiresAt! - Date.now()).toBeGreaterThan(3_000_000)
    expect((await open.verify()).problems).toEqual([])
  })

  it('salvage prints lines of JSON', async () => {
    const run = await prestige(['verify', '--salvage', copy, '--json'], { store: store() })
    const lines = run.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ lost }) => lost?.key)).toEqual(['damaged', 'shared', undefined])
    expect(lines.at(-1)).toMatchObject({ salvaged: { keys: 2, lost: 2 } })
  })
})

it('salvage finds the values of damaged entries by their references', async () => {
  await fill()
  await flipEntry('a value that stays')
  await flipEntry('a value that expires')
  {
    await using open = await openStore(store())
    await expect(open.get('whole')).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
    expect((await open.verify()).isSound).toBe(false)
  }
  expect(await salvageStore(store(), copy)).toMatchObject({ keys: 4, lost: 0 })
  await using open = await openStore(copy)
  expect(Object.keys(await all(open))).toEqual(['damaged', 'expires', 'shared', 'whole'])
  expect((await open.explain('expires'))?.expiresAt).toBeDefined()
})

it('salvage goes on with default settings where those of the store are damaged', async () => {
  await fill()
  await flipByte(store(), '"fidelity":"own"', 13)
  const lost: unknown[] = []
  const onLost = (one: unknown) => void lost.push(one)
  expect(await salvageStore(store(), copy, {}, { onLost })).toMatchObject({ keys: 4, lost: 1 })
  expect(lost).toMatchObject([{ space: 'settings' }])
})

it('salvage of a sound store loses nothing and exits with 0', async () => {
  await fill()
  const run = await prestige(['verify', '--salvage', copy], { store: store() })
  expect(run).toMatchObject({ code: 0 })
  expect(run.text).toContain('4 keys')
})

it('salvage refuses a directory that is not empty', async () => {
  await fill()
  await mkdir(copy)
  await writeFile(join(copy, 'file'), '')
  const run = await prestige(['verify', '--salvage', copy], { store: store() })
  expect(run).toMatchObject({ code: 2 })
  expect(run.err).toContain('is not empty')
})

/** A backend whose tree is damaged: scans or lookups of some keys fail. */
class Damaged implements Backend {
  readonly inner = new MemoryBackend()
  readonly limits = this.inner.limits
  readonly serial = true
  readonly snapshots = true
  hidden: { readonly space: string; readonly key: string } | undefined
  unreadable: { readonly space: string; readonly from: string; readonly to: string } | undefined

  now(): number {
    return this.inner.now()
  }

  read<A extends readonly unknown[], T>(body: ReadBody<A, T>, ...args: A): Promise<T> {
    const { hidden } = this
    return this.inner.read(function* (scope) {
      const asked = body(scope, ...args)
      let step = asked.next()
      while (!step.done) {
        const ask = step.value
        const found = yield ask
        const cells = 'cells' in ask ? ask.cells : []
        step = asked.next(
          found.map((value, at) => {
            const { space, key } = cells[at] ?? {}
            const isHidden = space?.name === hidden?.space && String(key) === hidden?.key
            return hidden && isHidden ? undefined : value
          }),
        )
      }
      return step.value
    })
  }

  run<A extends readonly unknown[], T>(body: Body<A, T>, ...args: A): Promise<T> {
    return this.inner.run(body, ...args)
  }

  async *scan<V>(space: Space<V>, range: Range = {}): AsyncGenerator<Row<V>> {
    const { unreadable } = this
    for await (const row of this.inner.scan(space, range)) {
      const key = String(row.key)
      if (space.name === unreadable?.space && key >= unreadable.from && key <= unreadable.to) {
        throw new PrestigeError('CONTENT_CORRUPT', 'The page is damaged.')
      }
      yield row
    }
  }

  snapshot(): Promise<Backend> {
    return this.inner.snapshot()
  }

  close(): Promise<void> {
    return this.inner.close()
  }
}

const KEYS = Array.from({ length: 60 }, (_, at) => `key${String(at).padStart(3, '0')}`)

async function damagedStore(): Promise<{ backend: Damaged; open: Store }> {
  const backend = new Damaged()
  const open = await openStore(backend)
  for (const key of KEYS) await open.put(key, `value of ${key}`)
  return { backend, open }
}

describe('where pages are damaged', () => {
  it('verify reports a key that a scan finds and a lookup does not, and repairs nothing', async () => {
    const { backend, open } = await damagedStore()
    backend.hidden = { space: 'entries', key: 'key017' }
    const { problems, isSound } = await open.verify({ repair: true })
    expect(isSound).toBe(false)
    expect(problems.filter(({ kind }) => kind === 'row-unreachable')).toMatchObject([
      { keys: [Buffer.from('key017')] },
    ])
    expect(problems.some(({ repaired }) => repaired)).toBe(false)
    backend.hidden = undefined
    expect((await open.verify()).problems).toEqual([])
  })

  it('verify reports a space it cannot read, goes on, and repairs nothing any more', async () => {
    const { backend, open } = await damagedStore()
    backend.unreadable = { space: 'entries', from: 'key017', to: 'key020' }
    const { problems, isSound } = await open.verify({ repair: true })
    expect(isSound).toBe(false)
    expect(problems[0]).toMatchObject({ kind: 'space-unreadable' })
    expect(problems.some(({ repaired }) => repaired)).toBe(false)
    backend.unreadable = undefined
    expect(await open.getText('key018')).toBe('value of key018')
    expect((await open.verify()).problems).toEqual([])
  })

  it('salvage looks up the keys that a scan cannot read, and names those that are lost', async () => {
    const { backend } = await damagedStore()
    backend.unreadable = { space: 'entries', from: 'key017', to: 'key020' }
    const lost: unknown[] = []
    const onLost = (one: unknown) => void lost.push(one)
    await using target = await openStore('memory:')
    const source = { backend, rows: undefined, ...(await targetInput(backend, {}, onLost)) }
    const salvaged = await salvage(source, target, { onLost })
    expect(salvaged).toMatchObject({ keys: KEYS.length, lost: 0 })
    expect(await target.getText('key018')).toBe('value of key018')

    backend.hidden = { space: 'entries', key: 'key018' }
    const contents: Row<Uint8Array>[] = []
    for await (const row of backend.inner.scan(raw.contents)) contents.push(row)
    await backend.run(function* (scope) {
      scope.write(cell(raw.contents, contents[18]!.key), Buffer.from('VALUE of key018'))
    })
    await using second = await openStore('memory:')
    expect(await salvage(source, second, { onLost })).toMatchObject({ keys: 59, lost: 1 })
    expect(lost).toMatchObject([{ key: Buffer.from('key018') }])
  })

  it('a tolerant scan goes on behind rows that cannot be read', async () => {
    const { backend } = await damagedStore()
    backend.unreadable = { space: 'entries', from: 'key017', to: 'key020' }
    const found: string[] = []
    const gaps: string[] = []
    for await (const row of tolerantScan(backend, raw.entries)) {
      if ('value' in row) found.push(String(row.key))
      else gaps.push(String(row.after))
    }
    expect(gaps[0]).toBe('key016')
    expect(found.slice(0, 17)).toEqual(KEYS.slice(0, 17))
    expect(found.slice(17)).toEqual(KEYS.slice(21))
  })
})
