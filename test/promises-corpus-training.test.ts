/**
 * What those who feed models were promised elsewhere and did not get: one answer whatever the workers, the same answer
 * in every epoch, contamination that is never overlooked in silence, and options that do something.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { type Backend, cell, type Scope, type Transaction } from '../src/backends/contract.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { dedupeSpaces, documents } from '../src/dedupe/rows.ts'
import {
  type Decision,
  type DedupeOptions,
  type DocumentLike,
  openDedupe,
  PrestigeError,
} from '../src/index.ts'
import { randomWords } from '../src/fingerprint/mix.ts'
import { corpus, jsonl, linesOf, published, textMaker, writeFiles } from './corpus-kit.ts'
import { shuffled } from './table-model.ts'
import { articlesOf, canTestArticles, plantedPairs } from './texts/real-texts.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-training-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)

async function all(decisions: AsyncIterable<Decision>): Promise<Decision[]> {
  const found: Decision[] = []
  for await (const decision of decisions) found.push(decision)
  return found
}

async function rowsOf(backend: Backend): Promise<string[]> {
  const rows: string[] = []
  for (const space of dedupeSpaces) {
    if (!space.ordered) continue
    for await (const { key, value } of backend.scan(space)) {
      rows.push(`${space.name} ${key.toString('hex')} ${JSON.stringify(value)}`)
    }
  }
  return rows
}

describe('workers (W39)', () => {
  it('share what they have seen: any number of them gives what one gives', async () => {
    // Every copy is in another file than what it is a copy of.
    const docs = corpus(600)
    const files = Array.from({ length: 6 }, (_, n) => docs.filter((_doc, place) => place % 6 === n))
    writeFiles(at('in'), Object.fromEntries(files.map((part, n) => [`${n}.jsonl`, jsonl(part)])))
    const outcomes: Record<string, string>[] = []
    for (const threads of [0, 1, 3]) {
      const deduper = await openDedupe('memory:')
      const out = at(`out-${threads}`)
      await deduper.run({ inputs: [at('in')], out, watcher: { threads } })
      await deduper.close()
      outcomes.push(published(out))
    }
    expect(outcomes[1]).toEqual(outcomes[0])
    expect(outcomes[2]).toEqual(outcomes[0])
    expect(linesOf(at('out-0/duplicates.jsonl'))).not.toEqual([])
  })
})

describe('epochs (W40)', () => {
  it('are all alike: what was kept in the first is kept in every one', async () => {
    const docs = corpus(80)
    const deduper = await openDedupe('memory:')
    const actions = async () =>
      (await all(deduper.dedupe(docs))).map(({ id, action }) => `${id} ${action}`)
    const first = await actions()
    expect(first.filter((one) => one.endsWith('keep')).length).toBeGreaterThan(40)
    expect(first.filter((one) => one.endsWith('drop')).length).toBeGreaterThan(10)
    for (let epoch = 2; epoch < 5; epoch++) expect(await actions()).toEqual(first)
    await deduper.close()
  })

  it('are alike in another order, and after a restart', async () => {
    const docs = corpus(80)
    const kept: string[][] = []
    for (let epoch = 0; epoch < 3; epoch++) {
      const deduper = await openDedupe(at('state'), { durability: 'os' })
      const order = shuffled(docs.length, randomWords(epoch + 1)).map((place) => docs[place]!)
      const decisions = await all(deduper.dedupe(order))
      kept.push(
        decisions
          .filter(({ action }) => action === 'keep')
          .map(({ id }) => id)
          .toSorted(),
      )
      await deduper.close()
    }
    expect(kept[1]).toEqual(kept[0])
    expect(kept[2]).toEqual(kept[0])
  })
})

describe('contamination (W41, W46)', () => {
  const text = textMaker(51)
  const [question, passage] = [text(), text(300)]
  const reference = [
    { id: 'q1', text: question },
    { id: 'q2', text: passage },
  ]
  const chunks = { chunks: { enabled: true } }

  it('is never overlooked because a read failed: that is an error, and nothing is published', async () => {
    const backend = new MemoryBackend({}, new MemoryEngine())
    const deduper = await openDedupe(backend, chunks)
    await all(deduper.dedupe(reference))
    writeFiles(at('in'), { 'train.jsonl': jsonl([{ id: 't', text: question }]) })
    const read = backend.read.bind(backend)
    backend.read = async () => {
      throw new PrestigeError('BACKEND_UNAVAILABLE', 'The network is down.')
    }
    const down = { code: 'BACKEND_UNAVAILABLE' }
    await expect(deduper.look({ id: 't', text: question })).rejects.toMatchObject(down)
    await expect(deduper.clean({ inputs: [at('in')], out: at('out') })).rejects.toMatchObject(down)
    expect(published(at('out'))).toEqual({})
    backend.read = read
    const { summary } = await deduper.clean({ inputs: [at('in')], out: at('out') })
    expect(summary).toMatchObject({ dropped: 1 })
    await deduper.close()
  })

  it('is looked for without a trace in the reference', async () => {
    const backend = new MemoryBackend({}, new MemoryEngine())
    const deduper = await openDedupe(backend, chunks)
    await all(deduper.dedupe(reference))
    const before = await rowsOf(backend)
    writeFiles(at('in'), { 'train.jsonl': jsonl([...reference, ...corpus(40)]) })
    await deduper.clean({ inputs: [at('in')], out: at('out') })
    await all(deduper.dedupe(corpus(10), { against: true }))
    expect(await rowsOf(backend)).toEqual(before)
    await deduper.close()
  })

  it('has a reference of its own: none is shared that was not named', async () => {
    const [one, other] = [await openDedupe('memory:'), await openDedupe('memory:')]
    await one.decide({ id: 'q1', text: question })
    expect(await other.look({ id: 't', text: question })).toMatchObject({ action: 'keep' })
    await one.close()
    await other.close()
  })

  it('is told with what, how, how similar and where: whole, nearly, or a passage within', async () => {
    const deduper = await openDedupe('memory:', chunks)
    await all(deduper.dedupe(reference))
    const filler = text(300)
    const train: DocumentLike[] = [
      { id: 'same', text: question },
      { id: 'case', text: question.toUpperCase() },
      { id: 'near', text: `${question} indeed` },
      { id: 'part', text: `${filler} ${passage} ${text(300)}` },
      { id: 'none', text: text() },
    ]
    const told = await all(deduper.dedupe(train, { against: true }))
    expect(told).toMatchObject([
      { action: 'drop', method: 'exact', of: { id: 'q1' }, similarity: 1 },
      { action: 'drop', method: 'canonical', of: { id: 'q1' }, similarity: 1 },
      { action: 'drop', method: 'near', of: { id: 'q1' }, threshold: 0.8 },
      { action: 'link', method: 'chunk', of: { id: 'q2' } },
      { action: 'keep' },
    ])
    expect(told[2]!.similarity).toBeGreaterThan(0.8)
    const [span] = told[3]!.spans!
    expect(span!.start).toBeGreaterThanOrEqual(filler.length - 300)
    expect(span!.end).toBeLessThanOrEqual(filler.length + passage.length + 300)
    await deduper.close()
  })
})

describe('options (W44)', () => {
  const text = textMaker(61)()
  const copies = [
    { id: 'first', source: 'c', type: 'z', text, time: 1, quality: 1 },
    { id: 'longest', source: 'c', type: 'z', text: `${text} and more`, time: 1, quality: 1 },
    { id: 'newest', source: 'c', type: 'z', text, time: 9, quality: 1 },
    { id: 'quality', source: 'c', type: 'z', text, time: 1, quality: 9 },
    { id: 'source', source: 'a', type: 'z', text, time: 1, quality: 1 },
    { id: 'type', source: 'c', type: 'x', text, time: 1, quality: 1 },
  ]
  const lists = { sourcePriority: ['a', 'b'], typePriority: ['x', 'y'] }

  it.each(['first', 'longest', 'newest', 'quality', 'source', 'type'] as const)(
    'keep: %s decides who survives',
    async (rule) => {
      const deduper = await openDedupe('memory:', { ...lists, keep: [rule] })
      for (const document of copies) await deduper.decide(document)
      const known = await Promise.all(copies.map((document) => deduper.decide(document)))
      expect(known.filter(({ action }) => action === 'keep').map(({ id }) => id)).toEqual([rule])
      await deduper.close()
    },
  )

  const near = { id: 'near', text: `${text} indeed` }
  const upper = { id: 'upper', text: text.toUpperCase() }
  it.each([
    ['near.enabled', near, { near: { enabled: false } }, 'keep'],
    ['near.threshold', near, { near: { threshold: 0.999 } }, 'keep'],
    ['near.action', near, { near: { action: 'link' } }, 'link'],
    [
      'canonical.enabled',
      upper,
      { canonical: { enabled: false }, near: { enabled: false } },
      'keep',
    ],
    [
      'canonical.profile',
      upper,
      { canonical: { profile: 'none' }, near: { enabled: false } },
      'keep',
    ],
    ['canonical.action', upper, { canonical: { action: 'link' } }, 'link'],
    ['exact.action', { id: 'exact', text }, { exact: { action: 'link' } }, 'link'],
  ] as [string, DocumentLike, DedupeOptions, string][])(
    '%s does what it says',
    async (_, document, options, action) => {
      const plain = await openDedupe('memory:')
      await plain.decide({ id: 'a', text })
      expect((await plain.look(document)).action).toBe('drop')
      await plain.close()
      const deduper = await openDedupe('memory:', options)
      await deduper.decide({ id: 'a', text })
      expect((await deduper.look(document)).action).toBe(action)
      await deduper.close()
    },
  )

  it('simhash.enabled finds what no other step looks for', async () => {
    const long = textMaker(62)(5000)
    for (const enabled of [true, false]) {
      const options = { simhash: { enabled }, near: { enabled: false } }
      const deduper = await openDedupe('memory:', options)
      await deduper.decide({ id: 'a', text: long })
      const found = await deduper.look({ id: 'b', text: `${long} indeed` })
      expect(found.method).toBe(enabled ? 'simhash' : undefined)
      await deduper.close()
    }
  })

  it.each([
    ['an unknown name', { keepFirst: true }],
    ['an unknown name within', { near: { similarity: 0.5 } }],
    ['a rule that is none', { keep: ['best'] }],
    ['a distance that the index cannot serve', { simhash: { enabled: true, distanceMax: 4 } }],
    ['a distance below none', { simhash: { distanceMax: -1 } }],
    ['a share beyond all', { maxDrop: 2 }],
  ])('%s is refused by name', async (_, options) => {
    const opened = openDedupe('memory:', options as DedupeOptions)
    await expect(opened).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

describe('a state', () => {
  it('that is damaged is an error, never forgotten or passed over', async () => {
    const engine = new MemoryEngine()
    const deduper = await openDedupe(new MemoryBackend({}, engine))
    const text = textMaker(71)()
    const { cluster: _none, ...first } = await deduper.decide({ id: 'a', text })
    expect(first.action).toBe('keep')
    const damaged = new MemoryBackend({}, engine)
    for await (const { key } of new MemoryBackend({}, engine).scan(documents)) {
      await damaged.run(function* (scope: Scope): Transaction<void> {
        const raw = { ...documents, codec: { encode: (bytes: Buffer) => bytes, decode: () => '' } }
        scope.write(cell(raw as never, key), Buffer.from('damaged'))
      })
    }
    const corrupt = { code: 'CONTENT_CORRUPT' }
    await expect(deduper.decide({ id: 'a', text })).rejects.toMatchObject(corrupt)
    await expect(deduper.look({ id: 'b', text })).rejects.toMatchObject(corrupt)
    await deduper.close()
  })

  it('takes as many rows for the thousandth document as for the tenth', async () => {
    const backend = new MemoryBackend({}, new MemoryEngine())
    const deduper = await openDedupe(backend, { simhash: { enabled: true } })
    const counts: number[] = []
    const run = backend.run.bind(backend)
    let writes = 0
    backend.run = (body, ...args) =>
      run(
        (scope, ...given) => {
          const write = scope.write.bind(scope)
          scope.write = (...one) => {
            writes++
            write(...one)
          }
          return body(scope, ...given)
        },
        ...args,
      )
    for (const { id, text } of corpus(1000)) {
      writes = 0
      await deduper.decide({ id, text })
      counts.push(writes)
    }
    const most = (from: number) => Math.max(...counts.slice(from, from + 50))
    expect(most(950)).toBeLessThanOrEqual(most(10))
    await deduper.close()
  })

  it('finds a text with a character inserted at its beginning', async () => {
    const deduper = await openDedupe('memory:')
    for (const profile of [
      textMaker(81)(),
      '今天天气很好'.repeat(3) + '我们一起去公园散步然后回家吃饭看书',
    ]) {
      await deduper.decide({ id: profile.slice(0, 9), text: profile })
      const shifted = await deduper.look({ id: 'x', text: `x${profile}` })
      expect(shifted).toMatchObject({ action: 'drop', method: 'near' })
    }
    await deduper.close()
  })
})

describe.skipIf(!canTestArticles())('labelled articles, as a job', () => {
  const ways: [100 | 1000, DedupeOptions][] = [
    [100, {}],
    [1000, {}],
    [1000, { orderIndependent: true, keep: ['longest'] }],
  ]
  it.each(ways)(
    '%i with %j: exactly one of every planted pair is dropped',
    async (count, options) => {
      const articles = articlesOf(count)
      writeFiles(at('in'), { 'a.jsonl': jsonl(articles) })
      const deduper = await openDedupe('memory:', options)
      const job = { inputs: [at('in')], out: at('out') }
      const plan = await deduper.plan({ ...job, file: at('plan.jsonl') })
      const { summary } = await deduper.run({ ...job, run: 'once' })
      const lines = linesOf(at('out/duplicates.jsonl'))
      const pairs = lines.map(({ id, of }) => [String(id), String(of.id)].toSorted().join(' '))
      expect(pairs.toSorted()).toEqual(plantedPairs(count))
      const dropped = new Set(lines.map(({ id }) => id))
      const kept = articles.filter(({ id }) => !dropped.has(id))
      expect(readFileSync(at('out/kept/a.jsonl'), 'utf8')).toBe(jsonl(kept))
      // A plan is the run, and a run that is undone can be made again.
      expect(plan.summary).toEqual(summary)
      expect(linesOf(at('plan.jsonl'))).toEqual(lines)
      const before = published(at('out'))
      await deduper.undo('once')
      rmSync(at('out'), { recursive: true })
      await deduper.run({ ...job, run: 'once' })
      expect(published(at('out'))).toEqual(before)
      await deduper.close()
    },
  )

  it('have the same survivors in twenty orders', async () => {
    const articles = articlesOf(100)
    const survivors = new Set<string>()
    for (let seed = 1; seed <= 20; seed++) {
      const order = shuffled(articles.length, randomWords(seed)).map((place) => articles[place]!)
      const half = seed * 4
      rmSync(at('out'), { recursive: true, force: true })
      writeFiles(at('in'), {
        'a.jsonl': jsonl(order.slice(0, half)),
        'b.jsonl': jsonl(order.slice(half)),
      })
      const deduper = await openDedupe('memory:', { orderIndependent: true, keep: ['longest'] })
      await deduper.run({ inputs: [at('in')], out: at('out') })
      await deduper.close()
      const kept = ['a', 'b'].flatMap((name) => linesOf(at(`out/kept/${name}.jsonl`)))
      survivors.add(
        kept
          .map(({ id }) => String(id))
          .toSorted()
          .join(' '),
      )
      expect(kept).toHaveLength(articles.length - plantedPairs(100).length)
    }
    expect(survivors.size).toBe(1)
  })
})
