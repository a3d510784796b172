import { describe, expect, it } from 'vitest'

import { amount } from '../../test/amount.ts'
import { randomBytes, randomTexts } from '../../test/texts/random-texts.ts'
import { kernels } from './kernels.ts'
import { framed, MinHash64, minHashBandKeys, minHashSimilarity, xxhash64 } from './minhash64.ts'
import { minHashCoefficients } from './minhash-coefficients.ts'

describe('xxhash64', () => {
  it.each([
    ['', 'ef46db3751d8e999'],
    ['a', 'd24ec4f1a98c6e5b'],
    ['abc', '44bc2cf5ad770999'],
    ['Nobody inspects the spammish repetition', 'fbcea83c8a378bf1'],
  ])('of %j is what its author says', (text, expected) => {
    expect(xxhash64(Buffer.from(text)).toString(16)).toBe(expected)
    expect(kernels('twin').xxhash64(Buffer.from(text)).toString(16)).toBe(expected)
  })

  it('is the same in both kernels at every length', () => {
    const texts = randomTexts(1)
    for (let length = 0; length < 200; length++) {
      const bytes = randomBytes(texts, length)
      expect(kernels('wasm').xxhash64(bytes)).toBe(kernels('twin').xxhash64(bytes))
    }
  })
})

describe('classic MinHash', () => {
  it('is the least of a·h + b over the n-grams of the framed text', () => {
    const multipliers = BigUint64Array.of(3n, 0xdeadbeefcafebabfn)
    const addends = BigUint64Array.of(5n, 77n)
    const tokens = ['^he', 'hel', 'ell', 'llo', 'lo$'].map((token) => xxhash64(Buffer.from(token)))
    const expected = [0, 1].map((slot) =>
      tokens
        .map((hash) => BigInt.asUintN(64, (multipliers[slot] ?? 0n) * hash + (addends[slot] ?? 0n)))
        .reduce((least, value) => (value < least ? value : least)),
    )
    const hasher = new MinHash64({ coefficients: { multipliers, addends } })
    expect([...hasher.signature('  HeLLo\n')]).toEqual(expected)
  })

  it('takes a text that is shorter than a token as one token', () => {
    const multipliers = BigUint64Array.of(1n)
    const hasher = new MinHash64({
      coefficients: { multipliers, addends: BigUint64Array.of(0n) },
      width: 5,
    })
    expect([...hasher.signature('ab')]).toEqual([xxhash64(Buffer.from('^ab$'))])
  })

  it('is the same in both kernels on random texts', () => {
    const texts = randomTexts(2)
    const coefficients = minHashCoefficients(6)
    for (let count = 0; count < amount(3000, 10_000); count++) {
      const text = framed(texts.next().slice(0, 200))
      const width = 1 + (count % 5)
      const first = kernels('wasm').minhash64(text, width, coefficients)
      const second = kernels('twin').minhash64(text, width, coefficients)
      if (first.join() !== second.join()) expect(first, JSON.stringify(text)).toEqual(second)
    }
  })

  it('is the same however many batches a long text takes', () => {
    const text = Array.from({ length: 3000 }, (_, at) => at * 7919).join(' ')
    const coefficients = minHashCoefficients(5)
    const [first, second] = [kernels('wasm'), kernels('twin')].map((one) =>
      one.minhash64(text, 3, coefficients),
    )
    expect(first).toEqual(second)
  })

  it('lowers every character by itself, and trims what Unicode calls white space', () => {
    expect(framed('\u0085\u3000ΣΑΣ İ\u00a0')).toBe('^σασ i$')
    expect(framed(' \t ')).toBe('^$')
    expect(framed('\ufeffa')).toBe('^\ufeffa$')
  })

  it('makes band keys of little-endian rows', () => {
    const signature = BigUint64Array.of(1n, 2n, 3n, 0xffffffffffffffffn)
    const row = Buffer.alloc(16)
    row.writeBigUInt64LE(3n, 0)
    row.writeBigUInt64LE(0xffffffffffffffffn, 8)
    const keys = minHashBandKeys(signature, 2, 2)
    expect(keys[1]).toBe(`b1:${xxhash64(row).toString(16)}`)
    expect(keys).toHaveLength(2)
    expect(() => minHashBandKeys(signature, 3, 2)).toThrow(/need 6 slots/)
  })

  it('finds similar texts similar', () => {
    const hasher = new MinHash64({ slots: 400 })
    const first = hasher.signature('john.smith@example.com')
    const second = hasher.signature('john.smyth@example.com')
    const other = hasher.signature('completely different')
    expect(minHashSimilarity(first, second)).toBeGreaterThan(0.6)
    expect(minHashSimilarity(first, other)).toBeLessThan(0.1)
  })

  it('refuses what gives no signature', () => {
    expect(() => new MinHash64().signature('')).toThrow(/empty text/)
    expect(() => new MinHash64({ slots: 0 })).toThrow(/slots/)
    const even = { multipliers: BigUint64Array.of(2n), addends: BigUint64Array.of(0n) }
    expect(() => new MinHash64({ coefficients: even })).toThrow(/odd/)
  })
})
