/** What is found among real texts, against all pairs of them. */

import { beforeAll, describe, expect, it } from 'vitest'

import { idOf } from '../../test/table-model.ts'
import {
  alphabet,
  articlesOf,
  canTestArticles,
  licenceTexts,
  plantedPairs,
} from '../../test/texts/real-texts.ts'
import {
  type Banding,
  chooseBands,
  jaccard,
  NearTable,
  type ShingleProfile,
  shingleHashes,
  sketchOf,
} from './index.ts'

const SLOTS = 128
const numberOf = (id: Buffer) => id.readUIntBE(0, 6) - idOf(0).readUIntBE(0, 6)

interface Corpus {
  readonly texts: readonly Uint8Array[]
  readonly sets: readonly Uint32Array[]
}

/** Exact similarity of every pair, by counting what stands in lists of the texts that have a shingle. */
function allPairs(sets: readonly Uint32Array[], similarityMin: number): Map<string, number> {
  const owners = new Map<number, number[]>()
  const shared = new Uint32Array(sets.length ** 2)
  sets.forEach((set, text) => {
    for (const hash of set) {
      const known = owners.get(hash)
      for (const other of known ?? []) shared[text * sets.length + other]!++
      if (known) known.push(text)
      else owners.set(hash, [text])
    }
  })
  const pairs = new Map<string, number>()
  shared.forEach((count, at) => {
    const [text, other] = [Math.floor(at / sets.length), at % sets.length]
    const similarity = count / (sets[text]!.length + sets[other]!.length - count)
    if (similarity >= similarityMin) pairs.set(`${text} ${other}`, similarity)
  })
  return pairs
}

const slotsOf = (texts: readonly Uint8Array[], profile: ShingleProfile) =>
  texts.map((text) => sketchOf(text, { profile, slots: SLOTS }).slots)

/** As a store would go about it: every text is looked up, what is found is measured, then it is added. */
function foundPairs(
  sketches: ReturnType<typeof slotsOf>,
  sets: Corpus['sets'],
  banding: Banding,
  similarityMin: number,
): Map<string, number> {
  const table = new NearTable({ slots: SLOTS, ...banding })
  const pairs = new Map<string, number>()
  sketches.forEach((slots, number) => {
    for (const { id } of table.query(slots, { limit: 1000 }).candidates) {
      const similarity = jaccard(sets[number]!, sets[numberOf(id)]!)
      if (similarity >= similarityMin) pairs.set(`${number} ${numberOf(id)}`, similarity)
    }
    table.insert(idOf(number), slots)
  })
  return pairs
}

function corpusOf(texts: Iterable<string>, profile: ShingleProfile): Corpus {
  const utf8 = [...new Set(texts)].map((text) => Buffer.from(text.toLowerCase()))
  return { texts: utf8, sets: utf8.map((text) => shingleHashes(text, profile)) }
}

describe.runIf(canTestArticles()).each(['words-5', 'chars-5'] as const)(
  'among licences and articles, by %s',
  (profile) => {
    let corpus: Corpus
    let truth: Map<string, number>
    /** In each order of the letters. */
    let sketches: ReturnType<typeof slotsOf>[]

    beforeAll(() => {
      const articles = articlesOf(1000).map(({ text }) => text)
      corpus = corpusOf([...licenceTexts(), ...articles], profile)
      truth = allPairs(corpus.sets, 0.5)
      sketches = [0, 1, 2, 3].map((seed) => slotsOf(corpus.texts.map(alphabet(seed)), profile))
    })

    it.each([0.6, 0.7, 0.8, 0.9])(
      'bands chosen for %d find 99 of 100 pairs that are 0.05 above, and nothing else',
      (threshold) => {
        const banding = chooseBands({ slots: SLOTS, threshold })
        const wanted = [...truth].filter(([, similarity]) => similarity >= threshold + 0.05)
        let found = 0
        for (const order of sketches) {
          const pairs = foundPairs(order, corpus.sets, banding, threshold)
          found += wanted.filter(([pair]) => pairs.has(pair)).length
          expect([...pairs].filter(([pair, similarity]) => truth.get(pair) !== similarity)).toEqual(
            [],
          )
        }
        const recall = found / wanted.length / sketches.length
        process.stdout.write(
          `  ${profile} at ${threshold}: ${recall.toFixed(4)} of ${wanted.length} pairs\n`,
        )
        expect(wanted.length).toBeGreaterThan(10)
        expect(recall).toBeGreaterThanOrEqual(0.99)
      },
    )
  },
)

describe.runIf(canTestArticles()).each([100, 1000] as const)(
  'the %d labelled articles',
  (count) => {
    it.each([0.5, 0.6, 0.7, 0.8])('have exactly the planted pairs above %d', (threshold) => {
      const articles = articlesOf(count)
      const corpus = corpusOf(
        articles.map(({ text }) => text),
        'words-5',
      )
      expect(corpus.texts).toHaveLength(count)
      const banding = chooseBands({ slots: SLOTS, threshold })
      const sketches = slotsOf(corpus.texts, 'words-5')
      const pairs = foundPairs(sketches, corpus.sets, banding, threshold)
      const ids = [...pairs.keys()].map((pair) =>
        pair
          .split(' ')
          .map((number) => articles[Number(number)]!.id)
          .toSorted()
          .join(' '),
      )
      expect(ids.toSorted()).toEqual(plantedPairs(count))
    })
  },
)
