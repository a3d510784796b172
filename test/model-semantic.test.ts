/** The same operations on a store that links what means the same and on a model that compares every pair. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { openStore, type Store, type StoreOptions } from '../src/index.ts'
import { vectorCosine } from '../src/semantic/index.ts'
import { sentence, vectorOf, wordEmbedder } from './texts/meanings.ts'

const KEYS = ['a', 'b', 'c', 'd', 'ключ']
const LEAST = 0.8
/** Meanings whose likeness is no matter of transitivity, and texts that are compared with nothing. */
const VALUES = [
  ...[1, 2].flatMap((number) => [0, 1, 2, 3].map((variant) => sentence(number, variant))),
  `${sentence(1, 1)} and much more`,
  `${sentence(1)} ${sentence(2)}`,
  'the bill is 1,500',
  'the bill is 1,600',
  'नमस्ते दुनिया',
  '',
  '!',
]

const similarity = (one: string, other: string) => vectorCosine(vectorOf(one), vectorOf(other))
const isApart = (one: string, other: string) =>
  one.startsWith('the bill') && other.startsWith('the bill')

interface Content {
  readonly value: string
  readonly firstKey: string
  to: Content | undefined
}

/** All contents in the order in which they came; nothing is indexed. */
class Model {
  contents: Content[] = []
  readonly rows = new Map<string, Content>()
  readonly shares: boolean

  constructor(shares: boolean) {
    this.shares = shares
  }

  hitOf(value: string, self?: Content): Content | undefined {
    if (!/[\p{L}\p{N}]/u.test(value)) return undefined
    return this.contents
      .filter((one) => one !== self && !one.to && /[\p{L}\p{N}]/u.test(one.value))
      .map((content) => ({ content, likeness: similarity(content.value, value) }))
      .filter(({ content, likeness }) => likeness >= LEAST && !isApart(content.value, value))
      .toSorted((one, other) => other.likeness - one.likeness)[0]?.content
  }

  put(key: string, value: string) {
    const known = this.contents.find((content) => content.value === value)
    const hit = known ? undefined : this.hitOf(value)
    const shared = known ?? (this.shares ? hit : undefined)
    const content = shared ?? { value, firstKey: key, to: hit }
    if (!shared) this.contents.push(content)
    const old = this.rows.get(key)
    this.rows.set(key, content)
    if (old && old !== content) this.release(old)
    return { outcome: shared ? 'duplicate' : hit ? 'linked' : 'new', of: (shared ?? hit)?.firstKey }
  }

  delete(key: string): void {
    const old = this.rows.get(key)
    this.rows.delete(key)
    if (old) this.release(old)
  }

  /** When a representative goes, those linked to it are decided anew, the oldest first. */
  release(gone: Content): void {
    if ([...this.rows.values()].includes(gone)) return
    this.contents = this.contents.filter((one) => one !== gone)
    const orphans = this.contents.filter(({ to }) => to === gone)
    const decided = new Set<Content>()
    for (const orphan of orphans) {
      const others = this.contents.filter((one) => !orphans.includes(one) || decided.has(one))
      const all = this.contents
      this.contents = others
      orphan.to = this.hitOf(orphan.value, orphan)
      this.contents = all
      decided.add(orphan)
    }
  }
}

type Step =
  | { readonly kind: 'put'; readonly key: string; readonly value: string }
  | { readonly kind: 'delete'; readonly key: string }
  | { readonly kind: 'reopen' }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('put' as const),
        key: fc.constantFrom(...KEYS),
        value: fc.constantFrom(...VALUES),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('delete' as const), key: fc.constantFrom(...KEYS) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
  ),
  { maxLength: 40 },
)

async function agree(
  open: () => Promise<Store>,
  shares: boolean,
  all: readonly Step[],
): Promise<void> {
  const model = new Model(shares)
  let store = await open()
  for (const step of all) {
    if (step.kind === 'reopen') {
      await store.close()
      store = await open()
    } else if (step.kind === 'delete') {
      await store.delete(step.key)
      await store.collect()
      model.delete(step.key)
    } else {
      const expected = model.put(step.key, step.value)
      const receipt = await store.put(step.key, step.value)
      await store.collect()
      const of = receipt.of && String(receipt.of.firstKey)
      expect({ outcome: receipt.content, of }).toEqual(expected)
    }
    for (const key of KEYS) expect(await store.getText(key)).toBe(model.rows.get(key)?.value)
    const links = model.contents.filter(({ to }) => to).length
    expect(await store.stats()).toMatchObject({
      contents: model.contents.length,
      semantic: { links },
    })
  }
  expect((await store.verify()).problems).toEqual([])
  await store.close()
}

const inputOf = (fidelity: 'own' | 'representative'): StoreOptions => ({
  dedup: 'semantic',
  fidelity,
  semantic: { embedder: wordEmbedder(), threshold: LEAST },
})

describe.each(['own', 'representative'] as const)('a semantic store, fidelity %s', (fidelity) => {
  const shares = fidelity === 'representative'

  it('agrees with a model that compares every pair, in memory', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const engine = new MemoryEngine()
        await agree(() => openStore(new MemoryBackend({}, engine), inputOf(fidelity)), shares, all)
      }),
      { numRuns: 40 },
    )
  }, 120_000)

  it('agrees with it on disk, reopened now and then', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const path = await mkdtemp(join(tmpdir(), 'prestige-model-semantic-'))
        await agree(() => openStore(path, { ...inputOf(fidelity), durability: 'os' }), shares, all)
        await rm(path, { recursive: true })
      }),
      { numRuns: 6 },
    )
  }, 120_000)
})

describe('workers on an engine they share', () => {
  it.each(Array.from({ length: 12 }, (_, seed) => seed))(
    'end with one cluster a meaning, whatever conflicts and is lost (seed %i)',
    async (seed) => {
      const world = new SimulatedWorld(seed, { conflict: 0.1, lostReply: 0.03, failure: 0.02 })
      const embedder = wordEmbedder()
      const input = { ...inputOf('own'), semantic: { embedder, threshold: LEAST } }
      const insist = async <T>(work: () => Promise<T>): Promise<T> => {
        for (;;) {
          try {
            return await work()
          } catch (error) {
            if (!(error as { retryable?: boolean }).retryable) throw error
          }
        }
      }
      const stores = await Promise.all(
        ['one', 'two', 'three'].map((name) => insist(() => openStore(world.open(name), input))),
      )
      const meanings = 4
      const put = (at: number) =>
        insist(() =>
          stores[at % 3]!.put(
            `key ${at}`,
            sentence((at % meanings) + 1, Math.floor(at / meanings)),
          ),
        )
      await Promise.all(Array.from({ length: 24 }, (_, at) => put(at)))
      for (let at = 0; at < 24; at++) {
        const text = sentence((at % meanings) + 1, Math.floor(at / meanings))
        expect(await insist(() => stores[0]!.getText(`key ${at}`))).toBe(text)
      }
      expect(await insist(() => stores[1]!.stats())).toMatchObject({
        semantic: { representatives: meanings, links: 24 - meanings },
      })
      // Representatives go while others come that are like them.
      await Promise.all([
        ...[0, 1, 2, 3].map((at) => insist(() => stores[at % 3]!.delete(`key ${at}`))),
        ...[0, 1, 2, 3].map((at) =>
          insist(() => stores[(at + 1) % 3]!.put(`late ${at}`, sentence(at + 1, 20))),
        ),
      ])
      await insist(() => stores[2]!.collect())
      world.faults = { conflict: 0, lostReply: 0, failure: 0 }
      await stores[2]!.collect()
      expect((await stores[0]!.verify()).problems).toEqual([])
      expect(await stores[0]!.stats()).toMatchObject({ semantic: { representatives: meanings } })
    },
    60_000,
  )
})
