/**
 * The stored format, row by row. The golden file was written by format 1; a difference here is a format
 * change, and needs a new format number. `GOLDEN=write npx vitest run test/format.test.ts` writes it anew.
 */

import { readFile, writeFile } from 'node:fs/promises'

import { describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory.ts'
import { openStore } from '../src/index.ts'

const GOLDEN = new URL('./golden/store-format-1.json', import.meta.url)
type Rows = Record<string, [key: string, value: string][]>

/** Everything a store can hold, from a fixed clock and fixed randomness. */
async function writeStore(engine: MemoryEngine): Promise<void> {
  let time = 1_700_000_000_000
  const fixed = { clock: () => time, random: (count: number) => Buffer.alloc(count, 7) }
  const store = await openStore(new MemoryBackend(fixed, engine), {
    canonical: 'unicode',
    gc: 'manual',
  })
  await store.put('first', 'Straße')
  time += 1
  await store.put('linked', 'STRASSE')
  await store.put('duplicate', 'Straße')
  await store.put('expires', 'नमस्ते', { ttlMs: 60_000 })
  await store.put('empty', '')
  await store.put(Buffer.from([0, 255]), 'binary key')
  await store.put('gone', 'released')
  await store.delete('gone')
  await store.put('large', Buffer.alloc(4 * 1024 * 1024 + 3, 'x'))
  await store.close()
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1)

function dump(engine: MemoryEngine): Rows {
  const rows: Rows = {}
  for (const [name, map] of [...engine.spaces].toSorted(byName)) {
    rows[name] = map.slice('', undefined, 1000).map(([key, value]) => {
      const isLong = value.byteLength > 1000
      const shown = isLong ? `${value.byteLength} times 78` : Buffer.from(value).toString('hex')
      return [Buffer.from(key, 'latin1').toString('hex'), shown]
    })
  }
  return rows
}

function load(rows: Rows): MemoryEngine {
  const engine = new MemoryEngine()
  for (const [name, all] of Object.entries(rows)) {
    for (const [key, value] of all) {
      const long = /^(\d+) times 78$/.exec(value)
      const bytes = long ? Buffer.alloc(Number(long[1]), 'x') : Buffer.from(value, 'hex')
      engine.space(name).set(Buffer.from(key, 'hex').toString('latin1'), bytes)
    }
  }
  return engine
}

describe('the stored format', () => {
  it('is, byte for byte, the one written down', async () => {
    const engine = new MemoryEngine()
    await writeStore(engine)
    if (process.env['GOLDEN'] === 'write') {
      await writeFile(GOLDEN, `${JSON.stringify(dump(engine), undefined, 1)}\n`)
    }
    expect(dump(engine)).toEqual(JSON.parse(await readFile(GOLDEN, 'utf8')))
  })

  it('of the first version can still be read, verified and written to', async () => {
    const engine = load(JSON.parse(await readFile(GOLDEN, 'utf8')))
    const clock = () => 1_700_000_010_000
    await using store = await openStore(new MemoryBackend({ clock }, engine))
    expect(store.settings).toMatchObject({ format: 1, canonical: { name: 'unicode' } })
    expect(await store.getText('linked')).toBe('STRASSE')
    expect(await store.getText('expires')).toBe('नमस्ते')
    expect((await store.get('large'))?.byteLength).toBe(4 * 1024 * 1024 + 3)
    expect((await store.verify()).problems).toEqual([])
    expect((await store.put('new', 'strasse')).of?.firstKey).toEqual(Buffer.from('first'))
    expect(await store.collect()).toMatchObject({ contents: 1, contentBytes: 8 })
  })
})
