import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, it } from 'vitest'

import { jsonl, textMaker, writeFiles } from '../../../test/corpus-kit.ts'
import { MemoryBackend, MemoryEngine } from '../../backends/memory/backend.ts'
import { decodePack } from '../decision/pack-row.ts'
import { openDedupe } from '../open.ts'
import { dedupeSpaces, evidences, packs } from '../rows.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-packs-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const text = textMaker(11)
const long = (words: number) => text(words)

async function packsIn(engine: MemoryEngine): Promise<string[][]> {
  const backend = new MemoryBackend({}, engine)
  const found: string[][] = []
  for await (const { value } of backend.scan(packs)) found.push(decodePack(value).map(String))
  return found
}

it('keeps the texts that later documents are measured by, once, and takes them back with their run', async () => {
  const [one, two, three] = [long(120), long(120), long(120)]
  writeFiles(directory, {
    'in/a.jsonl': jsonl([
      { id: '1', text: one },
      { id: '2', text: `${one} and a few words` },
      { id: '3', text: one },
      { id: '4', text: two },
    ]),
    'more/b.jsonl': jsonl([
      { id: '5', text: `${two} with some others` },
      { id: '6', text: three },
    ]),
  })
  const engine = new MemoryEngine()
  const run = async (name: string) => {
    await using state = await openDedupe(new MemoryBackend({}, engine))
    const job = { inputs: [join(directory, name)], out: join(directory, 'out'), run: name }
    return (await state.run(job)).summary
  }
  // Found in the same transaction, before anything of it is written.
  expect(await run('in')).toMatchObject({ kept: 2, dropped: 2 })
  expect(await packsIn(engine)).toEqual([[one, `${one} and a few words`, two]])
  // Found in a pack of an earlier run, by another process.
  expect(await run('more')).toMatchObject({ kept: 1, dropped: 1 })
  const backend = new MemoryBackend({}, engine)
  for await (const { key } of backend.scan({ ...evidences, ordered: true })) {
    expect(key).toBeUndefined()
  }
  await using state = await openDedupe(new MemoryBackend({}, engine))
  await state.undo('more')
  expect(await packsIn(engine)).toHaveLength(1)
  await state.undo('in')
  expect(await packsIn(engine)).toEqual([])
  expect(dedupeSpaces).toContain(packs)
})
