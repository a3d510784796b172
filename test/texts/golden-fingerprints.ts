/** Every kernel's answer for fixed inputs. What comes out is committed in `test/golden/fingerprints.json`. */

import { createHash } from 'node:crypto'

import {
  chunkEnds,
  computeBands,
  hashVersion,
  Hyperplanes,
  MinHash64,
  minHashBandKeys,
  type ShingleProfile,
  shingleHashes,
  simHashHex,
  simHashOf,
  sketchOf,
  xxhash64,
} from '../../src/fingerprint/index.ts'
import { randomWords } from '../../src/fingerprint/mix.ts'

const ENGLISH =
  'prestige keeps one copy of everything you give it, and tells you what it has seen before. '

export const goldenTexts: Readonly<Record<string, string | Uint8Array>> = {
  empty: '',
  'one character': 'a',
  'one blank': ' ',
  'short English': 'The quick brown fox jumps over the lazy dog',
  'long English': ENGLISH.repeat(3) + 'Nothing is kept twice; nothing is lost.',
  snake_case: 'const shingle_width = words_in_one_shingle ?? DEFAULT_WIDTH;',
  Hindi: 'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।',
  Chinese:
    '人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。'.repeat(
      6,
    ),
  Thai: 'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ'.repeat(5),
  Arabic: 'يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا.',
  emoji: '👩‍👩‍👧‍👦 👍🏽 🇮🇳 ❤️ ok 👍',
  'only punctuation': '?! … —',
  NFC: 'Café Zürich naïve Å',
  NFD: 'Café Zürich naïve Å'.normalize('NFD'),
  'lone surrogates': 'a\ud800b\udc00c',
  'bytes that are not UTF-8': Buffer.from('61ffc328e28220f09f918062eda080', 'hex'),
}

const PROFILES: readonly ShingleProfile[] = [
  'auto',
  'chars-3',
  'words-2',
  'codepoints-2',
  'words-5',
  'adaptive',
]

/** 10 MB of numbered words, some more often than others. */
export function tenMegabytes(): string {
  const next = randomWords(10)
  const words: string[] = []
  for (let length = 0; length < 10_000_000;) {
    const word = `w${Math.floor((next() / 2 ** 32) ** 3 * 50_000)}`
    words.push(word)
    length += word.length + 1
  }
  return words.join(' ')
}

const sha256 = (array: ArrayBufferView) =>
  createHash('sha256')
    .update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
    .digest('hex')
    .slice(0, 32)

const hex = (array: ArrayBufferView) =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('hex')

function fingerprintOf(text: string | Uint8Array, profile: ShingleProfile) {
  const sketch = sketchOf(text, { profile, slots: 64 })
  const simHash = simHashOf(text, profile)
  const hashes = shingleHashes(text, profile)
  return {
    profile: sketch.profile,
    shingles: sketch.shingles,
    distinct: sketch.distinct,
    slots: hex(sketch.slots),
    sketchOf512: sha256(sketchOf(text, { profile, slots: 512 }).slots),
    bands: hex(computeBands(sketch.slots, 4, 16)),
    simHash: simHashHex(simHash),
    firstHashes: Array.from(hashes.subarray(0, 3)),
    allHashes: sha256(hashes),
  }
}

function classicOf(text: string | Uint8Array) {
  if (typeof text !== 'string' || text === '') return undefined
  const signature = new MinHash64({ slots: 12 }).signature(text)
  return { signature: sha256(signature), keys: minHashBandKeys(signature, 2, 6) }
}

function vectorsAnswers() {
  const next = randomWords(77)
  return [3, 20, 384].map((dimensions) => {
    const vector = Float64Array.from({ length: dimensions }, () => next() / 2 ** 31 - 1)
    const bitsOf = (form: 'dense' | 'hadamard') =>
      hex(new Hyperplanes({ dimensions, bits: 64, form }).bitsOf(vector))
    return { dimensions, dense: bitsOf('dense'), hadamard: bitsOf('hadamard') }
  })
}

function largeAnswers() {
  const large = tenMegabytes()
  const largeBytes = Buffer.from(large)
  return {
    bytes: largeBytes.byteLength,
    xxhash64: xxhash64(largeBytes).toString(16),
    words: fingerprintOf(large, 'words-5'),
    chars: fingerprintOf(large, 'chars-5'),
    chunks: sha256(Uint32Array.from(chunkEnds(largeBytes))),
    firstChunks: chunkEnds(largeBytes).slice(0, 5),
  }
}

/** Without the large text where an engine is so slow that it would take minutes. */
export function goldenFingerprints({ hasLarge = true } = {}): Record<string, unknown> {
  return {
    hashVersion: hashVersion(),
    texts: Object.fromEntries(
      Object.entries(goldenTexts).map(([name, text]) => [
        name,
        {
          profiles: PROFILES.map((profile) => fingerprintOf(text, profile)),
          classic: classicOf(text),
        },
      ]),
    ),
    ...(hasLarge ? { tenMegabytes: largeAnswers() } : {}),
    vectors: vectorsAnswers(),
  }
}
