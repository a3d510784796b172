import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { documentCodec, type DocumentRow } from './document-row.ts'

const bytes16 = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes))
const key = bytes16.map((bytes) => bytes.toString('hex'))
const name = fc.string({ unit: 'grapheme', maxLength: 40 })
const double = fc.double({ noNaN: true })
const natural = fc.nat()

const anyRow = fc.record(
  {
    id: name,
    source: name,
    run: name,
    session: name,
    digest: bytes16,
    bytes: fc.nat({ max: 2 ** 47 }),
    at: fc.nat({ max: 2 ** 47 }),
    time: double,
    quality: double,
    // Any string at all, half of a surrogate pair included.
    type: fc.string({ unit: 'binary' }).chain((text) => fc.constantFrom(text, `${text}\ud800`)),
    language: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
    rank: fc.array(double, { maxLength: 6 }),
    action: fc.constantFrom('keep', 'drop', 'link', 'superseded'),
    method: fc.constantFrom('exact', 'near', 'semantic'),
    similarity: double,
    cluster: key,
    centreDigest: bytes16,
    orphaned: natural,
    centre: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    spans: fc.array(fc.tuple(natural, natural, key)),
    like: key,
    supersededBy: key,
    supersedes: fc.array(key),
    possibleMiss: fc.constant(true as const),
  },
  { requiredKeys: ['id', 'source', 'run', 'session', 'digest', 'bytes', 'at', 'rank', 'action'] },
)

const KEY = 'ab'.repeat(16)
const DIGEST = Buffer.from('00112233445566778899aabbccddeeff', 'hex')

const ROW: DocumentRow = {
  id: 'दस्तावेज़ 1',
  source: 'wiki',
  run: 'r1',
  session: 'r1',
  digest: DIGEST,
  bytes: 1234,
  at: 1_700_000_000_000,
  rank: [0, -1.5],
  action: 'drop',
  method: 'near',
  similarity: 0.875,
  cluster: KEY,
  centreDigest: DIGEST,
}

describe('the row of a document', () => {
  it('comes back as it went, whatever is in it', () => {
    fc.assert(
      fc.property(anyRow, (row) => {
        expect(documentCodec.decode(documentCodec.encode(row))).toEqual(row)
      }),
    )
  })

  it('is written as format 6 says where it has a language, and as before where it has none', () => {
    const hex = (row: DocumentRow) => Buffer.from(documentCodec.encode(row)).toString('hex')
    const [before, after] = hex(ROW).split('01027231')
    expect(hex({ ...ROW, language: 'hi' })).toBe(`6${before!.slice(1)}01027231026869${after}`)
  })

  it('is written as format 5 says', () => {
    const hex = (row: DocumentRow) => Buffer.from(documentCodec.encode(row)).toString('hex')
    const before =
      '5100f0' +
      '00112233445566778899aabbccddeeff' +
      '018bcfe56800' +
      'd209' +
      '020100bff8000000000000' +
      `1d${Buffer.from('दस्तावेज़ 1').toString('hex')}` +
      '0477696b69'
    const after = '046e6561723fec000000000000' + KEY + '00112233445566778899aabbccddeeff'
    expect(hex(ROW)).toBe(`${before}01027231${after}`)
    const run = '20261118-011238-1759'
    const named = { ...ROW, run, session: run }
    expect(hex(named)).toBe(`${before}00202611180112381759${after}`)
    expect(documentCodec.decode(documentCodec.encode(named))).toEqual(named)
  })

  it('of formats 2, which had no time, 3 and 4 is still read', () => {
    const size = '0000000004d2'
    const time = '018bcfe56800'
    const rest =
      '020000000000000000bff8000000000000' +
      `001d${Buffer.from('दस्तावेज़ 1').toString('hex')}` +
      '0477696b69' +
      '027231'
    const end = '046e6561723fec000000000000' + KEY + '00112233445566778899aabbccddeeff'
    const read = (first: string, middle: string) =>
      documentCodec.decode(
        Buffer.from(`${first}00f000112233445566778899aabbccddeeff${middle}${end}`, 'hex'),
      )
    expect(read('21', size + rest)).toEqual({ ...ROW, at: 0 })
    expect(read('31', size + time + rest)).toEqual(ROW)
    expect(read('41', `${size}${time}${rest}026869`)).toEqual({ ...ROW, language: 'hi' })
    const centre = '30020000112233445566778899aabbccddeeff' + size + time + rest + '00000002beef'
    expect(documentCodec.decode(Buffer.from(centre, 'hex')).centre).toEqual(Buffer.of(0xbe, 0xef))
  })

  it('that is damaged is an error, and no other document', () => {
    const row = Buffer.from(documentCodec.encode(ROW))
    for (let length = 0; length < row.length; length++) {
      expect(() => documentCodec.decode(row.subarray(0, length))).toThrow('cannot be read')
    }
    for (const first of [0x00, 0x11, 0x24, 0x34, 0x54, 0x60]) {
      const other = Buffer.from(row)
      other[0] = first
      expect(() => documentCodec.decode(other)).toThrow('cannot be read')
    }
  })
})
