/** Semantic mode of the store: what is linked, to what, how it is reported, and what happens to it. */

import { mkdtemp, readdir, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, describe, expect, it } from 'vitest'

import { sentence, vectorOf, wordEmbedder } from '../../../test/texts/meanings.ts'
import { textOf, edited } from '../../../test/texts/near-texts.ts'
import { cell, read, rows, type Scope } from '../../backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { SimulatedWorld } from '../../backends/simulated/backend.ts'
import { openStore, reembedStore, type Store, type StoreOptions } from '../../index.ts'
import { vectorCosine } from '../../semantic/index.ts'
import { type SemanticLink, semanticLinks, semanticStoreSpaces, semanticVectors } from './rows.ts'

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

const A = sentence(1)
const A_ONE = sentence(1, 1)
const A_TWO = sentence(1, 2)
const OTHER = sentence(2)

function inputOf(semantic: StoreOptions['semantic'] = {}, rest: StoreOptions = {}): StoreOptions {
  const embedder = wordEmbedder()
  return { dedup: 'semantic', ...rest, semantic: { embedder, threshold: 0.8, ...semantic } }
}

async function open(
  input: StoreOptions = inputOf(),
  engine = new MemoryEngine(),
  clock?: () => number,
) {
  const store = await openStore(new MemoryBackend({ ...(clock && { clock }) }, engine), input)
  opened.push(() => store.close())
  return store
}

async function openOnDisk(input: StoreOptions = inputOf(), directory?: string) {
  const path = directory ?? (await mkdtemp(join(tmpdir(), 'prestige-semantic-')))
  if (!directory) opened.push(() => rm(path, { recursive: true }))
  const store = await openStore(path, { ...input, durability: 'os' })
  opened.push(() => store.close())
  return { store, path }
}

async function expectSound(store: Store): Promise<void> {
  expect((await store.verify()).problems).toEqual([])
}

describe.each(['memory', 'lmdb', 'simulated'] as const)('a semantic store on %s', (engine) => {
  const openHere = async (input: StoreOptions = inputOf()) => {
    if (engine === 'memory') return open(input)
    if (engine === 'lmdb') return (await openOnDisk(input)).store
    return openStore(new SimulatedWorld(5).open('one'), { gc: 'immediate', ...input })
  }

  it('links what means the same, says how similar by what, and gives own bytes back', async () => {
    const store = await openHere()
    expect(await store.put('a', A)).toMatchObject({ key: 'created', content: 'new' })
    const similarity = vectorCosine(vectorOf(A), vectorOf(A_ONE))
    const linked = await store.put('b', A_ONE)
    expect(linked).toMatchObject({
      content: 'linked',
      method: 'semantic',
      similarity,
      threshold: 0.8,
      embedder: 'words-32',
      bytesSaved: 0,
    })
    expect(String(linked.of?.firstKey)).toBe('a')
    expect(similarity).toBeGreaterThan(0.8)
    expect(await store.put('c', A_ONE)).toMatchObject({ content: 'duplicate', method: 'digest' })
    expect(await store.put('d', OTHER)).toMatchObject({ content: 'new' })
    expect(await store.getText('a')).toBe(A)
    expect(await store.getText('b')).toBe(A_ONE)
    expect(await store.getText('c')).toBe(A_ONE)
    expect(await store.stats()).toMatchObject({
      contents: 3,
      semantic: { links: 1, representatives: 2 },
    })
    expect(await store.explain('b')).toMatchObject({
      content: 'linked',
      method: 'semantic',
      similarity,
      threshold: 0.8,
      embedder: 'words-32',
    })
    await expectSound(store)
  })

  it('re-evaluates what was linked when its representative goes', async () => {
    const store = await openHere()
    await store.put('a', A)
    await store.put('b', A_ONE)
    await store.put('c', A_TWO)
    expect(await store.stats()).toMatchObject({ semantic: { links: 2, representatives: 1 } })
    await store.delete('a')
    await store.collect()
    expect(await store.stats()).toMatchObject({ semantic: { links: 1, representatives: 1 } })
    const { of } = (await store.explain('c'))!
    expect(String(of?.firstKey)).toBe('b')
    expect(await store.getText('b')).toBe(A_ONE)
    await expectSound(store)
    for (const key of ['b', 'c']) await store.delete(key)
    await store.collect()
    expect(await store.stats()).toMatchObject({ semantic: { links: 0, representatives: 0 } })
    expect(await store.put('again', A_ONE)).toMatchObject({ content: 'new' })
    await expectSound(store)
  })

  it('keeps texts of one meaning together that are put at the same moment', async () => {
    const store = await openHere()
    const texts = [A, ...Array.from({ length: 7 }, (_, at) => sentence(1, at + 1))]
    const receipts = await Promise.all(texts.map((text, at) => store.put(`key ${at}`, text)))
    expect(receipts.filter(({ content }) => content === 'new')).toHaveLength(1)
    expect(await store.stats()).toMatchObject({ semantic: { links: 7, representatives: 1 } })
    await expectSound(store)
  })

  it('shares the bytes of the representative where that is asked for', async () => {
    const embedder = wordEmbedder()
    const store = await openHere(inputOf({ embedder }, { fidelity: 'representative' }))
    await store.put('a', A)
    const shared = await store.put('b', A_ONE)
    expect(shared).toMatchObject({ content: 'duplicate', method: 'semantic', threshold: 0.8 })
    expect(await store.getText('b')).toBe(A)
    expect(await store.explain('b')).toMatchObject({
      content: 'duplicate',
      method: 'semantic',
      similarity: shared.similarity!,
    })
    await store.put('c', A_ONE)
    expect(embedder.asked).toEqual([A, A_ONE])
    expect(await store.stats()).toMatchObject({ contents: 1, keys: 3 })
    // Another text under a key takes the vectors of the one before it away.
    await store.put('c', A_TWO)
    await store.put('c', A_TWO)
    expect(embedder.asked).toEqual([A, A_ONE, A_TWO])
    await expectSound(store)
    for (const key of ['a', 'b', 'c']) await store.delete(key)
    await store.collect()
    expect(await store.stats()).toMatchObject({ contents: 0, keys: 0 })
    await expectSound(store)
  })

  it('finds near duplicates before meanings in a hybrid store, and compares again what is left', async () => {
    const near = textOf(1)
    const store = await openHere(inputOf({}, { dedup: 'hybrid', near: { threshold: 0.85 } }))
    await store.put('near', near)
    expect(await store.put('near one', edited(near, 1))).toMatchObject({ method: 'near' })
    await store.put('a', A)
    expect(await store.put('b', A_ONE)).toMatchObject({ method: 'semantic', content: 'linked' })
    expect(await store.stats()).toMatchObject({
      near: { links: 1 },
      semantic: { links: 1, representatives: 2 },
    })
    await expectSound(store)
    await store.delete('near')
    await store.collect()
    await expectSound(store)
    expect(await store.stats()).toMatchObject({
      near: { links: 0 },
      semantic: { links: 1, representatives: 2 },
    })
  })
})

describe('what a text costs', () => {
  it('embeds a text once, whatever puts it, and again only when it was gone', async () => {
    const embedder = wordEmbedder()
    const engine = new MemoryEngine()
    const store = await open(inputOf({ embedder }), engine)
    await Promise.all(['a', 'b', 'c'].map((key) => store.put(key, A)))
    await store.put('a', A)
    expect(embedder.asked).toEqual([A])
    const other = wordEmbedder()
    const second = await open(inputOf({ embedder: other }), engine)
    await second.put('d', A)
    expect(other.asked).toEqual([])
    for (const key of ['a', 'b', 'c', 'd']) await store.delete(key)
    await store.put('a', A)
    expect(embedder.asked).toEqual([A, A])
  })

  it('does not compare what is no text, too long, or without a word, and says so', async () => {
    const embedder = wordEmbedder()
    const store = await open(inputOf({ embedder, textBytesMax: 100 }))
    const invalid = Buffer.from([0xff, 0xfe])
    expect(await store.put('bytes', invalid)).toMatchObject({ notCompared: 'not-text' })
    expect(await store.put('long', 'word '.repeat(30))).toMatchObject({ notCompared: 'too-large' })
    expect(await store.put('named so', 'too-large')).not.toHaveProperty('notCompared')
    embedder.asked.length = 0
    for (const text of ['', ' ', '!?', '🙂']) await store.put(`none ${text}`, text)
    expect(embedder.asked).toEqual([])
    expect(await store.get('bytes')).toEqual(invalid)
    await expectSound(store)
    expect(await store.stats()).toMatchObject({ semantic: { links: 0, representatives: 1 } })
  })

  it('leaves nothing of what was deleted', async () => {
    const engine = new MemoryEngine()
    const store = await open(inputOf(), engine)
    for (let at = 0; at < 5; at++) await store.put(`key ${at}`, sentence(at % 2, at))
    for (let at = 0; at < 5; at++) await store.delete(`key ${at}`)
    const backend = new MemoryBackend({}, engine)
    for await (const row of backend.scan(semanticVectors)) expect(row).toBeUndefined()
    for await (const row of backend.scan(semanticLinks.links)) expect(row).toBeUndefined()
    await expectSound(store)
  })
})

describe('guards, rerankers and judges', () => {
  const bill = (sum: string) => `the bill for the whole house comes to ${sum} euros this year`

  it('keeps apart what a guard keeps apart, and names it in receipt and explanation', async () => {
    const store = await open()
    await store.put('a', bill('1,500'))
    const receipt = await store.put('b', bill('1,600'))
    expect(receipt).toMatchObject({
      content: 'new',
      refused: { vetoes: [{ guard: 'numbers', a: ['1600'], b: ['1500'] }] },
    })
    expect(String(receipt.refused?.of.firstKey)).toBe('a')
    expect(await store.explain('b')).toMatchObject({ refused: { vetoes: [{ guard: 'numbers' }] } })
    expect((await store.similar(bill('1,700'), { vetoed: true }))[0]).toMatchObject({
      vetoes: [{ guard: 'numbers' }],
    })
    expect(await store.similar(bill('1,700'))).toEqual([])
    // What is left out takes no place: of two bills, the one of this sum is found.
    const found = await store.similar(`${bill('1,600')} again`, { limit: 1 })
    expect(found.map(({ firstKey }) => String(firstKey))).toEqual(['b'])
    await expectSound(store)
  })

  it('lets guards be switched off, and refuses to open with others', async () => {
    const engine = new MemoryEngine()
    const store = await open(inputOf({ guards: false }), engine)
    await store.put('a', bill('1,500'))
    expect(await store.put('b', bill('1,600'))).toMatchObject({ content: 'linked' })
    await expect(open(inputOf({ guards: {} }), engine)).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
      message: expect.stringContaining('semantic.guards'),
    })
  })

  it('lets a judge veto and confirm, a limited number of times, once a pair', async () => {
    const asked: string[] = []
    const judge = async (a: string, b: string) => {
      asked.push(`${a}|${b}`)
      return b === A
    }
    const store = await open(inputOf({ judge, judgeMin: 0.3, threshold: 0.95, judgeCallsMax: 1 }))
    await store.put('a', A)
    const confirmed = await store.put('b', A_ONE)
    expect(confirmed).toMatchObject({ content: 'linked', method: 'semantic', threshold: 0.95 })
    expect(confirmed.similarity).toBeLessThan(0.95)
    expect(asked).toEqual([`${A_ONE}|${A}`])
    await expectSound(store)
  })

  it('takes a judge that says no, fails, or may not be asked for a no', async () => {
    const answers = [() => false, () => Promise.reject(new Error('down')), () => true]
    const judge = async () => answers.shift()!()
    const store = await open(inputOf({ judge, judgeCallsMax: 1 }))
    await store.put('a', A)
    expect(await store.put('b', A_ONE)).toMatchObject({
      content: 'new',
      refused: { vetoes: [{ guard: 'judge', said: 'no' }] },
    })
    // The first is asked about, and fails; for the second there is no question left.
    expect(await store.put('c', A_TWO)).toMatchObject({
      content: 'new',
      refused: { vetoes: [{ guard: 'judge', said: 'nothing' }] },
    })
    expect(answers).toHaveLength(1)
  })

  it('lets a reranker veto', async () => {
    const store = await open(inputOf({ rerank: () => 0.1, rerankMin: 0.5 }))
    await store.put('a', A)
    expect(await store.put('b', A_ONE)).toMatchObject({
      content: 'new',
      refused: { vetoes: [{ guard: 'rerank', score: 0.1 }] },
    })
  })
})

describe('opening', () => {
  it('needs a threshold, and says how to find one', async () => {
    const embedder = wordEmbedder()
    await expect(
      openStore('memory:', { dedup: 'semantic', semantic: { embedder } }),
    ).rejects.toThrow(/threshold is missing.*prestige tune --semantic/)
    await expect(
      openStore('memory:', { dedup: 'near', semantic: { threshold: 0.9 } }),
    ).rejects.toThrow(/semantic is for stores/)
  })

  it('takes the model that is built in where none is named', async () => {
    const store = await openStore('memory:', { dedup: 'hybrid', semantic: { threshold: 0.9 } })
    expect(store.settings.semantic).toMatchObject({ model: 'all-MiniLM-L6-v2', dimensions: 384 })
    await store.close()
  })

  it('refuses another embedder by name, and says what to run', async () => {
    const engine = new MemoryEngine()
    await open(inputOf(), engine)
    await expect(open(inputOf({ embedder: wordEmbedder('other') }), engine)).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
      message: expect.stringMatching(/'words-32'.*'other'.*prestige reembed/),
    })
  })

  it('reads, deletes and puts what is known without an embedder', async () => {
    const engine = new MemoryEngine()
    const first = await open(inputOf(), engine)
    await first.put('a', A)
    const store = await open({}, engine)
    expect(await store.getText('a')).toBe(A)
    expect(await store.put('b', A)).toMatchObject({ content: 'duplicate' })
    await expect(store.put('c', OTHER)).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
      message: expect.stringContaining('words-32'),
    })
    await expectSound(store)
  })

  it('understands the names of the original', async () => {
    const named = { semantic_threshold: 0.8, semantic_max_text_bytes: 10, semantic_search_k: 5 }
    const semantic = { embedder: wordEmbedder(), ...named } as StoreOptions['semantic']
    const store = await open({ dedup: 'semantic', semantic })
    expect(store.settings.semantic).toMatchObject({ threshold: 0.8, textBytesMax: 10 })
  })
})

describe('puts at the same time of texts that are near, and not the same', () => {
  it('make each other look again at most once', async () => {
    let stale = 0
    const counter = (name: string, delta: number) => {
      if (name === 'prestige.semantic.stale_match_total') stale += delta
    }
    const metrics = { counter, histogram: () => {}, gauge: () => {} }
    const store = await open(inputOf({}, { metrics }))
    // Numbers differ, so the guards keep them apart.
    const texts = Array.from({ length: 100 }, (_, at) => `${A} in ${1900 + at} at last`)
    const left = [...texts.entries()]
    const putAll = async () => {
      for (let one = left.shift(); one; one = left.shift()) await store.put(`key ${one[0]}`, one[1])
    }
    await Promise.all(Array.from({ length: 32 }, putAll))
    expect(await store.stats()).toMatchObject({ semantic: { links: 0, representatives: 100 } })
    expect(stale).toBeLessThanOrEqual(100)
    await expectSound(store)
  })
})

describe('an embedder that fails', () => {
  it('fails the put by name, and nothing is stored', async () => {
    const embedder = { ...wordEmbedder(), embed: async () => [new Float32Array(32)] }
    const store = await open(inputOf({ embedder }))
    await expect(store.put('a', A)).rejects.toMatchObject({ code: 'EMBEDDER_FAULTY' })
    expect(await store.has('a')).toBe(false)
    await expectSound(store)
  })
})

describe('a restart', () => {
  const fill = async (store: Store) => {
    for (let at = 0; at < 6; at++) await store.put(`key ${at}`, sentence(at))
  }
  const expectLinks = async (store: Store) => {
    for (let at = 0; at < 6; at++) {
      expect(await store.put(`again ${at}`, sentence(at, 1))).toMatchObject({ content: 'linked' })
      await store.delete(`again ${at}`)
    }
  }

  describe.each(['auto', 'ivf'] as const)('with the engine %s', (engine) => {
    const input = () => inputOf({ index: { engine } })

    it.each(['kept', 'deleted', 'truncated'] as const)(
      'and an index that was %s gives the same answers',
      async (fate) => {
        const { store, path } = await openOnDisk(input())
        await fill(store)
        await store.close()
        const name = (await readdir(path)).find((file) => file.endsWith('.index'))
        expect(name).toBeDefined()
        if (fate === 'deleted') await rm(join(path, name!))
        if (fate === 'truncated') await truncate(join(path, name!), 100)
        const { store: second } = await openOnDisk(input(), path)
        await expectLinks(second)
        await expectSound(second)
      },
    )
  })

  it('follows what others wrote while the index was in a file', async () => {
    const { store, path } = await openOnDisk()
    await fill(store)
    await store.close()
    const { store: second } = await openOnDisk(inputOf(), path)
    const { store: third } = await openOnDisk(inputOf(), path)
    await second.put('more', sentence(7))
    expect(await third.put('same', sentence(7, 1))).toMatchObject({ content: 'linked' })
    await expectLinks(third)
  })
})

describe('another embedder', () => {
  it('is given to a store without touching its bytes, and can be cut off at any point', async () => {
    const engine = new MemoryEngine()
    const backend = () => new MemoryBackend({}, engine)
    const first = await open(inputOf(), engine)
    for (let at = 0; at < 8; at++)
      await first.put(`key ${at}`, sentence(at % 4, Math.floor(at / 4)))
    await first.put('none', '!')
    await first.close()
    let calls = 0
    const flaky = wordEmbedder('other-16', 16)
    const failing = {
      ...flaky,
      embed: async (texts: readonly string[]) => {
        if (++calls === 4) throw new Error('power failure')
        return flaky.embed(texts, {})
      },
    }
    const options = { embedder: failing, threshold: 0.7 }
    await expect(reembedStore(backend(), options)).rejects.toThrow('power failure')
    // Nothing has been switched yet.
    const still = await open(inputOf(), engine)
    expect(await still.put('old', sentence(1, 3))).toMatchObject({ content: 'linked' })
    await still.delete('old')
    await still.close()
    const done = await reembedStore(backend(), options)
    expect(done).toMatchObject({ from: 'words-32', to: 'other-16', texts: 9, threshold: 0.7 })
    expect(flaky.asked).toHaveLength(8)
    await expect(open(inputOf(), engine)).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
    const store = await open({ semantic: { embedder: wordEmbedder('other-16', 16) } }, engine)
    await expectSound(store)
    for (let at = 0; at < 8; at++) {
      expect(await store.getText(`key ${at}`)).toBe(sentence(at % 4, Math.floor(at / 4)))
    }
    expect(await store.explain('key 5')).toMatchObject({ embedder: 'other-16', threshold: 0.7 })
  })

  it('refuses to open a store on its way, and goes on where it was cut off', async () => {
    const engine = new MemoryEngine()
    const first = await open(inputOf(), engine)
    for (let at = 0; at < 6; at++)
      await first.put(`key ${at}`, sentence(at % 3, Math.floor(at / 3)))
    await first.close()
    for (let runsMax = 1; ; runsMax++) {
      let runs = 0
      const inner = new MemoryBackend({}, engine)
      const cutOff = new Proxy(inner, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target)
          if (typeof member !== 'function') return member
          return (...args: unknown[]) => {
            if (name === 'run' && ++runs > runsMax) throw new Error('killed')
            return Reflect.apply(member, target, args)
          }
        },
      })
      const embedder = wordEmbedder('other-16', 16)
      const end = await reembedStore(cutOff, { embedder }).catch((error: unknown) => String(error))
      if (typeof end === 'object') break
      expect(end).toContain('killed')
      const [opening] = await Promise.allSettled([
        openStore(new MemoryBackend({}, engine), { create: undefined }),
      ])
      if (opening?.status === 'rejected')
        expect(String(opening.reason)).toContain('prestige reembed')
    }
    const store = await open({ semantic: { embedder: wordEmbedder('other-16', 16) } }, engine)
    await expectSound(store)
    expect(await store.stats()).toMatchObject({ keys: 6, contents: 6 })
  })

  it('is refused to a store that compares no meanings', async () => {
    const store = new MemoryBackend()
    await (await openStore(new MemoryBackend())).close()
    await expect(reembedStore(store, { embedder: wordEmbedder() })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })
})

describe('a hybrid store whose embedder fails', () => {
  it('deletes all the same, and compares what is left when it can', async () => {
    const engine = new MemoryEngine()
    const near = textOf(1)
    const hybrid = { dedup: 'hybrid', near: { threshold: 0.85 } } as const
    const store = await open(inputOf({}, hybrid), engine)
    await store.put('one', near)
    await store.put('two', edited(near, 1))
    const embed = () => Promise.reject(new Error('out of memory'))
    const failing = await open(inputOf({ embedder: { ...wordEmbedder(), embed } }, hybrid), engine)
    expect(await failing.delete('one')).toBe(true)
    expect((await failing.verify()).notes).toEqual([expect.stringContaining('wait to be compared')])
    expect(await failing.stats()).toMatchObject({ semantic: { representatives: 0 } })
    await store.collect()
    expect(await store.stats()).toMatchObject({ semantic: { representatives: 1 } })
    await expectSound(store)
  })
})

describe('verify', () => {
  const damage = (engine: MemoryEngine, body: (scope: Scope) => void) =>
    new MemoryBackend({}, engine).run(function* (scope: Scope) {
      body(scope)
    })

  it('finds and mends links and vectors that are gone', async () => {
    const engine = new MemoryEngine()
    const store = await open(inputOf(), engine)
    await store.put('a', A)
    await store.put('b', A_ONE)
    await store.put('c', OTHER)
    const id = Buffer.from((await store.explain('a'))!.points.content, 'hex')
    await damage(engine, (scope) => scope.remove(cell(semanticLinks.links, id)))
    const found = await store.verify()
    expect(found.problems.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['link-missing', 'link-orphaned']),
    )
    expect((await store.verify({ repair: true })).isSound).toBe(true)
    await expectSound(store)
    expect(await store.put('d', A_TWO)).toMatchObject({ content: 'linked' })
  })

  const found = (id: Buffer, to: Buffer) => ({ id, to, reverse: Buffer.concat([to, id]) })
  type Found = ReturnType<typeof found>

  it.each<[string, readonly string[], (scope: Scope, found: Found, link: SemanticLink) => void]>([
    [
      'a reverse row that is gone',
      ['linked-missing'],
      (scope, { reverse }) => scope.remove(cell(semanticLinks.linked, reverse)),
    ],
    [
      'a reverse row of what is not linked',
      ['row-unaccounted'],
      (scope, { to }) =>
        scope.write(
          cell(semanticLinks.linked, Buffer.concat([to, Buffer.alloc(16, 9)])),
          Buffer.alloc(32),
        ),
    ],
    [
      'a link of a content that is gone',
      ['row-unaccounted', 'tallies-wrong'],
      (scope, _found, link) =>
        scope.write(cell(semanticLinks.links, Buffer.alloc(16, 9)), { ...link, to: undefined }),
    ],
    [
      'another similarity than that of the vectors',
      ['link-wrong'],
      (scope, { id }, link) =>
        scope.write(cell(semanticLinks.links, id), {
          ...link,
          to: { ...link.to!, similarity: 0.999 },
        }),
    ],
    [
      'another length',
      ['link-wrong'],
      (scope, { id }, link) =>
        scope.write(cell(semanticLinks.links, id), { ...link, bytes: link.bytes + 1 }),
    ],
    [
      'the tally of links',
      ['tallies-wrong'],
      (scope) => scope.add(cell(semanticLinks.tallies, Buffer.from('links')), 3),
    ],
    [
      'the tally of representatives',
      ['tallies-wrong'],
      (scope) => scope.add(cell(semanticLinks.tallies, Buffer.from('representatives')), -1),
    ],
    [
      'a representative without its link and its reverse rows',
      ['link-missing', 'linked-missing', 'row-unaccounted', 'tallies-wrong'],
      (scope, { to, reverse }) => {
        scope.remove(cell(semanticLinks.links, to))
        scope.remove(cell(semanticLinks.linked, reverse))
      },
    ],
  ])('finds and mends %s', async (_name, kinds, change) => {
    const engine = new MemoryEngine()
    const store = await open(inputOf(), engine)
    await store.put('a', A)
    await store.put('b', A_ONE)
    await store.put('c', OTHER)
    const idOf = async (key: string) =>
      Buffer.from((await store.explain(key))!.points.content, 'hex')
    const rowsFound = found(await idOf('b'), await idOf('a'))
    await new MemoryBackend({}, engine).run(function* (scope: Scope) {
      const [link] = yield* read(cell(semanticLinks.links, rowsFound.id))
      change(scope, rowsFound, link!)
    })
    const { problems } = await store.verify()
    expect(new Set(problems.map(({ kind }) => kind))).toEqual(new Set(kinds))
    expect((await store.verify({ repair: true })).isSound).toBe(true)
    expect((await store.verify()).problems).toEqual([])
    expect(await store.stats()).toMatchObject({ semantic: { links: 1, representatives: 2 } })
    await expectSound(store)
  })

  it('reports and mends whatever row is damaged', async () => {
    for (const space of semanticStoreSpaces) {
      if (space.kind === 'tallies') continue
      const raw = rows(
        space.name,
        { encode: (bytes: Uint8Array) => bytes, decode: (bytes) => bytes },
        { ordered: space.ordered },
      )
      const engine = new MemoryEngine()
      const store = await open(inputOf(), engine)
      for (const [at, text] of [A, A_ONE, A_TWO, OTHER, '!'].entries())
        await store.put(`key ${at}`, text)
      const keys: Buffer[] = space.ordered ? [] : [Buffer.from('journal')]
      if (space.ordered) {
        for await (const { key } of new MemoryBackend({}, engine).scan(raw)) keys.push(key)
      }
      for (const key of keys) {
        await damage(engine, (scope) => scope.write(cell(raw, key), Buffer.of(0xee, 1, 2)))
        const name = `${space.name} ${key.toString('hex')}`
        expect((await store.verify()).problemCount, name).toBeGreaterThan(0)
        const repaired = await store.verify({ repair: true })
        expect(
          repaired.problems.filter((problem) => !problem.repaired),
          name,
        ).toEqual([])
        expect((await store.verify()).problems, name).toEqual([])
        for (const [at, text] of [A, A_ONE, A_TWO, OTHER, '!'].entries()) {
          expect(await store.getText(`key ${at}`)).toBe(text)
        }
        expect(await store.stats()).toMatchObject({ semantic: { links: 2, representatives: 2 } })
        expect(await store.put('probe', sentence(2, 9)), name).toMatchObject({ content: 'linked' })
        await store.delete('probe')
      }
    }
  })

  it('embeds again what lost its vectors', async () => {
    const engine = new MemoryEngine()
    const embedder = wordEmbedder()
    const store = await open(inputOf({ embedder }), engine)
    await store.put('a', A)
    const keys: Buffer[] = []
    for await (const { key } of new MemoryBackend({}, engine).scan(semanticVectors)) keys.push(key)
    await damage(engine, (scope) => {
      for (const key of keys) scope.remove(cell(semanticVectors, key))
    })
    expect((await store.verify()).problems).toMatchObject([{ kind: 'vectors-missing' }])
    expect((await store.verify({ repair: true })).isSound).toBe(true)
    expect(embedder.asked).toEqual([A, A])
    await expectSound(store)
  })
})
