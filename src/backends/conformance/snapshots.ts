/** Scenarios about snapshots: what they see, and what they leave alone. */

import assert from 'node:assert/strict'

import { type Backend, cell } from '../contract.ts'
import { blind, fill, get, key, names, put, refused, type Scenario, sums, words } from './kit.ts'

/** All that a snapshot can be asked for. */
async function seen(view: Backend): Promise<unknown> {
  return [
    await names(view),
    await get(view, words, 'a', 'b', 'gone', 'new'),
    await get(view, sums, 'total'),
  ]
}

async function change(backend: Backend): Promise<void> {
  await backend.run(
    blind((scope) => {
      scope.write(cell(words, key('b')), 'changed')
      scope.write(cell(words, key('new')), 'N')
      scope.remove(cell(words, key('gone')))
      scope.add(cell(sums, key('total')), 5)
    }),
  )
}

export const snapshotScenarios = {
  'reads a snapshot of one moment, where it says so, and else what is there': async (
    backend,
    { reopen },
  ) => {
    await put(backend, { a: 'A', b: 'B', gone: 'G' })
    await backend.run(blind((scope) => scope.add(cell(sums, key('total')), 2)))
    const snapshot = await backend.snapshot()
    try {
      const before = await seen(snapshot)
      assert.deepEqual(before, [['a', 'b', 'gone'], ['A', 'B', 'G', undefined], [2]])
      await change(backend)
      const other = await reopen(backend)
      await put(other, { c: 'C' })
      await put(await reopen(backend, { namespace: 'elsewhere' }), { d: 'D' })
      const after = [['a', 'b', 'c', 'new'], ['A', 'changed', undefined, 'N'], [7]]
      assert.equal(snapshot.snapshots, backend.snapshots)
      assert.deepEqual(await seen(snapshot), backend.snapshots ? before : after)
      assert.deepEqual(await seen(backend), after)
    } finally {
      await snapshot.close()
    }
  },

  'scans a snapshot page by page while others write': async (backend, { manyRows }) => {
    const rowName = (at: number) => `row ${String(at).padStart(5, '0')}`
    const all = Array.from({ length: manyRows }, (_, at) => rowName(at))
    await fill(
      backend,
      words,
      all.map((name) => [key(name), name] as const),
    )
    const snapshot = await backend.snapshot()
    const found: string[] = []
    try {
      for await (const row of snapshot.scan(words)) {
        if (found.length === 0) {
          await put(backend, {
            [rowName(manyRows)]: 'behind the last',
            [all.at(-1) ?? '']: 'changed',
          })
        }
        found.push(row.value)
      }
    } finally {
      await snapshot.close()
    }
    // Without a moment, what changes while a scan runs may or may not be seen.
    const unchanged = found.slice(0, manyRows - 1)
    assert.deepEqual(
      backend.snapshots ? found : unchanged,
      backend.snapshots ? all : all.slice(0, -1),
    )
  },

  'writes nothing through a snapshot, and closes it alone': async (backend) => {
    await put(backend, { a: 'A' })
    const snapshot = await backend.snapshot()
    await refused('READ_ONLY', put(snapshot, { a: 'changed' }))
    await snapshot.close()
    await snapshot.close()
    await refused('BACKEND_CLOSED', get(snapshot, words, 'a'))
    await put(backend, { b: 'B' })
    assert.deepEqual(await get(backend, words, 'a', 'b'), ['A', 'B'])
  },

  'has in a snapshot the time of the moment, where it says so': async (_, { open }) => {
    let time = 1_700_000_000_000
    const backend = await open({ clock: () => time })
    const snapshot = await backend.snapshot()
    time += 5000
    assert.equal(snapshot.now(), backend.snapshots ? 1_700_000_000_000 : time)
    await snapshot.close()
  },
} satisfies Record<string, Scenario>
