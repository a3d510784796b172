import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { readConfig } from '../config/config.ts'
import { decodePack, encodePack, isOfTexts, PackRow } from './pack-row.ts'
import { byPack, type Pack, Packer, packOf, packPrefix } from './packs.ts'
import { Preparer } from './prepare.ts'

const preparer = new Preparer(readConfig({}))
const prepared = (texts: readonly string[]) =>
  texts.map((text, at) => preparer.prepare({ id: String(at), text }))
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

describe('a pack', () => {
  it('gives every text back, in its place', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 300 })), (texts) => {
        const bytes = texts.map((text) => Buffer.from(text))
        expect(decodePack(encodePack(bytes)).map(hex)).toEqual(bytes.map(hex))
      }),
    )
  })

  it('has the same bytes as ever', () => {
    const texts = ['hé', '', 'the same words, the same words, the same words'].map((text) =>
      Buffer.from(text),
    )
    expect(hex(encodePack([Buffer.from('ab')]))).toBe('100001000000026162')
    const row = '11000300000003000000000000002ecb38bcb2242355a138313755a13cbf28a55847013f1f00'
    expect(decodePack(Buffer.from(row, 'hex')).map(String)).toEqual(texts.map(String))
    // Deflated, as it was once, and in Brotli, whose bytes may differ with its version.
    const made = hex(encodePack(texts))
    expect(made.slice(0, 30)).toBe(`12${row.slice(2, 30)}`)
    const brotli =
      '12000300000003000000000000002e13300000c06d6c5df9dd13247422a8a0b93bbba82a86c0ffc689d62036cb5a00'
    expect(decodePack(Buffer.from(brotli, 'hex')).map(String)).toEqual(texts.map(String))
    const others = [Buffer.of(0x12, 1, 2), Buffer.of(0x11, 3)]
    expect(hex(encodePack(others, false))).toBe('13000200000003000000021201021103')
    expect(decodePack(encodePack(others, false))).toEqual(others)
  })

  it('of many texts is compressed in blocks, and one text is read from its block alone', () => {
    const texts = Array.from({ length: 40 }, (_, at) => Buffer.from(`text ${at}, `.repeat(500)))
    const row = encodePack([Buffer.alloc(0), ...texts])
    expect(row[0]).toBe(0x14)
    expect(decodePack(row).map(String)).toEqual(['', ...texts.map(String)])
    const pack = new PackRow(row)
    expect([1, 40, 20].map((at) => String(pack.part(at)))).toEqual(
      [0, 39, 19].map((at) => String(texts[at])),
    )
    expect(pack.part(41)).toBeUndefined()
    // The last block is damaged: others can still be read.
    const damaged = new PackRow(Buffer.concat([row.subarray(0, -8), Buffer.alloc(8)]))
    expect(String(damaged.part(1))).toBe(String(texts[0]))
    const corrupt: unknown = expect.objectContaining({ code: 'CONTENT_CORRUPT' })
    expect(() => damaged.part(40)).toThrow(corrupt)
    for (const cut of [row.subarray(0, -1), row.subarray(0, 200), Buffer.concat([row, row])]) {
      expect(() => new PackRow(cut)).toThrow(corrupt)
    }
  })

  it('has blocks as they are where that is smaller', () => {
    const noise = Array.from({ length: 3 }, (_, at) => {
      let state = at + 1
      return Buffer.from(
        Uint8Array.from({ length: 50_000 }, () => (state = (state * 48_271) % 2_147_483_647) >> 8),
      )
    })
    const row = encodePack([...noise, Buffer.from('a'.repeat(50_000))])
    expect(row.byteLength).toBeGreaterThan(150_000)
    expect(row.byteLength).toBeLessThan(150_200)
    expect(decodePack(row).map(hex)).toEqual([...noise.map(hex), '61'.repeat(50_000)])
  })

  it('in blocks is read as it was written once', () => {
    const lengths = '00000002000000000000002e'
    const blocks = '0002000100000002000200000013'
    const brotli = '1b2d00f8a54058729043aac9018840a68d4600'
    const row = Buffer.from(`140003${lengths}${blocks}6162${brotli}`, 'hex')
    const text = 'the same words, the same words, the same words'
    expect(decodePack(row).map(String)).toEqual(['ab', '', text])
  })

  it('that is damaged is refused, not read as something else', () => {
    const row = encodePack([Buffer.from('one text'), Buffer.from('another, another, another text')])
    for (const damaged of [row.subarray(0, 2), row.subarray(0, 9), row.subarray(0, -4)]) {
      expect(() => decodePack(damaged)).toThrow(
        expect.objectContaining({ code: 'CONTENT_CORRUPT' }),
      )
    }
    const other = Buffer.from(row)
    other[0] = 0x20
    expect(() => decodePack(other)).toThrow(expect.objectContaining({ code: 'CONTENT_CORRUPT' }))
  })

  it('ends at some size, and a text of any size fits', () => {
    const packer = new Packer({ run: 7 })
    const texts = ['a'.repeat(10), 'b '.repeat(150_000), 'c'.repeat(20), 'd'.repeat(30)]
    const documents = prepared(texts)
    documents.forEach((document, at) => packer.add(document, 3, at))
    const packs = packer.take()
    expect(packs).toHaveLength(3)
    expect(packer.take()).toEqual([])
    const found = documents.map((document) => textAt(packs, document.packed))
    expect(found).toEqual(texts)
    for (const { key } of packs) expect(hex(key)).toContain(hex(packPrefix(7)))
  })

  it('has the same text once, and other texts of the same form too', () => {
    const packer = new Packer({ run: 1 })
    const texts = ['the same words', 'The  same words', 'the same words', 'other words', '   ', '']
    const documents = prepared(texts)
    documents.forEach((document, at) => packer.add(document, 0, at))
    const [pack] = packer.take()
    expect(decodePack(pack!.row).map(String)).toEqual([texts[0], texts[1], texts[3], texts[4]])
    expect(documents.map(({ packed }) => packed !== undefined)).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ])
  })

  it('has no text of what is measured otherwise', () => {
    const packer = new Packer({ run: 1 })
    const hashing = new Preparer(readConfig({ near: { evidence: 'hashes', guards: false } }))
    for (const text of ['some words here', '   ']) {
      packer.add(hashing.prepare({ id: text, text }), 0, 0)
    }
    const packs = packer.take()
    expect(packs.map(({ row }) => [isOfTexts(row), decodePack(row).length])).toEqual([[false, 1]])
  })

  it('has evidence of one kind, as it is where that is no text', () => {
    const packer = new Packer({ run: 1 })
    const sketches = new Preparer(readConfig({ near: { evidence: 'sketch', guards: false } }))
    const [text] = prepared(['some words of a text'])
    const words = Array.from({ length: 100 }, (_, at) => `a few words and the number ${at}`)
    const others = words.map((one, at) => sketches.prepare({ id: String(at), text: one }))
    const documents = [text!, ...others]
    documents.forEach((document, at) => packer.add(document, 0, at))
    const packs = packer.take()
    // So many sketches of 1 KB fill whole pages.
    expect(packs.map(({ row }) => decodePack(row).length)).toEqual([1, 63, 37])
    expect(packs.map(({ row }) => isOfTexts(row))).toEqual([true, false, false])
    const pointer = Buffer.from(others[63]!.packed ?? [])
    expect(decodePack(packs[2]!.row)[pointer.readUInt16BE(12)]).toEqual(
      Buffer.from(others[63]!.looks[0]!.evidence),
    )
  })

  it('made again without some texts keeps the places of the others', () => {
    const packer = new Packer({ run: 1 })
    const documents = prepared(['one text', 'two texts', 'three texts'])
    documents.forEach((document, at) => packer.add(document, 0, at))
    const [pack] = packer.take()
    const own = byPack(documents).get(Buffer.from(pack!.key).toString('latin1')) ?? []
    expect(own).toEqual(documents)
    const row = packOf(own, ({ id }) => id !== '1')
    expect(decodePack(row).map(String)).toEqual(['one text', '', 'three texts'])
  })
})

function textAt(packs: readonly Pack[], pointer: Uint8Array | undefined): string {
  const bytes = Buffer.from(pointer ?? [])
  const pack = packs.find(({ key }) => hex(key) === hex(bytes.subarray(0, 12)))
  return String(decodePack(pack?.row ?? Buffer.alloc(0))[bytes.readUInt16BE(12)])
}
