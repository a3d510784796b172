/** Retention: what is old goes, and nothing that is left refers to what is gone. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/index.ts'
import type { Backend } from '../src/backends/index.ts'
import { clusters, documents, members } from '../src/dedupe/rows.ts'
import { type Deduper, openDedupe, openLedger, verifyLocation } from '../src/index.ts'
import { inProcess as prestige } from './children/cli.ts'
import { corpus, jsonl, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-prune-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)

function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Keys in hex that no row is left of, though another row refers to them. */
async function dangling(backend: Backend): Promise<string[]> {
  const there = new Set<string>()
  const named: (string | undefined)[] = []
  for await (const { key, value } of backend.scan(documents)) {
    there.add(key.toString('hex'))
    const { cluster, supersededBy, like, supersedes = [], spans = [], cutFor = [] } = value
    named.push(cluster, supersededBy, like, ...supersedes)
    named.push(...spans.map(([, , of]) => of), ...cutFor.map(([of]) => of))
  }
  for await (const { key, value } of backend.scan(clusters)) {
    named.push(key.toString('hex'), value.survivor)
  }
  for await (const { key } of backend.scan(members)) {
    named.push(key.toString('hex', 0, 16), key.toString('hex', 16))
  }
  return named.filter((key) => key !== undefined && !there.has(key)).map(String)
}

interface Place {
  open(clock: () => number): Backend
}

const places: Record<string, () => Place> = {
  memory: () => {
    const engine = new MemoryEngine()
    return { open: (clock) => new MemoryBackend({ clock }, engine) }
  },
  simulated: () => {
    const world = new SimulatedWorld(3)
    world.limits = { keyBytesMax: 2048, valueBytesMax: 64 * 1024, cellsMax: 1000 }
    let workers = 0
    return { open: (clock) => world.open(`worker ${workers++}`, { clock }) }
  },
}

describe.each(Object.keys(places))('documents that are pruned on %s', (name) => {
  it('leave nothing that refers to them, whatever was added and pruned before', async () => {
    let pruned = 0
    let relied = 0
    for (let seed = 1; seed <= 3; seed++) {
      const random = randomOf(seed)
      const make = textMaker(seed)
      const base = Array.from({ length: 6 }, () => make(40))
      let now = 1000
      const place = places[name]!()
      const open = () => place.open(() => now)
      const deduper = await openDedupe(open(), {
        keep: ['longest', 'first'],
        chunks: { enabled: true, bytes: 256 },
      })
      for (let step = 0; step < 40; step++) {
        now += 1 + random(100)
        if (random(8) === 0) {
          const cascade = random(3) === 0
          const olderThan = now - random(800)
          const dry = await deduper.prune({ olderThan, cascade, dryRun: true })
          const done = await deduper.prune({ olderThan, cascade })
          expect(done).toEqual(dry)
          expect(await deduper.prune({ olderThan, cascade })).toMatchObject({ documents: 0 })
          pruned += done.documents
          relied += done.reliedOn
          if (cascade) expect(done.reliedOn).toBe(0)
          expect(await dangling(deduper.backend)).toEqual([])
        } else {
          const words = Array.from({ length: random(4) }, () => 'more').join(' ')
          const text = `${base[random(base.length)]} ${words}`
          await deduper.decide({ id: `d${random(30)}`, source: `s${random(3)}`, text })
        }
      }
      const reports = await verifyLocation(open())
      expect(reports.flatMap(({ problems }) => problems)).toEqual([])
      await deduper.close()
    }
    expect(pruned).toBeGreaterThan(10)
    expect(relied).toBeGreaterThan(0)
  })
})

describe('documents that are pruned', () => {
  async function three(): Promise<{ deduper: Deduper; text: string; setNow(to: number): void }> {
    let now = 1000
    const deduper = await openDedupe(new MemoryBackend({ clock: () => now }, new MemoryEngine()))
    const text = textMaker(4)(50)
    await deduper.decide({ id: 'old', text })
    await deduper.decide({ id: 'alone', text: textMaker(9)(50) })
    now = 2000
    await deduper.decide({ id: 'copy', text: `${text} again` })
    return { deduper, text, setNow: (to) => void (now = to) }
  }

  it('are new when they come again', async () => {
    const { deduper, text } = await three()
    await deduper.prune({ olderThan: 3000 })
    expect(await deduper.decide({ id: 'copy', text })).toMatchObject({ action: 'keep' })
    expect(await deduper.decide({ id: 'old', text })).toMatchObject({ action: 'drop' })
    await deduper.close()
  })

  it('stay while a newer document was dropped for them, unless that goes too', async () => {
    const { deduper, text } = await three()
    expect(await deduper.prune({ olderThan: 1500 })).toEqual({ documents: 1, reliedOn: 1 })
    expect((await deduper.look({ id: 'x', text })).of).toMatchObject({ id: 'old' })
    const all = { olderThan: 1500, cascade: true }
    expect(await deduper.prune(all)).toEqual({ documents: 2, reliedOn: 0 })
    expect((await deduper.look({ id: 'x', text })).action).toBe('keep')
    await deduper.close()
  })

  it('are refused without a time, and with options that are none', async () => {
    const { deduper } = await three()
    await expect(deduper.prune({} as never)).rejects.toThrow('Give olderThan')
    const misspelt = { olderThan: 1, dryrun: true } as never
    await expect(deduper.prune(misspelt)).rejects.toThrow('dryrun is not an option')
    await deduper.close()
  })
})

describe('prestige ledger prune', () => {
  it('removes documents of a state, says what stays, and leaves outputs alone', async () => {
    writeFiles(directory, { 'in/a.jsonl': jsonl(corpus(6)) })
    await using deduper = await openDedupe(at('state'), { clock: () => 1000 })
    await deduper.run({ inputs: [at('in')], out: at('out'), run: 'r' })
    const kept = readFileSync(at('out', 'kept', 'a.jsonl'))
    const run = (...args: string[]) =>
      prestige(['ledger', 'prune', ...args], { store: at('state') })
    expect((await run('--older-than', '90d', '--dry-run')).text).toBe('would remove 6 documents\n')
    expect((await run('--older-than', '90d', '--json')).json).toEqual({ documents: 6, reliedOn: 0 })
    expect((await run('--older-than', '90d')).text).toBe('removed 0 documents\n')
    expect(readFileSync(at('out', 'kept', 'a.jsonl'))).toEqual(kept)
    expect((await run()).err).toContain('needs --older-than')
    expect((await run('--older-than', 'soon')).code).toBe(2)
  })

  it('removes lines and runs of a ledger, as its dry run has said', async () => {
    let now = 1000
    const ledger = await openLedger(at('ledger'), { clock: () => now })
    await ledger.startRun({ id: 'r' })
    await ledger.record([{ id: 'a', status: 'failed', run: 'r' }])
    await ledger.finishRun('r')
    await ledger.startRun({ id: 's' })
    await ledger.record([{ id: 'a', status: 'accepted', run: 's' }])
    now = Date.now()
    await ledger.record([{ id: 'b', status: 'accepted', run: 's' }])
    await ledger.close()
    const run = (...args: string[]) =>
      prestige(['ledger', 'prune', '--older-than', '30d', ...args], { store: at('ledger') })
    const counts = { lines: 1, oldLines: 1, runs: 1 }
    expect((await run('--dry-run', '--json')).json).toEqual(counts)
    expect((await run('--json')).json).toEqual(counts)
    expect((await run('--dry-run')).text).toBe('would remove 0 lines, 0 replaced lines, 0 runs\n')
    expect((await run('--cascade')).code).toBe(2)
  })
})
