/** Scenarios about one transaction at a time: own writes, all or nothing, errors, reliance. */

import assert from 'node:assert/strict'

import {
  blind,
  get,
  increment,
  key,
  names,
  numbers,
  others,
  put,
  refused,
  rejection,
  RUNS_AT_ONCE,
  type Scenario,
  sums,
  together,
  words,
  writeAll,
} from './kit.ts'
import { type Backend, cell, glance, read, type Scope, type Transaction } from '../contract.ts'
import { seededRandom } from '../simulated/index.ts'

class Refusal extends Error {
  readonly detail = { reason: 'on purpose' }
}

const refusal = new Refusal('This body always throws.')

function* writeThenThrow(scope: Scope, name: string): Transaction<never> {
  scope.write(cell(words, key(name)), 'never')
  scope.remove(cell(words, key('kept')))
  scope.add(cell(sums, key(name)), 1)
  yield* read(cell(words, key('kept')))
  scope.write(cell(others, key(name)), 'never')
  throw refusal
}

const [a, b, c] = [cell(words, key('a')), cell(words, key('b')), cell(words, key('c'))] as const

/** One random transaction, done to the backend and to a plain map alike. */
async function randomStep(
  backend: Backend,
  model: Map<string, string>,
  random: () => number,
): Promise<void> {
  const name = () => String.fromCharCode(97 + Math.floor(random() * 8)).repeat(1 + random() * 2)
  const steps = Array.from({ length: 1 + Math.floor(random() * 4) }, () => ({
    name: name(),
    value: random() < 0.4 ? undefined : String(random()),
  }))
  const throws = random() < 0.2
  const draft = new Map(model)
  const expected = steps.map(({ name, value }) => {
    const before = draft.get(name)
    if (value === undefined) draft.delete(name)
    else draft.set(name, value)
    return before
  })
  const work = backend.run(function* (scope) {
    const seen: (string | undefined)[] = []
    for (const { name, value } of steps) {
      const at = cell(words, key(name))
      seen.push(...(yield* read(at)))
      if (value === undefined) scope.remove(at)
      else scope.write(at, value)
    }
    if (throws) throw refusal
    return seen
  })
  if (throws) {
    assert.equal(await rejection(work), refusal)
    return
  }
  assert.deepEqual(await work, expected)
  model.clear()
  for (const [name, value] of draft) model.set(name, value)
}

export const transactionScenarios = {
  'lets a body read its own writes and removals': async (backend) => {
    await put(backend, { a: 'old', b: 'old' })
    const seen = await backend.run(function* (scope) {
      const before = yield* read(a, b, c)
      scope.write(a, 'new')
      scope.remove(b)
      scope.write(c, 'new')
      return [before, yield* read(a, b, c)]
    })
    assert.deepEqual(seen, [
      ['old', 'old', undefined],
      ['new', undefined, 'new'],
    ])
    assert.deepEqual(await get(backend, words, 'a', 'b', 'c'), ['new', undefined, 'new'])
  },

  'lets composed bodies read each other’s writes': async (backend) => {
    const last = await backend.run(function* (scope) {
      yield* increment(scope, 'count')
      yield* increment(scope, 'count')
      return yield* increment(scope, 'count')
    })
    assert.equal(last, 3)
    assert.deepEqual(await get(backend, numbers, 'count'), [3])
  },

  'keeps the last of several writes of a cell': async (backend) => {
    await backend.run(
      blind((scope) => {
        scope.write(a, 'first')
        scope.write(a, 'last')
        scope.write(b, 'first')
        scope.remove(b)
        scope.remove(c)
        scope.write(c, 'last')
      }),
    )
    assert.deepEqual(await get(backend, words, 'a', 'b', 'c'), ['last', undefined, 'last'])
    assert.deepEqual(await names(backend), ['a', 'c'])
  },

  'applies all writes of a transaction, in all of its spaces': async (backend) => {
    await put(backend, { gone: 'x', kept: 'x' })
    await backend.run(function* (scope) {
      yield* writeAll(scope, words, { a: '1', b: '2', c: '3' })
      yield* writeAll(scope, others, { a: '4', b: '5' })
      yield* writeAll(scope, numbers, { a: 6 })
      scope.remove(cell(words, key('gone')))
      scope.remove(cell(words, key('never there')))
    })
    assert.deepEqual(await get(backend, words, 'a', 'b', 'c', 'gone'), ['1', '2', '3', undefined])
    assert.deepEqual(await get(backend, others, 'a', 'b', 'c'), ['4', '5', undefined])
    assert.deepEqual(await get(backend, numbers, 'a'), [6])
    assert.deepEqual(await names(backend), ['a', 'b', 'c', 'kept'])
  },

  'writes nothing when a body throws, and lets that very error out': async (backend) => {
    await put(backend, { kept: 'yes' })
    assert.equal(await rejection(backend.run(writeThenThrow, 'a')), refusal)
    assert.deepEqual(await get(backend, words, 'kept', 'a'), ['yes', undefined])
    assert.deepEqual(await get(backend, others, 'a'), [undefined])
    assert.deepEqual(await names(backend), ['kept'])
    const reading = backend.read(function* () {
      yield* read(a)
      throw refusal
    })
    assert.equal(await rejection(reading), refusal)
  },

  'lets a body go on after an error it has caught itself': async (backend) => {
    const seen = await backend.run(function* (scope): Transaction<unknown> {
      try {
        return yield* writeThenThrow(scope, 'a')
      } catch (error) {
        return [error === refusal, yield* read(a)]
      }
    })
    assert.deepEqual(seen, [true, ['never']])
    assert.deepEqual(await get(backend, words, 'a'), ['never'])
  },

  'keeps the error of one transaction from the others in flight': async (backend) => {
    await put(backend, { kept: 'yes' })
    const ends = await together(50, (at) =>
      at % 3 === 0
        ? rejection(backend.run(writeThenThrow, `thrown ${at}`))
        : backend.run(increment, `count ${at % 5}`),
    )
    ends.forEach((end, at) => assert.equal(end === refusal, at % 3 === 0))
    const counts = await get(backend, numbers, ...Array.from({ length: 5 }, (_, n) => `count ${n}`))
    assert.equal(
      counts.reduce<number>((sum, count) => sum + (count ?? 0), 0),
      33,
    )
    assert.deepEqual(await names(backend), ['kept'])
    assert.deepEqual(await get(backend, sums, 'thrown 0', 'thrown 3'), [undefined, undefined])
  },

  'shows what a transaction wrote to the very next read, scan and transaction': async (backend) => {
    for (let at = 0; at < 20; at++) {
      await put(backend, { a: String(at), [`row ${at}`]: 'x' })
      assert.deepEqual(await get(backend, words, 'a'), [String(at)])
      assert.equal((await names(backend)).length, at + 2)
      const [inside] = await backend.run(function* () {
        return yield* read(a)
      })
      assert.equal(inside, String(at))
    }
  },

  'validates what a body relies on, and only that': async (backend) => {
    function* relyOnCount(scope: Scope): Transaction<void> {
      const count = cell(numbers, key('count'))
      yield* glance(cell(words, key('noise')))
      const [before = 0] = yield* glance(count)
      scope.rely(count)
      scope.write(count, before + 1)
    }
    await Promise.all([
      together(RUNS_AT_ONCE, (at) => put(backend, { noise: String(at) })),
      together(RUNS_AT_ONCE, () => backend.run(relyOnCount)),
    ])
    assert.deepEqual(await get(backend, numbers, 'count'), [RUNS_AT_ONCE])
  },

  'relies on what one body reads, whatever another that it calls relies on': async (backend) => {
    function* callee(scope: Scope): Transaction<void> {
      yield* glance(cell(words, key('noise')))
      scope.rely(cell(words, key('noise')))
    }
    await Promise.all([
      together(RUNS_AT_ONCE, () =>
        backend.run(function* (scope) {
          yield* callee(scope)
          yield* increment(scope, 'count')
        }),
      ),
      together(RUNS_AT_ONCE, () =>
        backend.run(function* (scope) {
          yield* increment(scope, 'count')
          yield* callee(scope)
        }),
      ),
    ])
    assert.deepEqual(await get(backend, numbers, 'count'), [2 * RUNS_AT_ONCE])
  },

  'answers a glance as it answers a read, and lets what was glanced at be read': async (
    backend,
  ) => {
    await put(backend, { a: 'x' })
    await together(RUNS_AT_ONCE, () =>
      backend.run(function* (scope) {
        const count = cell(numbers, key('count'))
        const [seen, glanced = 0] = yield* glance(a, count)
        assert.equal(seen, 'x')
        const [before = 0] = yield* read(count)
        assert.equal(before, glanced)
        scope.write(count, before + 1)
        assert.deepEqual(yield* glance(count, a), [before + 1, 'x'])
      }),
    )
    assert.deepEqual(await get(backend, numbers, 'count'), [RUNS_AT_ONCE])
  },

  'lets a body rely on what it has written itself': async (backend) => {
    const seen = await backend.run(function* (scope) {
      scope.write(a, 'own')
      const found = yield* read(a, b)
      scope.rely(a, b)
      return found
    })
    assert.deepEqual(seen, ['own', undefined])
    assert.deepEqual(await get(backend, words, 'a'), ['own'])
  },

  /** Where bodies run one after another nothing is validated, and the contract asks for no check. */
  'refuses reliance on a cell that was not read, where it validates': async (backend) => {
    function* relyOnUnread(scope: Scope): Transaction<void> {
      yield* read(a)
      scope.write(a, 'never')
      scope.rely(b)
    }
    if (backend.serial) return
    await refused('BODY_MISUSE', backend.run(relyOnUnread))
    assert.deepEqual(await get(backend, words, 'a'), [undefined])
  },

  'agrees with a plain map over random transactions': async (backend) => {
    const random = seededRandom(42)
    const model = new Map<string, string>()
    for (let step = 0; step < 60; step++) {
      await randomStep(backend, model, random)
      const found: [string, string][] = []
      for await (const row of backend.scan(words)) {
        found.push([row.key.toString('latin1'), row.value])
      }
      const known = [...model].toSorted(([one], [other]) => (one < other ? -1 : 1))
      assert.deepEqual(found, known)
    }
  },
} satisfies Record<string, Scenario>
