import { describe, expect, it } from 'vitest'

import { documentOf, documentSimilarity, embedDocuments, vectorCosine } from '../document.ts'
import { tuneSemantic } from '../tune.ts'
import { thresholdSvg } from '../../compare/threshold-svg.ts'
import { type Embedder, windowsOf } from './embedder.ts'

/** In ten lines: letters counted. */
const letters: Embedder = {
  id: 'letters',
  dimensions: 27,
  async embed(texts) {
    return texts.map((text) => {
      const counts = new Float32Array(27).fill(0.01)
      for (const letter of text.toLowerCase()) counts[(letter.codePointAt(0)! - 96) & 31]!++
      return counts
    })
  },
}

const giving = (vectors: unknown): Embedder => ({
  id: 'broken',
  dimensions: 2,
  embed: async () => vectors as Float32Array[],
})

describe('an embedder of your own', () => {
  it('needs an id, dimensions and one method', async () => {
    const [one, other, third] = await embedDocuments(letters, ['tea', 'eat', 'xyz'])
    expect(documentSimilarity(one!, other!)).toBe(1)
    expect(documentSimilarity(one!, third!)).toBeLessThan(0.1)
    expect(await windowsOf(letters, [])).toEqual([])
  })

  it.each([
    ['too few vectors', [Float32Array.of(1, 2)], /1 answers for 2 texts/],
    ['a vector of zeros', [Float32Array.of(0, 0), Float32Array.of(1, 1)], /zeros/],
    ['not a number', [Float32Array.of(NaN, 0), Float32Array.of(1, 1)], /not finite/],
    ['infinity', [Float32Array.of(1, Infinity), Float32Array.of(1, 1)], /not finite/],
    ['other dimensions', [Float32Array.of(1), Float32Array.of(1, 1)], /1 dimensions instead of 2/],
    ['plain arrays', [[1, 2], Float32Array.of(1, 1)], /something else/],
    ['nothing at all', [undefined, Float32Array.of(1, 1)], /something else/],
  ])('that gives %s is refused by name', async (_what, vectors, message) => {
    const failure = await embedDocuments(giving(vectors), ['a', 'b']).catch((error) => error)
    expect(failure).toMatchObject({ code: 'EMBEDDER_FAULTY', message })
  })

  it('without an id or dimensions is refused before it is asked', async () => {
    await expect(embedDocuments({ ...letters, id: '' }, ['a'])).rejects.toThrow(/has an id/)
    await expect(embedDocuments({ ...letters, dimensions: 1.5 }, ['a'])).rejects.toThrow(
      /dimensions/,
    )
  })

  it('that gives a text no window is refused', async () => {
    const none: Embedder = { ...letters, embedWindows: async () => [[]] }
    await expect(embedDocuments(none, ['a'])).rejects.toThrow(/no vector/)
  })

  it('is not asked once its caller has gone', async () => {
    const signal = AbortSignal.abort(new Error('gone'))
    await expect(embedDocuments(letters, ['a'], { signal })).rejects.toThrow('gone')
  })

  it('sees texts with a lone surrogate as others do', async () => {
    const seen: string[] = []
    const spy: Embedder = {
      ...letters,
      embed: (texts) => (seen.push(...texts), letters.embed(texts, {})),
    }
    await embedDocuments(spy, ['a\ud800'])
    expect(seen).toEqual(['a\ufffd'])
  })
})

describe('likeness of documents', () => {
  const north = Float32Array.of(1, 0)
  const east = Float32Array.of(0, 1)

  it('is exactly 1 for the same vector, of any length', () => {
    for (const scale of [1, 1e-12, 3e12, 0.1, 1 / 3]) {
      const vector = Float32Array.from({ length: 384 }, (_, at) => Math.sin(at) * scale)
      expect(vectorCosine(vector, vector.slice())).toBe(1)
    }
    expect(vectorCosine(north, east)).toBe(0)
    expect(() => vectorCosine(north, Float32Array.of(1))).toThrow(
      expect.objectContaining({ code: 'EMBEDDER_MISMATCH' }),
    )
  })

  it('is that of the least alike windows, so another ending counts', () => {
    const whole = documentOf([north, north, north])
    expect(documentSimilarity(whole, documentOf([north, north, north]))).toBe(1)
    expect(documentSimilarity(whole, documentOf([north, north, east]))).toBe(0)
    expect(documentSimilarity(whole, documentOf([north, north, north, east]))).toBe(0)
    expect(documentSimilarity(documentOf([north]), documentOf([north, east]))).toBe(0)
  })

  it('lets an insertion move what follows, but not turn it round', () => {
    const a = Float32Array.of(1, 0, 0, 0)
    const b = Float32Array.of(0, 1, 0, 0)
    const c = Float32Array.of(0, 0, 1, 0)
    const d = Float32Array.of(0, 0, 0, 1)
    expect(documentSimilarity(documentOf([a, b, c]), documentOf([a, a, b, c]))).toBe(1)
    expect(documentSimilarity(documentOf([a, b, c, d]), documentOf([d, c, b, a]))).toBe(0)
  })

  it('pools windows to one direction, and does not fail where they cancel out', () => {
    expect([...documentOf([north, east]).pooled].map((number) => number.toFixed(4))).toEqual([
      '0.7071',
      '0.7071',
    ])
    const away = Float32Array.of(-1, 0)
    expect(documentOf([north, away]).pooled).toEqual(north)
  })
})

describe('tuning by meaning', () => {
  const pairs = [
    { a: 'tea for two', b: 'two for tea', isDuplicate: true },
    { a: 'listen', b: 'silent', isDuplicate: true },
    { a: 'we pay 15 now', b: 'we pay 51 now', isDuplicate: false },
    { a: 'abc', b: 'xyz', isDuplicate: false },
  ]

  it('chooses a threshold, says how sure it is, and counts what guards kept apart', async () => {
    const tuning = await tuneSemantic(pairs, letters)
    expect(tuning.chosen).toMatchObject({ truePositives: 2, falsePositives: 0 })
    expect(tuning.chosen.precision.low).toBeLessThan(0.5)
    expect(tuning.vetoes.numbers).toEqual({ duplicates: 0, different: 1 })
    expect(tuning.embedder).toBe('letters')
    const svg = thresholdSvg(tuning)
    expect(svg).toContain('threshold')
    expect(svg).not.toContain('bands')
  })

  it('uses no guards with guards: false', async () => {
    const tuning = await tuneSemantic(pairs, letters, { guards: false })
    expect(tuning.chosen.falsePositives).toBe(1)
    expect(tuning.vetoes.numbers).toEqual({ duplicates: 0, different: 0 })
  })
})
