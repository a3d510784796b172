/** `prestige dedupe` in a world that fails: full disks, missing permissions, two jobs at once. */

import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { inProcess, MAIN, prestige } from './children/cli.ts'
import { corpus, jsonl, published, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-world-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
const dedupe = (...args: string[]) => inProcess(['dedupe', ...args, '--json'])
const dedupeAside = (...args: string[]) => prestige(['dedupe', ...args, '--json'])
const isRoot = process.getuid?.() === 0
const NOBODY = 65_534

/** Names in the outputs that are none, state aside. */
function leftovers(out: string): string[] {
  const names = existsSync(out) ? readdirSync(out, { recursive: true, encoding: 'utf8' }) : []
  return names.filter((name) => name.includes('.tmp-'))
}

/** Runs it with files that may have so many KiB. Returns the code that it failed with. */
function limited(kibibytes: number, ...args: string[]): string {
  const script = `trap "" XFSZ; ulimit -f ${kibibytes}; exec "$0" "$@"`
  const all = ['-c', script, process.execPath, MAIN, 'dedupe', ...args, '--json']
  const { status, stderr } = spawnSync('bash', all, { encoding: 'utf8' })
  expect(status).toBe(1)
  // The engine may have had something to say before.
  const told = stderr.split('\n').find((line) => line.includes('{"error"')) ?? ''
  return JSON.parse(told.slice(told.indexOf('{"error"'))).error.code
}

describe('a full disk', () => {
  it.each(['os', 'fsync'])(
    'while deciding is told by name, and with room again the run ends as if nothing had been (%s)',
    async (durability) => {
      writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(800)) })
      const args = [at('in'), '--durability', durability]
      await dedupe(...args, '-o', at('whole'))
      expect(limited(600, ...args, '-o', at('out'))).toBe('BACKEND_FULL')
      expect(published(at('out'))).toEqual({})
      expect((await dedupe(...args, '-o', at('out'))).code).toBe(0)
      expect(published(at('out'))).toEqual(published(at('whole')))
    },
  )

  it('while publishing is told by name, leaves nothing half-written, and with room again all is there', async () => {
    const text = textMaker(41)
    const docs = Array.from({ length: 40 }, (_, id) => ({ id, text: text(16_000) }))
    writeFiles(at('in'), { 'a.jsonl': jsonl(docs), 'c.yaml': 'near: { enabled: false }\n' })
    const args = [at('in/a.jsonl'), '--config', at('in/c.yaml')]
    await dedupe(...args, '-o', at('whole'))
    expect(limited(2000, ...args, '-o', at('out'))).toBe('BACKEND_FULL')
    expect(published(at('out'))).toEqual({})
    expect(leftovers(at('out'))).toEqual([])
    expect((await dedupe(...args, '-o', at('out'))).code).toBe(0)
    expect(published(at('out'))).toEqual(published(at('whole')))
  })

  it('of its own, a small one, is no other', async () => {
    mkdirSync(at('disk'))
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', at('disk')])
    if (mounted.status !== 0)
      return console.warn('NOT TESTED: a small disk, which root alone mounts')
    try {
      writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(800)) })
      await dedupe(at('in'), '-o', at('whole'))
      const full = await dedupe(at('in'), '-o', at('disk/out'))
      expect([full.code, full.err]).toEqual([1, expect.stringContaining('"BACKEND_FULL"')])
      spawnSync('mount', ['-o', 'remount,size=100m', at('disk')])
      expect((await dedupe(at('in'), '-o', at('disk/out'))).code).toBe(0)
      expect(published(at('disk/out'))).toEqual(published(at('whole')))
    } finally {
      spawnSync('umount', [at('disk')])
    }
  })
})

describe('permissions', () => {
  const canStepDown =
    !isRoot || spawnSync(process.execPath, [MAIN, '--version'], { uid: NOBODY }).status === 0
  const uid = isRoot ? NOBODY : undefined
  const asNobody = (...args: string[]) => prestige(['dedupe', ...args, '--json'], { uid })

  it('that are missing are told by name: inputs, outputs and state', async () => {
    if (!canStepDown) return console.warn('NOT TESTED: permissions, since nobody cannot run this')
    chmodSync(directory, 0o755)
    mkdirSync(at('free'))
    chmodSync(at('free'), 0o777)
    mkdirSync(at('shut'))
    chmodSync(at('shut'), 0o555)
    const [one, two] = corpus(2)
    writeFiles(at('in'), { 'a.jsonl': jsonl([one]), 'b.jsonl': jsonl([two]) })
    writeFiles(at('texts'), { 'a.txt': 'one text', 'b.txt': 'another one' })
    chmodSync(at('in/b.jsonl'), 0)
    chmodSync(at('texts/b.txt'), 0)
    const unreadable = await asNobody(at('in'), '-o', at('free/out'))
    expect([unreadable.code, unreadable.err]).toEqual([
      1,
      expect.stringContaining('INPUT_UNREADABLE'),
    ])
    expect(published(at('free/out'))).toEqual({})
    // A file a document: one that cannot be read is told, and the others taken.
    const texts = await asNobody(at('texts'), '-o', at('free/texts'))
    expect(texts.json.summary).toMatchObject({ kept: 1, rejectsByReason: { unreadable: 1 } })
    const state = ['--state', at('free/other')]
    const out = await asNobody(at('in/a.jsonl'), '-o', at('shut/out'), ...state)
    expect([out.code, out.err]).toEqual([1, expect.stringContaining('OUTPUT_FAILED')])
    expect(existsSync(at('free/other'))).toBe(false)
    const place = await asNobody(at('in/a.jsonl'), '-o', at('shut/out'))
    expect([place.code, place.err]).toEqual([2, expect.stringContaining('INVALID_LOCATION')])
  })
})

describe('two jobs at the same time on one state', () => {
  it('that are the same one both end well or say why, and the outcome is that of one', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(400)), 'b.jsonl': jsonl(corpus(400, 2)) })
    await dedupe(at('in'), '-o', at('whole'))
    const both = await Promise.all([1, 2].map(() => dedupeAside(at('in'), '-o', at('out'))))
    for (const { code, err } of both) {
      if (code !== 0) expect(JSON.parse(err).error.code).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
      if (code !== 0) expect(err).not.toContain('UNEXPECTED')
    }
    expect((await dedupe(at('in'), '-o', at('out'))).code).toBe(0)
    expect(published(at('out'))).toEqual(published(at('whole')))
    expect(leftovers(at('out'))).toEqual([])
  })

  it('that are different ones never keep two of one text', async () => {
    writeFiles(at('in'), { 'a.jsonl': jsonl(corpus(300)), 'b.jsonl': jsonl(corpus(300)) })
    const state = ['--state', at('state')]
    const job = (name: string) => dedupeAside(at(`in/${name}.jsonl`), '-o', at(name), ...state)
    const first = await Promise.all(['a', 'b'].map(job))
    for (const { code, err } of first) if (code !== 0) expect(err).not.toContain('UNEXPECTED')
    for (const name of ['a', 'b']) expect((await job(name)).code).toBe(0)
    const texts = ['a', 'b'].flatMap((name) =>
      (published(at(name))[`kept/${name}.jsonl`] ?? '').split('\n').filter(Boolean),
    )
    const once = await dedupe(at('in/a.jsonl'), '-o', at('once'))
    expect(texts).toHaveLength(once.json.summary.kept)
  })
})
