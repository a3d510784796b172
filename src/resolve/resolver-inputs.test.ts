/** What can be resolved: any script, any length, vectors; and what cannot, by a stable code. */

import { createHash } from 'node:crypto'

import { afterAll, describe, expect, it } from 'vitest'

import { amount } from '../../test/amount.ts'
import { placeOf } from '../../test/resolver/open.ts'
import { textsOf } from '../../test/resolver/texts.ts'
import { removeTemporaryDirectories } from '../../test/subjects.ts'
import { openResolver, type ResolverOptions, type ResolverValue } from '../index.ts'

afterAll(removeTemporaryDirectories)

const memory = (options: ResolverOptions = {}) => openResolver('memory:', options)
const VECTORS = { vector: { dimensions: 4, threshold: 0.9 } } as const

describe('bad input', () => {
  const bad: [string, unknown, string][] = [
    ['the empty text', '', 'INVALID_VALUE'],
    ['a lone surrogate', 'a\ud800b', 'INVALID_VALUE'],
    ['a number', 5, 'INVALID_VALUE'],
    ['nothing', undefined, 'INVALID_VALUE'],
    ['null', null, 'INVALID_VALUE'],
    ['bytes', new Uint8Array(4), 'INVALID_VALUE'],
    ['a vector of another dimension', [1, 2, 3], 'INVALID_VALUE'],
    ['NaN in a vector', [1, 2, 3, Number.NaN], 'INVALID_VALUE'],
    ['Infinity in a vector', [1, 2, 3, Infinity], 'INVALID_VALUE'],
    ['texts in a vector', ['1', '2', '3', '4'], 'INVALID_VALUE'],
    ['bigints in a vector', [1n, 2n, 3n, 4n], 'INVALID_VALUE'],
    ['null in a vector', [1, 2, 3, null], 'INVALID_VALUE'],
  ]
  it.each(bad)('%s is refused by every verb', async (_name, value, code) => {
    await using resolver = await memory(VECTORS)
    const wrong = value as ResolverValue
    await expect(resolver.resolve('g', wrong)).rejects.toMatchObject({ code })
    await expect(resolver.lookup('g', wrong)).rejects.toMatchObject({ code })
    await expect(resolver.delete('g', wrong)).rejects.toMatchObject({ code })
    await expect(resolver.explain('g', wrong, wrong)).rejects.toMatchObject({ code })
    expect(await resolver.stats('g')).toMatchObject({ clusters: 0 })
  })

  it.each([5, undefined, 'a\udc00', 'x'.repeat(1025)])('group %j is refused', async (group) => {
    await using resolver = await memory()
    const wrong = group as string
    const refusal = expect.objectContaining({ code: 'INVALID_KEY' })
    await expect(resolver.resolve(wrong, 'text')).rejects.toEqual(refusal)
    await expect(resolver.delete(wrong, 'text')).rejects.toEqual(refusal)
    await expect(resolver.stats(wrong)).rejects.toEqual(refusal)
    await expect(resolver.members(wrong, 'x').next()).rejects.toEqual(refusal)
  })

  it.each(['', 'short', '*'.repeat(22), 'A'.repeat(23), `${'A'.repeat(21)}B`])(
    'id %j is refused',
    async (id) => {
      await using resolver = await memory()
      const refusal = { code: 'INVALID_KEY' }
      await expect(resolver.delete('g', { id })).rejects.toMatchObject(refusal)
      await expect(resolver.representative('g', id)).rejects.toMatchObject(refusal)
      await expect(resolver.aliases('g', id)).rejects.toMatchObject(refusal)
    },
  )

  it('a vector is refused by a resolver that takes none', async () => {
    await using resolver = await memory()
    await expect(resolver.resolve('g', [1, 2])).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

describe('texts', () => {
  const pairs: [string, string, string][] = [
    [
      'Hindi',
      'नमस्ते दुनिया, आज मौसम बहुत अच्छा है और हम बाहर जा रहे हैं',
      'नमस्ते दुनिया, आज मौसम बहुत अच्छा है और हम बाहर जा रहे है',
    ],
    [
      'Chinese',
      '今天天气很好我们一起去公园散步然后去吃饭最后回家休息',
      '今天天气很好我们一起去公园散步然后去吃饭最后回家休息吧',
    ],
    [
      'Arabic',
      'السلام عليكم ورحمة الله وبركاته كيف حالكم اليوم',
      'السلام عليكم ورحمة الله وبركاته كيف حالكم اليوم؟',
    ],
    ['emoji', '🎩🐇✨🎩🐇✨🪄🎭🃏🔮🎪🎟️🎫🎬🎨', '🎩🐇✨🎩🐇✨🪄🎭🃏🔮🎪🎟️🎫🎬🎨🎤'],
  ]
  it.each(pairs)('in %s are separated, and their near duplicates found', async (_, one, other) => {
    // A text of pictures has no words of grammar: one more is another text to guards.
    const guards = { words: false }
    await using resolver = await memory({ threshold: 0.7, guards })
    const { id } = await resolver.resolve('g', one)
    expect(await resolver.resolve('g', other)).toMatchObject({ id, status: 'match' })
    for (const [, text] of pairs) {
      if (text !== one) expect(await resolver.lookup('g', text)).toBeUndefined()
    }
  })

  it('that differ only in Unicode form, case and spaces are one', async () => {
    await using resolver = await memory({ threshold: 1 })
    const { id } = await resolver.resolve('g', 'Café Müller öffnet um acht Uhr'.normalize('NFC'))
    const decomposed = '  CAFÉ   müller ÖFFNET um acht uhr'.normalize('NFD')
    const match = await resolver.resolve('g', decomposed)
    expect(match).toMatchObject({ id, status: 'match', similarity: 1 })
  })

  it('of one character, or of spaces only, are like nothing but themselves', async () => {
    await using resolver = await memory({ threshold: 0.5 })
    const all = ['a', 'b', 'ab', '鍵', '🔑', ' ', '  ', '\n', '\u00a0']
    for (const text of all) {
      expect(await resolver.resolve('g', text)).toMatchObject({ status: 'new' })
    }
    for (const text of all) {
      expect(await resolver.resolve('g', text)).toMatchObject({ status: 'exact' })
    }
    expect(await resolver.resolve('g', 'A')).toMatchObject({ status: 'match', similarity: 1 })
  })

  it.each([
    ['words', 'abcdefghijklmnopqrstuvwxyz'],
    [
      'code points',
      '天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜',
    ],
  ])('on both sides of the border of %s and characters match', async (_name, alphabet) => {
    const letters = Array.from(alphabet)
    const { below } = textsOf(3)
    const make = (count: number) => {
      const points: string[] = []
      while (points.length < count) {
        const isGap = alphabet.startsWith('a') && points.length % 7 === 6
        points.push(isGap ? ' ' : letters[below(letters.length)]!)
      }
      return points.join('')
    }
    const text = make(215)
    for (const [kept, asked] of [
      [195, 205],
      [205, 195],
    ] as const) {
      await using resolver = await memory({ threshold: 0.7 })
      const { id } = await resolver.resolve('g', text.slice(0, kept))
      const found = await resolver.resolve('g', text.slice(0, asked))
      expect(found).toMatchObject({ id, status: 'match' })
    }
  })

  it('have the ids of the resolver this one grew from', async () => {
    await using resolver = await memory()
    const digest = createHash('sha256').update('user@example.com').digest()
    const id = digest.subarray(0, 16).toString('base64url')
    expect(await resolver.resolve('g', 'user@example.com')).toMatchObject({ id })
  })
})

describe('large texts', () => {
  it('are kept in parts, found again and forgotten whole', async () => {
    const place = await placeOf('lmdb')
    await using resolver = await place.open({ profile: 'words-5' })
    const { words } = textsOf(9)
    const chapter = words(20_000).join(' ')
    const bytes = amount(3, 10) * 1024 * 1024
    const copies = Math.ceil(bytes / Buffer.byteLength(chapter))
    const text = Array.from({ length: copies }, (_, at) => `${chapter} ${at}`).join(' ')
    expect(Buffer.byteLength(text)).toBeGreaterThan(bytes)
    const { id } = await resolver.resolve('g', text)
    expect(await resolver.lookup('g', `${text} and a little more`)).toMatchObject({ id })
    expect((await resolver.representative('g', id))?.text).toBe(text)
    expect(await resolver.delete('g', text)).toBe(true)
    expect(await place.audit(resolver, 'g')).toEqual([])
  })

  it('leave hashes in parts too', async () => {
    const place = await placeOf('memory')
    await using resolver = await place.open({ profile: 'chars-8', evidence: 'hashes' })
    const { random } = textsOf(10)
    let text = ''
    while (text.length < 1_400_000) text += random().toString(36).slice(2)
    const { id } = await resolver.resolve('g', text)
    const found = await resolver.lookup('g', `${text}!`)
    expect(found).toMatchObject({ id, status: 'match' })
    expect(found!.similarity).toBeGreaterThan(0.9999)
    expect(await resolver.delete('g', text)).toBe(true)
  })
})

describe('vectors', () => {
  it('are one thing from their cosine on, whatever their length and precision', async () => {
    await using resolver = await memory(VECTORS)
    const { id } = await resolver.resolve('g', [1, 2, 3, 4])
    expect(await resolver.resolve('g', Float32Array.of(1, 2, 3, 4))).toMatchObject({
      id,
      status: 'exact',
    })
    expect(await resolver.resolve('g', Float64Array.of(2, 4, 6, 8.1))).toMatchObject({
      id,
      status: 'match',
    })
    expect(await resolver.resolve('g', [-1, 2, -3, 4])).toMatchObject({ status: 'new' })
    expect((await resolver.representative('g', id))?.vector).toEqual(Float64Array.of(1, 2, 3, 4))
    expect(await resolver.resolve('other', [1, 2, 3, 4.1])).toMatchObject({ status: 'new' })
    expect(await resolver.stats('g')).toMatchObject({ clusters: 2, members: 1 })
  })

  it('of zeros are like nothing but themselves', async () => {
    await using resolver = await memory(VECTORS)
    const { id } = await resolver.resolve('g', [0, 0, 0, 0])
    expect(await resolver.resolve('g', [0, 0, 0, 0])).toMatchObject({ id, status: 'exact' })
    expect(await resolver.resolve('g', [1, 0, 0, 0])).toMatchObject({ status: 'new' })
    expect(await resolver.delete('g', [0, 0, 0, 0])).toBe(true)
    expect(await resolver.lookup('g', [0, 0, 0, 0])).toBeUndefined()
  })

  it.each([1e200, 1e-200, 1e308, 5e-324])('of size %d match by direction', async (size) => {
    await using resolver = await memory(VECTORS)
    const { id } = await resolver.resolve('g', [size, size, 0, 0])
    expect(await resolver.resolve('g', [1, 1, 0, 0])).toMatchObject({ id, status: 'match' })
    expect(await resolver.resolve('g', [1, 1.1, 0, 0])).toMatchObject({ id, status: 'match' })
    const { similarity } = await resolver.explain('g', [size, size, 0, 0], [2, 2, 0, 0])
    expect(similarity).toBeCloseTo(1)
  })

  it('live beside texts of the same group, and neither sees the other', async () => {
    const place = await placeOf('memory')
    await using resolver = await place.open(VECTORS)
    const vector = await resolver.resolve('g', [1, 2, 3, 4])
    const text = await resolver.resolve('g', 'one two three four')
    await resolver.resolve('g', [1, 2, 3, 4.05])
    expect(await resolver.stats('g')).toMatchObject({ clusters: 2, members: 1 })
    expect(await resolver.delete('g', { id: vector.id })).toBe(true)
    expect(await resolver.lookup('g', [1, 2, 3, 4.05])).toBeUndefined()
    expect(await resolver.representative('g', text.id)).toMatchObject({
      text: 'one two three four',
    })
    await expect(resolver.explain('g', 'text', [1, 2, 3, 4])).rejects.toThrow(/do not compare/)
  })
})

describe('evidence', () => {
  const one = 'the quick brown fox jumps over the lazy dog while nobody is watching it'
  const other = `${one} now`
  it.each(['text', 'hashes', 'sketch'] as const)('of kind %s finds the same', async (evidence) => {
    await using resolver = await memory({ evidence, threshold: 0.7, guards: false })
    const first = await resolver.resolve('g', one)
    const found = await resolver.resolve('g', other)
    expect(found).toMatchObject({ id: first.id, status: 'match' })
    const { similarity } = await resolver.explain('g', one, other)
    if (evidence === 'sketch') expect(found.isEstimated).toBe(true)
    else expect(found.isEstimated).toBeUndefined()
    expect(Math.abs(found.similarity - similarity)).toBeLessThan(
      evidence === 'sketch' ? 0.1 : 1e-12,
    )
    const representative = await resolver.representative('g', first.id)
    expect(representative?.text).toBe(evidence === 'text' ? one : undefined)
  })
})
