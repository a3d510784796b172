/**
 * The same operations on resolvers and on a plain model that looks at all pairs: all must agree. Bands of one slot
 * miss nothing here, so the model need not know of them.
 */

import { createHash } from 'node:crypto'

import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'

import { type Resolver } from '../src/index.ts'
import { canonicalProfile } from '../src/canonical/index.ts'
import { shingleHashes } from '../src/fingerprint/index.ts'
import { likeness } from './resolver/audit.ts'
import { engines, type Engine, placeOf } from './resolver/open.ts'
import { RECALL_ONE } from './resolver/texts.ts'
import { removeTemporaryDirectories } from './subjects.ts'

afterAll(removeTemporaryDirectories)

const SIMILARITY = 0.6
const TTL = 1000
const RENEW = 100
const WORDS = 'amber birch cedar delta ember flint grove heron inlet joust kayak lemon'.split(' ')
/** Windows that slide over a row of words: every one is like its neighbours, and not like those further on. */
const WINDOWS = WORDS.map((_, at) => [...WORDS, ...WORDS].slice(at, at + 7).join(' '))
const TWINS = 'съешь же ещё этих мягких французских булок'
const TEXTS = [
  ...WINDOWS,
  ...WINDOWS.slice(0, 4).map((text) => ` ${text.toUpperCase()}`),
  ...WINDOWS.slice(0, 4).map((text) => text.replace(' ', ' x ')),
  // As like the middle one as each other, and not like one another.
  ...['', ' abcdefghijklmnopqrst', ' tsrqponmlkjihgfedcba'].map((end) => TWINS + end),
  'नमस्ते दुनिया आज मौसम अच्छा है',
  'नमस्ते दुनिया आज मौसम अच्छा हैं',
  'a',
  ' ',
]
const GROUPS = ['g', 'h']

type Operation =
  | { readonly op: 'resolve' | 'lookup' | 'forget'; readonly group: string; readonly text: string }
  | { readonly op: 'wait'; readonly ms: number }
  | { readonly op: 'collect' }
  | { readonly op: 'stats' }
  | { readonly op: 'reopen' }

const group = fc.constantFrom('g', 'g', 'g', 'h')
const text = fc.constantFrom(...TEXTS)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ op: fc.constant('resolve' as const), group, text }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('lookup' as const), group, text }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('forget' as const), group, text }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 99, 400, 900),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constantFrom('collect', 'reopen', 'stats') }) },
)

interface Cluster {
  readonly text: string
  readonly hashes: Uint32Array
  expiresAt: number
}

interface Known {
  readonly cluster: Cluster
  readonly similarity: number
}

type Told = {
  readonly status: string
  readonly representative: string
  readonly similarity: number
}

const canonical = canonicalProfile('unicode')
const hashesOf = (text: string) =>
  shingleHashes(canonical.canonicalise(Buffer.from(text)), 'chars-3')

/** One group: clusters in the order of their birth, and what every input was found to be. */
class Model {
  clusters: Cluster[] = []
  readonly known = new Map<string, Known>()

  #standing(text: string, now: number): Known | undefined {
    const known = this.known.get(text)
    return known && known.cluster.expiresAt > now ? known : undefined
  }

  look(text: string, now: number): Told | undefined {
    const known = this.#standing(text, now)
    if (known) {
      const status = known.cluster.text === text ? 'exact' : 'known'
      return { status, representative: known.cluster.text, similarity: known.similarity }
    }
    const best = this.#best(text, now)
    return (
      best && {
        status: 'match',
        representative: best.cluster.text,
        similarity: best.similarity,
      }
    )
  }

  resolve(text: string, now: number): Told {
    const told = this.look(text, now)
    const known = this.#standing(text, now) ?? this.#best(text, now)
    if (known && told) {
      this.known.set(text, known)
      const { cluster } = known
      if (now + TTL - cluster.expiresAt >= RENEW) cluster.expiresAt = now + TTL
      return told
    }
    const cluster = { text, hashes: hashesOf(text), expiresAt: now + TTL }
    this.clusters.push(cluster)
    this.known.set(text, { cluster, similarity: 1 })
    return { status: 'new', representative: text, similarity: 1 }
  }

  #best(text: string, now: number): Known | undefined {
    const hashes = hashesOf(text)
    let best: Known | undefined
    for (const cluster of this.clusters) {
      if (cluster.expiresAt <= now || hashes.length === 0) continue
      const similarity = likeness(hashes, cluster.hashes)
      if (similarity < SIMILARITY || similarity <= (best?.similarity ?? 0)) continue
      best = { cluster, similarity }
    }
    return best
  }

  forget(text: string): boolean {
    const known = this.known.get(text)
    if (!known) return false
    if (known.cluster.text === text) this.#end(known.cluster)
    else this.known.delete(text)
    return true
  }

  collect(now: number): number {
    const ended = this.clusters.filter(({ expiresAt }) => expiresAt <= now)
    for (const cluster of ended) this.#end(cluster)
    return ended.length
  }

  #end(cluster: Cluster): void {
    this.clusters = this.clusters.filter((one) => one !== cluster)
    for (const [text, known] of this.known) if (known.cluster === cluster) this.known.delete(text)
  }

  stats() {
    const own = new Set(this.clusters)
    const members = [...this.known].filter(
      ([text, { cluster }]) => own.has(cluster) && cluster.text !== text,
    )
    return { clusters: this.clusters.length, members: members.length, merged: 0 }
  }
}

async function compare(engine: Engine, operations: readonly Operation[]): Promise<void> {
  const place = await placeOf(engine)
  const options = {
    ...RECALL_ONE,
    threshold: SIMILARITY,
    guards: false,
    profile: 'chars-3',
    ttlMs: TTL,
    renewMs: RENEW,
    cacheMs: 0,
  } as const
  const models = new Map(GROUPS.map((name) => [name, new Model()]))
  let resolver = await place.open(options)
  try {
    for (const operation of operations) {
      if (operation.op === 'reopen') {
        await resolver.close()
        // Ids of one millisecond are in order in one process only.
        place.clock.time++
        resolver = await place.open(options)
      } else await step(resolver, models, place.clock, operation)
    }
    await step(resolver, models, place.clock, { op: 'stats' })
    expect(await place.audit(resolver, ...GROUPS)).toEqual([])
  } finally {
    await resolver.close()
  }
}

async function step(
  resolver: Resolver,
  models: ReadonlyMap<string, Model>,
  clock: { time: number },
  operation: Exclude<Operation, { op: 'reopen' }>,
): Promise<void> {
  const { time } = clock
  if (operation.op === 'wait') clock.time += operation.ms
  else if (operation.op === 'collect') {
    let ended = 0
    for (const model of models.values()) ended += model.collect(time)
    expect(await resolver.collect()).toEqual({ clusters: ended })
  } else if (operation.op === 'stats') {
    for (const [name, model] of models) {
      expect(await resolver.stats(name)).toMatchObject(model.stats())
    }
  } else {
    const { op, group: name, text: input } = operation
    const model = models.get(name)!
    if (op === 'forget') expect(await resolver.delete(name, input)).toBe(model.forget(input))
    else {
      const told = op === 'resolve' ? model.resolve(input, time) : model.look(input, time)
      const found = await resolver[op](name, input)
      expect(found && (await readable(resolver, name, found))).toEqual(told)
    }
  }
}

/** Ids are of texts, so a representative is known by its id; the text is kept as it was given. */
async function readable(
  resolver: Resolver,
  name: string,
  { status, similarity, representative, id }: NonNullable<Awaited<ReturnType<Resolver['lookup']>>>,
): Promise<Told> {
  expect(id).toBe(representative)
  const kept = await resolver.representative(name, id)
  const own = TEXTS.find((one) => idOf(one) === representative)!
  expect(kept?.text).toBe(own)
  return { status, similarity, representative: own }
}

const ids = new Map<string, string>()
function idOf(input: string): string {
  const known = ids.get(input) ?? digest(input)
  ids.set(input, known)
  return known
}

function digest(input: string): string {
  return createHash('sha256').update(input).digest().subarray(0, 16).toString('base64url')
}

describe.each(engines)('a resolver on %s', (engine) => {
  it('agrees with a model that measures all pairs on any sequence of operations', async () => {
    const sequence = fc.array(operation, { minLength: 1, maxLength: 50 })
    const property = fc.asyncProperty(sequence, (operations) => compare(engine, operations))
    await fc.assert(property, { numRuns: engine === 'memory' ? 200 : 40 })
  }, 120_000)
})
