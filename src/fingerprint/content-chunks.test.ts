import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { chunkEnds, chunkSizes, ContentChunker } from './content-chunks.ts'
import { fixedChunks } from './fixed-chunks.ts'
import { randomWords } from './mix.ts'

function bytesOf(length: number, seed: number): Buffer {
  const next = randomWords(seed)
  return Buffer.from(Uint8Array.from({ length }, () => next() >>> 24))
}

/** Long runs of one byte never end a chunk early, and so reach the greatest size. */
function mixedBytes(length: number, seed: number): Buffer {
  const bytes = bytesOf(length, seed)
  bytes.fill(7, length >> 2, length >> 1)
  return bytes
}

function chunksOf(bytes: Buffer, ends: readonly number[]): string[] {
  return ends.map((end, at) => bytes.toString('latin1', ends[at - 1] ?? 0, end))
}

describe('content-defined chunks', () => {
  it('are the same in both kernels', () => {
    for (const averageBytes of [256, 1024, 8192, 65_536]) {
      for (const length of [0, 1, 63, 64, 65, 255, 5000, 300_001, 2_500_000]) {
        const bytes = mixedBytes(length, length + averageBytes)
        const [first, second] = (['wasm', 'twin'] as const).map((kernels) =>
          chunkEnds(bytes, { averageBytes, kernels }),
        )
        expect(first).toEqual(second)
        expect(first!.at(-1) ?? 0).toBe(length)
      }
    }
  })

  it('keep to their sizes, most of them near the average', () => {
    const ends = chunkEnds(bytesOf(4_000_000, 1))
    const sizes = ends.map((end, at) => end - (ends[at - 1] ?? 0))
    const { minBytes, maxBytes } = chunkSizes()
    expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThan(minBytes)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(maxBytes)
    expect(4_000_000 / sizes.length).toBeGreaterThan(6_000)
    expect(4_000_000 / sizes.length).toBeLessThan(12_000)
  })

  it('do not depend on how the bytes arrive', () => {
    const bytes = mixedBytes(120_000, 2)
    const whole = chunksOf(bytes, chunkEnds(bytes, { averageBytes: 1024 }))
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 30 }), (cuts) => {
        const chunker = new ContentChunker({ averageBytes: 1024 })
        const found: string[] = []
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
        places.slice(1).forEach((end, at) => {
          const pieces = chunker.push(bytes.subarray(places[at], end))
          found.push(...pieces.map((piece) => Buffer.from(piece).toString('latin1')))
        })
        found.push(...chunker.finish().map((piece) => Buffer.from(piece).toString('latin1')))
        expect(found).toEqual(whole)
      }),
      { numRuns: 100 },
    )
  })

  it('change only near an insertion', () => {
    const bytes = bytesOf(500_000, 3)
    const edited = Buffer.concat([
      bytes.subarray(0, 250_000),
      Buffer.from('!'),
      bytes.subarray(250_000),
    ])
    const before = new Set(chunksOf(bytes, chunkEnds(bytes)))
    const after = chunksOf(edited, chunkEnds(edited))
    expect(after.filter((chunk) => !before.has(chunk)).length).toBeLessThanOrEqual(3)
  })

  it('refuse sizes that are no power of two', () => {
    expect(() => chunkEnds(Buffer.alloc(1), { averageBytes: 5000 })).toThrow(/power of two/)
  })
})

describe('fixed chunks', () => {
  it('have a number of code points, after white space is collapsed', () => {
    expect(fixedChunks('  a\u3000b\n\nc👍d ', { characters: 4 })).toEqual(['a b', 'c👍d'])
    expect(fixedChunks('abcdef', { characters: 4, overlap: 2 })).toEqual(['abcd', 'cdef', 'ef'])
    expect(fixedChunks(' \n ')).toEqual([])
    expect(fixedChunks('x'.repeat(1025)).map((chunk) => chunk.length)).toEqual([512, 512, 1])
  })

  it('are never empty', () => {
    expect(fixedChunks('a b', { characters: 1 })).toEqual(['a', 'b'])
  })

  it('refuse an overlap that never ends', () => {
    expect(() => fixedChunks('a', { characters: 4, overlap: 4 })).toThrow(/never end/)
  })
})
