import { describe, expect, it } from 'vitest'

import { RowReader, RowWriter } from './rows.ts'

const ID = Buffer.alloc(16, 0xab)

function written(): Buffer {
  return new RowWriter(5)
    .number(7, 1)
    .number(513, 2)
    .time(1_700_000_000_000)
    .double(0.5)
    .bytes(ID)
    .key('00'.repeat(15) + '0f')
    .text('é', 2)
    .text('x'.repeat(300), 2)
    .patch(514, 2)
    .bytes(Buffer.of(1, 2))
    .whole()
}

describe('a row', () => {
  it('is read as it was written, whatever its length', () => {
    const row = new RowReader('tests', written())
    expect([row.flags, row.has(4), row.has(2)]).toEqual([5, true, false])
    expect([row.number(1), row.number(2), row.time(), row.double()]).toEqual([
      7, 514, 1_700_000_000_000, 0.5,
    ])
    expect([row.bytes(16), row.key()]).toEqual([ID, `${'00'.repeat(15)}0f`])
    expect([row.text(2), row.text(2)]).toEqual(['é', 'x'.repeat(300)])
    expect(row.rest()).toEqual(Buffer.of(1, 2))
  })

  it('has the bytes that its fields say', () => {
    const row = new RowWriter(1, 3).number(258, 2).number(9, 1).whole()
    expect(row.toString('hex')).toBe('11010209')
    expect(new RowWriter(0, 0).text('ab', 1).whole().toString('hex')).toBe('10026162')
  })

  it('is CONTENT_CORRUPT if it is cut short anywhere, or of another format', () => {
    const whole = written()
    const read = (bytes: Uint8Array) => () => {
      const row = new RowReader('tests', bytes, 'Repair it.')
      row.bytes(33)
      row.key()
      row.text(2)
      row.text(2)
      row.bytes(2)
    }
    expect(read(whole)).not.toThrow()
    const refusal = expect.objectContaining({
      code: 'CONTENT_CORRUPT',
      message: 'A row of tests cannot be read. Repair it.',
    })
    for (let length = 0; length < whole.length; length++) {
      expect(read(whole.subarray(0, length))).toThrow(refusal)
    }
    whole[0] = 0x25
    expect(read(whole)).toThrow(refusal)
    expect(() => new RowReader('tests', Buffer.of(0x13)).oneOf(['a', 'b'])).toThrow(
      /cannot be read/,
    )
  })

  it('refuses what does not fit in it', () => {
    expect(() => new RowWriter(0).text('x'.repeat(256), 1)).toThrow(/too long/)
    expect(() => new RowWriter(0).key('abc')).toThrow(/no key/)
  })
})
