/** What the corpus job promises about documents that contain another. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, describe, expect, it } from 'vitest'

import { type Decision, dedupe, type DedupeOptions, openDedupe } from '../src/index.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { jsonl, linesOf, textMaker, writeFiles } from './corpus-kit.ts'

const made: string[] = []
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true })
})

const make = textMaker(9)
const message = { id: 'message', text: `Ünïcödé 東京 ${make(40)}` }
const reply = { id: 'reply', text: `She wrote:\n> ${message.text.toUpperCase()}\n${make(80)}` }
const other = { id: 'other', text: make(100) }
const LINK: DedupeOptions = { containment: { enabled: true } }
const DROP: DedupeOptions = { containment: { enabled: true, action: 'drop' } }

async function decide(documents: readonly { id: string; text: string }[], options: DedupeOptions) {
  const decisions: Decision[] = []
  for await (const decision of dedupe(documents, options)) decisions.push(decision)
  return decisions
}

const cut = (text: string, spans: readonly { start: number; end: number }[] = []) =>
  spans.map(({ start, end }) => Buffer.from(text).subarray(start, end).toString())

describe('a document that contains another', () => {
  it('is linked with both shares, and the spans are bytes of both texts', async () => {
    const [, , found] = await decide([message, other, reply], LINK)
    expect(found).toMatchObject({ action: 'link', method: 'containment', of: { id: 'message' } })
    expect(found?.containment?.shareOfOther).toBe(1)
    expect(found?.similarity).toBeLessThan(0.5)
    expect(cut(reply.text, found?.spans)).toEqual([message.text.toUpperCase()])
    expect(cut(message.text, found?.containment?.spansOfOther)).toEqual([message.text])
  })

  it('is kept where what is contained is dropped, whichever comes first', async () => {
    const [, second] = await decide([reply, message], DROP)
    expect(second).toMatchObject({ action: 'drop', method: 'containment', of: { id: 'reply' } })
    const [first, last] = await decide([message, reply], DROP)
    expect([first?.action, last?.action]).toEqual(['keep', 'link'])
  })

  it('is not found unless asked for', async () => {
    expect((await decide([message, reply], {})).map(({ action }) => action)).toEqual([
      'keep',
      'keep',
    ])
  })

  it('is listed by a run, and forgotten with an undo', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'prestige-containment-'))
    made.push(directory)
    writeFiles(directory, { 'a.jsonl': jsonl([reply, other]), 'b.jsonl': jsonl([message]) })
    const deduper = await openDedupe(join(directory, 'state'), DROP)
    const run = async (name: string) =>
      deduper.run({ inputs: [join(directory, name)], out: join(directory, `out-${name}`) })
    const { run: first } = await run('a.jsonl')
    const { run: second, summary } = await run('b.jsonl')
    expect(summary).toMatchObject({ dropped: 1, droppedByMethod: { containment: 1 } })
    const [line] = linesOf(join(directory, 'out-b.jsonl/duplicates.jsonl'))
    expect(line).toMatchObject({ method: 'containment', similarity: 1, of: { id: 'reply' } })
    expect(cut(reply.text, line.containment.spansOfOther)).toEqual([message.text.toUpperCase()])
    await expect(deduper.undo(first)).rejects.toThrow()
    await deduper.undo(second)
    await deduper.undo(first)
    expect((await run('b.jsonl')).summary).toMatchObject({ kept: 1, dropped: 0 })
    await deduper.close()
  })

  it('is refused where texts are not kept, and on engines that are shared over a network', async () => {
    const hashes = { ...LINK, near: { evidence: 'hashes' } } as const
    await expect(openDedupe('memory:', hashes)).rejects.toThrow("near.evidence 'text'")
    const world = new SimulatedWorld(3)
    await expect(openDedupe(world.open('one'), LINK)).rejects.toThrow('needs an embedded engine')
  })
})
