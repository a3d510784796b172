/** Scenarios about a backend as a whole: spaces, namespaces, ids, time, closing and opening again. */

import assert from 'node:assert/strict'

import {
  blind,
  blobs,
  get,
  increment,
  key,
  names,
  numbers,
  others,
  put,
  refused,
  RUNS_AT_ONCE,
  type Scenario,
  sums,
  together,
  words,
} from './kit.ts'
import {
  type Backend,
  cell,
  first,
  read,
  rowsOf,
  type Scope,
  type Transaction,
} from '../contract.ts'

const ID_BYTES = 16

function* threeIds(scope: Scope): Transaction<Buffer[]> {
  const ids = [scope.id(), scope.id()]
  yield* read(cell(words, key('a')))
  return [...ids, scope.id()]
}

function isAscending(ids: readonly Buffer[]): boolean {
  return ids.every((id, at) => at === 0 || Buffer.compare(ids[at - 1] ?? id, id) < 0)
}

async function idsInTurn(backend: Backend, count: number): Promise<Buffer[]> {
  const ids: Buffer[] = []
  for (let at = 0; at < count; at++) ids.push(...(await backend.run(threeIds)))
  return ids
}

function* nowTwice(scope: { now(): number }): Transaction<number[]> {
  const before = scope.now()
  yield* read(cell(words, key('a')))
  yield* read(cell(words, key('b')))
  return [before, scope.now()]
}

async function refusesEverything(backend: Backend): Promise<void> {
  await refused('BACKEND_CLOSED', put(backend, { a: 'too late' }))
  await refused('BACKEND_CLOSED', get(backend, words, 'a'))
  await refused('BACKEND_CLOSED', names(backend))
  await refused('BACKEND_CLOSED', backend.snapshot())
}

/** Not a turn of the event loop, in which an engine could still catch up. */
async function promisesToSettle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

/** Names that are the beginning of others, or could be taken for a name and a part of a key. */
const NAMESPACES = ['', 'a', 'ab', 'abc', 'b', '\x01', '\x01a', 'ü']

export const lifeScenarios = {
  'keeps spaces apart': async (backend) => {
    await put(backend, { a: 'word' })
    assert.deepEqual(await get(backend, others, 'a'), [undefined])
    await put(backend, { a: 'other' }, others)
    assert.deepEqual(await get(backend, words, 'a'), ['word'])
    const seen = await backend.run(function* (scope) {
      scope.remove(cell(words, key('a')))
      scope.write(cell(blobs, key('a')), key('blob'))
      return yield* read(cell(words, key('a')), cell(others, key('a')))
    })
    assert.deepEqual(seen, [undefined, 'other'])
    assert.deepEqual(await get(backend, others, 'a'), ['other'])
    assert.deepEqual(await names(backend), [])
  },

  'keeps namespaces apart': async (backend, { reopen }) => {
    const all = await Promise.all(NAMESPACES.map((namespace) => reopen(backend, { namespace })))
    for (const [at, one] of all.entries()) {
      await put(one, { a: `a of ${at}`, abc: `abc of ${at}`, [`only ${at}`]: 'x' })
      await one.run(blind((scope) => scope.add(cell(sums, key('a')), at + 1)))
    }
    for (const [at, one] of all.entries()) {
      assert.deepEqual(await get(one, words, 'a', 'abc'), [`a of ${at}`, `abc of ${at}`])
      assert.deepEqual(await names(one), ['a', 'abc', `only ${at}`])
      assert.deepEqual(await names(one, { start: key('abc') }), ['abc', `only ${at}`])
      assert.deepEqual(await names(one, { end: key('abc') }), ['a'])
      assert.deepEqual(await get(one, sums, 'a'), [at + 1])
    }
  },

  'finds no first key of another namespace': async (backend, { reopen }) => {
    const [empty, full] = await Promise.all([
      reopen(backend, { namespace: 'a' }),
      reopen(backend, { namespace: 'ab' }),
    ])
    await put(full, { b: 'x', bb: 'x' })
    if (!backend.serial) return
    for (const prefix of ['', 'b']) {
      const seek = function* (): Transaction<string | undefined> {
        const found = yield* first(words, key(prefix))
        return found?.toString('latin1')
      }
      assert.equal(await empty.run(seek), undefined)
      assert.equal(await full.run(seek), 'b')
      const list = function* (): Transaction<string[]> {
        const rows = yield* rowsOf(words, { start: key(prefix), limit: 9 })
        return rows.map((row) => row.key.toString('latin1'))
      }
      assert.deepEqual(await empty.run(list), [])
      assert.deepEqual(await full.run(list), ['b', 'bb'])
    }
  },

  'makes ids of sixteen bytes that are unique and ascend': async (backend) => {
    const inTurn = await idsInTurn(backend, 10)
    assert.ok(inTurn.every((id) => id.byteLength === ID_BYTES))
    assert.ok(isAscending(inTurn), 'ids made later are greater')
    const atOnce = (await together(RUNS_AT_ONCE, () => backend.run(threeIds))).flat()
    const distinct = new Set([...inTurn, ...atOnce].map((id) => id.toString('hex')))
    assert.equal(distinct.size, inTurn.length + atOnce.length)
    inTurn[0]?.fill(0)
    assert.ok(isAscending([inTurn.at(-1) ?? Buffer.alloc(0), ...(await idsInTurn(backend, 1))]))
  },

  'makes ids that no other backend makes': async (backend, { reopen }) => {
    const clock = () => 1_700_000_000_000
    const all = await Promise.all([reopen(backend, { clock }), reopen(backend, { clock })])
    const ids = await Promise.all(all.map((one) => idsInTurn(one, 20)))
    assert.equal(new Set(ids.flat().map((id) => id.toString('hex'))).size, 120)
  },

  'makes ids that ascend when the clock stands still or steps back': async (_, { open }) => {
    let time = 1_700_000_000_000
    const backend = await open({ clock: () => time })
    const ids: Buffer[] = []
    for (const change of [0, 0, -5000, 1, 6000]) {
      time += change
      ids.push(...(await idsInTurn(backend, 2)))
    }
    assert.ok(isAscending(ids))
  },

  'takes the time from its clock, once a transaction': async (_, { open }) => {
    let time = 1_700_000_000_000
    const backend = await open({ clock: () => time++ })
    for (const seen of [await backend.run(nowTwice), await backend.read(nowTwice)]) {
      assert.equal(seen[0], seen[1])
      assert.ok(seen[0] !== undefined && seen[0] >= 1_700_000_000_000 && seen[0] < time)
    }
    const much = 1_800_000_000_000
    time = much
    assert.equal(backend.now(), much)
    const [later] = await backend.run(nowTwice)
    assert.ok(later !== undefined && later > much && later < time)
  },

  'has a time that never goes back, whatever its clock does': async (_, { open }) => {
    let time = 1_700_000_000_000
    const backend = await open({ clock: () => time })
    const before = backend.now()
    time -= 5000
    assert.equal(backend.now(), before)
    assert.deepEqual(await backend.run(nowTwice), [before, before])
    assert.deepEqual(await backend.read(nowTwice), [before, before])
  },

  'refuses every verb once closed': async (backend) => {
    await put(backend, { a: 'A' })
    await backend.close()
    await refusesEverything(backend)
  },

  'closes once, however often it is asked to': async (backend) => {
    await put(backend, { a: 'A' })
    await Promise.all([backend.close(), backend.close()])
    await backend.close()
    await refusesEverything(backend)
  },

  'waits for what it has accepted before it closes': async (backend, { reopen }) => {
    let ended = 0
    const work = Array.from({ length: 100 }, async (_, at) => {
      await backend.run(increment, `count ${at % 10}`)
      ended++
    })
    const settled = Promise.allSettled(work)
    await backend.close()
    await promisesToSettle()
    assert.equal(ended, 100, 'every run had ended when close did')
    await settled
    const again = await reopen(backend)
    const counts = Array.from({ length: 10 }, (_, at) => `count ${at}`)
    assert.deepEqual(await get(again, numbers, ...counts), Array(10).fill(10))
  },

  'has everything after it was closed and opened again': async (backend, { reopen }) => {
    await put(backend, { a: 'A', b: 'B', gone: 'x' })
    await backend.run(
      blind((scope) => {
        scope.remove(cell(words, key('gone')))
        scope.add(cell(sums, key('total')), 7)
      }),
    )
    await backend.close()
    const again = await reopen(backend)
    assert.deepEqual(await names(again), ['a', 'b'])
    assert.deepEqual(await get(again, words, 'a', 'b', 'gone'), ['A', 'B', undefined])
    assert.deepEqual(await get(again, sums, 'total'), [7])
    await again.run(blind((scope) => scope.add(cell(sums, key('total')), 1)))
    assert.deepEqual(await get(again, sums, 'total'), [8])
  },
} satisfies Record<string, Scenario>
