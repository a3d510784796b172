/** No damaged byte is served, and none is acknowledged as stored. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { latin1 } from '../src/platform/bytes.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { archiveStore, openStore, type Store, type StoreOptions } from '../src/index.ts'
import { flipByte } from './damaged-directory.ts'

const corrupt = { code: 'CONTENT_CORRUPT', retryable: false }

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-integrity-'))
})
afterEach(() => rm(directory, { recursive: true }))

async function withStore<T>(
  use: (store: Store) => Promise<T>,
  input: StoreOptions = {},
): Promise<T> {
  await using store = await openStore(directory, {
    durability: 'os',
    compression: 'none',
    ...input,
  })
  return await use(store)
}

/** Of some length, with a mark of its own at its end. */
const valueOf = (mark: string, bytes: number) => `${'v'.repeat(bytes - mark.length)}${mark}`

const SIZES = [
  { name: 'in its row', bytes: 40 },
  { name: 'on pages of its own', bytes: 100_000 },
  { name: 'in parts', bytes: 4 * 1024 * 1024 + 1000 },
] as const

describe.each(SIZES)('a value $name that was damaged', ({ bytes }) => {
  const value = valueOf('the damaged end', bytes)

  beforeEach(async () => {
    await withStore(async (store) => {
      await store.put('key', value)
      await store.put('shared', value)
      await store.put('other', 'another value')
    })
    await flipByte(directory, 'the damaged end', 4)
  })

  it('is refused by get, which names the key and what to do', async () => {
    await withStore(async (store) => {
      await expect(store.get('key')).rejects.toMatchObject(corrupt)
      await expect(store.getText('shared')).rejects.toThrow(/"shared".*verify --repair/)
      const outcomes = await store.getMany(['key', 'other'])
      expect(outcomes.map(({ ok }) => ok)).toEqual([false, true])
      expect(outcomes[0]).toMatchObject({ error: corrupt })
      expect(await store.getText('other')).toBe('another value')
    })
  })

  it('is refused by a store that measures', async () => {
    const sink = { counter() {}, histogram() {}, gauge() {} }
    const read = withStore((store) => store.get('key'), { metrics: sink })
    await expect(read).rejects.toMatchObject(corrupt)
  })

  it('never gets into an archive', async () => {
    const write = async () => {
      for await (const _piece of archiveStore(directory));
    }
    await expect(write()).rejects.toThrow(/"(key|shared)".*SHA-256/)
  })

  it('is returned only to those who ask for unchecked reads', async () => {
    const read = await withStore((store) => store.getText('key'), { verifyReads: false })
    expect(read).toHaveLength(bytes)
    expect(read).not.toBe(value)
  })

  it('is healed for all of its keys by a put of the right bytes', async () => {
    await withStore(async (store) => {
      const receipt = await store.put('third', value)
      expect(receipt).toMatchObject({ content: 'duplicate', healed: true })
      for (const key of ['key', 'shared', 'third']) expect(await store.getText(key)).toBe(value)
      expect(await store.put('third', value)).not.toHaveProperty('healed')
      // Of a long value, what was damaged has no key any more, and is left to be repaired.
      const { problems } = await store.verify({ repair: true })
      expect(problems.flatMap(({ keys }) => keys)).toEqual([])
      expect((await store.verify()).problems).toEqual([])
    })
  })

  it('is healed by a put under its own key', async () => {
    await withStore(async (store) => {
      expect(await store.put('key', value)).toMatchObject({ key: 'unchanged', healed: true })
      expect(await store.getText('shared')).toBe(value)
    })
  })
})

describe('a representative that was damaged', () => {
  const input = { canonical: 'unicode', fidelity: 'representative' } as const

  beforeEach(async () => {
    await withStore((store) => store.put('first', 'STRASSE und mehr'), input)
    await flipByte(directory, 'STRASSE und mehr', 1)
  })

  it('is refused by get and by a put that would share it', async () => {
    await withStore(async (store) => {
      await expect(store.get('first')).rejects.toMatchObject(corrupt)
      await expect(store.put('second', 'Straße und mehr')).rejects.toThrow(/"first"/)
      expect(await store.has('second')).toBe(false)
    })
  })

  it('is healed by its own bytes', async () => {
    await withStore(async (store) => {
      expect(await store.put('second', 'STRASSE und mehr')).toMatchObject({ healed: true })
      expect(await store.getText('first')).toBe('STRASSE und mehr')
    })
  })
})

it('a change of a representative that its canonical form ignores is refused, and seen by verify', async () => {
  const input = { canonical: 'unicode', fidelity: 'representative' } as const
  const engine = new MemoryEngine()
  await using store = await openStore(new MemoryBackend({}, engine), input)
  await store.put('first', 'STRASSE')
  const [[id] = ['']] = engine.space('contents').slice('', undefined, 1)
  engine.space('contents').set(id, Buffer.from('strasse'))
  await expect(store.get('first')).rejects.toMatchObject(corrupt)
  expect((await store.verify()).problems).toMatchObject([{ kind: 'content-damaged' }])
  expect((await store.verify({ repair: true })).isSound).toBe(false)
  expect(await store.put('first', 'STRASSE')).toMatchObject({ content: 'new' })
  expect(await store.getText('first')).toBe('STRASSE')
})

const TEXT = Array.from({ length: 60 }, (_, at) => `word${at}`).join(' ')
const VALUES: Readonly<Record<string, string>> = {
  a: TEXT,
  b: `${TEXT} end`,
  c: 'something else altogether, and of another length',
  d: 'something else altogether, and of another length',
  e: 'expires',
}

async function filled(): Promise<MemoryEngine> {
  const engine = new MemoryEngine()
  await using store = await openStore(new MemoryBackend({}, engine), {
    dedup: 'near',
    canonical: 'unicode',
  })
  for (const [key, value] of Object.entries(VALUES)) {
    await store.put(key, value, key === 'e' ? { ttlMs: 1e9 } : {})
  }
  return engine
}

/** What it returns must be right; what it cannot tell must be an error by name. */
async function rightOrRefused(act: () => Promise<unknown>, right: unknown): Promise<boolean> {
  try {
    expect(await act()).toEqual(right)
    return true
  } catch (error) {
    expect(error).toMatchObject(corrupt)
    return false
  }
}

/** The last but one turns a row of this format into one of the format before. */
const CHANGES = [0x01, 0x80, 0x30, 0xff]

describe.each(['entries', 'digests', 'forms', 'near.links', 'settings'])(
  'a byte changed anywhere in a row of %s',
  (space) => {
    it('is refused by name, and never served as other data', async () => {
      const engine = await filled()
      const rows = engine.space(space)
      for (const [name, right] of rows.slice('', undefined, 100)) {
        for (let at = 0; at < right.byteLength; at++) {
          const wrong = Buffer.from(right)
          wrong[at] = right[at]! ^ CHANGES[at % CHANGES.length]!
          if (at === 0) wrong[at] = right[at]! ^ 0x30
          rows.set(name, wrong)
          expect(await refusalsOf(engine), `byte ${at} of ${name}`).toBeGreaterThan(0)
        }
        rows.set(name, right)
      }
    })
  },
)

/** How often something was refused. */
async function refusalsOf(engine: MemoryEngine): Promise<number> {
  let store: Store | undefined
  const open = async () => void (store = await openStore(new MemoryBackend({}, engine)))
  if (!(await rightOrRefused(open, undefined)) || !store) return 1
  const opened = store
  let refusals = 0
  for (const [key, value] of Object.entries(VALUES)) {
    if (!(await rightOrRefused(() => opened.getText(key), value))) refusals++
    const lengthOf = async () => (await opened.explain(key))?.bytes
    if (!(await rightOrRefused(lengthOf, value.length))) refusals++
  }
  return refusals
}

it('a row under a key that is not its own is refused', async () => {
  const engine = await filled()
  const rows = engine.space('entries')
  const name = (key: string) => `\0${latin1(Buffer.from(key))}`
  rows.set(name('f'), rows.get(name('a'))!)
  await using store = await openStore(new MemoryBackend({}, engine))
  await expect(store.get('f')).rejects.toThrow(/"f" of entries is damaged/)
  await expect(store.has('f')).rejects.toMatchObject(corrupt)
})

it('a tally of another length is refused by name', async () => {
  const engine = await filled()
  const rows = engine.space('tallies')
  for (const [name, right] of rows.slice('', undefined, 100)) rows.set(name, right.subarray(0, 5))
  await using store = await openStore(new MemoryBackend({}, engine))
  await expect(store.stats()).rejects.toMatchObject(corrupt)
})
