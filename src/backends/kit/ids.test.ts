import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { checkedClock, ID_BYTES, IdSource, idTime, systemRandom } from './ids.ts'

const tail = (byte: number) => (count: number) => Buffer.alloc(count, byte)

describe('a clock', () => {
  it('never goes back', () => {
    const times = [5, 9, 3, 10]
    const clock = checkedClock(() => times.shift() ?? 0)
    expect([clock(), clock(), clock(), clock()]).toEqual([5, 9, 9, 10])
  })
})

describe('an id source', () => {
  it.each([Buffer.alloc(5), Buffer.alloc(7), undefined, '123456'])(
    'refuses a random that gives %j instead of six bytes',
    (given) => {
      // safe: what a caller without types may pass
      const random = (() => given) as never
      const make = () => new IdSource(() => 1, random)
      expect(make).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }))
    },
  )

  it('makes ids of time, counter and tail', () => {
    const ids = new IdSource(() => 0x0102_0304_0506, tail(0xaa))
    expect(ids.next().toString('hex')).toBe('01020304050600000000aaaaaaaaaaaa')
    expect(ids.next().toString('hex')).toBe('01020304050600000001aaaaaaaaaaaa')
    expect(ID_BYTES).toBe(16)
  })

  it('ascends whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 2 ** 47 }), { minLength: 2 }), (times) => {
        let at = 0
        const ids = new IdSource(() => times[at++ % times.length]!, tail(1))
        let last = ids.next()
        for (let made = 0; made < times.length * 2; made++) {
          const next = ids.next()
          expect(Buffer.compare(last, next)).toBe(-1)
          last = next
        }
      }),
    )
  })

  it('takes whole milliseconds from a clock that has more', () => {
    let time = 1000.25
    const ids = new IdSource(() => time, tail(1))
    const first = ids.next()
    time = 1000.75
    expect(Buffer.compare(first, ids.next())).toBe(-1)
    expect(idTime(first)).toBe(1000)
  })

  it('starts at any time, also at zero', () => {
    const ids = new IdSource(() => 0, tail(1))
    const [one, other] = [ids.next(), ids.next()]
    expect(Buffer.compare(one, other)).toBe(-1)
    expect(idTime(other)).toBe(0)
  })

  it('tells its ids from those of any other source', () => {
    const clock = () => 1_700_000_000_000
    const sources = Array.from({ length: 50 }, () => new IdSource(clock, systemRandom))
    const ids = sources.flatMap((source) => Array.from({ length: 20 }, () => source.next()))
    expect(new Set(ids.map((id) => id.toString('hex'))).size).toBe(1000)
  })

  it('draws its tail once, and gives out ids that are the caller’s own', () => {
    let draws = 0
    const ids = new IdSource(
      () => 5,
      (count) => {
        draws++
        return Buffer.alloc(count, 7)
      },
    )
    ids.next().fill(0)
    const next = ids.next()
    expect(next.subarray(10)).toEqual(Buffer.alloc(6, 7))
    expect(draws).toBe(1)
  })

  it('tells when an id was made, also within other bytes', () => {
    const id = new IdSource(() => 1_700_000_000_123, systemRandom).next()
    const inside = Buffer.concat([Buffer.of(1, 2, 3), id, Buffer.of(4)]).subarray(3, 19)
    expect(idTime(inside)).toBe(1_700_000_000_123)
    expect(idTime(new Uint8Array(id))).toBe(1_700_000_000_123)
  })
})
