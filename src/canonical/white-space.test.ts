import { readFileSync } from 'node:fs'

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { moduleText } from '../../scripts/make-kernels.ts'
import { blockKernel } from './block-kernel.ts'
import {
  collapseSpace,
  collapseSpaceAndLower,
  collapseWith,
  collapsing,
  collapsingAndLowering,
} from './white-space.ts'

const latin1 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'latin1'))
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

/** Bytes that are rich in white space and letters, which random bytes are not. */
const spacy = fc
  .array(fc.oneof(fc.constantFrom(0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20), fc.nat(255)))
  .map((bytes) => Uint8Array.from(bytes))

describe('collapsing ASCII white space', () => {
  it('makes every run one space and leaves none at either end', () => {
    expect(text(collapseSpace(latin1(' \t\na \r\n b\v\fc  ')))).toBe('a b c')
  })

  it('leaves nothing of a value that is only white space', () => {
    expect(collapseSpace(latin1(' \t\r\n\v\f '))).toHaveLength(0)
    expect(collapseSpace(latin1(''))).toHaveLength(0)
  })

  it('keeps the ASCII separators U+001C to U+001F, which Unicode does not call white space', () => {
    expect(text(collapseSpace(latin1('a\x1c\x1d\x1e\x1fb')))).toBe('a\x1c\x1d\x1e\x1fb')
  })

  it('says the same as a regular expression, for any bytes', () => {
    fc.assert(
      fc.property(spacy, (bytes) => {
        const expected = text(bytes).replaceAll(/[\t-\r ]+/g, ' ')
        expect(text(collapseSpace(bytes))).toBe(expected.replaceAll(/^ | $/g, ''))
      }),
    )
  })
})

describe('lowering ASCII letters', () => {
  it('lowers A to Z and nothing else', () => {
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    const expected = text(collapseSpace(all)).replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
    expect(text(collapseSpaceAndLower(all))).toBe(expected)
  })

  it('collapses white space just as the other does', () => {
    fc.assert(
      fc.property(spacy, (bytes) => {
        const lowered = text(collapseSpace(bytes)).replaceAll(/[A-Z]/g, (a) => a.toLowerCase())
        expect(text(collapseSpaceAndLower(bytes))).toBe(lowered)
      }),
    )
  })
})

describe('the kernel of canonical text', () => {
  it('is compiled from the sources beside it', async () => {
    const committed = readFileSync(new URL('./kernels-module.ts', import.meta.url), 'utf8')
    expect(await moduleText('canonical'), 'run: npm run kernels').toBe(committed)
  })

  it('says the same as its twin, also across the ends of its blocks', () => {
    expect(blockKernel() === undefined).toBe(process.env['PRESTIGE_KERNELS'] === 'twin')
    const piece = latin1('A b\tc  D\n\n\n  \xc3\xa9\xe0 Efghi jklmnop QRSTUVWXYZ')
    for (const length of [0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 200_000]) {
      for (const shift of [0, 1, 7, 11]) {
        const bytes = Uint8Array.from({ length }, (_, at) => piece[(at * 7 + shift) % 37] ?? 0)
        expect(text(collapseSpace(bytes))).toBe(text(collapseWith(collapsing, bytes)))
        expect(text(collapseSpaceAndLower(bytes))).toBe(
          text(collapseWith(collapsingAndLowering, bytes)),
        )
      }
    }
    const blank = new Uint8Array(150_000).fill(0x20)
    blank[149_000] = 0x41
    expect(text(collapseSpaceAndLower(blank))).toBe('a')
  })
})
