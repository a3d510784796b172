/**
 * How fast are the fingerprint kernels, beside SHA-256 of the same bytes in the same run, and beside their twin?
 *
 * Prints one JSON line a case. Rates are per second of CPU time, since machines are shared; with workers that
 * is the time of all threads together, and `wallMegabytesPerSecond` says what a caller sees.
 */

import { hash } from 'node:crypto'
import { pathToFileURL } from 'node:url'

import {
  chunkEnds,
  closeFingerprintPool,
  computeBands,
  equalSlots,
  fingerprintMany,
  FingerprintPool,
  Hyperplanes,
  jaccard,
  MinHash64,
  shingleHashes,
  SimHashIndex,
  simHashOf,
  sketchOf,
} from '../src/fingerprint/index.ts'
import { kernels } from '../src/fingerprint/kernels.ts'
import { randomWords } from '../src/fingerprint/mix.ts'
import { compare, type PureResult, rounded } from './harness/pure.ts'

const DOCUMENT_BYTES = 10_240
const DOCUMENTS = 200
const EFFORT = { warmUps: 3, rounds: 15 }

type Work = () => unknown

async function wallMicros(work: Work): Promise<number> {
  const before = performance.now()
  await work()
  return (performance.now() - before) * 1000
}

/** English-like canonical text: words of a fixed vocabulary, the frequent ones first. */
function documents(count: number): string[] {
  const next = randomWords(1)
  const below = (limit: number) => Math.floor((next() / 2 ** 32) * limit)
  const letters = 'etaoinshrdlucmfwypvbgkjqxz'
  const letter = () => letters[Math.floor((next() / 2 ** 32) ** 2 * 26)] ?? 'e'
  const vocabulary = Array.from({ length: 8000 }, () =>
    Array.from({ length: 1 + below(5) + below(6) }, letter).join(''),
  )
  return Array.from({ length: count }, () => {
    const words: string[] = []
    for (let length = 0; length < DOCUMENT_BYTES;) {
      const word = vocabulary[Math.floor((next() / 2 ** 32) ** 2.5 * 8000)] ?? 'the'
      words.push(below(12) === 0 ? `${word}.` : word)
      length += (words.at(-1)?.length ?? 0) + 1
    }
    return words.join(' ').slice(0, DOCUMENT_BYTES)
  })
}

interface Case {
  readonly name: string
  readonly ours: Work
  readonly referenceName: string
  readonly reference: Work
  readonly ops: number
  /** None where bytes are not what is counted. */
  readonly bytes?: number
  readonly hasWall?: boolean
}

async function run(one: Case): Promise<PureResult> {
  const { name, ops, bytes, ours, reference, referenceName } = one
  const compared = await compare({ ops, run: ours }, { ops, run: reference }, EFFORT)
  const micros = compared.cpuMicrosPerOp
  const wall = one.hasWall && bytes ? bytes / (await wallMicros(ours)) : undefined
  return {
    bench: 'kernels',
    case: name,
    ...(bytes
      ? { megabytesPerSecond: rounded(bytes / ops / micros) }
      : { opsPerSecond: rounded(1e6 / micros) }),
    ...(wall ? { wallMegabytesPerSecond: rounded(wall) } : {}),
    reference: referenceName,
    ...compared,
  }
}

function textCases(texts: readonly string[], bytes: number): Case[] {
  const utf8 = texts.map((text) => Buffer.from(text))
  const sha256: Work = () => utf8.forEach((one) => hash('sha256', one, 'hex'))
  const each =
    (of: (text: string) => unknown): Work =>
    () =>
      texts.forEach((text) => of(text))
  const beside = { ops: texts.length, bytes }
  const sha = { ...beside, referenceName: 'sha256', reference: sha256 }
  const twin = kernels('twin')
  const classic = new MinHash64({ slots: 128 })
  const sketches = (['words-5', 'chars-5', 'chars-3', 'auto'] as const).flatMap((profile) => [
    {
      ...sha,
      name: `sketch ${profile}, 128 slots`,
      ours: each((text) => sketchOf(text, { profile })),
    },
    {
      ...beside,
      name: `sketch ${profile}, 128 slots, beside the twin`,
      ours: each((text) => sketchOf(text, { profile })),
      referenceName: 'twin',
      reference: each((text) => twin.sketch(text, profile, 128)),
    },
  ])
  return [
    ...sketches,
    { ...sha, name: 'simhash words-5', ours: each((text) => simHashOf(text, 'words-5')) },
    { ...sha, name: 'simhash chars-5', ours: each((text) => simHashOf(text, 'chars-5')) },
    {
      ...sha,
      name: 'shingle hashes words-5',
      ours: each((text) => shingleHashes(text, 'words-5')),
    },
    {
      ...sha,
      name: 'classic minhash 64-bit, 128 slots',
      ours: each((text) => classic.signature(text)),
    },
    { ...sha, name: 'content chunks 8 KiB', ours: () => chunkEnds(Buffer.concat(utf8)) },
  ]
}

function workerCases(
  texts: readonly string[],
  bytes: number,
  pools: readonly FingerprintPool[],
): Case[] {
  const inline: Work = () => texts.forEach((text) => sketchOf(text, { profile: 'words-5' }))
  return pools.map((pool, at) => ({
    name: `fingerprintMany words-5, ${at + 1} ${at === 0 ? 'worker' : 'workers'}`,
    ours: async () => {
      let count = 0
      for await (const sketch of fingerprintMany(texts, { profile: 'words-5', pool })) {
        count += sketch.shingles
      }
      return count
    },
    referenceName: 'inline',
    reference: inline,
    ops: texts.length,
    bytes,
    hasWall: true,
  }))
}

function smallCases(): Case[] {
  const ops = 20_000
  const repeat =
    (work: (at: number) => unknown): Work =>
    () => {
      for (let at = 0; at < ops; at++) work(at)
    }
  const address = (at: number) => `user.name${at}@mail.example`
  const sha256 = {
    referenceName: 'sha256',
    reference: repeat((at) => hash('sha256', address(at), 'hex')),
  }
  const [first, second] = ['one text about something', 'another text about something'].map((text) =>
    sketchOf(text.repeat(100), { profile: 'chars' }),
  )
  const [own, theirs] = documents(2).map((text) => shingleHashes(text, 'words-5'))
  return [
    {
      name: 'sketch of a 25-character string',
      ours: repeat((at) => sketchOf(address(at))),
      ops,
      ...sha256,
    },
    { name: 'bands 13x7', ours: repeat(() => computeBands(first!.slots, 13, 7)), ops, ...sha256 },
    {
      name: 'compare two sketches',
      ours: repeat(() => equalSlots(first!.slots, second!.slots)),
      ops,
      ...sha256,
    },
    {
      name: 'exact Jaccard of two 10 KB texts',
      ours: repeat(() => jaccard(own!, theirs!)),
      ops,
      ...sha256,
    },
  ]
}

function vectorCases(): Case[] {
  const next = randomWords(4)
  const vectors = Array.from({ length: 2000 }, () =>
    Float32Array.from({ length: 384 }, () => next() / 2 ** 31 - 1),
  )
  const dense = new Hyperplanes({ dimensions: 384, bits: 512, form: 'dense' })
  const fast = new Hyperplanes({ dimensions: 384, bits: 512 })
  return [
    {
      name: 'hadamard bits, 384 dimensions, 512 bits',
      ours: () => vectors.forEach((vector) => fast.bitsOf(vector)),
      referenceName: 'dense planes',
      reference: () => vectors.forEach((vector) => dense.bitsOf(vector)),
      ops: vectors.length,
    },
  ]
}

function searchCases(): Case[] {
  const next = randomWords(6)
  const index = new SimHashIndex<number>()
  for (let id = 0; id < 200_000; id++) index.add(id, { low: next(), high: next() })
  const asked = Array.from({ length: 500 }, () => ({ low: next(), high: next() }))
  const within =
    (distance: number): Work =>
    () =>
      asked.forEach((one) => index.query(one, distance))
  return [3, 7, 8].map((distance) => ({
    name: `simhash search within ${distance} of 200,000`,
    ours: within(distance),
    referenceName: 'within 3',
    reference: within(3),
    ops: asked.length,
  }))
}

export async function benchKernels(print: (result: PureResult) => void): Promise<void> {
  const texts = documents(DOCUMENTS)
  const bytes = texts.length * DOCUMENT_BYTES
  const pools = [1, 2].map((workers) => new FingerprintPool({ workers }))
  const cases = [
    ...textCases(texts, bytes),
    ...smallCases(),
    ...vectorCases(),
    ...searchCases(),
    ...workerCases(documents(2000), 2000 * DOCUMENT_BYTES, pools),
  ]
  for (const one of cases) print(await run(one))
  await Promise.all(pools.map((pool) => pool.close()))
  await closeFingerprintPool()
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await benchKernels((result) => process.stdout.write(`${JSON.stringify(result)}\n`))
}
