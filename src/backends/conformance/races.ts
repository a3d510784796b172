/**
 * Scenarios about many transactions at once: whatever happens must be explicable by some order in which
 * they ran one after another. On an engine that does run them so, they cannot fail by chance.
 */

import assert from 'node:assert/strict'

import {
  get,
  increment,
  key,
  numbers,
  others,
  put,
  RUNS_AT_ONCE,
  type Scenario,
  together,
  words,
} from './kit.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../contract.ts'

const left = cell(numbers, key('left'))
const right = cell(numbers, key('right'))

/** Invariant: left and right are always the same. */
function* moveBoth(scope: Scope): Transaction<void> {
  const [current = 0] = yield* read(left)
  scope.write(left, current + 1)
  scope.write(right, current + 1)
}

function* seeInOneAsk(): Transaction<readonly unknown[]> {
  return yield* read(left, right)
}

/** Looks elsewhere between the two, so that there is time for both to change. */
function* lookElsewhere(): Transaction<void> {
  for (const name of ['x', 'y', 'z']) yield* read(cell(words, key(name)), cell(others, key(name)))
}

function* seeOneAfterTheOther(): Transaction<readonly unknown[]> {
  const [second] = yield* read(right)
  yield* lookElsewhere()
  const [first] = yield* read(left)
  return [first, second]
}

function* throwWhenDifferent(): Transaction<void> {
  const [first, second] = yield* seeOneAfterTheOther()
  if (first !== second) throw new Error(`a torn read got out: ${String(first)}, ${String(second)}`)
}

/** Invariant: on call together, at least one. Each body sees both and takes away one. */
function* goOffCall(scope: Scope, round: number, mine: string, theirs: string): Transaction<void> {
  const [me] = yield* read(cell(words, key(`${mine} ${round}`)))
  const [them] = yield* read(cell(words, key(`${theirs} ${round}`)))
  if (me === 'on' && them === 'on') scope.write(cell(words, key(`${mine} ${round}`)), 'off')
}

/** Invariant: the same name in both spaces, or in none. Every other turn takes both away. */
function* comeAndGo(scope: Scope, turn: number): Transaction<void> {
  const [there] = yield* read(cell(words, key('pair')))
  for (const space of [words, others]) {
    if (there === undefined) scope.write(cell(space, key('pair')), String(turn))
    else scope.remove(cell(space, key('pair')))
  }
}

function* seePair(): Transaction<readonly unknown[]> {
  const [one] = yield* read(cell(words, key('pair')))
  yield* lookElsewhere()
  const [other] = yield* read(cell(others, key('pair')))
  return [one, other]
}

async function watch(
  backend: Backend,
  body: () => Transaction<readonly unknown[]>,
  isOver: () => boolean,
): Promise<void> {
  for (let round = 0; !isOver(); round++) {
    const seen = await (round % 2 ? backend.run(body) : backend.read(body))
    assert.equal(seen[0], seen[1])
    await turnsOfTheLoop(round % 3)
  }
}

/** Waiting for another time in every round keeps writers and watchers from falling into step. */
async function turnsOfTheLoop(count: number): Promise<void> {
  for (let turn = 0; turn <= count; turn++) {
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
}

/** Writers take turns while watchers look; everything is over when the last writer is. */
async function whileWatched(
  write: (turn: number) => Promise<unknown>,
  ...watchers: ((isOver: () => boolean) => Promise<void>)[]
): Promise<void> {
  let over = false
  const writing = async () => {
    try {
      for (let turn = 0; turn < 40; turn++) {
        await write(turn)
        await turnsOfTheLoop(turn % 4)
      }
    } finally {
      over = true
    }
  }
  await Promise.all([writing(), ...watchers.map((watcher) => watcher(() => over))])
}

export const raceScenarios = {
  'runs transactions on one cell as if one came after the other': async (backend) => {
    const results = await together(RUNS_AT_ONCE, () => backend.run(increment, 'count'))
    assert.deepEqual(await get(backend, numbers, 'count'), [RUNS_AT_ONCE])
    const expected = Array.from({ length: RUNS_AT_ONCE }, (_, at) => at + 1)
    assert.deepEqual(
      results.toSorted((one, other) => one - other),
      expected,
    )
  },

  'makes write skew impossible': async (backend) => {
    const rounds = 16
    for (let round = 0; round < rounds; round++) {
      await put(backend, { [`ann ${round}`]: 'on', [`bob ${round}`]: 'on' })
    }
    await together(rounds, (round) =>
      Promise.all([
        backend.run(goOffCall, round, 'ann', 'bob'),
        backend.run(goOffCall, round, 'bob', 'ann'),
      ]),
    )
    for (let round = 0; round < rounds; round++) {
      const onCall = await get(backend, words, `ann ${round}`, `bob ${round}`)
      assert.deepEqual(new Set(onCall), new Set(['off', 'on']))
    }
  },

  'reads from one moment': async (backend) => {
    await whileWatched(
      () => backend.run(moveBoth),
      (isOver) => watch(backend, seeInOneAsk, isOver),
      (isOver) => watch(backend, seeOneAfterTheOther, isOver),
    )
  },

  'answers a cell the same way throughout a body': async (backend) => {
    function* twice(): Transaction<readonly unknown[]> {
      const [once] = yield* read(left)
      yield* lookElsewhere()
      const [again] = yield* read(left)
      return [once, again]
    }
    await whileWatched(
      () => backend.run(moveBoth),
      (isOver) => watch(backend, twice, isOver),
    )
  },

  'lets no error out that only a torn read has caused': async (backend) => {
    await whileWatched(
      () => backend.run(moveBoth),
      async (isOver) => {
        for (let round = 0; !isOver(); round++) {
          await (round % 2 ? backend.run(throwWhenDifferent) : backend.read(throwWhenDifferent))
          await turnsOfTheLoop(round % 3)
        }
      },
    )
  },

  'notices a row that was removed and written again': async (backend) => {
    await whileWatched(
      (turn) => backend.run(comeAndGo, turn),
      (isOver) => watch(backend, seePair, isOver),
      (isOver) => watch(backend, seePair, isOver),
    )
  },

  'shares its data with a second backend': async (backend, { reopen }) => {
    const second = await reopen(backend)
    for (const [at, writer] of [backend, second, backend].entries()) {
      await put(writer, { a: String(at) })
      for (const reader of [backend, second]) {
        assert.deepEqual(await get(reader, words, 'a'), [String(at)])
      }
    }
    await together(RUNS_AT_ONCE, (at) => (at % 2 ? backend : second).run(increment, 'count'))
    assert.deepEqual(await get(backend, numbers, 'count'), [RUNS_AT_ONCE])
    await backend.close()
    await backend.close()
    assert.deepEqual(await get(second, numbers, 'count'), [RUNS_AT_ONCE])
    assert.equal(await second.run(increment, 'count'), RUNS_AT_ONCE + 1)
  },
} satisfies Record<string, Scenario>
