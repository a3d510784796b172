import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, describe, expect, it } from 'vitest'

import { textMaker } from '../../../test/corpus-kit.ts'
import { listShards } from '../../input/index.ts'
import { readConfig } from '../config/config.ts'
import { Preparer } from '../decision/prepare.ts'
import { type Batch, batchesOf } from './shard-batches.ts'

const directory = mkdtempSync(join(tmpdir(), 'prestige-batches-'))
afterAll(() => rmSync(directory, { recursive: true }))

describe('batches of a shard', () => {
  it('hold what each document is by itself, though memory is used again', async () => {
    const config = readConfig({ chunks: { enabled: true }, simhash: { enabled: true } })
    const text = textMaker(7)
    const file = join(directory, 'a.jsonl')
    const texts = Array.from({ length: 300 }, (_, at) => text(at % 5 === 0 ? 3 : 40 + (at % 90)))
    const lines = texts.map((one, at) => JSON.stringify({ id: String(at), text: one }))
    writeFileSync(file, `${lines.join('\n')}\n`)
    const { shards } = await listShards([{ path: file, source: 'a' }], { shardBytes: 1e9 })
    const batches: Batch[] = []
    for await (const batch of batchesOf(
      new Preparer(config),
      shards[0]!,
      { batchDocuments: 7 },
      true,
      undefined,
    )) {
      batches.push(batch)
    }
    const placed = batches.flatMap((batch) => batch.placed)
    expect(placed).toHaveLength(texts.length)
    const alone = new Preparer(config)
    for (const [at, one] of texts.entries()) {
      const expected = alone.prepare({ id: String(at), source: 'a', text: one }, file)
      expect(placed[at]).toEqual({ document: expected, position: at })
    }
  })
})
