/** --again from the texts in the state: that inputs are not read to decide, and every reason why some are. */

import { readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { cell } from '../src/backends/index.ts'
import { MemoryBackend, MemoryEngine } from '../src/backends/memory/backend.ts'
import { SimulatedWorld } from '../src/backends/simulated/backend.ts'
import { encodePack } from '../src/dedupe/decision/pack-row.ts'
import { collectReplays } from '../src/dedupe/phases/collect-replays.ts'
import { openForJob } from '../src/dedupe/index.ts'
import { packs, replays } from '../src/dedupe/rows.ts'
import { findRun, listRuns } from '../src/dedupe/runs.ts'
import { type DedupeOptions, openDedupe } from '../src/index.ts'
import { inProcess as prestige, type Run } from './children/cli.ts'
import { jsonl, published, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-redecide-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
const dedupe = (...args: string[]) => prestige(['dedupe', ...args])
const succeed = async (run: Promise<Run>): Promise<Run> => {
  const done = await run
  expect([done.code, done.err]).toEqual([0, expect.not.stringContaining('prestige:')])
  return done
}

/** Exact, canonical and near copies, texts without a word, an empty one, an id that is there twice, and rejects. */
function corpus(seed: number, count = 3, repeats = true): string {
  const text = textMaker(seed)
  const lines = Array.from({ length: count }, (_, n) => {
    const one = text(50)
    return jsonl([
      { id: `${seed}-${n}`, text: one, score: n % 3, lang: 'en', kind: 'web' },
      { id: `${seed}-${n}-near`, text: `${one} and more`, score: 5 },
      { id: `${seed}-${n}-exact`, text: one, score: 7, kind: 'book' },
      { id: `${seed}-${n}-case`, text: one.toUpperCase(), score: 1 },
      { id: `${seed}-${n}-part`, text: one.split(' ').slice(0, 43).join(' ') },
      { text: `without an id, ${one.slice(0, 90)}` },
    ])
  })
  const odd = [
    { id: 'dash', text: '-' },
    { id: 'empty', text: '' },
    { id: 'blank', text: '  ' },
  ]
  return [
    ...lines,
    '{"id": 1}\n',
    'no JSON\n',
    jsonl(odd),
    repeats ? jsonl([{ id: 'dash', text: '-' }]) : '',
  ].join('')
}

/** Times that can be set again. */
const TIME = new Date('2026-01-01')

function write(files: Record<string, string>): void {
  writeFiles(at('in'), files)
  for (const name of Object.keys(files)) utimesSync(at('in', name), TIME, TIME)
}

const writeInputs = () => write({ 'a.jsonl': corpus(1), 'b.jsonl': corpus(2) + corpus(1, 2) })

const FROM_STATE = 'Texts are taken from the state: inputs are not read to decide.'
const fields = ['--quality-field', 'score', '--language-field', 'lang', '--keep', 'quality']

/** Other bytes, of the same size and time. */
function spoil(file: string): () => void {
  const bytes = readFileSync(file)
  writeFileSync(file, Buffer.alloc(bytes.length, 'x'))
  utimesSync(file, TIME, TIME)
  return () => {
    writeFileSync(file, bytes)
    utimesSync(file, TIME, TIME)
  }
}

describe('--again where the state has all texts', () => {
  const changes: [string, string[], string[]][] = [
    ['threshold', [], ['--threshold', '0.95']],
    ['keep rule', [], ['--keep', 'longest']],
    ['profile', [], ['--profile', 'words-3']],
    ['methods', [], ['--chunks', '--containment', '0.6']],
    ['guards', [], ['--no-guards', '--threshold', '0.7']],
    ['order', [], ['--order-independent', '--keep', 'longest']],
    ['order, back', ['--order-independent', '--keep', 'longest'], ['--threshold', '0.9']],
    ['fields', fields, [...fields.slice(0, 4), '--keep', 'longest,quality']],
    ['threads', [], ['--threshold', '0.95', '--threads', '2']],
  ]
  it.each(changes)(
    'decides without the inputs, as a fresh run does: %s',
    async (_, first, then) => {
      const hasFields = first === fields
      if (hasFields) write({ 'a.jsonl': corpus(1, 3, false), 'b.jsonl': corpus(2, 3, false) })
      else writeInputs()
      await succeed(dedupe(at('in'), '-o', at('out'), '-q', ...first))
      const typed = [at('in'), '-o', at('out'), ...then, '--again']
      const back = ['a.jsonl', 'b.jsonl'].map((name) => spoil(at('in', name)))
      const plan = await succeed(dedupe(...typed, `--plan=${at('spoilt.jsonl')}`))
      expect(plan.err).toContain(FROM_STATE)
      for (const restore of back) restore()
      const done = await succeed(dedupe(...typed))
      expect(done.err).toContain(FROM_STATE)
      await succeed(dedupe(at('in'), '-o', at('fresh'), '-q', ...(hasFields ? [] : first), ...then))
      expect(published(at('out'))).toEqual(published(at('fresh')))
      expect(readFileSync(at('spoilt.jsonl'), 'utf8')).toBe(
        readFileSync(at('fresh/duplicates.jsonl'), 'utf8'),
      )
      expect((await prestige(['verify', '--store', at('out/state')])).code).toBe(0)
    },
  )
})

/** States in memory, that several calls share. */
const opened = (engine: MemoryEngine, options: DedupeOptions = {}) =>
  openDedupe(new MemoryBackend({}, engine), options)
const job = (out: string) => ({ inputs: [at('in')], out: at(out) })
const again: DedupeOptions = { near: { threshold: 0.95 }, again: true }

async function keysOf(engine: MemoryEngine, space: typeof packs | typeof replays) {
  const keys: Buffer[] = []
  for await (const { key } of new MemoryBackend({}, engine).scan<unknown>(space)) keys.push(key)
  return keys
}

describe('inputs that are moved away', () => {
  async function fresh(): Promise<void> {
    const other = await openDedupe('memory:', { near: { threshold: 0.95 } })
    await other.run(job('fresh'))
  }

  it('while documents are decided about are not missed', async () => {
    writeInputs()
    const engine = new MemoryEngine()
    await (await opened(engine)).run(job('out'))
    const watcher = {
      onPhase(phase: string) {
        if (phase === 'reading') renameSync(at('in'), at('away'))
        if (phase === 'publishing') renameSync(at('away'), at('in'))
      },
    }
    await (await opened(engine, again)).run({ ...job('out'), watcher })
    await fresh()
    expect(published(at('out'))).toEqual(published(at('fresh')))
    // Nothing of what was collected is left, and no text of the earlier run.
    expect(await keysOf(engine, replays)).toEqual([])
    const numbers = (await keysOf(engine, packs)).map((key) => key.readUInt32BE())
    expect([...new Set(numbers)]).toEqual([2])
  })

  it('until outputs are written are named, and the same command goes on once they are back', async () => {
    writeInputs()
    const engine = new MemoryEngine()
    await (await opened(engine)).run(job('out'))
    const before = published(at('out'))
    const watcher = {
      onPhase(phase: string) {
        if (phase === 'reading') renameSync(at('in'), at('away'))
      },
    }
    const failed = (await opened(engine, again)).run({ ...job('out'), watcher })
    await expect(failed).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
      message: expect.stringContaining('a.jsonl'),
    })
    expect(published(at('out'))).toEqual(before)
    renameSync(at('away'), at('in'))
    await (await opened(engine, again)).run(job('out'))
    await fresh()
    expect(published(at('out'))).toEqual(published(at('fresh')))
    expect(await keysOf(engine, replays)).toEqual([])
  })

  it('before the command is given are named, and nothing is changed', async () => {
    writeInputs()
    await succeed(dedupe(at('in'), '-o', at('out'), '-q'))
    const before = published(at('out'))
    renameSync(at('in/b.jsonl'), at('b.jsonl'))
    const gone = await dedupe(at('in'), '-o', at('out'), '--threshold', '0.95', '--again')
    expect(gone.code).toBe(3)
    expect(gone.err).toContain(
      `1 input of earlier runs would be needed, to write what is kept or to read it again: ${at('in/b.jsonl')} cannot be found any more. Nothing was changed. Put back`,
    )
    expect(published(at('out'))).toEqual(before)
  })
})

describe('--again on an engine with small transactions', () => {
  it('decides without the inputs, as a fresh run does', async () => {
    const odd = { id: 'type', text: 'a text with a long type', kind: 'k'.repeat(900) }
    write({ 'a.jsonl': corpus(1, 1, false) + jsonl([odd]), 'b.jsonl': corpus(2, 1, false) })
    const world = new SimulatedWorld(3)
    world.limits = { ...world.limits, valueBytesMax: 2048, cellsMax: 100 }
    const reading = { fields: { type: 'kind' } }
    const run = async (name: string, options: DedupeOptions, watcher = {}) => {
      const deduper = await openDedupe(world.open(name), options)
      return deduper.run({ ...job('out'), reading, watcher })
    }
    await run('one', {})
    const watcher = {
      onPhase(phase: string) {
        if (phase === 'reading') renameSync(at('in'), at('away'))
        if (phase === 'publishing') renameSync(at('away'), at('in'))
      },
    }
    await run('two', again, watcher)
    const other = await openDedupe('memory:', { near: { threshold: 0.95 } })
    await other.run({ ...job('fresh'), reading })
    expect(published(at('out'))).toEqual(published(at('fresh')))
    expect(world.rows(replays).length).toBe(0)
  })
})

describe('outputs of --again', () => {
  it('that would be the same stay in place, and their inputs are not read', async () => {
    const text = textMaker(9)
    write({ 'a.jsonl': corpus(1), 'b.jsonl': jsonl([{ id: 'b', text: text(40) }]) })
    writeFiles(at('in'), { 'c.txt': text(40) })
    utimesSync(at('in/c.txt'), TIME, TIME)
    await succeed(dedupe(at('in'), '-o', at('out'), '-q'))
    const places = ['b.jsonl', 'c.txt'].map((name) => at('out/kept', name))
    const inodes = places.map((file) => statSync(file).ino)
    await succeed(dedupe(at('in'), '-o', at('fresh'), '-q', '--threshold', '0.95'))
    for (const name of ['b.jsonl', 'c.txt']) spoil(at('in', name))
    await succeed(dedupe(at('in'), '-o', at('out'), '-q', '--threshold', '0.95', '--again'))
    expect(published(at('out'))).toEqual(published(at('fresh')))
    expect(places.map((file) => statSync(file).ino)).toEqual(inodes)
  })
})

describe('a run that redoes others and is undone', () => {
  it('leaves nothing that was collected, and no texts', async () => {
    writeInputs()
    const engine = new MemoryEngine()
    await (await opened(engine)).run(job('out'))
    const stopped = await opened(engine, { ...again, maxDrop: 0.01 })
    await expect(stopped.run({ ...job('out'), run: 'two' })).rejects.toMatchObject({
      code: 'GUARD_STOPPED',
    })
    expect(await keysOf(engine, replays)).not.toEqual([])
    await stopped.undo('two')
    expect([await keysOf(engine, replays), await keysOf(engine, packs)]).toEqual([[], []])
  })
})

describe('inputs that are read again, and why', () => {
  const changed = ['--threshold', '0.95', '--again']
  const typed = (...options: string[]) => dedupe(at('in'), '-o', at('out'), ...options)

  /** Of the first run and the second; the name of a file that is read again and why. */
  async function expectRead(why: string, first: string[] = [], then: string[] = changed) {
    if (first[0] !== 'no first run') await succeed(typed('-q', ...first))
    const done = await typed(...then)
    const reads = done.err.split(/(?:Read again|read again): /)[1] ?? ''
    expect([done.code, reads]).toEqual([0, expect.stringContaining(why)])
    const fresh = [...first.filter((one) => one !== 'no first run'), ...then]
    await succeed(
      dedupe(at('in'), '-o', at('fresh'), '-q', ...fresh.filter((one) => one !== '--again')),
    )
    expect(published(at('out'))).toEqual(published(at('fresh')))
    return done
  }

  it('new and changed files', async () => {
    writeInputs()
    await succeed(typed('-q'))
    write({ 'b.jsonl': corpus(3), 'c.jsonl': corpus(4) })
    const { err } = await expectRead('(it is new or has changed)', ['no first run'])
    expect(err).toContain('Texts of 1 file are taken from the state. Read again: ')
    expect(err).toContain(`${at('in/b.jsonl')} and 1 other file (it is new or has changed).`)
  })

  it('files that are read in another way', async () => {
    writeInputs()
    await expectRead('it is read in another way', [], ['--source', 'web', '--again'])
  })

  it('files of a run without near', async () => {
    writeInputs()
    writeFileSync(at('c.yaml'), 'near: {enabled: false}')
    await succeed(typed('-q', '--config', at('c.yaml')))
    writeFileSync(at('d.yaml'), 'near: {enabled: true}')
    const then = ['--config', at('d.yaml'), '--again']
    await expectRead('near was off', ['no first run'], then)
    const refused = await typed('--config', at('c.yaml'))
    expect(refused.err).toContain('with these settings, by the texts in the state:\n')
  })

  it('files of a run that kept hashes', async () => {
    writeInputs()
    writeFileSync(at('c.yaml'), 'near: {evidence: hashes, guards: false}')
    await expectRead('hashes or sketches', ['--config', at('c.yaml')])
    const refused = await typed('--threshold', '0.7')
    expect(refused.err).toContain('with these settings, which reads the inputs again:\n')
  })

  it('files with more rejects than are recorded', async () => {
    const many = Array.from({ length: 1010 }, (_, n) => ({ id: `n${n}`, text: `Number ${n}` }))
    write({ 'a.jsonl': jsonl(many) + 'no JSON\n'.repeat(1001), 'b.jsonl': corpus(2) })
    const { err } = await expectRead('not all of its rejects')
    expect(err).toContain('Texts of 1 file are taken')
  })

  it('files that could not be read to their end', async () => {
    write({ 'b.jsonl': corpus(2) })
    const whole = gzipSync(corpus(1, 50))
    writeFileSync(at('in/a.jsonl.gz'), whole.subarray(0, whole.length - 40))
    await typed('-q')
    const done = await typed(...changed)
    expect(done.err).toContain(`Read again: ${at('in/a.jsonl.gz')} (not all of its rejects`)
  })

  it('files of which most documents are as before', async () => {
    writeInputs()
    await succeed(typed('-q'))
    write({ 'b.jsonl': corpus(2) + corpus(1, 2) + corpus(5, 1) })
    await succeed(typed('-q'))
    await expectRead('as in an earlier version', ['no first run'])
  })

  it('files with a document twice, which may have other fields', async () => {
    writeInputs()
    await expectRead('more than once', fields)
  })

  it('files with very long texts', async () => {
    const long = textMaker(5)(10).concat(' word'.repeat(400_000))
    write({ 'a.jsonl': jsonl([{ id: 'long', text: long }]), 'b.jsonl': corpus(1) })
    await expectRead('no texts of 1.5 MB or more')
  })

  /** In memory: what a command would say of it. */
  async function whyOf(engine: MemoryEngine): Promise<string[]> {
    const found: string[] = []
    const command = { command: '', commandAgain: '', commandOther: '' }
    const said = { settings: { near: { threshold: 0.95 } }, reading: {}, ...command }
    const deduper = await openForJob(new MemoryBackend({}, engine), {
      said: { ...said, typed: () => undefined },
      out: at('out'),
      again: true,
      onAgain: ({ collected }) => {
        found.push(...collected.read.map(({ why }) => why))
      },
    })
    await deduper.run(job('out'))
    const other = await openDedupe('memory:', { near: { threshold: 0.95 } })
    await other.run(job('fresh'))
    expect(published(at('out'))).toEqual(published(at('fresh')))
    return found
  }

  it('files of which documents were pruned', async () => {
    writeInputs()
    const engine = new MemoryEngine()
    const first = await opened(engine)
    await first.run(job('out'))
    await first.prune({ olderThan: Date.now() + 1000 })
    expect(await whyOf(engine)).toEqual([
      expect.stringContaining('pruned'),
      expect.stringContaining('pruned'),
    ])
  })

  it('files of which the state has not all texts', async () => {
    writeInputs()
    const engine = new MemoryEngine()
    await (await opened(engine)).run(job('out'))
    const [key] = await keysOf(engine, packs)
    await new MemoryBackend({}, engine).run(function* (scope) {
      scope.write(cell(packs, key!), encodePack([Buffer.alloc(0)]))
    })
    expect(await whyOf(engine)).toContainEqual(expect.stringContaining('has not all texts'))
  })

  it('all files, once a run is being taken back without what is collected', async () => {
    writeInputs()
    const engine = new MemoryEngine()
    await (await opened(engine)).run(job('out'))
    const backend = new MemoryBackend({}, engine)
    const [head] = await listRuns(backend)
    const run = await findRun(backend, head!.id)
    const redo = { ...run, id: 'two', number: 2 }
    // oxlint-disable-next-line require-yield -- nothing to check
    const { read, files } = await collectReplays(
      backend,
      redo,
      [{ ...run, redoneBy: 'two' }],
      function* () {},
    )
    expect([files, read.map(({ why }) => why)]).toEqual([
      0,
      Array.from({ length: 2 }, () => expect.stringContaining('taken back before')),
    ])
  })
})
