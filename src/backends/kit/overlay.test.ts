import { describe, expect, it } from 'vitest'

import { memory } from '../../../test/subjects.ts'
import { key, names, put } from '../conformance/kit.ts'
import { describeBackend } from '../conformance/index.ts'
import { type Backend, cell, read, rows, type Transaction } from '../index.ts'
import { MemoryBackend } from '../memory/backend.ts'
import { OverlayBackend } from './overlay.ts'

const { open } = memory()

describeBackend(
  { describe, it },
  {
    name: 'overlay',
    open: async (options) => new OverlayBackend(await open(options)),
    knownGaps: [
      // It is one moment of one process: nobody else sees what it keeps.
      'shares its data with a second backend',
      'keeps namespaces apart',
      'scans a space without an order, and tallies, whole',
      'finds no first key of another namespace',
      'reads a snapshot of one moment, where it says so, and else what is there',
      'makes ids that no other backend makes',
      'waits for what it has accepted before it closes',
      'has everything after it was closed and opened again',
    ],
  },
)

describe('an overlay', () => {
  it('leaves what is underneath as it is', async () => {
    const base = new MemoryBackend()
    await put(base, { a: 'A', b: 'B', c: 'C' })
    const overlay = new OverlayBackend(base)
    await put(overlay, { b: 'changed', bb: 'new' })
    expect(await names(overlay)).toEqual(['a', 'b', 'bb', 'c'])
    expect(await names(overlay, { start: key('b'), limit: 2 })).toEqual(['b', 'bb'])
    expect(await names(base)).toEqual(['a', 'b', 'c'])
  })

  it('scans a space without an order whole: what is underneath, changed and new', async () => {
    const numbers = rows<number>('numbers', {
      encode: (value) => Buffer.of(value),
      decode: ([value = 0]) => value,
    })
    const write = (backend: Backend, found: Record<string, number | undefined>) =>
      backend.run(function* (scope): Transaction<void> {
        for (const [name, value] of Object.entries(found)) {
          yield* read(cell(numbers, key(name)))
          if (value === undefined) scope.remove(cell(numbers, key(name)))
          else scope.write(cell(numbers, key(name)), value)
        }
      })
    const base = new MemoryBackend()
    await write(base, { a: 1, b: 2, c: 3 })
    const overlay = new OverlayBackend(base)
    await write(overlay, { b: undefined, c: 4, d: 5 })
    const found: [string, number][] = []
    for await (const row of overlay.scan(numbers)) found.push([row.key.toString(), row.value])
    expect(Object.fromEntries(found)).toEqual({ a: 1, c: 4, d: 5 })
    let count = 0
    for await (const _row of overlay.scan(numbers, { limit: 2 })) count++
    expect([found.length, count]).toEqual([3, 2])
  })
})
