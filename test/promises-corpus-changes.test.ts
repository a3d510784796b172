/** What becomes of duplicates when the document that they were dropped for gets another text. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { type Deduper, type DedupeOptions, openDedupe } from '../src/index.ts'
import { jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'

const text = textMaker(31)
const [before, after] = [text(), text()]

let opened: Deduper
const open = async (options: DedupeOptions = {}) => (opened = await openDedupe('memory:', options))
afterEach(() => opened.close())

async function orphans(): Promise<string[]> {
  const found: string[] = []
  for await (const { id } of opened.orphans()) found.push(id)
  return found.toSorted()
}

describe('a document that others were dropped for', () => {
  it('says how many are left without a kept copy when its text changes, and they can be listed', async () => {
    await open()
    await opened.decide({ id: 'a', text: before })
    for (const id of ['b', 'c']) await opened.decide({ id, text: before })
    expect(await orphans()).toEqual([])
    expect(await opened.decide({ id: 'a', text: after })).toMatchObject({ orphaned: 2 })
    expect(await orphans()).toEqual(['b', 'c'])
  })

  it('leaves them to be decided about anew: one is kept, and the others are dropped for it', async () => {
    await open()
    for (const id of ['a', 'b', 'c']) await opened.decide({ id, text: before })
    await opened.decide({ id: 'a', text: after })
    expect(await opened.decide({ id: 'b', text: before })).toMatchObject({ action: 'keep' })
    expect(await opened.decide({ id: 'c', text: before })).toMatchObject({
      action: 'drop',
      of: { id: 'b' },
    })
    expect(await orphans()).toEqual([])
    expect(await opened.decide({ id: 'b', text: before })).toMatchObject({ isKnown: true })
  })

  it('takes them back with its former text', async () => {
    await open()
    for (const id of ['a', 'b']) await opened.decide({ id, text: before })
    await opened.decide({ id: 'a', text: after })
    await opened.decide({ id: 'a', text: before })
    expect(await orphans()).toEqual([])
    expect(await opened.decide({ id: 'b', text: before })).toMatchObject({
      isKnown: true,
      of: { id: 'a' },
    })
  })

  it('gathers none of its former duplicates around its new text', async () => {
    await open({ keep: ['newest'] })
    await opened.decide({ id: 'a', text: before, time: 1 })
    const better = await opened.decide({ id: 's', text: before, time: 2 })
    expect(better).toMatchObject({ action: 'keep', supersedes: [{ id: 'a' }] })
    await opened.decide({ id: 'a', text: after, time: 3 })
    // The best copy of the former text has nothing to do with it.
    const copy = await opened.decide({ id: 'd', text: after, time: 2 })
    expect(copy).toMatchObject({ action: 'drop', of: { id: 'a' } })
    const newer = await opened.decide({ id: 'e', text: after, time: 9 })
    expect(newer).toMatchObject({ action: 'keep', supersedes: [{ id: 'a' }] })
    expect(await opened.decide({ id: 's', text: before, time: 2 })).toMatchObject({
      action: 'keep',
    })
  })

  it('can be undone: what it was changed by leaves nothing behind', async () => {
    await open()
    await opened.decide({ id: 'a', text: before }, 'monday')
    await opened.decide({ id: 'b', text: before }, 'monday')
    await opened.decide({ id: 'a', text: after }, 'tuesday')
    await opened.undo('tuesday')
    expect(await opened.look({ id: 'x', text: after })).toMatchObject({ action: 'keep' })
    expect(await orphans()).toEqual(['b'])
    expect(await opened.decide({ id: 'b', text: before })).toMatchObject({ action: 'keep' })
  })
})

describe('files whose documents were dropped for one that has changed', () => {
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'prestige-changes-'))
  })
  afterEach(() => rmSync(directory, { recursive: true }))

  it('are counted in the summary, and are read again by the next run, which has their documents back', async () => {
    const at = (...names: string[]) => join(directory, ...names)
    const run = () => opened.run({ inputs: [at('in')], out: at('out') })
    writeFiles(at('in'), {
      'a.jsonl': jsonl([{ id: 'a', text: before }]),
      'b.jsonl': jsonl([{ id: 'b', text: before }]),
    })
    await open()
    expect((await run()).summary).toMatchObject({ kept: 1, dropped: 1, orphaned: 0 })
    writeFiles(at('in'), { 'a.jsonl': jsonl([{ id: 'a', text: `${after} and more` }]) })
    const { summary, notes } = await run()
    expect(summary).toMatchObject({ documents: 1, kept: 1, orphaned: 1 })
    expect(notes.join('\n')).toMatch(
      /"b" \(b\.jsonl\).*the same inputs again.*b\.jsonl will be read/,
    )
    expect(linesOf(at('out/kept/b.jsonl'))).toEqual([])
    expect((await run()).summary).toMatchObject({ documents: 1, kept: 1, orphaned: 0 })
    expect(linesOf(at('out/kept/b.jsonl'))).toMatchObject([{ id: 'b' }])
  })
})
