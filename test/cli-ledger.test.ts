import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { openLedger } from '../src/index.ts'
import { inProcess as prestige } from './children/cli.ts'

let directory: string
let store: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prestige-cli-ledger-'))
  store = join(directory, 'store')
  const ledger = await openLedger(store, { clock: () => 1_700_000_000_000 })
  await ledger.startRun({ id: 'nightly' })
  await ledger.record([
    { id: 'a', status: 'accepted', source: 'web', run: 'nightly' },
    { id: 'b\n', status: 'duplicate', of: 'a', source: 'web', detail: 'same bytes' },
  ])
  await ledger.close()
})
afterAll(() => rm(directory, { recursive: true }))

const run = (...args: string[]) => prestige(['ledger', ...args], { store })

describe('prestige ledger', () => {
  it('says what became of a document', async () => {
    expect((await run('get', 'a')).text).toBe(
      [
        '  id      a',
        '  status  accepted',
        '  since   2023-11-14T22:13:20.000Z',
        '  source  web',
        '  run     nightly',
        '  token   0',
        '',
      ].join('\n'),
    )
    const { json } = await run('get', '--json', '-e', 'b\\x0a')
    expect(json).toMatchObject({ id: 'b\n', status: 'duplicate', of: 'a', detail: 'same bytes' })
    const missing = await run('get', 'c')
    expect([missing.code, missing.err]).toEqual([3, 'prestige: The ledger has no line of "c".\n'])
  })

  it('lists by source and by run, and counts', async () => {
    const lines = (await run('list', '--source', 'web')).text.split('\n').toSorted()
    expect(lines).toEqual([
      '',
      'accepted    2023-11-14T22:13:20.000Z  a',
      'duplicate   2023-11-14T22:13:20.000Z  b\\x0a of a',
    ])
    expect((await run('list', '--run', 'nightly', '--json')).json).toMatchObject({ id: 'a' })
    expect((await run('stats')).text).toBe(
      [
        '  accepted   1',
        '  duplicate  1',
        '  lines      2',
        '',
        '  running  2023-11-14T22:13:20.000Z  1  run nightly',
        '',
      ].join('\n'),
    )
    expect((await run('stats', '--source', 'web', '--json')).json).toMatchObject({
      counts: { accepted: 1, duplicate: 1, total: 2 },
    })
  })

  it('lists by time and by status', async () => {
    const listed = async (...args: string[]) =>
      (await run('list', ...args)).text.split('\n').filter((line) => line !== '').length
    expect(await listed()).toBe(2)
    expect(await listed('--since', '2023-11-14')).toBe(2)
    expect(await listed('--since', '2023-11-14T22:13:20Z', '--until', '2023-11-15')).toBe(2)
    expect(await listed('--until', '2023-11-14T22:13:20+00:00')).toBe(0)
    expect(await listed('--since', '1d')).toBe(0)
    expect(await listed('--status', 'duplicate', '--source', 'web')).toBe(1)
  })

  it('answers mistakes, and makes no ledger where there is none', async () => {
    expect((await run('get')).code).toBe(2)
    expect((await run('lost')).code).toBe(2)
    expect((await run('list', '--since', 'yesterday')).err).toContain(
      '--since takes a date (2026-01-31), a time (2026-01-31T12:00:00Z) or an age (90d, 12h)',
    )
    expect((await run('list', '--status', 'fine')).code).toBe(2)
    expect((await run('stats', '--since', '1d')).err).toContain('--since has no effect')
    expect((await run('list', '--source', 's', '--run', 'r')).code).toBe(2)
    expect((await run('get', 'a', '--limit', '1')).err).toContain(
      '--limit has no effect with ledger get',
    )
    const other = await prestige(['ledger', 'stats'], { store: join(directory, 'none') })
    expect(other.code).toBe(3)
  })
})
