/** Commands that take a location: the directory of a run's outputs is one, and `list` says what is there. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { cell } from '../src/backends/index.ts'
import { openBackend } from '../src/backends/open.ts'
import { openLedger } from '../src/index.ts'
import { ledgerSpaces } from '../src/ledger/index.ts'
import { bySource } from '../src/ledger/rows.ts'
import { inProcess as prestige } from './children/cli.ts'

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

  it('lists what is there', async () => {
    const list = await prestige(['list', out])
    expect(list.text).toBe('  state  format 4  3 documents, 1 run\n')
    const [state] = (await prestige(['list', '--json'], { store: out })).json
    expect(state).toMatchObject({ kind: 'state', namespace: '', counts: { documents: 3, runs: 1 } })
    const store = join(directory, 'store')
    await prestige(['put', 'a', 'b', '--namespace', 'mine'], { store })
    const mine = await prestige(['list', store])
    expect(mine.text).toBe('  store  format 3  1 key, 1 content, 1 B  namespace mine\n')
    expect((await prestige(['list', store, '--namespace', 'other'])).text).toBe(
      'nothing is stored here\n',
    )
    const missing = await prestige(['list', join(directory, 'nowhere')])
    expect([missing.code, missing.text]).toEqual([3, ''])
  })

  it('verifies, archives and restores a state', async () => {
    const verified = await prestige(['verify', '--json'], { store: out })
    expect([verified.code, verified.json.kind, verified.json.isSound]).toEqual([0, 'state', true])
    expect((await prestige(['verify'], { store: out })).text).toMatch(/^state sound: \d+ rows\n$/)
    const repair = await prestige(['verify', '--repair'], { store: out })
    expect([repair.code, repair.err]).toEqual([2, expect.stringContaining('Only a store')])
    const file = join(directory, 'state.archive')
    const exported = await prestige(['export', '--archive', file], { store: out })
    expect(exported.code, exported.err).toBe(0)
    const copy = join(directory, 'copy')
    const restored = await prestige(['import', '--archive', file], { store: copy })
    expect(restored.text, restored.err).toMatch(/^state: \d+ rows restored\n$/)
    const runs = await prestige(['runs', '--state', copy, '--json'])
    expect(runs.json[0]).toMatchObject({ id: 'first', status: 'finished' })
    const again = await prestige(['import', '--archive', file], { store: copy })
    expect([again.code, again.err]).toEqual([2, expect.stringContaining('already')])
    const kind = await prestige(['export', '--archive', '--kind', 'ledger', '-'], { store: out })
    expect([kind.code, kind.err]).toEqual([3, expect.stringContaining('no ledger')])
    const misplaced = await prestige(['export', '--kind', 'ledger', join(directory, 'x')], {
      store: out,
    })
    expect(misplaced.code).toBe(2)
  }, 30_000)

  it('says in the exit code that a ledger is damaged', async () => {
    const store = join(directory, 'ledger')
    const ledger = await openLedger(store)
    await ledger.record([{ id: 'a', status: 'accepted', source: 'web' }])
    await ledger.close()
    const backend = await openBackend(store, { spaces: ledgerSpaces })
    for await (const { key } of backend.scan(bySource)) {
      await backend.run(function* (scope) {
        scope.remove(cell(bySource, key))
      })
    }
    await backend.close()
    const verified = await prestige(['verify'], { store })
    expect([verified.code, verified.text]).toEqual([4, expect.stringContaining('under its source')])
    expect(verified.text).toContain('ledger damaged: ')
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
