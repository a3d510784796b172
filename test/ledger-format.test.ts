/**
 * The stored format of the ledger, row by row. A difference here is a format change, and needs a new format number.
 * `GOLDEN=write npx vitest run test/ledger-format.test.ts` writes the golden file anew.
 */

import { readFile, writeFile } from 'node:fs/promises'

import { describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { lines, runs, shards } from '../src/ledger/rows.ts'
import { openLedger } from '../src/ledger/open.ts'

const GOLDEN = new URL('./golden/ledger-format-1.json', import.meta.url)
type Rows = Record<string, [key: string, value: string][]>

/** Everything a ledger can hold, from a fixed clock and fixed randomness. */
async function writeLedger(engine: MemoryEngine): Promise<void> {
  let time = 1_700_000_000_000
  const fixed = { clock: () => time, random: (count: number) => Buffer.alloc(count, 7) }
  const ledger = await openLedger(new MemoryBackend(fixed, engine))
  await ledger.startRun({ id: 'first', configDigest: 'c0ffee' })
  await ledger.startRun({ id: 'второй' })
  await ledger.startRun()
  await ledger.record([
    { id: 'plain', status: 'accepted' },
    { id: 'whole', status: 'rejected', source: 'web', run: 'first', worker: 'w', detail: 'नमस्ते' },
    { id: 'copy', status: 'duplicate', of: 'plain', source: 'web' },
  ])
  time += 1
  await ledger.claim('claimed', { leaseMs: 60_000, source: 'книги', run: 'first', worker: 'w' })
  await ledger.record([{ id: 'whole', status: 'accepted', run: 'второй' }])
  await ledger.record([{ id: 'plain', status: 'failed', run: 'второй', detail: '' }])
  await ledger.supersede('copy', 'whole', { run: 'first' })
  await ledger.openShards('first', 3)
  for (const worker of ['a', 'b', 'c']) await ledger.lease('first', { worker, leaseMs: 1000 })
  await ledger.progress('first', 0, 1, { line: 7 })
  await ledger.done('first', 1, 1, 'done')
  await ledger.release('first', 2, 1)
  await ledger.finishRun('второй', 'failed')
  await ledger.close()
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1)

function dump(engine: MemoryEngine): Rows {
  const rows: Rows = {}
  for (const [name, map] of [...engine.spaces].toSorted(byName)) {
    rows[name] = map
      .slice('', undefined, 1000)
      .map(([key, value]) => [
        Buffer.from(key, 'latin1').toString('hex'),
        Buffer.from(value).toString('hex'),
      ])
  }
  return rows
}

function load(rows: Rows): MemoryEngine {
  const engine = new MemoryEngine()
  for (const [name, all] of Object.entries(rows)) {
    for (const [key, value] of all) {
      engine.space(name).set(Buffer.from(key, 'hex').toString('latin1'), Buffer.from(value, 'hex'))
    }
  }
  return engine
}

const golden = async (): Promise<Rows> => JSON.parse(await readFile(GOLDEN, 'utf8'))

describe('the stored format of the ledger', () => {
  it('is, byte for byte, the one written down', async () => {
    const engine = new MemoryEngine()
    await writeLedger(engine)
    if (process.env['GOLDEN'] === 'write') {
      await writeFile(GOLDEN, `${JSON.stringify(dump(engine), undefined, 1)}\n`)
    }
    expect(dump(engine)).toEqual(await golden())
  })

  it('of the first version can still be read, undone and written to', async () => {
    const clock = () => 1_700_000_000_500
    await using ledger = await openLedger(new MemoryBackend({ clock }, load(await golden())))
    expect(await ledger.get('copy')).toMatchObject({ status: 'superseded', of: 'whole' })
    expect(await ledger.claim('claimed', { leaseMs: 1 })).toMatchObject({ reason: 'claimed' })
    expect(await ledger.counts()).toMatchObject({ accepted: 1, claimed: 1, failed: 1, total: 4 })
    expect(await ledger.forgetRun('второй')).toEqual({ removed: 0, restored: 2, replaced: 0 })
    expect(await ledger.get('whole')).toMatchObject({ status: 'rejected', detail: 'नमस्ते' })
    const next = await ledger.lease('first', { worker: 'x', leaseMs: 10 })
    expect(next).toMatchObject({ shard: 2, token: 2 })
  })

  it('calls a row that is cut short or of another format corrupt', async () => {
    const found = await golden()
    for (const space of [lines, runs, shards]) {
      const [, hex] = found[space.name]![0]!
      const row = Buffer.from(hex, 'hex')
      expect(() => space.codec.decode(row.subarray(0, 9))).toThrow('cannot be read')
      expect(() => space.codec.decode(Buffer.alloc(0))).toThrow('cannot be read')
      row[0] = 0x20
      expect(() => space.codec.decode(row)).toThrow('cannot be read')
      row[0] = 0x1f
      expect(() => space.codec.decode(row)).toThrow('cannot be read')
    }
  })
})
