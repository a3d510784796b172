/**
 * A state keeps no snapshot of its tables. States of earlier versions have one: a run that adds to them starts with it,
 * and decides as if there were none.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

import { openLmdb } from '../src/backends/lmdb/backend.ts'
import type { Space } from '../src/backends/contract.ts'
import { readConfig } from '../src/dedupe/config/config.ts'
import { Engine } from '../src/dedupe/decision/engine.ts'
import { dedupeSpaces, near } from '../src/dedupe/rows.ts'
import { openDedupe } from '../src/index.ts'
import { JournalBlock } from '../src/match/rows.ts'
import { corpus, jsonl, published, writeFiles } from './corpus-kit.ts'

const DOCUMENTS = 900
const docs = corpus(DOCUMENTS, 17)
const later = docs
  .slice(600)
  .concat(docs.slice(0, 50).map(({ id, text }) => ({ id: `l-${id}`, text })))

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-snapshot-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** `applied`: blocks of the journal that were read. */
async function job(name: string): Promise<{ readonly run: string; readonly applied: number }> {
  const apply = vi.spyOn(JournalBlock.prototype, 'insertsAfter')
  const deduper = await openDedupe(join(directory, name, 'state'))
  try {
    const out = join(directory, name, 'out')
    const inputs = [{ path: join(directory, name, 'in'), source: 'in' }]
    const { run } = await deduper.run({ inputs, out })
    return { run, applied: apply.mock.calls.length }
  } finally {
    apply.mockRestore()
    await deduper.close()
  }
}

/** As earlier versions did when a run ended. */
async function keepSnapshot(name: string): Promise<void> {
  const backend = await openLmdb(join(directory, name, 'state'), { spaces: dedupeSpaces })
  const engine = new Engine(readConfig({}), true)
  await engine.load(backend)
  expect(await engine.near.index.keepSnapshot(backend)).toBe(true)
  await backend.close()
}

const snapshotRows = (name: string) => rowsIn(name, near.snapshots)
const journalRows = (name: string) => rowsIn(name, near.journal)

async function rowsIn(name: string, space: Space<unknown>): Promise<number> {
  const backend = await openLmdb(join(directory, name, 'state'), { spaces: dedupeSpaces })
  let count = 0
  for await (const _row of backend.scan(space)) count++
  await backend.close()
  return count
}

/** What was kept, and what was dropped because of what: clusters are named after the directory. */
function outcomeOf(name: string): unknown {
  const { 'duplicates.jsonl': lines = '', ...files } = published(join(directory, name, 'out'))
  const duplicates = linesIn(lines).map(({ cluster: _cluster, ...line }) => line)
  const kept = Object.entries(files).filter(([file]) => file.startsWith('kept/'))
  return { duplicates, ...Object.fromEntries(kept.map(([file, text]) => [file.slice(5), text])) }
}

function linesIn(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('a state that grows', () => {
  it('is opened with the snapshot that it has, or without one, with the same outcome', async () => {
    const outcomes: unknown[] = []
    for (const name of ['with', 'without']) {
      writeFiles(join(directory, name, 'in'), { 'a.jsonl': jsonl(docs.slice(0, 600)) })
      await job(name)
      expect(await snapshotRows(name)).toBe(0)
      if (name === 'with') await keepSnapshot(name)
      expect((await snapshotRows(name)) > 1).toBe(name === 'with')
      writeFiles(join(directory, name, 'in'), { 'b.jsonl': jsonl(later) })
      const blocks = await journalRows(name)
      expect(blocks).toBeGreaterThan(3)
      // Once, and not a second time.
      expect((await job(name)).applied).toBe(name === 'with' ? 0 : blocks)
      outcomes.push(outcomeOf(name))
    }
    expect(outcomes[0]).toEqual(outcomes[1])
    expect(outcomes[0]).toMatchObject({ 'b.jsonl': expect.any(String) })
    expect(Object(outcomes[0]).duplicates.length).toBeGreaterThan(100)
  })

  it('forgets what a run is undone of, though it is in the snapshot', async () => {
    const name = 'undone'
    writeFiles(join(directory, name, 'in'), { 'a.jsonl': jsonl(docs.slice(0, 600)) })
    const { run } = await job(name)
    await keepSnapshot(name)
    const deduper = await openDedupe(join(directory, name, 'state'))
    await deduper.undo(run)
    await deduper.close()
    const again = await openDedupe(join(directory, name, 'state'))
    for (const { id, text } of docs.slice(0, 20).filter((doc) => doc.id.startsWith('doc-'))) {
      expect(await again.decide({ id: `new-${id}`, text: `${text} and` })).toMatchObject({
        action: 'keep',
      })
    }
    await again.close()
  })
})
