/** Symbolic links, permissions, and what killed processes leave behind. */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { removeAbandoned } from '../src/platform/abandoned.ts'
import { inProcess as prestige } from './children/cli.ts'
import { jsonl, published, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-links-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const at = (...names: string[]) => join(directory, ...names)
const dedupe = (...args: string[]) => prestige(['dedupe', ...args], { cwd: directory })
const text = textMaker(11)

describe('a symbolic link in the inputs that leads outside', () => {
  beforeEach(() => {
    writeFiles(directory, { 'in/a.txt': text(), 'in/sub/b.txt': text(), 'secret.txt': text() })
    symlinkSync(at('secret.txt'), at('in/link.txt'))
    symlinkSync(at('in/a.txt'), at('in/sub/inside.txt'))
  })

  it('is passed over, in a directory with a note', async () => {
    await dedupe('in/*.txt', '-o', 'matched')
    expect(existsSync(at('matched/kept/link.txt'))).toBe(false)
    const run = await dedupe('in', '-o', 'out')
    expect(run.code).toBe(0)
    expect(run.text).toMatch(
      /1 symbolic link to files outside the inputs passed over: in\/link\.txt\. Add --follow-symlinks/,
    )
    expect(existsSync(at('out/kept/link.txt'))).toBe(false)
  })

  it('is read with --follow-symlinks, or if it is named', async () => {
    await dedupe('in', '-o', 'out', '--follow-symlinks')
    expect(existsSync(at('out/kept/link.txt'))).toBe(true)
    await dedupe('in/link.txt', '-o', 'named')
    expect(existsSync(at('named/kept/link.txt'))).toBe(true)
  })
})

describe('a symbolic link in the outputs', () => {
  it.each(['kept', 'kept/sub', 'kept/sub/b.txt', 'runs'])('at %s is refused', async (name) => {
    writeFiles(directory, { 'in/a.txt': text(), 'in/sub/b.txt': text() })
    mkdirSync(at('elsewhere'))
    writeFileSync(at('elsewhere/b.txt'), 'mine')
    await dedupe('in/a.txt', '-o', 'out')
    await rm(at('out', name), { recursive: true, force: true })
    mkdirSync(join(at('out', name), '..'), { recursive: true })
    symlinkSync(name.endsWith('.txt') ? at('elsewhere/b.txt') : at('elsewhere'), at('out', name))
    const run = await dedupe('in/sub/b.txt', 'in/a.txt', '-o', 'out')
    expect(run.code).not.toBe(0)
    expect(run.err).toContain(`out/${name} is a symbolic link`)
    expect(readdirSync(at('elsewhere'))).toEqual(['b.txt'])
    expect(readFileSync(at('elsewhere/b.txt'), 'utf8')).toBe('mine')
  })
})

it('an output is as private as its source', async () => {
  writeFiles(directory, { 'in/a.jsonl': jsonl([{ text: text() }]), 'in/b.txt': text() })
  writeFiles(directory, { 'in/c.txt': text() })
  for (const name of ['in/a.jsonl', 'in/b.txt']) chmodSync(at(name), 0o600)
  await dedupe('in', '-o', 'out')
  const modes = ['a.jsonl', 'b.txt', 'c.txt'].map((name) => statSync(at('out/kept', name)).mode)
  expect(modes.map((mode) => mode & 0o077)).toEqual([0, 0, statSync(at('in/c.txt')).mode & 0o077])
  expect(Object.keys(published(at('out'))).length).toBeGreaterThan(3)
})

it('what was left for a day is removed, and only names that are ours', async () => {
  const old = new Date(Date.now() - 25 * 60 * 60 * 1000)
  const names = ['prestige-input-Abc123', 'prestige-input-Xyz789', 'prestige-input-mine', 'other']
  for (const name of names) mkdirSync(at(name))
  for (const name of names) {
    if (name !== 'prestige-input-Xyz789') utimesSync(at(name), old, old)
  }
  await removeAbandoned(directory, (name) => /^prestige-input-[A-Za-z0-9]{6}$/.test(name))
  expect(readdirSync(directory).toSorted()).toEqual([
    'other',
    'prestige-input-Xyz789',
    'prestige-input-mine',
  ])
})
