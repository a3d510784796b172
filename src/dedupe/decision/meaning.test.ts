/** The step of the cascade that compares meanings: what is linked, reported, kept, and undone. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, describe, expect, it } from 'vitest'

import { sentence, vectorOf, wordEmbedder } from '../../../test/texts/meanings.ts'
import { read } from '../../backends/index.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { SimulatedWorld } from '../../backends/simulated/backend.ts'
import { type Decision, type DedupeOptions, openDedupe } from '../../index.ts'
import { vectorCosine } from '../../semantic/index.ts'
import { SETTINGS } from '../state-settings.ts'
import { beginningOf } from './text-vectors.ts'

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

const OPTIONS = (): DedupeOptions => ({
  near: { enabled: false },
  semantic: { enabled: true, threshold: 0.8 },
  embedder: wordEmbedder(),
})

async function open(options: DedupeOptions = OPTIONS(), engine = new MemoryEngine()) {
  const deduper = await openDedupe(new MemoryBackend({}, engine), options)
  opened.push(() => deduper.close())
  return deduper
}

const A = sentence(1)
const A_ONE = sentence(1, 1)
const A_TWO = sentence(1, 2)

async function all(decisions: AsyncIterable<Decision>): Promise<Decision[]> {
  const found: Decision[] = []
  for await (const decision of decisions) found.push(decision)
  return found
}

const documents = (...texts: readonly string[]) => texts.map((text, at) => ({ id: `d${at}`, text }))

describe.each(['memory', 'simulated'] as const)('meanings in the cascade on %s', (engine) => {
  const openHere = async (options = OPTIONS()) => {
    if (engine === 'memory') return open(options)
    const deduper = await openDedupe(new SimulatedWorld(3).open('one'), options)
    opened.push(() => deduper.close())
    return deduper
  }

  it('are linked, never dropped; copies of what is linked are dropped as any', async () => {
    const deduper = await openHere()
    // One by one: an engine that is shared takes fewer rows at a time than a batch has.
    const decisions: Decision[] = []
    for (const document of documents(A, A_ONE, sentence(2), A_ONE, A, A_TWO)) {
      decisions.push(await deduper.decide(document))
    }
    expect(decisions.map(({ action, method, of }) => [action, method, of?.id])).toEqual([
      ['keep', undefined, undefined],
      ['link', 'semantic', 'd0'],
      ['keep', undefined, undefined],
      ['drop', 'exact', 'd1'],
      ['drop', 'exact', 'd0'],
      ['link', 'semantic', 'd0'],
    ])
    expect(decisions[1]).toMatchObject({
      similarity: vectorCosine(vectorOf(A), vectorOf(A_ONE)),
      threshold: 0.8,
    })
    expect(await deduper.look({ id: 'x', text: sentence(2, 1) })).toMatchObject({
      action: 'link',
      method: 'semantic',
      of: { id: 'd2' },
    })
  })
})

describe('meanings in the cascade', () => {
  it('are not compared unless that is asked for, and then need a threshold', async () => {
    const embedder = wordEmbedder()
    const deduper = await open({ near: { enabled: false }, embedder })
    const decisions = await all(deduper.dedupe(documents(A, A_ONE)))
    expect(decisions.map(({ action }) => action)).toEqual(['keep', 'keep'])
    expect(embedder.asked).toEqual([])
    await expect(open({ semantic: { enabled: true }, embedder })).rejects.toThrow(
      /threshold is missing.*prestige tune --semantic/,
    )
  })

  it('are kept apart by guards, and where a text is too long or has no word', async () => {
    const options = {
      ...OPTIONS(),
      semantic: { enabled: true, threshold: 0.8, textBytesMax: 200 },
    }
    const deduper = await open(options)
    const bill = (sum: string) => `the bill for the whole house comes to ${sum} euros`
    const long = `${sentence(3)} `.repeat(3)
    const texts = [bill('1,500'), bill('1,600'), long, `${long} more`, '!', '?']
    const decisions = await all(deduper.dedupe(documents(...texts)))
    expect(decisions.map(({ action }) => action)).toEqual(Array(6).fill('keep'))
  })

  it('come after near duplicates, which are dropped', async () => {
    const deduper = await open({ ...OPTIONS(), near: { threshold: 0.8, profile: 'words-5' } })
    const words = Array.from(
      { length: 60 },
      (_, at) => `word${'abcdefghij'[at % 10]}${'klmnopqrst'[Math.floor(at / 10)]}`,
    )
    const texts = [words.join(' '), [...words, 'end'].join(' '), words.toReversed().join(' ')]
    const decisions = await all(deduper.dedupe(documents(...texts)))
    expect(decisions.map(({ action, method }) => [action, method])).toEqual([
      ['keep', undefined],
      ['drop', 'near'],
      ['link', 'semantic'],
    ])
  })

  it('are of one embedder: a state refuses another by name', async () => {
    const engine = new MemoryEngine()
    const first = await open(OPTIONS(), engine)
    await first.decide({ id: 'a', text: 'One document is enough.' })
    const other = { ...OPTIONS(), embedder: wordEmbedder('other') }
    await expect(open(other, engine)).rejects.toMatchObject({ code: 'SETTINGS_MISMATCH' })
    await expect(open({ near: { enabled: false } }, engine)).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
    })
  })

  it('fail by name with the embedder, and nothing of the batch is kept', async () => {
    const engine = new MemoryEngine()
    let isDown = true
    const words = wordEmbedder()
    const embed: typeof words.embed = (texts, options) =>
      isDown ? Promise.reject(new Error('down')) : words.embed(texts, options)
    const deduper = await open({ ...OPTIONS(), embedder: { ...words, embed } }, engine)
    await expect(all(deduper.dedupe(documents(A, A_ONE)))).rejects.toThrow('down')
    isDown = false
    const decisions = await all(deduper.dedupe(documents(A, A_ONE)))
    expect(decisions.map(({ action }) => action)).toEqual(['keep', 'link'])
  })

  it('decide in the order of the input, however long a text takes', async () => {
    const words = wordEmbedder()
    let calls = 0
    const embed: typeof words.embed = async (texts, options) => {
      const wait = calls++ === 0 ? 50 : 0
      await new Promise((done) => setTimeout(done, wait))
      return words.embed(texts, options)
    }
    const deduper = await open({ ...OPTIONS(), embedder: { ...words, embed } })
    const texts = Array.from({ length: 96 }, (_, at) => sentence((at % 3) + 1, Math.floor(at / 3)))
    const decisions = await all(deduper.dedupe(documents(...texts)))
    expect(decisions.flatMap(({ action }, at) => (action === 'keep' ? [at] : []))).toEqual([
      0, 1, 2,
    ])
    expect(decisions.slice(3).every(({ of }, at) => of?.id === `d${at % 3}`)).toBe(true)
  })
})

describe('long texts', () => {
  /** Some 1,400 bytes: a beginning of its own, and an ending. */
  const long = (beginning: number, ending: number, variant = 0) =>
    [
      ...Array.from({ length: 8 }, (_, at) => sentence(beginning + at * 10)),
      ...Array.from({ length: 8 }, (_, at) => sentence(ending + at * 10, variant)),
    ].join('. ')

  const actionsOf = (decisions: readonly Decision[]) => decisions.map(({ action }) => action)

  it('are embedded whole only if they begin like another', async () => {
    const embedder = wordEmbedder()
    const deduper = await open({ ...OPTIONS(), embedder })
    const [first, other, like] = [long(1, 2), long(3, 4), long(1, 2, 1)]
    const before = await all(deduper.dedupe(documents(first, other)))
    expect(actionsOf(before)).toEqual(['keep', 'keep'])
    expect(embedder.asked.map((text) => Buffer.byteLength(text) <= 512)).toEqual([true, true])
    const decision = await deduper.decide({ id: 'like', text: like })
    expect(decision).toMatchObject({ action: 'link', method: 'semantic', of: { id: 'd0' } })
    expect(embedder.asked.slice(2)).toEqual([beginningOf(like, 512), like, first])
    expect(decision.similarity).toBe(vectorCosine(vectorOf(like), vectorOf(first)))
  })

  it('are compared to their end, in one batch as in several', async () => {
    const texts = [long(1, 2), long(1, 5), long(1, 2, 1), long(6, 2)]
    const together = await all((await open()).dedupe(documents(...texts)))
    const deduper = await open()
    const apart: Decision[] = []
    for (const document of documents(...texts)) apart.push(await deduper.decide(document))
    expect(actionsOf(together)).toEqual(['keep', 'keep', 'link', 'keep'])
    expect(together.map(({ similarity }) => similarity)).toEqual(
      apart.map(({ similarity }) => similarity),
    )
  })

  it('are not embedded at all if they are duplicates', async () => {
    const embedder = wordEmbedder()
    const deduper = await open({ ...OPTIONS(), near: { threshold: 0.8 }, embedder })
    await deduper.decide({ id: 'a', text: long(1, 2) })
    const count = embedder.asked.length
    const copies = documents(long(1, 2), `${long(1, 2)} end`)
    expect(actionsOf(await all(deduper.dedupe(copies)))).toEqual(['drop', 'drop'])
    expect(embedder.asked.slice(count)).toEqual([])
    // Its own text does not count: changed, it is compared with others only.
    expect(await deduper.decide({ id: 'a', text: `${long(1, 2)} end` })).toMatchObject({
      action: 'keep',
    })
  })

  it('are known by all their windows in states from before', async () => {
    const engine = new MemoryEngine()
    await (await open(OPTIONS(), engine)).close()
    await new MemoryBackend({}, engine).run(function* (scope) {
      const [settings] = yield* read(SETTINGS)
      const { headBytes: _, ...semantic } = Object(settings).semantic
      scope.write(SETTINGS, { ...Object(settings), semantic })
    })
    const embedder = wordEmbedder()
    const deduper = await open({ ...OPTIONS(), embedder }, engine)
    await deduper.decide({ id: 'a', text: long(1, 2) })
    expect(embedder.asked).toEqual([long(1, 2)])
    await deduper.close()
    const again = await open(OPTIONS(), engine)
    expect(actionsOf(await all(again.dedupe(documents(long(1, 2, 1), long(1, 5)))))).toEqual([
      'link',
      'keep',
    ])
  })

  it('begin with at most so many bytes, at a space or a character', () => {
    expect(beginningOf('short', 512)).toBe('short')
    expect(beginningOf('one two three', 9)).toBe('one two')
    expect(beginningOf('one two', 7)).toBe('one two')
    expect(beginningOf('新聞'.repeat(300), 10)).toBe('新聞新')
    expect(beginningOf('👋'.repeat(300), 10)).toBe('👋👋')
    expect(beginningOf('e\u0301'.repeat(300), 4)).toBe('e\u0301e')
    expect(beginningOf('', 4)).toBe('')
  })
})

describe('a job that compares meanings', () => {
  const LINES = [A, A_ONE, sentence(2), A_ONE].map((text, at) =>
    JSON.stringify({ id: `d${at}`, text }),
  )

  async function place() {
    const directory = await mkdtemp(join(tmpdir(), 'prestige-meaning-'))
    opened.push(() => rm(directory, { recursive: true }))
    const input = join(directory, 'input.jsonl')
    await writeFile(input, LINES.join('\n'))
    return { directory, input, out: join(directory, 'out') }
  }

  it.each([false, true])(
    'stops at once while texts are embedded, and goes on later (order independent: %s)',
    async (orderIndependent) => {
      const { input, out } = await place()
      const engine = new MemoryEngine()
      const stop = new AbortController()
      // It never answers, and pays no attention to the signal.
      const embed = () => {
        setTimeout(() => stop.abort(new Error('stopped by the user')), 10)
        return new Promise<never>(() => {})
      }
      const options = { ...OPTIONS(), orderIndependent }
      const stuck = await open({ ...options, embedder: { ...wordEmbedder(), embed } }, engine)
      const job = { inputs: [input], out, run: 'one' }
      const watcher = { signal: stop.signal }
      await expect(stuck.run({ ...job, watcher })).rejects.toThrow('stopped by the user')
      await stuck.close()
      const { summary } = await (await open(options, engine)).run(job)
      expect(summary).toMatchObject({ kept: 2, linked: 1, dropped: 1 })
    },
  )

  it('stops at once where it only looks, be it a stream or files', async () => {
    const { input, out } = await place()
    const stop = new AbortController()
    const embed = () => {
      setTimeout(() => stop.abort(new Error('stopped by the user')), 10)
      return new Promise<never>(() => {})
    }
    const deduper = await open({ ...OPTIONS(), embedder: { ...wordEmbedder(), embed } })
    const { signal } = stop
    const cleaned = deduper.clean({ inputs: [input], out, watcher: { signal } })
    await expect(cleaned).rejects.toThrow('stopped by the user')
    for (const against of [false, true]) {
      const again = new AbortController()
      setTimeout(() => again.abort(new Error('stopped again')), 10)
      const decisions = deduper.dedupe(documents(A), { signal: again.signal, against })
      await expect(all(decisions)).rejects.toThrow('stopped again')
    }
  })

  it.each([false, true])(
    'plans, runs, tells and takes back (order independent: %s)',
    async (orderIndependent) => {
      const { input, out } = await place()
      const deduper = await open({ ...OPTIONS(), orderIndependent })
      const planned = await deduper.plan({ inputs: [input], out })
      const expected = { kept: 2, linked: 1, dropped: 1, linkedByMethod: { semantic: 1 } }
      expect(planned.summary).toMatchObject(expected)
      const done = await deduper.run({ inputs: [input], out, run: 'one' })
      expect(done.summary).toMatchObject(expected)
      const duplicates = await readFile(join(out, 'duplicates.jsonl'), 'utf8')
      expect(duplicates).toContain('"semantic"')
      await deduper.undo('one')
      const again = await deduper.run({ inputs: [input], out: `${out}-2`, run: 'two' })
      expect(again.summary).toMatchObject(expected)
    },
  )
})
