/** Arguments and names that are made to harm: a terminal, the matching of patterns, or whoever waits. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { inProcess as prestige } from './children/cli.ts'
import { jsonl, textMaker, writeFiles } from './corpus-kit.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-terminal-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const run = (...args: string[]) => prestige(args, { cwd: directory, store: join(directory, 's') })
const text = textMaker(13)
const EVIL = '\u001b]0;title\u0007\u001b[2J'

describe('escape sequences', () => {
  it.each([
    ['in an argument', ['dedupe', `${EVIL}.jsonl`, '-o', 'out']],
    ['in the name of a command', [EVIL]],
    ['in the name of an option', ['dedupe', 'in', `--${EVIL}`]],
    ['in the name of a file, with --strict', ['dedupe', 'in', '-o', 'out', '--strict']],
    ['in the name of a file, of which all is rejected', ['dedupe', 'in', '-o', 'out']],
    ['in the key of a config', ['config', 'check', 'config.yaml']],
    ['in the name of a file that resolve reads', ['resolve', `blank${EVIL}.txt`]],
    ['in the source of documents', ['dedupe', 'sources', '-o', 'out', '--source-field', 'source']],
  ])('%s reach no terminal', async (_, args) => {
    writeFiles(directory, {
      [`in/${EVIL}.jsonl`]: '{broken\n',
      [`blank${EVIL}.txt`]: '\n',
      'config.yaml': `"${EVIL.replaceAll('\u001b', String.raw`\e`).replace('\u0007', '')}": 1\n`,
      'sources/a.jsonl': jsonl([
        { text: text(), source: EVIL },
        { text: text(), source: 'other' },
      ]),
    })
    const { err, text: out } = await run(...args)
    // oxlint-disable-next-line no-control-regex -- it is what is looked for
    expect(err + out).not.toMatch(/[\u001b\u0007]/)
    expect(err + out).toContain('\u241b')
  })
})

it('a pattern of many stars is refused, not tried for minutes', async () => {
  writeFiles(directory, { [`in/${'a'.repeat(60)}.jsonl`]: jsonl([{ text: text() }]) })
  const many = await run('dedupe', `in/${'*a'.repeat(23)}b`, '-o', 'out')
  expect([many.code, many.err.includes('stars')]).toEqual([2, true])
  const few = await run('dedupe', 'in/*a*a*.jsonl', '-o', 'out')
  expect(few.code).toBe(0)
})

it.each(['/dev/zero', '.'])('config check %s is refused at once', async (path) => {
  const { code, err } = await run('config', 'check', path)
  expect([code, err.includes('unexpected')]).toEqual([2, false])
})

it.each([
  ['-o', '/proc/prestige-test'],
  ['-o', '/proc/prestige/test'],
])('%s %s is refused at once', async (...place) => {
  writeFiles(directory, { 'in/a.jsonl': jsonl([{ text: text() }]) })
  const { code, err } = await run('dedupe', 'in', ...place)
  expect([code, err]).toEqual([1, expect.stringContaining('/proc/prestige')])
  expect(err).not.toContain('unexpected')
})

it('--state and export below /proc are refused at once', async () => {
  writeFiles(directory, { 'in/a.jsonl': jsonl([{ text: text() }]) })
  expect((await run('dedupe', 'in', '-o', 'out', '--state', '/proc/x')).code).toBe(1)
  await run('put', 'key', 'value')
  expect((await run('export', '/proc/prestige-test')).code).toBe(1)
})
