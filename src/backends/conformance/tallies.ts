/** Scenarios about tallies: sums that many add to at once and that no transaction reads. */

import assert from 'node:assert/strict'

import {
  blind,
  get,
  key,
  names,
  numbers,
  put,
  refused,
  rejection,
  RUNS_AT_ONCE,
  type Scenario,
  sums,
  together,
  words,
} from './kit.ts'
import { type Backend, cell, read, type Scope } from '../contract.ts'

const total = cell(sums, key('total'))

async function sumOf(backend: Backend, name: string): Promise<number> {
  const [sum] = await get(backend, sums, name)
  return sum ?? 0
}

/** Refused, and whatever else the body recorded is not applied. */
async function isMisuse(backend: Backend, misuse: (scope: Scope) => void): Promise<void> {
  const work = blind((scope) => {
    scope.write(cell(words, key('a')), 'never')
    scope.add(total, 100)
    misuse(scope)
  })
  await refused('BODY_MISUSE', backend.run(work))
  assert.deepEqual(await names(backend), [])
  assert.equal(await sumOf(backend, 'total'), 5)
}

export const tallyScenarios = {
  'adds up exactly, however many add at once': async (backend) => {
    await together(RUNS_AT_ONCE, (at) =>
      backend.run(
        blind((scope) => {
          scope.add(total, at)
          scope.add(total, 1)
          scope.add(cell(sums, key(`part ${at % 4}`)), 1)
          scope.write(cell(numbers, key(`row ${at}`)), at)
        }),
      ),
    )
    assert.equal(await sumOf(backend, 'total'), (RUNS_AT_ONCE * (RUNS_AT_ONCE + 1)) / 2)
    for (let part = 0; part < 4; part++) {
      assert.equal(await sumOf(backend, `part ${part}`), RUNS_AT_ONCE / 4)
    }
  },

  'adds what is negative, nothing, or large, and comes back to zero': async (backend) => {
    const add = (delta: number) => backend.run(blind((scope) => scope.add(total, delta)))
    assert.deepEqual(await get(backend, sums, 'total'), [undefined])
    for (const [delta, sum] of [
      [-3, -3],
      [0, -3],
      [2 ** 40, 2 ** 40 - 3],
      [-(2 ** 40), -3],
      [3, 0],
      [7, 7],
    ] as const) {
      await add(delta)
      assert.equal(await sumOf(backend, 'total'), sum)
    }
  },

  'adds nothing when a body throws': async (backend) => {
    const refusal = new Error('This body always throws.')
    await backend.run(blind((scope) => scope.add(total, 5)))
    const ends = await together(20, (at) =>
      rejection(
        backend.run(
          blind((scope) => {
            scope.add(total, 100)
            if (at % 2) throw refusal
            scope.add(total, -100)
            throw refusal
          }),
        ),
      ),
    )
    assert.ok(ends.every((end) => end === refusal))
    assert.equal(await sumOf(backend, 'total'), 5)
  },

  'refuses to write, remove or read a tally in a transaction': async (backend) => {
    await backend.run(blind((scope) => scope.add(total, 5)))
    await isMisuse(backend, (scope) => scope.write(total, 1))
    await isMisuse(backend, (scope) => scope.remove(total))
    const reading = backend.run(function* (scope) {
      scope.write(cell(words, key('a')), 'never')
      return yield* read(total)
    })
    await refused('BODY_MISUSE', reading)
    assert.deepEqual(await names(backend), [])
    assert.equal(await sumOf(backend, 'total'), 5)
  },

  'refuses to add to rows, and to add what is not a whole number': async (backend) => {
    await backend.run(blind((scope) => scope.add(total, 5)))
    await isMisuse(backend, (scope) => scope.add(cell(numbers, key('row')), 1))
    for (const delta of [0.5, Number.NaN, Infinity, 2 ** 53]) {
      await isMisuse(backend, (scope) => scope.add(total, delta))
    }
  },

  'keeps tallies and rows of one name apart': async (backend) => {
    await put(backend, { total: 'a row' })
    await backend.run(blind((scope) => scope.add(total, 5)))
    assert.deepEqual(await get(backend, words, 'total'), ['a row'])
    assert.equal(await sumOf(backend, 'total'), 5)
  },
} satisfies Record<string, Scenario>
