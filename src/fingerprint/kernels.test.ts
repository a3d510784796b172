import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'

import { describe, expect, it } from 'vitest'

import { amount } from '../../test/amount.ts'
import { moduleText } from '../../scripts/make-kernels.ts'
import { randomBytes, randomTexts } from '../../test/texts/random-texts.ts'
import { hasSimd } from '../platform/web-assembly.ts'
import { kernels, type TextInput } from './kernels.ts'
import type { ShingleProfile } from './shingle-profile.ts'

const PROFILES: readonly ShingleProfile[] = [
  'adaptive',
  'auto',
  'chars',
  'words',
  'codepoints',
  'chars-1',
  'chars-5',
  'words-1',
  'words-2',
  'codepoints-2',
  'words-32',
  'chars-32',
]

const wasm = kernels('wasm')
const twin = kernels('twin')

function expectTheSame(input: TextInput, profile: ShingleProfile, slots: number) {
  const [first, second] = [wasm, twin].map((kernels) => [
    kernels.sketch(input, profile, slots),
    kernels.shingleHashes(input, profile),
    kernels.sketchAndHashes(input, profile, slots),
    kernels.simhash(input, profile),
  ])
  // Many times faster than `toEqual`, which then says what differs.
  if (!isDeepStrictEqual(first, second)) expect(first).toEqual(second)
}

describe('the kernels', () => {
  it('run as WebAssembly on every supported Node', () => {
    expect(hasSimd()).toBe(true)
    expect(kernels().name).toBe(process.env['PRESTIGE_KERNELS'] === 'twin' ? 'twin' : 'wasm')
  })

  it('are compiled from the sources beside them', async () => {
    const committed = readFileSync(new URL('./kernels-module.ts', import.meta.url), 'utf8')
    expect(await moduleText('fingerprint'), 'run: npm run kernels').toBe(committed)
  })

  it('give the same bits as their twin on random texts', () => {
    const texts = randomTexts(20261115)
    for (let count = 0; count < amount(3000, 10_000); count++) {
      const text = texts.next()
      const profile = PROFILES[count % PROFILES.length]!
      try {
        expectTheSame(text, profile, 64 + 16 * texts.below(29))
      } catch (cause) {
        throw new Error(`${profile} of ${JSON.stringify(text)}`, { cause })
      }
    }
  })

  it('give the same bits as their twin on bytes that are not UTF-8', () => {
    const texts = randomTexts(7)
    for (let count = 0; count < 1_000; count++) {
      const bytes = randomBytes(texts, texts.below(200))
      expectTheSame(bytes, PROFILES[count % PROFILES.length]!, 128)
    }
  })

  it('measure texts of all lengths like their twin, broken UTF-8 included', () => {
    const texts = randomTexts(11)
    for (let count = 0; count < 400; count++) {
      const parts = Array.from({ length: 1 + texts.below(40) }, () => texts.next())
      const text = Buffer.from(parts.join(' '))
      const broken = randomBytes(texts, texts.below(9000)).map(
        (byte) => byte | ((count % 2) * 0x80),
      )
      for (const bytes of [text, broken, Buffer.alloc(texts.below(9000), 0x80)]) {
        expect(wasm.measures(bytes).sample()).toEqual(twin.measures(bytes).sample())
      }
    }
  })

  it('see in a string what they see in its UTF-8', () => {
    const texts = randomTexts(8)
    for (let count = 0; count < 300; count++) {
      const text = texts.next()
      expect(wasm.sketch(Buffer.from(text), 'adaptive', 64)).toEqual(
        wasm.sketch(text, 'adaptive', 64),
      )
    }
  })

  it('give at once what they give one by one', () => {
    const texts = randomTexts(9)
    const long = Array.from({ length: 30_000 }, (_, at) => `w${at % 20_011}`).join(' ')
    for (let count = 0; count < 500; count++) {
      const text = count < PROFILES.length ? long : texts.next()
      const profile = PROFILES[count % PROFILES.length]!
      const both = wasm.sketchAndHashes(text, profile, 128)
      const atOnce = both.hashes.slice()
      const hashes = wasm.shingleHashes(text, profile)
      expect(both.sketch).toEqual(wasm.sketch(text, profile, 128))
      expect(Buffer.from(atOnce.buffer).equals(Buffer.from(hashes.buffer))).toBe(true)
    }
  })

  it('read a lone surrogate as U+FFFD', () => {
    expect(wasm.sketch('a\ud800b', 'chars', 64)).toEqual(wasm.sketch('a\ufffdb', 'chars', 64))
  })

  it('grow their memory for large inputs and are none the worse for it', () => {
    const small = wasm.sketch('the quick brown fox', 'chars', 128)
    const large = 'नमस्ते दुनिया '.repeat(400_000)
    for (const profile of ['words-3', 'chars-7'] as const) {
      expect(wasm.sketch(large, profile, 512)).toEqual(twin.sketch(large, profile, 512))
    }
    expect(wasm.sketch('the quick brown fox', 'chars', 128)).toEqual(small)
  })

  it('count all of many shingles of few kinds', () => {
    const few = 'ab'.repeat(50_000)
    expect(wasm.sketch(few, 'chars-5', 128)).toMatchObject({
      shingles: 99_998,
      distinct: 4,
      isDistinctExact: true,
    })
  })

  it('estimate the number of distinct shingles where they do not count it', () => {
    const many = Array.from({ length: 20_000 }, (_, at) => `w${at}`).join(' ')
    const { distinct, isDistinctExact } = wasm.sketch(many, 'words-5', 256)
    expect(isDistinctExact).toBe(false)
    expect(Math.abs(distinct / 19_996 - 1)).toBeLessThan(0.2)
  })
})
