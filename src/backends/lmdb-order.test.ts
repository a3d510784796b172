import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { rows } from './contract.ts'
import type { Write } from './draft.ts'
import { inOrder } from './lmdb-order.ts'

const codec = { encode: (bytes: Uint8Array) => bytes, decode: (bytes: Uint8Array) => bytes }
const spaces = ['a', 'b', 'c'].map((name) => rows(name, codec))

const anyWrite: fc.Arbitrary<Write> = fc.record({
  space: fc.constantFrom(...spaces),
  key: fc.uint8Array({ maxLength: 40 }),
  bytes: fc.oneof(
    fc.constant(undefined),
    fc.constantFrom(0, 10, 2000, 2001, 9000).map((length) => new Uint8Array(length)),
  ),
})

describe('the order of writes', () => {
  it('leaves none out and adds none, and has neighbours together', () => {
    fc.assert(
      fc.property(fc.array(anyWrite, { minLength: 64, maxLength: 300 }), (writes) => {
        const ordered = inOrder(writes)
        expect(new Set(ordered)).toEqual(new Set(writes))
        expect(ordered).toHaveLength(writes.length)
        const isLarge = ({ bytes }: Write) => (bytes?.byteLength ?? 0) > 2000
        const small = ordered.slice(0, ordered.findIndex(isLarge) >>> 0)
        expect(ordered.slice(small.length).every(isLarge)).toBe(true)
        for (const [at, { space, key }] of small.slice(1).entries()) {
          const before = small[at]!
          if (before.space === space) expect(Buffer.compare(before.key, key)).toBeLessThan(1)
          else expect(small.slice(0, at + 1).some((other) => other.space === space)).toBe(false)
        }
      }),
    )
  })
})
