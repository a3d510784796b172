import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { cell, read, rows, type Scope, type Transaction } from '../contract.ts'
import { openLmdb } from './backend.ts'
import { openReadOnly } from './file/backend.ts'
import { headBytes, mayHaveRest } from './page-fit.ts'

const PAGE = 4096
const raw = { encode: (bytes: Uint8Array) => bytes, decode: (bytes: Uint8Array) => bytes }
const values = rows('values', raw, { ordered: true, immutable: true })
const at = (name: string) => cell(values, Buffer.from(name))

function* write(scope: Scope, name: string, bytes: Uint8Array): Transaction<void> {
  scope.write(at(name), bytes)
}
function* remove(scope: Scope, name: string): Transaction<void> {
  scope.remove(at(name))
}

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-fit-'))
})
afterEach(() => rm(directory, { recursive: true }))

describe('the layout of a value', () => {
  it('keeps a rest apart only where it saves most of a page', () => {
    expect(headBytes(4096, PAGE)).toBe(4072)
    expect(headBytes(4072, PAGE)).toBe(4072)
    expect(headBytes(5096, PAGE)).toBe(4072)
    expect(headBytes(5097, PAGE)).toBe(5097)
    expect(headBytes(8192, PAGE)).toBe(8168)
    expect(headBytes(100, PAGE)).toBe(100)
    expect(headBytes(65_536, PAGE)).toBe(65_536)
  })

  it('is looked for wherever there may be a rest, and nowhere else', () => {
    for (let length = 0; length < 40_000; length++) {
      const head = headBytes(length, PAGE)
      if (head < length) expect(mayHaveRest(head, PAGE)).toBe(true)
    }
    expect(mayHaveRest(4096, PAGE)).toBe(false)
  })

  it.each(['os', 'fsync'] as const)(
    'gives every value back as it was, and its rest goes with it (%s)',
    async (durability) => {
      const lengths = [0, 1, 2000, 4071, 4072, 4073, 4096, 5096, 5097, 8168, 8192, 32_744, 33_000]
      const backend = await openLmdb(directory, { spaces: [values], durability })
      const bytesOf = (length: number) => Buffer.alloc(length, `${length} `)
      const names = lengths.map((length) => String(length).padStart(6, '0'))
      await Promise.all(
        lengths.map((length, n) => backend.run(write, names[n] ?? '', bytesOf(length))),
      )
      const reader = await openReadOnly(directory, { spaces: [values] })
      for (const source of [backend, reader]) {
        const scanned = new Map<string, Buffer>()
        for await (const { key, value } of source.scan(values))
          scanned.set(String(key), Buffer.from(value))
        for (const [n, length] of lengths.entries()) {
          const name = names[n] ?? ''
          const [found] = await source.read(() => read(at(name)))
          expect(Buffer.from(found ?? []).equals(bytesOf(length))).toBe(true)
          expect(scanned.get(name)?.equals(bytesOf(length))).toBe(true)
        }
      }
      await Promise.all(names.map((name) => backend.run(remove, name)))
      await backend.run(write, '004096', Buffer.alloc(4072, 'y'))
      const [again] = await backend.read(() => read(at('004096')))
      expect(again?.byteLength).toBe(4072)
      await reader.close()
      await backend.close()
    },
  )

  it('needs little more than a page for 4 KiB', async () => {
    const backend = await openLmdb(directory, { spaces: [values], durability: 'os' })
    const put = (n: number) =>
      backend.run(write, String(n).padStart(16, '0'), Buffer.alloc(4096, n))
    for (let n = 0; n < 2000; n += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, one) => put(n + one)))
    }
    await backend.close()
    expect((await stat(join(directory, 'data.mdb'))).size / 2000).toBeLessThan(4600)
  })
})
