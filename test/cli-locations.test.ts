/** Commands that take a location: the directory of a run's outputs is one, and `list` says what is there. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { prestige } from './children/cli.ts'

let directory = ''
let out = ''
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-cli-locations-'))
  const lines = [
    'one text of some length here',
    'another text altogether',
    'another text altogether',
  ]
  const records = lines.map((text, at) => JSON.stringify({ id: `d${at}`, text }))
  await writeFile(join(directory, 'raw.jsonl'), records.join('\n'))
  out = join(directory, 'clean')
  const run = await prestige(['dedupe', join(directory, 'raw.jsonl'), '-o', out, '--run', 'first'])
  expect(run.code, run.err).toBe(0)
})
afterAll(() => rm(directory, { recursive: true }))

describe('a command that takes a location', () => {
  it('finds the state below the outputs of a run', async () => {
    const runs = await prestige(['runs', '--state', out, '--json'])
    expect([runs.code, runs.json[0].id]).toEqual([0, 'first'])
    const report = await prestige(['report', '--state', out])
    expect(report.code, report.err).toBe(0)
    const again = join(directory, 'again')
    const against = await prestige([
      'dedupe',
      join(directory, 'raw.jsonl'),
      '-o',
      again,
      '--against',
      out,
    ])
    expect(against.code, against.err).toBe(0)
  })

  it('makes no store in the state when it is to make one', async () => {
    const put = await prestige(['put', 'a', 'b'], { store: out })
    expect(put.code, put.err).toBe(0)
    // The outputs hold a store of their own now.
    expect((await prestige(['get', 'a'], { store: out })).text).toBe('b')
    await rm(join(out, 'data.mdb'))
    await rm(join(out, 'lock.mdb'), { force: true })
    expect((await prestige(['get', 'a'], { store: out })).code).toBe(3)
  })

  it('undoes a run by the directory of its outputs', async () => {
    const undone = await prestige(['undo', 'first', '--state', out])
    expect(undone.code, undone.err).toBe(0)
  })
})
