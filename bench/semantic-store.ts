/**
 * What does a put of a text cost in a store that compares meanings, beside the model alone; and what does a text cost
 * that was put before?
 *
 * 10,000 representatives are there. Their vectors are made up: only their number matters to a search. Texts have about
 * 25 words. The model alone runs in the same thread, without queue or worker.
 *
 * What is asked is what a put costs in a process that has been running for a while, so ours is warmed by some thousand
 * puts with made-up vectors: compiling our code takes some 0.15 s of other threads, once, and native code needs none. The
 * event loop is watched apart: with the model in a thread of its own, being watched takes longer than the message to it.
 */

import { openStore, type Store } from 'prestige-dedup'
import { openEmbedder } from 'prestige-dedup/semantic'

import { locateModel } from '../src/semantic/embedding/locate.ts'
import { SentenceModel } from '../src/semantic/embedding/sentence-model.ts'
import type { Bench, Case, Fixture, Place, Sample } from './harness/bench.ts'
import { randomNumbers, scaled } from './harness/data.ts'
import { measure } from './harness/measure.ts'

const REPRESENTATIVES = 10_000
const DIMENSIONS = 384
const TEXTS = 200
const WARM = 20
/** Until nothing is compiled any more. */
const WARM_MADE_UP = 3000
const WATCHED = 20
/** Of what takes no time. */
const ROUNDS = 10
const CROWDED = 500
const LETTERS = 32
/** Ordinary words, most of which are one token. */
const WORDS =
  'the customer wants to change password of account order delivery was late please send invoice again payment did not work server gives error after update cannot open file network is slow today'.split(
    ' ',
  )
const SHORT_WORDS = 12
const SHORT_WARM = 300
const OPTIONS = { durability: 'os', dedup: 'semantic' } as const

function textsOf(count: number, seed: number): string[] {
  const pick = randomNumbers(seed)
  const letter = () => 'etaoinshrdlucmfwypvbgkjqxz'[Math.min(pick(26), pick(26))] ?? 'e'
  const word = () => Array.from({ length: 2 + pick(6) }, letter).join('')
  return Array.from({ length: count }, () => Array.from({ length: 25 }, word).join(' '))
}

function vectorOf(pick: (below: number) => number): Float32Array {
  return Float32Array.from({ length: DIMENSIONS }, () => pick(2001) - 1000)
}

/** A store whose vectors take no time. */
function openMadeUp(directory: string, id: string): Promise<Store> {
  const pick = randomNumbers(11)
  const embed = async (texts: readonly string[]) => texts.map(() => vectorOf(pick))
  const embedder = { id, dimensions: DIMENSIONS, embed }
  return openStore(directory, { ...OPTIONS, semantic: { embedder, threshold: 0.95 } })
}

/** Written under the real model's id. */
const fixture: Fixture = {
  name: 'semantic-10k',
  async build({ directory, scale }) {
    const model = await openEmbedder()
    await model.close()
    const store = await openMadeUp(directory, model.id)
    const items = textsOf(scaled(REPRESENTATIVES, scale), 5).map((value, at) => ({
      key: `there ${at}`,
      value,
    }))
    await store.putMany(items)
    await store.close()
  },
}

async function warmUp({ directory, scale }: Place): Promise<void> {
  const store = await openMadeUp(`${directory}-warm`, 'made up')
  for (const [at, text] of textsOf(scaled(WARM_MADE_UP, scale), 13).entries()) {
    await store.put(`made up ${at}`, text)
  }
  await store.close()
}

async function runStore(place: Place, isRepeated: boolean): Promise<Sample> {
  await warmUp(place)
  const embedder = await openEmbedder()
  const store = await openStore(place.directory, { ...OPTIONS, semantic: { embedder } })
  const texts = textsOf(scaled(TEXTS, place.scale), 7)
  const putAll = async (all: readonly string[], name: string) => {
    for (const [at, text] of all.entries()) await store.put(`${name} ${at}`, text)
  }
  await putAll(textsOf(WARM, 9), 'warm')
  await putAll(textsOf(WARM, 9), 'warm')
  if (isRepeated) for (const name of ['first', 'second']) await putAll(texts, name)
  const rounds = isRepeated ? ROUNDS : 1
  const ops = texts.length * rounds
  const sample = await measure({ ops, place, watchesLoop: false }, async () => {
    for (let round = 0; round < rounds; round++) await putAll(texts, `user ${round}`)
  })
  const unprofiled = { ...place, profile: undefined }
  const watched = isRepeated ? texts : textsOf(WATCHED, 15)
  const { eventLoopDelayP99Ms } = await measure({ ops: watched.length, place: unprofiled }, () =>
    putAll(watched, 'watched'),
  )
  await store.close()
  await embedder.close()
  return { ...sample, eventLoopDelayP99Ms }
}

async function runModel(place: Place): Promise<Sample> {
  const options = { runtime: 'auto', workers: 1, overlapTokens: 32, windowsMax: 256 } as const
  const plan = locateModel('all-MiniLM-L6-v2', options)
  const model = await SentenceModel.open({ plan, ...options })
  const embedAll = async (texts: readonly string[]) => {
    for (const text of texts) await model.embed(text)
  }
  await embedAll(textsOf(WARM, 9))
  const texts = textsOf(scaled(TEXTS, place.scale), 7)
  return measure({ ops: texts.length, place, watchesLoop: false }, () => embedAll(texts))
}

/** A text of twelve words, in a store that is new; all threads. */
async function runShort(place: Place, model: string): Promise<Sample> {
  const pick = randomNumbers(19)
  const text = () =>
    Array.from({ length: SHORT_WORDS }, () => WORDS[pick(WORDS.length)] ?? '').join(' ')
  await warmUp(place)
  const embedder = await openEmbedder(model)
  const semantic = { embedder, threshold: 0.99 }
  const store = await openStore(`${place.directory}-short`, { ...OPTIONS, semantic })
  const putAll = async (name: string, count: number) => {
    for (let at = 0; at < count; at++) await store.put(`${name} ${at}`, text())
  }
  await putAll('warm', scaled(SHORT_WARM, place.scale))
  const ops = scaled(TEXTS, place.scale)
  const sample = await measure({ ops, place, watchesLoop: false }, () => putAll('key', ops))
  await store.close()
  await embedder.close()
  return sample
}

/** Texts that are near each other, and differ by a number: every new one is a candidate of all that are under way. */
async function runCrowded(place: Place, inFlight: number): Promise<Sample> {
  const embed = async (texts: readonly string[]) => texts.map((text) => lettersOf(text))
  const embedder = { id: 'letters', dimensions: LETTERS, embed }
  const semantic = { embedder, threshold: 0.9 }
  const store = await openStore(place.directory, { ...OPTIONS, semantic })
  const [text = ''] = textsOf(1, 17)
  const ops = scaled(CROWDED, place.scale)
  const sample = await measure({ ops, place }, async () => {
    let next = 0
    const putAll = async () => {
      for (let at = next++; at < ops; at = next++) await store.put(`key ${at}`, `${text} ${at}`)
    }
    await Promise.all(Array.from({ length: inFlight }, putAll))
  })
  await store.close()
  return sample
}

function lettersOf(text: string): Float32Array {
  const counts = new Float32Array(LETTERS)
  for (const letter of text) counts[letter.charCodeAt(0) % LETTERS]! += 1
  return counts
}

const cases: readonly Case[] = [
  {
    name: 'a new text, 10 k representatives',
    ours: { fixture, run: (place) => runStore(place, false) },
    reference: { name: 'the model alone', run: runModel },
    changesFixture: true,
    // Whoever else is on the machine moves the model by a tenth, more than what is asked.
    runsMin: 7,
    limits: { ratioMax: 1.15 },
  },
  {
    name: 'a text that was put before',
    ours: { fixture, run: (place) => runStore(place, true) },
    reference: { name: 'its first put', fixture, run: (place) => runStore(place, false) },
    changesFixture: true,
    limits: { ratioMax: 0.01 },
  },
  {
    name: 'a new text of 12 words, int8',
    ours: { run: (place) => runShort(place, 'all-MiniLM-L6-v2-int8') },
    reference: { name: 'fp32', run: (place) => runShort(place, 'all-MiniLM-L6-v2') },
    limits: { cpuMicrosMax: 6000, ratioMax: 0.7 },
  },
  {
    name: 'texts near each other, 64 in flight',
    ours: { run: (place) => runCrowded(place, 64) },
    reference: { name: '1 in flight', run: (place) => runCrowded(place, 1) },
    limits: { ratioMax: 1.1 },
  },
]

export const bench: Bench = {
  name: 'semantic-store',
  question: 'What does comparing meanings add to the cost of the model?',
  cases,
}
