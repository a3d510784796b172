/** What the corpus job promises, each promise against the fault that it forbids. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, describe, expect, it } from 'vitest'

import {
  type Decision,
  dedupe,
  type DedupeOptions,
  type DocumentLike,
  openDedupe,
} from '../src/index.ts'
import { randomWords } from '../src/fingerprint/mix.ts'
import { corpus, jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'
import { shuffled } from './table-model.ts'
import { articlesOf, canTestArticles, plantedPairs } from './texts/real-texts.ts'

const made: string[] = []
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true })
})
function place(files: Record<string, string>): string {
  const directory = mkdtempSync(join(tmpdir(), 'prestige-corpus-'))
  made.push(directory)
  writeFiles(directory, files)
  return directory
}

async function decide(documents: DocumentLike[], options: DedupeOptions = {}): Promise<Decision[]> {
  const decisions: Decision[] = []
  for await (const decision of dedupe(documents, options)) decisions.push(decision)
  return decisions
}

async function job(directory: string, options: DedupeOptions = {}, out = 'out') {
  const deduper = await openDedupe('memory:', options)
  const fields = { source: 'source', type: 'type' }
  const inputs = [join(directory, '*.jsonl')]
  try {
    return await deduper.run({ inputs, out: join(directory, out), reading: { fields } })
  } finally {
    await deduper.close()
  }
}

describe('who survives', () => {
  const text = textMaker(1)()
  const keep = { keep: ['source' as const], sourcePriority: ['wiki', 'web'] }

  it('is decided by the whole name of a source, never by a part of it', async () => {
    const [, second] = await decide(
      [
        { id: 'a', source: 'web', text },
        { id: 'b', source: 'notwikipedia', text },
      ],
      keep,
    )
    expect(second).toMatchObject({ action: 'drop', of: { id: 'a' } })
  })

  it('evicts the lower copy when a better one comes: never are both kept', async () => {
    const directory = place({
      'a.jsonl': jsonl([{ id: 'low', source: 'web', text }]),
      'b.jsonl': jsonl([{ id: 'high', source: 'wiki', text }]),
    })
    const { summary } = await job(directory, keep)
    expect(summary).toMatchObject({ kept: 1, dropped: 1, superseded: 1 })
    expect(readFileSync(join(directory, 'out/kept/a.jsonl'), 'utf8')).toBe('')
    expect(linesOf(join(directory, 'out/kept/b.jsonl'))).toMatchObject([{ id: 'high' }])
    const [line] = linesOf(join(directory, 'out/duplicates.jsonl'))
    expect(line).toMatchObject({ id: 'low', action: 'superseded', of: { id: 'high' } })
  })

  it('may be said by a function of what is known of both copies', async () => {
    const shortest = (one: { bytes: number }, other: { bytes: number }) => one.bytes - other.bytes
    const near = [
      { id: 'long', text: `${text} and a little more` },
      { id: 'short', text },
      { id: 'middle', text: `${text} and` },
    ]
    const decisions = await decide(near, { keep: shortest })
    expect(decisions.map(({ action }) => action)).toEqual(['keep', 'keep', 'drop'])
    expect(decisions[1]).toMatchObject({ supersedes: [{ id: 'long' }] })
    expect(decisions[2]).toMatchObject({ of: { id: 'short' } })
    const both = openDedupe('memory:', { keep: shortest, orderIndependent: true })
    await expect(both).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('is the same in whatever order documents come, where that is asked for', async () => {
    const docs = corpus(120).map(({ id, text: own }, at) => ({
      id,
      text: own,
      source: at % 3 === 0 ? 'wiki' : 'web',
    }))
    const options = {
      ...keep,
      keep: ['source' as const, 'longest' as const],
      orderIndependent: true,
    }
    const survivors = new Set<string>()
    for (let seed = 1; seed <= 20; seed++) {
      const order = shuffled(docs.length, randomWords(seed)).map((at) => docs[at])
      const directory = place({
        'a.jsonl': jsonl(order.slice(0, 50)),
        'b.jsonl': jsonl(order.slice(50)),
      })
      await job(directory, options)
      const kept = ['a', 'b'].flatMap((name) => linesOf(join(directory, `out/kept/${name}.jsonl`)))
      survivors.add(
        kept
          .map(({ id }) => String(id))
          .toSorted()
          .join(' '),
      )
    }
    expect(survivors.size).toBe(1)
  })
})

describe('what is counted', () => {
  it('is every collision between sources, also that of a new document with an old one', async () => {
    const text = textMaker(2)()
    const directory = place({
      'all.jsonl': jsonl([
        { id: 1, source: 'books', text },
        { id: 2, source: 'web', text },
        { id: 3, source: 'web', text },
      ]),
    })
    expect((await job(directory)).summary.crossSource).toBe(2)
  })

  it('is every document, the linked ones too', async () => {
    const text = textMaker(3)
    const passage = text(400)
    const directory = place({
      'all.jsonl': jsonl([
        { id: 1, text: passage },
        { id: 2, text: `${text(300)} ${passage}` },
        { id: 3, text: passage },
      ]),
    })
    const { summary } = await job(directory, { chunks: { enabled: true } })
    expect(summary).toMatchObject({ documents: 3, kept: 1, linked: 1, dropped: 1 })
    expect(summary.linkedByMethod).toEqual({ chunk: 1 })
    expect(summary.droppedByMethod).toEqual({ exact: 1 })
  })

  it('includes what could not be read: no error is swallowed', async () => {
    const directory = place({ 'all.jsonl': `{"text": "one"}\n{"text":\n{"other": 1}\n` })
    const { summary } = await job(directory)
    expect(summary).toMatchObject({ documents: 1, rejected: 2 })
    expect(linesOf(join(directory, 'out/rejects.jsonl'))).toHaveLength(2)
  })
})

describe('what is remembered', () => {
  it('is found again by another process, near duplicates and all', async () => {
    const directory = place({})
    const [state, text] = [join(directory, 'state'), textMaker(4)()]
    const first = await openDedupe(state, { simhash: { enabled: true } })
    await first.decide({ id: 'old', text })
    await first.close()
    const second = await openDedupe(state, { simhash: { enabled: true } })
    expect(await second.look({ id: 'new', text: `${text} more` })).toMatchObject({
      action: 'drop',
      of: { id: 'old' },
    })
    await second.close()
  })

  it('is every document of one fingerprint: a second one overwrites none', async () => {
    const text = textMaker(5)()
    const opened = await openDedupe('memory:')
    for (const id of ['a', 'b', 'c']) await opened.decide({ id, text })
    expect(await opened.look({ id: 'd', text })).toMatchObject({ of: { id: 'a' } })
    expect(await opened.decide({ id: 'b', text })).toMatchObject({ isKnown: true, of: { id: 'a' } })
    await opened.close()
  })

  it('is nothing of what was only looked at, and nothing of a run that was undone', async () => {
    const text = textMaker(6)()
    const opened = await openDedupe('memory:')
    await opened.look({ id: 'a', text })
    expect(await opened.look({ id: 'b', text })).toMatchObject({ action: 'keep' })
    await opened.decide({ id: 'a', text }, 'tuesday')
    expect(await opened.look({ id: 'b', text })).toMatchObject({ action: 'drop' })
    expect(await opened.undo('tuesday')).toMatchObject([{ run: 'tuesday', documents: 1 }])
    expect(await opened.look({ id: 'b', text })).toMatchObject({ action: 'keep' })
    await opened.close()
  })

  it('is told again to who asks again, and the same document is not taken twice in a stream', async () => {
    const text = textMaker(7)()
    const opened = await openDedupe('memory:')
    expect(await opened.decide({ id: 'a', text })).toMatchObject({ action: 'keep' })
    expect(await opened.decide({ id: 'a', text })).toMatchObject({ action: 'keep', isKnown: true })
    const told: string[] = []
    for await (const { action } of opened.dedupe([
      { id: 'a', text },
      { id: 'a', text },
    ]))
      told.push(action)
    expect(told).toEqual(['keep', 'drop'])
    await opened.close()
  })

  it('is a very long document too: it stops no run, and its copies are found', async () => {
    const text = textMaker(12)(700_000)
    const opened = await openDedupe(join(place({}), 'state'), { durability: 'os' })
    await opened.decide({ id: 'long', text })
    const near = await opened.decide({ id: 'longer', text: `${text} and a tail` })
    expect(near).toMatchObject({ action: 'drop', method: 'near', of: { id: 'long' } })
    await opened.close()
  })

  it('is refused to other fingerprints by name, never silently missed', async () => {
    const state = join(place({}), 'state')
    await (await openDedupe(state, { near: { threshold: 0.6 } })).close()
    // Nothing was made with those settings yet.
    const opened = await openDedupe(state, {})
    await opened.decide({ id: 'a', text: 'One document is enough.' })
    await opened.close()
    const other = openDedupe(state, { near: { threshold: 0.5 } })
    await expect(other).rejects.toMatchObject({
      code: 'SETTINGS_MISMATCH',
      message:
        'The state was written with other settings: near.threshold is 0.8 there, and 0.5 was asked for. ' +
        'Give the stored values to continue with this state, or name another state.',
    })
    await expect(openDedupe(state, { near: { enabled: false } })).rejects.toThrow(
      'near is on there, and off was asked for',
    )
  })
})

describe('texts of other scripts', () => {
  it('are no duplicates of each other for having no Latin letters', async () => {
    const texts = [
      'नमस्ते दुनिया यह पहला लेख है',
      '今天天气很好我们去公园',
      'Съешь ещё этих булок',
      '…',
      '!!!',
    ]
    const decisions = await decide(
      texts.map((text, at) => ({ id: String(at), text })),
      { simhash: { enabled: true } },
    )
    expect(decisions.every(({ action }) => action === 'keep')).toBe(true)
  })
})

describe('passages', () => {
  it('are found behind an inserted character, and linked, never dropped', async () => {
    const passage = textMaker(8)(500)
    const [, second] = await decide(
      [
        { id: 'a', text: passage },
        { id: 'b', text: `x${textMaker(9)(500)} ${passage}` },
      ],
      { chunks: { enabled: true } },
    )
    expect(second).toMatchObject({ action: 'link', method: 'chunk', of: { id: 'a' } })
    const shared = second!.spans!.reduce((sum, { start, end }) => sum + end - start, 0)
    expect(shared).toBeGreaterThan(passage.length * 0.7)
  })
})

describe('clusters', () => {
  it('are stars: every member was measured against the centre, and none came by a chain', async () => {
    const words = textMaker(10)(100).split(' ')
    const fresh = textMaker(11)(400).split(' ')
    const docs = Array.from({ length: 8 }, (_, step) => {
      const changed = words.map((word, at) => (at < step * 6 ? (fresh[at] ?? word) : word))
      return { id: String(step), text: changed.join(' ') }
    })
    const decisions = await decide(docs, { near: { threshold: 0.8, profile: 'words-1' } })
    for (const { similarity, action } of decisions) {
      if (action === 'drop') expect(similarity).toBeGreaterThanOrEqual(0.8)
    }
    expect(decisions.filter(({ action }) => action === 'keep').length).toBeGreaterThan(2)
  })
})

describe.skipIf(!canTestArticles())('labelled articles', () => {
  it.each([100, 1000] as const)(
    '%i: all planted pairs are found, and nothing else is dropped',
    async (count) => {
      const articles = articlesOf(count)
      const found = (await decide(articles))
        .filter(({ action }) => action === 'drop')
        .map(({ id, of }) => [id, of!.id].toSorted().join(' '))
      expect(found.toSorted()).toEqual(plantedPairs(count))
    },
  )
})
