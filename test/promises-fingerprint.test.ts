/** Promises about fingerprints that the originals make and break, kept here. Each test is named after one. */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { afterAll, describe, expect, it } from 'vitest'

import { canonicalProfile } from '../src/canonical/index.ts'
import {
  chooseBands,
  chooseVectorBands,
  chunkEnds,
  closeFingerprintPool,
  collisionProbability,
  computeBands,
  cosine,
  estimateSimilarity,
  explainParameters,
  fingerprintMany,
  fixedChunks,
  hashVersion,
  Hyperplanes,
  jaccard,
  NearTable,
  NearTables,
  shingleHashes,
  simHashDistance,
  simHashHex,
  SimHashIndex,
  simHashOf,
  sketchOf,
  VectorTable,
} from '../src/fingerprint/index.ts'
import { randomWords } from '../src/fingerprint/mix.ts'
import { idOf, shuffled } from './table-model.ts'
import { unitVector, vectorAt } from './texts/random-vectors.ts'

const licence = readFileSync(new URL('../LICENSE', import.meta.url), 'utf8')
const SHAPE = { slots: 128, ...chooseBands({ slots: 128, threshold: 0.8 }) }
const next = randomWords(5)
const randomSketch = () => Uint16Array.from({ length: 128 }, () => next() >>> 16)

/** Exactly so many slots of another; the rest differ. */
const alike = (sketch: Uint16Array, equal: number) =>
  sketch.map((slot, at) => (at < equal ? slot : slot ^ 1))

afterAll(closeFingerprintPool)

describe('fingerprints', () => {
  it('the same text gives the same SimHash in every process', () => {
    const child = fileURLToPath(new URL('children/simhash.ts', import.meta.url))
    const printed = ['en_US.UTF-8', 'hi_IN.UTF-8'].map((LANG) => {
      const { stdout, status } = spawnSync(process.execPath, ['--import', 'tsx', child], {
        input: licence,
        env: { ...process.env, LANG },
        encoding: 'utf8',
      })
      expect(status).toBe(0)
      return stdout
    })
    const here = simHashHex(simHashOf(licence, 'words'))
    expect(printed).toEqual([here, here])
  })

  it.each(['chars-5', 'words-5', 'codepoints-5'] as const)(
    'one inserted character changes only the shingles around it (%s)',
    (profile) => {
      const before = shingleHashes(licence, profile)
      for (const place of [0, 100, licence.length >> 1, licence.length]) {
        const after = shingleHashes(`${licence.slice(0, place)}x${licence.slice(place)}`, profile)
        const added = after.filter((hash) => !before.includes(hash))
        expect(added.length).toBeGreaterThan(0)
        expect(added.length).toBeLessThanOrEqual(profile === 'chars-5' ? 6 : 5)
        expect(jaccard(before, after)).toBeGreaterThan(0.99)
      }
    },
  )

  it('texts in Hindi, Chinese and Cyrillic are not all alike', () => {
    const texts = [
      'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।',
      'प्रत्येक व्यक्ति को जीवन, स्वाधीनता और वैयक्तिक सुरक्षा का अधिकार है।',
      '人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。',
      '任何人不得使为奴隶或奴役；一切形式的奴隶制度和奴隶买卖，均应予以禁止。',
      'Все люди рождаются свободными и равными в своем достоинстве и правах.',
      'Каждый человек имеет право на жизнь, на свободу и на личную неприкосновенность.',
    ]
    for (const profile of ['chars', 'words', 'codepoints', 'auto'] as const) {
      const hashes = texts.map((text) => simHashOf(text, profile))
      const sketches = texts.map((text) => sketchOf(text, { profile }))
      for (let first = 0; first < texts.length; first++) {
        expect(hashes[first]).toMatchObject({ isEmpty: false })
        for (let second = 0; second < first; second++) {
          expect(simHashDistance(hashes[first]!, hashes[second]!)).toBeGreaterThan(8)
          expect(estimateSimilarity(sketches[first]!, sketches[second]!)).toBeLessThan(0.5)
        }
      }
    }
  })

  it('texts without a word are no duplicates of one another', () => {
    const texts = ['…', '?!', '。', '— — —', '♥', '   ']
    const index = new SimHashIndex<string>()
    for (const text of texts) index.add(text, simHashOf(text, 'words'))
    for (const text of texts) {
      expect(index.query(simHashOf(text, 'words'), 3)).toEqual([{ id: text, distance: 0 }])
    }
    expect(() => index.add('', simHashOf('', 'words'))).toThrow(/nothing/)
    const empty = sketchOf('', { profile: 'words' })
    expect(estimateSimilarity(empty, empty)).toBe(0)
  })

  it('all of a text counts, not only its beginning', () => {
    const words = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`).join(' ')
    const [short, long] = [words(2000), words(40_000)]
    expect(simHashDistance(simHashOf(short), simHashOf(long))).toBeGreaterThan(8)
    expect(estimateSimilarity(sketchOf(short), sketchOf(long))).toBeLessThan(0.2)
  })

  it('texts that differ in width, case or composition are one after canonicalisation', () => {
    const { canonicalise } = canonicalProfile('unicode')
    const forms = ['Ｃａｆé  Zürich', 'cafe\u0301 zu\u0308rich', 'CAFÉ ZÜRICH']
    const sketches = forms.map((form) => sketchOf(canonicalise(Buffer.from(form))))
    expect(estimateSimilarity(sketches[0]!, sketches[1]!)).toBe(1)
    expect(estimateSimilarity(sketches[0]!, sketches[2]!)).toBe(1)
  })

  it('what cannot be fingerprinted is an error, never an answer, and never left out', async () => {
    const refusal = expect.objectContaining({ code: 'INVALID_VALUE' })
    const broken = [null, undefined, 5, {}] as unknown as string[]
    for (const one of broken) {
      expect(() => sketchOf(one)).toThrow(refusal)
      expect(() => simHashOf(one)).toThrow(refusal)
      expect(() => shingleHashes(one)).toThrow(refusal)
    }
    for (const vector of [[0, 0], [NaN, 1], [Infinity, 1], [1]]) {
      expect(() => new Hyperplanes({ dimensions: 2 }).bitsOf(vector)).toThrow(refusal)
      expect(() => cosine(vector, [1, 1])).toThrow(refusal)
    }
    const many = async () => {
      let count = 0
      for await (const { slots } of fingerprintMany(['a', broken[0]!, 'c'])) count += slots.length
      return count
    }
    await expect(many()).rejects.toThrow(refusal)
  })
})

describe('chunks', () => {
  it('fixed chunks with too much overlap are refused instead of looping', () => {
    for (const overlap of [512, 513, 10_000, -1, NaN]) {
      expect(() => fixedChunks(licence, { characters: 512, overlap })).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTIONS' }),
      )
    }
    expect(fixedChunks('abc', { characters: 2, overlap: 1 })).toEqual(['ab', 'bc', 'c'])
  })

  it('an inserted character leaves later content chunks as they were', () => {
    const text = Array.from({ length: 50_000 }, () => `word${next() % 9973}`).join(' ')
    const chunksOf = (bytes: Buffer) => {
      const ends = chunkEnds(bytes, { averageBytes: 1024 })
      return ends.map((end, at) => bytes.toString('latin1', ends[at - 1] ?? 0, end))
    }
    const before = chunksOf(Buffer.from(text))
    const after = chunksOf(Buffer.from(`x${text}`))
    expect(before.length).toBeGreaterThan(200)
    expect(after.slice(-(before.length - 4))).toEqual(before.slice(4))
  })
})

describe('parameters', () => {
  it('the printed probabilities are the true ones', () => {
    const exact = (similarity: number) => 1 - (1 - similarity ** 8) ** 40
    expect(exact(0.6)).toBeCloseTo(0.492, 3)
    expect(collisionProbability(0.6, 40, 8)).toBeCloseTo(exact(0.6), 12)
    expect(collisionProbability(0.8, 40, 8)).toBeCloseTo(exact(0.8), 12)
    const printed = (threshold: number) =>
      explainParameters({ slots: 320, threshold, bands: 40, rows: 8 })
    expect(printed(0.6)).toContain('as similar as 0.6 they find 49.2 %')
    expect(printed(0.8)).toContain('as similar as 0.8 they find 99.94 %')
  })

  it('a pair that was missed is missed again, and no second try is counted on', () => {
    const sketch = randomSketch()
    const pairs = Array.from({ length: 2000 }, () =>
      sketch.map((slot) => (next() / 2 ** 32 < 0.7 ? slot : slot ^ 1)),
    )
    const table = new NearTable(SHAPE)
    table.insert(idOf(1), sketch)
    const found = () => pairs.map((one) => table.query(one).candidates.length)
    const first = found()
    expect([found(), found()]).toEqual([first, first])
    const share = first.filter((count) => count > 0).length / pairs.length
    const told = collisionProbability(0.7, SHAPE.bands, SHAPE.rows)
    expect(Math.abs(share - told)).toBeLessThan(0.04)
    expect(told).toBeLessThan(0.7)
  })

  it('a share of 0.06 is six percent, on whichever side of a twentieth it lies', () => {
    const missing = (share: number) => {
      const recallMin = 1 - share
      const banding = chooseBands({ slots: 512, threshold: 0.7, recallMin, recallAboveMin: 0.5 })
      return 1 - collisionProbability(0.7, banding.bands, banding.rows)
    }
    for (const share of [0.04, 0.05, 0.06, 0.1]) {
      expect(missing(share)).toBeLessThanOrEqual(share)
      expect(missing(share)).toBeGreaterThan(share / 4)
    }
    for (const recallMin of [94, 5, 1.5]) {
      expect(() => chooseBands({ slots: 512, threshold: 0.7, recallMin })).toThrow(/at most 1/)
    }
  })

  it('what cannot work is refused when a table is made, not found out later', () => {
    const refusal = expect.objectContaining({ code: 'INVALID_OPTIONS' })
    expect(() => new NearTable({ slots: 128, bands: 40, rows: 5 })).toThrow(refusal)
    expect(() => new NearTable({ slots: 128, bands: 0, rows: 5 })).toThrow(refusal)
    expect(() => new VectorTable({ bits: 64, banding: { bands: 40, rows: 5 } })).toThrow(refusal)
    expect(() => chooseBands({ slots: 64, threshold: 0.01 })).toThrow(refusal)
    expect(() => chooseVectorBands(64, -1)).toThrow(refusal)
    expect(() => new VectorTable({ bits: 64, scanMax: NaN })).toThrow(refusal)
    // @ts-expect-error: not a form
    expect(() => new Hyperplanes({ dimensions: 4, form: 'gaussian' })).toThrow(refusal)
  })

  it('how a table is asked changes no key and hides nobody for good', () => {
    const version = hashVersion()
    const sketch = randomSketch()
    const keys = computeBands(sketch, SHAPE.bands, SHAPE.rows)
    const table = new NearTable(SHAPE)
    for (let number = 0; number < 50; number++) table.insert(idOf(number), sketch)
    const before = table.query(sketch)
    expect(before.candidates).toHaveLength(50)
    for (const limit of [1, 7, 1000]) {
      for (const estimateMin of [0, 0.5, 1]) table.query(sketch, { limit, estimateMin })
      expect(table.query(sketch, { limit, bucketMax: 10 }).bucketsPassedOver).toBe(SHAPE.bands)
    }
    expect(table.query(sketch)).toEqual(before)
    expect(computeBands(sketch, SHAPE.bands, SHAPE.rows)).toEqual(keys)
    expect(hashVersion()).toBe(version)
  })
})

describe('tables', () => {
  it('the same text in two groups is found in each by itself alone', () => {
    const { slots } = sketchOf(licence, { profile: 'words' })
    const tables = new NearTables(SHAPE)
    tables.insert('one tenant', idOf(1), slots)
    expect(tables.query('another', slots).candidates).toEqual([])
    tables.insert('another', idOf(2), slots)
    const idsIn = (group: string) => tables.query(group, slots).candidates.map(({ id }) => id)
    expect([idsIn('one tenant'), idsIn('another')]).toEqual([[idOf(1)], [idOf(2)]])
  })

  it('a bucket is never full: who came first, last or between is found', () => {
    const table = new NearTable(SHAPE)
    const sketch = randomSketch()
    const count = 3000
    for (let number = 0; number < count; number++) table.insert(idOf(number), sketch)
    const { candidates, bucketsPassedOver } = table.query(sketch, { limit: Infinity })
    expect(candidates.map(({ id }) => id)).toEqual(
      Array.from({ length: count }, (_, number) => idOf(number)),
    )
    expect(bucketsPassedOver).toBe(0)
  })

  it('the most similar comes first, equals by age, in whatever order they came', () => {
    const sketch = randomSketch()
    const likeness = [110, 128, 120, 120, 128, 115]
    const expected = [1, 4, 2, 3, 5, 0].map((number) => ({
      id: idOf(number),
      estimate: likeness[number]! / 128,
    }))
    for (let seed = 0; seed < 50; seed++) {
      const table = new NearTable(SHAPE)
      for (const number of shuffled(likeness.length, randomWords(seed))) {
        table.insert(idOf(number), alike(sketch, likeness[number]!))
      }
      expect(table.query(sketch).candidates).toEqual(expected)
    }
  })

  it('a table made anew from its rows answers as the old one did', () => {
    const rows = Array.from({ length: 500 }, (_, number) => {
      const sketch = randomSketch()
      return { id: idOf(number), sketch, near: alike(sketch, 115) }
    })
    const [old, fresh] = [new NearTable(SHAPE), new NearTable(SHAPE)]
    for (const { id, sketch } of rows) old.insert(id, sketch)
    for (const { id, sketch } of rows.toReversed()) fresh.insert(id, sketch)
    const answers = rows.map(({ near }) => old.query(near))
    expect(answers.every(({ candidates }, at) => candidates[0]?.id.equals(idOf(at)))).toBe(true)
    expect(rows.map(({ near }) => fresh.query(near))).toEqual(answers)
  })

  it('two texts of one fingerprint are both kept', () => {
    const index = new SimHashIndex<string>()
    index.add('first', simHashOf(licence))
    index.add('second', simHashOf(licence))
    expect(index.query(simHashOf(licence)).map(({ id }) => id)).toEqual(['first', 'second'])
    expect(index.remove('first')).toBe(true)
    expect(index.query(simHashOf(licence)).map(({ id }) => id)).toEqual(['second'])
  })

  it('asking adds nobody, and who was removed is found no more', () => {
    const table = new NearTable(SHAPE)
    const sketch = randomSketch()
    expect(table.query(sketch).candidates).toEqual([])
    expect(table.size).toBe(0)
    table.insert(idOf(1), sketch)
    expect(table.query(sketch).candidates).toEqual([{ id: idOf(1), estimate: 1 }])
    expect(table.remove(idOf(1))).toBe(true)
    expect(table.query(sketch).candidates).toEqual([])
  })
})

describe('vectors', () => {
  const [dimensions, bits] = [128, 200]
  const planes = new Hyperplanes({ dimensions, bits })

  it.each([100, 1000, 10_000])(
    'the source of a vector is among the first hundred of %d representatives',
    (count) => {
      const table = new VectorTable({ bits })
      const sources = Array.from({ length: count }, () => unitVector(dimensions, next))
      sources.forEach((source, number) => table.insert(idOf(number), planes.bitsOf(source)))
      const queries = 300
      let found = 0
      for (let query = 0; query < queries; query++) {
        const number = (query * 7919) % count
        const asked = vectorAt(0.5, sources[number]!, next)
        expect(cosine(asked, sources[number]!)).toBeCloseTo(0.5, 9)
        const { candidates } = table.query(planes.bitsOf(asked), { limit: 100 })
        if (candidates.some(({ id }) => id.equals(idOf(number)))) found++
      }
      expect(found / queries).toBeGreaterThanOrEqual(0.95)
    },
  )

  it('two hundred bits take twenty-five bytes, and hardly more in a table', () => {
    expect(planes.bitsOf(unitVector(dimensions, next))).toHaveLength(25)
    const table = new VectorTable({ bits })
    const count = 4096
    const signature = new Uint8Array(25)
    for (let number = 0; number < count; number++) table.insert(idOf(number), signature)
    expect(table.stats().bytes.signatures / count).toBeLessThanOrEqual(28)
  })

  it('bands that are chosen leave most of a table alone', () => {
    const banding = chooseVectorBands(256, 0.9)
    const wide = new Hyperplanes({ dimensions, bits: 256 })
    const table = new VectorTable({ bits: 256, banding, scanMax: 10 })
    const sources = Array.from({ length: 2000 }, () => unitVector(dimensions, next))
    sources.forEach((source, number) => table.insert(idOf(number), wide.bitsOf(source)))
    const asked = sources.slice(0, 300).map((source) => wide.bitsOf(source))
    const compared = asked.map((one) => table.query(one).compared)
    const mean = compared.reduce((sum, one) => sum + one, 0) / compared.length
    expect(mean / sources.length).toBeLessThan(0.1)
  })
})
