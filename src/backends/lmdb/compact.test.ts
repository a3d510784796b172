import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { openStore } from '../../store/index.ts'
import { checkStructure } from './index.ts'

const NEIGHBOUR = fileURLToPath(
  new URL('../../../test/children/engine-neighbour.mjs', import.meta.url),
)

let base: string
beforeAll(async () => void (base = await mkdtemp(join(tmpdir(), 'prestige-compact-'))))
afterAll(() => rm(base, { recursive: true }))

const valueOf = (at: number) => Buffer.alloc(at % 10 === 9 ? 50_000 : 500 + (at % 5000), `v${at} `)

/** 400 keys, of which every tenth is kept. */
async function makeStore(path: string, namespace?: string): Promise<void> {
  await using store = await openStore(path, { durability: 'os', namespace })
  const items = Array.from({ length: 400 }, (_, at) => ({ key: `key ${at}`, value: valueOf(at) }))
  await store.putMany(items)
  await store.deleteMany(items.filter((_, at) => at % 10).map(({ key }) => key))
}

async function requireSame(path: string, namespace?: string): Promise<void> {
  for (const readOnly of [true, false]) {
    await using store = await openStore(path, { readOnly, namespace })
    for (let at = 0; at < 400; at++) {
      const value = await store.get(`key ${at}`)
      expect(value?.equals(valueOf(at))).toBe(at % 10 ? undefined : true)
    }
    expect(await store.verify()).toMatchObject({ problems: [] })
  }
  expect((await checkStructure(path)).problems).toEqual([])
}

describe('compacting a directory', () => {
  it('makes the file smaller, and keeps every row of every namespace', async () => {
    const path = join(base, 'smaller')
    await makeStore(path)
    await makeStore(path, 'other')
    await using store = await openStore(path, { durability: 'os' })
    const before = statSync(join(path, 'data.mdb')).size
    const done = await store.compact()
    const after = statSync(join(path, 'data.mdb')).size
    expect(done).toEqual({ compacted: true, fileBytesBefore: before, fileBytes: after })
    expect(after).toBeLessThan(before / 3)
    expect(await store.stats()).toMatchObject({ keys: 40, fileBytes: after })
    await store.close()
    await requireSame(path)
    await requireSame(path, 'other')
    expect(existsSync(join(path, 'prestige-compact'))).toBe(false)
  })

  it('goes on while the store is read and written, by all that this process has open', async () => {
    const path = join(base, 'busy')
    await makeStore(path)
    await using store = await openStore(path)
    await using other = await openStore(path, { namespace: 'other' })
    await using reader = await openStore(path, { readOnly: true })
    expect(await reader.get('key 0')).toEqual(valueOf(0))
    let isOver = false
    let reads = 0
    const reading = (async () => {
      while (!isOver) {
        const at = (reads % 40) * 10
        if (!(await store.get(`key ${at}`))?.equals(valueOf(at))) throw new Error(`key ${at}`)
        reads++
      }
    })()
    const writes: Promise<unknown>[] = []
    const compacting = store.compact()
    for (let at = 0; at < 50; at++) {
      writes.push(store.put(`new ${at}`, `n${at}`), other.put(`new ${at}`, `o${at}`))
    }
    await compacting
    await Promise.all(writes)
    isOver = true
    await reading
    expect(reads).toBeGreaterThan(0)
    for (let at = 0; at < 50; at++) {
      expect(await store.getText(`new ${at}`)).toBe(`n${at}`)
      expect(await other.getText(`new ${at}`)).toBe(`o${at}`)
      expect(await reader.getText(`new ${at}`)).toBe(`n${at}`)
    }
    await store.put('last', 'x')
    expect(await reader.getText('last')).toBe('x')
    await store.compact()
    expect(await store.verify()).toMatchObject({ problems: [] })
  })

  it('is refused while another process has the directory open, and changes nothing', async () => {
    const path = join(base, 'shared')
    await makeStore(path)
    await using store = await openStore(path)
    const child = fork(NEIGHBOUR, ['idle', path, 'os'], { silent: true })
    await once(child, 'message')
    const { ino } = statSync(join(path, 'data.mdb'))
    const refused = store.compact()
    await expect(refused).rejects.toMatchObject({ code: 'CONTENDED' })
    await expect(refused).rejects.toThrow(/open in another process/)
    expect(statSync(join(path, 'data.mdb')).ino).toBe(ino)
    expect(readdirSync(path)).not.toContain('prestige-compact')
    await store.put('still', 'works')
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    expect(await store.compact()).toMatchObject({ compacted: true })
    expect(await store.getText('still')).toBe('works')
  })

  it('leaves no copy behind that was cut off, and never uses it', async () => {
    const path = join(base, 'cut')
    await makeStore(path)
    await mkdir(join(path, 'prestige-compact'))
    await writeFile(join(path, 'prestige-compact', 'data.mdb'), 'half')
    await using store = await openStore(path)
    expect(readdirSync(path)).not.toContain('prestige-compact')
    expect(await store.get('key 0')).toEqual(valueOf(0))
  })

  it('of a damaged file is refused, and the file stays', async () => {
    const path = join(base, 'damaged')
    await using store = await openStore(path, { durability: 'os' })
    const items = Array.from({ length: 400 }, (_, at) => ({ key: `key ${at}`, value: valueOf(at) }))
    await store.putMany(items)
    const { size, ino } = statSync(join(path, 'data.mdb'))
    const file = await open(join(path, 'data.mdb'), 'r+')
    await file.write(Buffer.alloc(16 * 4096), 0, 16 * 4096, Math.floor(size / 8192) * 4096)
    await file.close()
    await expect(store.compact()).rejects.toMatchObject({ code: 'CONTENT_CORRUPT' })
    expect(statSync(join(path, 'data.mdb')).ino).toBe(ino)
    expect(readdirSync(path)).not.toContain('prestige-compact')
  })

  it('is not done for engines without a file, which say so', async () => {
    await using store = await openStore('memory:')
    const done = await store.compact()
    expect(done).toMatchObject({ compacted: false })
    expect((await store.stats()).fileBytes).toBeUndefined()
  })

  it('of a store that is only read is refused', async () => {
    const path = join(base, 'read-only')
    await makeStore(path)
    await using store = await openStore(path, { readOnly: true })
    await expect(store.compact()).rejects.toMatchObject({ code: 'READ_ONLY' })
  })
})
