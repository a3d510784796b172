/** What `adaptive` promises: no length and no script at which small edits are suddenly not found. */

import { describe, expect, it } from 'vitest'

import { Editor, type EditName, measured, searchedSimilarity } from '../../test/texts/edits.ts'
import { randomOf, scriptTexts } from '../../test/texts/script-texts.ts'
import { jaccard, profilesOf, shapesOf, shingleHashes, sketchOf } from './index.ts'

const THRESHOLD = 0.8
const LENGTHS = [100, 150, 200, 230, 300, 500, 1000, 2000, 5000, 20_000]
const SOURCES = scriptTexts(4, 100_000)
/** Their words are long: one word is more than a ninth of a hundred characters. */
const LONG_WORDS = new Set(['Finnish', 'Tamil'])

/** Of edited texts, how many are found. */
function found(editor: Editor, edit: EditName, length: number, profile: 'adaptive' | 'auto') {
  const samples = length < 2000 ? 40 : 10
  let hits = 0
  for (let sample = 0; sample < samples; sample++) {
    const text = editor.piece(length)
    const stored = measured(text, profile, THRESHOLD)
    const asked = measured(editor.edit(text, edit), profile, THRESHOLD)
    if (searchedSimilarity(stored, asked) >= THRESHOLD) hits++
  }
  return hits / samples
}

describe.each(SOURCES)('edited texts in $name', (source) => {
  it('are found after one typo at every length', () => {
    const editor = new Editor(source, randomOf(1))
    const shares = LENGTHS.map((length) => found(editor, 'one typo', length, 'adaptive'))
    expect(Math.min(...shares), String(shares)).toBeGreaterThanOrEqual(0.95)
  })

  it('are found after one word in twenty was replaced', () => {
    const editor = new Editor(source, randomOf(2))
    const lengths = LONG_WORDS.has(source.name) ? LENGTHS.slice(1) : LENGTHS
    const shares = lengths.map((length) => found(editor, '5 % of words', length, 'adaptive'))
    expect(Math.min(...shares), String(shares)).toBeGreaterThanOrEqual(0.9)
  })

  it('are not taken for others of the same kind', () => {
    const editor = new Editor(source, randomOf(3))
    for (const length of [100, 1000, 5000]) {
      const count = Math.min(40, Math.floor(editor.length / length))
      const pieces = Array.from({ length: count }, (_, at) =>
        measured(editor.pieceAt(at * length, length), 'adaptive', THRESHOLD),
      )
      const highest = pieces.flatMap((one, at) =>
        pieces.slice(at + 1).map((other) => searchedSimilarity(one, other)),
      )
      expect(Math.max(...highest), `${length} characters`).toBeLessThan(0.7)
    }
  })
})

describe('the adaptive profile', () => {
  it('tells texts of a megabyte apart, of however few characters', () => {
    for (const alphabet of ['01', 'acgt', '0123456789', '0123456789abcdef', 'etaoinshrdlu ']) {
      const random = randomOf(alphabet.length)
      const [one, other] = [0, 1].map(() =>
        Buffer.from(
          Array.from({ length: 1e6 }, () => alphabet.charCodeAt(random.below(alphabet.length))),
        ),
      )
      const [profile] = profilesOf(one!, 'adaptive', THRESHOLD)
      const similarity = jaccard(shingleHashes(one!, profile), shingleHashes(other!, profile))
      expect(similarity, `${alphabet} by ${profile}`).toBeLessThan(0.1)
    }
  })

  it('gives every text one of its shapes, its own first among those to look under', () => {
    const names = shapesOf('adaptive').map(({ name }) => name)
    const texts = ['', 'a', '你', '🎩', 'x'.repeat(300), '人人生而自由在尊严和权利上'.repeat(30)]
    for (const text of texts) {
      const [own, ...others] = profilesOf(text, 'adaptive', THRESHOLD)
      expect(sketchOf(text).profile).toBe(own)
      expect(names).toEqual(expect.arrayContaining([own, ...others]))
      expect(others).not.toContain(own)
    }
  })

  it('cuts ideographs shorter than letters, and letters shorter than digits of long numbers', () => {
    const own = (name: string, length: number) => {
      const source = SOURCES.find((one) => one.name === name)!
      const { profile } = sketchOf(new Editor(source, randomOf(5)).piece(length))
      return Number(profile.replace('chars-', ''))
    }
    expect([100, 2000, 20_000].map((length) => own('Chinese', length))).toEqual([2, 2, 2])
    expect([100, 500, 20_000].map((length) => own('Latin', length))).toEqual([3, 3, 5])
    expect([100, 1000, 20_000].map((length) => own('hex', length))).toEqual([3, 5, 5])
    expect(sketchOf('0110'.repeat(3)).profile).toBe('chars-3')
  })
})
