/** Scenarios about order: scans of a range, and the first key with a prefix. */

import assert from 'node:assert/strict'

import {
  blind,
  blobs,
  fill,
  key,
  names,
  numbers,
  others,
  put,
  refused,
  type Scenario,
  sums,
  words,
} from './kit.ts'
import {
  type Backend,
  cell,
  first,
  type Range,
  rowsOf,
  type Scope,
  type Transaction,
} from '../contract.ts'

function rowName(at: number): string {
  return `row ${String(at).padStart(5, '0')}`
}

async function fillRows(backend: Backend, count: number): Promise<string[]> {
  const all = Array.from({ length: count }, (_, at) => rowName(at))
  const entries = all.map((name) => [key(name), name] as const)
  await fill(backend, words, entries.toReversed())
  return all
}

function* firstText(_scope: unknown, prefix: string): Transaction<string | undefined> {
  const found = yield* first(words, key(prefix))
  return found?.toString('latin1')
}

/** The answers of `first`, with the body's own writes and removals in between. */
function* firstsAmongOwn(scope: Scope): Transaction<unknown> {
  const seen: unknown[] = [yield* firstText(scope, 'b')]
  scope.write(cell(words, key('ba')), 'own')
  seen.push(yield* firstText(scope, 'b'))
  scope.remove(cell(words, key('ba')))
  scope.remove(cell(words, key('bb')))
  seen.push(yield* firstText(scope, 'b'))
  scope.remove(cell(words, key('bc')))
  scope.write(cell(others, key('b')), 'elsewhere')
  seen.push(yield* firstText(scope, 'b'))
  scope.write(cell(words, key('bz')), 'own')
  seen.push(yield* firstText(scope, 'b'))
  return seen
}

type Limited = Range & { readonly limit: number }

function* rowTexts(_scope: unknown, range: Limited): Transaction<string[]> {
  const found = yield* rowsOf(words, range)
  return found.map((row) => `${row.key.toString('latin1')}=${row.value}`)
}

/** The rows of a range, with the body's own writes and removals in between. */
function* rowsAmongOwn(scope: Scope): Transaction<string[][]> {
  const range = { start: key('b'), end: key('d'), limit: 2 }
  const seen = [yield* rowTexts(scope, range)]
  scope.write(cell(words, key('ba')), 'own')
  scope.write(cell(words, key('a')), 'before')
  scope.write(cell(words, key('d')), 'behind')
  seen.push(yield* rowTexts(scope, range))
  scope.remove(cell(words, key('ba')))
  scope.remove(cell(words, key('bb')))
  scope.write(cell(words, key('bc')), 'changed')
  seen.push(yield* rowTexts(scope, range))
  return seen
}

async function refusesFirst(backend: Backend): Promise<void> {
  const work = backend.run(function* (scope) {
    scope.write(cell(words, key('never')), 'x')
    return yield* firstText(scope, '')
  })
  await refused('BODY_MISUSE', work)
  await refused('BODY_MISUSE', backend.read(firstText, ''))
}

export const scanScenarios = {
  'scans a half-open range in byte order': async (backend) => {
    const sorted = ['\0', '\0\0', 'a', 'a\0', 'aa', 'b', 'c', '\x7f', '\x80', '\xff', '\xff\0']
    for (const name of sorted.toReversed()) await put(backend, { [name]: name })
    assert.deepEqual(await names(backend), sorted)
    const ranges: [Range, string[]][] = [
      [{ start: key('a'), end: key('c') }, ['a', 'a\0', 'aa', 'b']],
      [{ start: key('a\0'), end: key('aa') }, ['a\0']],
      [{ start: key('ab') }, ['b', 'c', '\x7f', '\x80', '\xff', '\xff\0']],
      [{ end: key('a') }, ['\0', '\0\0']],
      [{ start: key('\x80'), end: key('\xff') }, ['\x80']],
      [{ start: key('\xff') }, ['\xff', '\xff\0']],
      [{ start: key(''), end: key('\0\0') }, ['\0']],
    ]
    for (const [range, expected] of ranges) assert.deepEqual(await names(backend, range), expected)
    for await (const row of backend.scan(words)) assert.equal(row.value, row.key.toString('latin1'))
  },

  'scans a space without an order, and tallies, whole': async (backend, means) => {
    const rows = Array.from({ length: means.manyRows }, (_, at) => [key(rowName(at)), at] as const)
    await fill(backend, numbers, rows)
    await backend.run(
      blind((scope) => {
        scope.add(cell(sums, key('a tally')), 7)
        scope.add(cell(sums, key('a tally of a group with sixteen and more')), -2)
      }),
    )
    await backend.run(blind((scope) => scope.add(cell(sums, key('a tally')), 3)))
    const elsewhere = await means.reopen(backend, { namespace: 'elsewhere' })
    await fill(elsewhere, numbers, [[key('elsewhere'), 1]])
    const found = new Map<string, number>()
    for await (const row of backend.scan(numbers)) found.set(row.key.toString('latin1'), row.value)
    assert.deepEqual(
      [...found].toSorted(([one], [other]) => (one < other ? -1 : 1)),
      rows.map(([name, at]) => [String(name), at]),
    )
    const tallied = new Map<string, number>()
    for await (const row of backend.scan(sums)) tallied.set(row.key.toString(), row.value)
    const expected = { 'a tally': 10, 'a tally of a group with sixteen and more': -2 }
    assert.deepEqual(Object.fromEntries(tallied), expected)
    await refused('BODY_MISUSE', names(backend, { start: key('a') }, numbers))
    await refused('BODY_MISUSE', names(backend, { end: key('a') }, sums))
  },

  'scans up to its limit': async (backend) => {
    const all = await fillRows(backend, 10)
    for (const limit of [0, 1, 3, 10, 11]) {
      assert.deepEqual(await names(backend, { limit }), all.slice(0, limit))
    }
    const part = { start: key(rowName(2)), end: key(rowName(5)) }
    assert.deepEqual(await names(backend, { ...part, limit: 2 }), all.slice(2, 4))
    assert.deepEqual(await names(backend, { ...part, limit: 20 }), all.slice(2, 5))
  },

  'scans more rows than any page holds': async (backend, { manyRows }) => {
    const all = await fillRows(backend, manyRows)
    assert.deepEqual(await names(backend), all)
    for (const limit of [manyRows - 1, Math.floor(manyRows / 2)]) {
      assert.deepEqual(await names(backend, { limit }), all.slice(0, limit))
    }
    const from = { start: key(rowName(1)), end: key(rowName(manyRows - 1)) }
    assert.deepEqual(await names(backend, from), all.slice(1, -1))
  },

  'finds nothing in an empty range': async (backend) => {
    assert.deepEqual(await names(backend), [])
    await put(backend, { a: 'A', b: 'B' })
    for (const [start, end] of [
      ['b', 'a'],
      ['a', 'a'],
      ['', ''],
      ['a\0', 'b'],
      ['c', undefined],
      [undefined, 'a'],
    ] as const) {
      const range = { start: start?.length === undefined ? undefined : key(start) }
      const found = await names(backend, { ...range, end: end === undefined ? end : key(end) })
      assert.deepEqual(found, [], `from ${String(start)} to ${String(end)}`)
    }
  },

  'takes bounds that are longer than any key': async (backend) => {
    const { keyBytesMax } = backend.limits
    const longest = 'k'.repeat(keyBytesMax)
    await put(backend, { a: 'A', [longest]: 'K', z: 'Z' })
    for (const more of [1, 10_000]) {
      const bound = key('k'.repeat(keyBytesMax + more))
      assert.deepEqual(await names(backend, { start: bound }), ['z'])
      assert.deepEqual(await names(backend, { end: bound }), ['a', longest])
      assert.deepEqual(await names(backend, { start: key('b'), end: bound }), [longest])
    }
  },

  'scans on behind the longest keys': async (backend, { manyRows }) => {
    const { keyBytesMax } = backend.limits
    const all = Array.from({ length: manyRows }, (_, at) => rowName(at).padEnd(keyBytesMax, '~'))
    await fill(
      backend,
      words,
      all.map((name) => [key(name), ''] as const),
    )
    assert.deepEqual(await names(backend), all)
  },

  'scans on while rows come and go': async (backend) => {
    const all = await fillRows(backend, 40)
    const found: string[] = []
    for await (const row of backend.scan(words)) {
      const at = found.push(row.key.toString('latin1')) - 1
      if (at % 4 === 0) await backend.run(blind((scope) => scope.remove(cell(words, row.key))))
      if (at % 4 === 1) await put(backend, { [`${rowName(at)} new`]: 'x', '!': 'x', '~': 'x' })
      assert.ok(found.length < 100, 'the scan does not end')
    }
    assert.deepEqual(found, [...new Set(found)].toSorted())
    assert.deepEqual(
      found.filter((name) => all.includes(name)),
      all,
    )
  },

  'scans on whatever is done to the rows it gave': async (backend, { manyRows }) => {
    const all = await fillRows(backend, manyRows)
    const found: string[] = []
    for await (const row of backend.scan(words)) {
      found.push(row.key.toString('latin1'))
      row.key.fill(0xff)
      assert.ok(found.length <= manyRows, 'the scan does not end')
    }
    assert.deepEqual(found, all)
  },

  'lets scans run side by side, and lets go of one that is left': async (backend) => {
    const all = await fillRows(backend, 12)
    for await (const row of backend.scan(words)) {
      assert.equal(row.key.toString('latin1'), all[0])
      break
    }
    const both = await Promise.all([names(backend), names(backend, { start: key(rowName(4)) })])
    assert.deepEqual(both, [all, all.slice(4)])
    for await (const row of backend.scan(words, { limit: 3 })) {
      assert.deepEqual(await names(backend, { start: row.key, limit: 1 }), [
        row.key.toString('latin1'),
      ])
    }
    await backend.close()
  },

  'finds the first key with a prefix, or refuses to': async (backend) => {
    await put(backend, { a: 'A', bb: 'B', bc: 'B', '\xff\xff': 'F' })
    if (!backend.serial) return refusesFirst(backend)
    const expected = { '': 'a', a: 'a', b: 'bb', bb: 'bb', bd: undefined, '\xff': '\xff\xff' }
    for (const [prefix, name] of Object.entries(expected)) {
      assert.equal(await backend.run(firstText, prefix), name)
      assert.equal(await backend.read(firstText, prefix), name)
    }
    const seen = await backend.run(firstsAmongOwn)
    assert.deepEqual(seen, ['bb', 'ba', 'bc', undefined, 'bz'])
    assert.deepEqual(await names(backend), ['a', 'bz', '\xff\xff'])
  },

  'finds the first key behind many that the body has removed': async (backend, { manyRows }) => {
    if (!backend.serial) return refusesFirst(backend)
    const all = await fillRows(backend, Math.min(manyRows, 600))
    const found = await backend.run(function* (scope) {
      for (const name of all.slice(0, -1)) scope.remove(cell(words, key(name)))
      return yield* firstText(scope, 'row')
    })
    assert.equal(found, all.at(-1))
  },

  'lists the rows of a range to a body, or refuses to': async (backend) => {
    await put(backend, { a: 'A', bb: 'B', bc: 'C', c: 'D', d: 'E' })
    if (!backend.serial) {
      return refused('BODY_MISUSE', backend.read(rowTexts, { limit: 2 }))
    }
    const expected: [Limited, string[]][] = [
      [{ limit: 2 }, ['a=A', 'bb=B']],
      [{ start: key('b'), end: key('c'), limit: 9 }, ['bb=B', 'bc=C']],
      [{ start: key('bb\0'), limit: 1 }, ['bc=C']],
      [{ start: key('e'), limit: 9 }, []],
    ]
    for (const [range, texts] of expected) {
      assert.deepEqual(await backend.run(rowTexts, range), texts)
      assert.deepEqual(await backend.read(rowTexts, range), texts)
    }
    assert.deepEqual(await backend.run(rowsAmongOwn), [
      ['bb=B', 'bc=C'],
      ['ba=own', 'bb=B'],
      ['bc=changed', 'c=D'],
    ])
  },

  'refuses to find the first key of a space without order': async (backend) => {
    const work = backend.run(function* () {
      return yield* first(numbers, key('a'))
    })
    await refused('BODY_MISUSE', work)
    const listing = backend.run(function* () {
      return yield* rowsOf(numbers, { limit: 1 })
    })
    await refused('BODY_MISUSE', listing)
  },

  'scans only the space it is asked to': async (backend) => {
    await put(backend, { a: 'word' })
    await put(backend, { b: 'other' }, others)
    await fill(backend, blobs, [[key('c'), key('blob')]])
    assert.deepEqual(await names(backend), ['a'])
    assert.deepEqual(await names(backend, {}, others), ['b'])
    assert.deepEqual(await names(backend, {}, blobs), ['c'])
  },
} satisfies Record<string, Scenario>
