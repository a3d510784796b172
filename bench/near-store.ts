/**
 * What does it cost to look for near duplicates on every put, against an exact store that puts the same texts, and
 * against sketching them and nothing else?
 *
 * Words are drawn from 8,000 made-up ones, the frequent ones first. Near duplicates are versions of 500 texts, one word
 * changed: each is measured against one candidate.
 */

import { openStore } from 'prestige-dedup'
import { sketchOf } from 'prestige-dedup/fingerprint'

import type { Bench, Case, Place, Sample } from './harness/bench.ts'
import { hashedKeys, randomNumbers, scaled } from './harness/data.ts'
import { inFlight, Latencies, measure } from './harness/measure.ts'

const FLIGHT = 32
const WARM = 2000
const ORIGINALS = 500

interface Load {
  readonly bytes: 1024 | 10_240
  readonly kind: 'all new' | 'near duplicates'
}

function vocabulary(): string[] {
  const pick = randomNumbers(5)
  const letter = () => 'etaoinshrdlucmfwypvbgkjqxz'[Math.min(pick(26), pick(26))] ?? 'e'
  return Array.from({ length: 8000 }, () => Array.from({ length: 2 + pick(9) }, letter).join(''))
}

function textsOf(count: number, { bytes, kind }: Load, seed: number): Buffer[] {
  const words = vocabulary()
  const pick = randomNumbers(seed)
  const word = () => words[Math.min(pick(8000), pick(8000), pick(8000))] ?? 'the'
  const fresh = (): string[] => {
    const made: string[] = []
    for (let length = 0; length < bytes; length += (made.at(-1)?.length ?? 0) + 1) made.push(word())
    return made
  }
  if (kind === 'all new') return Array.from({ length: count }, () => Buffer.from(fresh().join(' ')))
  const originals = Array.from({ length: ORIGINALS }, fresh)
  return Array.from({ length: count }, (_, at) => {
    const made = [...(originals[at % ORIGINALS] ?? [])]
    if (at >= ORIGINALS) made[pick(made.length)] = `v${at}`
    return Buffer.from(made.join(' '))
  })
}

type Put = (at: number, key: Buffer, value: Buffer) => Promise<unknown>

async function measureLoad(load: Load, { scale, ...place }: Place, put: Put): Promise<Sample> {
  const count = scaled(load.bytes === 1024 ? 20_000 : 5_000, scale)
  const run = async (family: string, values: readonly Buffer[], latencies: Latencies) => {
    const keys = hashedKeys(values.length, family)
    await inFlight(FLIGHT, values.length, (at) =>
      latencies.time(at, () => put(at, keys[at]!, values[at]!)),
    )
  }
  await run('warm', textsOf(WARM, load, 2), new Latencies(WARM))
  const values = textsOf(count, load, 1)
  const where = { ...place, scale }
  return measure({ ops: count, place: where }, (latencies) => run('user', values, latencies))
}

async function putAll(load: Load, place: Place, dedup: 'exact' | 'near'): Promise<Sample> {
  const store = await openStore(place.directory, { durability: 'os', dedup })
  const sample = await measureLoad(load, place, (_at, key, value) => store.put(key, value))
  await store.close()
  return sample
}

function sketchAll(load: Load, place: Place): Promise<Sample> {
  return measureLoad(load, place, async (_at, _key, value) => sketchOf(value, { slots: 128 }))
}

function casesOf(load: Load): Case[] {
  const name = `${load.bytes / 1024} KiB texts, ${load.kind}`
  const ours = { run: (place: Place) => putAll(load, place, 'near') }
  return [
    {
      name: `${name}, beside an exact store`,
      ours,
      reference: { name: 'exact put', run: (place) => putAll(load, place, 'exact') },
    },
    {
      name: `${name}, beside sketching alone`,
      ours,
      reference: { name: 'sketch', run: (place) => sketchAll(load, place) },
    },
  ]
}

export const bench: Bench = {
  name: 'near-store',
  question: 'What does looking for near duplicates add to a put?',
  cases: ([1024, 10_240] as const).flatMap((bytes) =>
    (['all new', 'near duplicates'] as const).flatMap((kind) => casesOf({ bytes, kind })),
  ),
}
