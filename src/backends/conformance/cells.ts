/** Scenarios about single cells: what is asked, what is answered, whose bytes they are, and limits. */

import assert from 'node:assert/strict'

import { endOfPrefix } from '../../platform/bytes.ts'
import {
  blind,
  blobs,
  fill,
  fragile,
  get,
  key,
  names,
  numbers,
  put,
  refused,
  rejection,
  type Scenario,
  sums,
  words,
} from './kit.ts'
import { type Backend, cell, read, type Scope, type Transaction } from '../contract.ts'

function* echo<T>(scope: Scope, given: T): Transaction<{ given: T; serial: boolean }> {
  yield* read()
  return { given, serial: scope.serial }
}

async function blobAt(backend: Backend, name: string): Promise<Buffer> {
  const [value] = await get(backend, blobs, name)
  assert.ok(value, `${name} is missing`)
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

async function refusesAndWritesNothing(
  backend: Backend,
  code: 'INVALID_KEY' | 'INVALID_VALUE' | 'BODY_MISUSE',
  record: (scope: Scope) => void,
): Promise<void> {
  const work = blind((scope) => {
    scope.write(cell(words, key('before')), 'never')
    scope.add(cell(sums, key('before')), 1)
    record(scope)
    scope.write(cell(words, key('after')), 'never')
  })
  await refused(code, backend.run(work))
  assert.deepEqual(await get(backend, words, 'before', 'after'), [undefined, undefined])
  assert.equal((await get(backend, sums, 'before'))[0] ?? 0, 0)
}

export const cellScenarios = {
  'answers a miss with undefined, in place': async (backend) => {
    await put(backend, { b: 'B' })
    assert.deepEqual(await get(backend, words, 'a', 'b', 'c'), [undefined, 'B', undefined])
    const inside = await backend.run(function* () {
      return yield* read(cell(words, key('a')), cell(words, key('b')), cell(words, key('c')))
    })
    assert.deepEqual(inside, [undefined, 'B', undefined])
  },

  'answers in the order of the cells asked for': async (backend) => {
    await put(backend, { a: 'A', b: 'B', c: 'C' })
    await backend.run(blind((scope) => scope.write(cell(numbers, key('b')), 2)))
    function* mixed(): Transaction<unknown> {
      const [c, two, a, b] = yield* read(
        cell(words, key('c')),
        cell(numbers, key('b')),
        cell(words, key('a')),
        cell(words, key('b')),
      )
      return [c, two, a, b]
    }
    assert.deepEqual(await backend.read(mixed), ['C', 2, 'A', 'B'])
    assert.deepEqual(await backend.run(mixed), ['C', 2, 'A', 'B'])
  },

  'answers a cell as often as it is asked for': async (backend) => {
    await put(backend, { a: 'A' })
    assert.deepEqual(await get(backend, words, 'a', 'x', 'a', 'a'), ['A', undefined, 'A', 'A'])
    assert.deepEqual(await get(backend, words), [])
  },

  'passes its arguments to a body and returns what the body returns': async (backend) => {
    const given = { list: [1, 'two', undefined] }
    const returned = await backend.run(echo, given)
    assert.equal(returned.given, given)
    assert.equal(returned.serial, backend.serial)
    assert.equal(await backend.run(blind(() => undefined)), undefined)
  },

  'gives a body that only reads nothing to write with': async (backend) => {
    const found = await backend.read(function* (scope) {
      yield* read()
      return ['write', 'remove', 'add', 'id'].filter((verb) => verb in scope)
    })
    assert.deepEqual(found, [])
  },

  'keeps an empty value apart from a miss': async (backend) => {
    await put(backend, { empty: '' })
    assert.deepEqual(await get(backend, words, 'empty', 'missing'), ['', undefined])
    assert.deepEqual(await names(backend), ['empty'])
    const own = await backend.run(function* (scope) {
      scope.write(cell(words, key('own')), '')
      return yield* read(cell(words, key('own')))
    })
    assert.deepEqual(own, [''])
  },

  'keeps every byte, in keys and in values': async (backend) => {
    const all = Array.from({ length: 256 }, (_, byte) => Buffer.of(byte))
    const entries = all.map((one) => [one, Buffer.concat([one, Buffer.of(0, 255), one])] as const)
    await fill(backend, blobs, entries.toReversed())
    const found: unknown[] = []
    for await (const row of backend.scan(blobs)) found.push([row.key, Buffer.from(row.value)])
    assert.deepEqual(found, entries)
    for (const byte of [0x00, 0x0a, 0x2f, 0x7f, 0x80, 0xfe, 0xff]) {
      const value = await blobAt(backend, String.fromCharCode(byte))
      assert.deepEqual(value, Buffer.of(byte, 0, 255, byte))
    }
  },

  'hands out bytes that are the caller’s own': async (backend) => {
    await fill(backend, blobs, [[key('a'), key('kept')]])
    const [one, twin] = await get(backend, blobs, 'a', 'a')
    one?.fill(0)
    assert.deepEqual(twin && Buffer.from(twin), key('kept'))
    const seen = await backend.run(function* (scope) {
      scope.write(cell(blobs, key('own')), key('mine'))
      const cells = [cell(blobs, key('a')), cell(blobs, key('own'))]
      for (const bytes of yield* read(...cells)) bytes?.fill(0)
      const again = yield* read(...cells)
      return again.map((bytes) => bytes && Buffer.from(bytes).toString('latin1'))
    })
    assert.deepEqual(seen, ['kept', 'mine'])
    assert.deepEqual(await blobAt(backend, 'own'), key('mine'))
    for await (const row of backend.scan(blobs)) {
      row.key.fill(0)
      row.value.fill(0)
    }
    assert.deepEqual(await blobAt(backend, 'a'), key('kept'))
    const kept = await blobAt(backend, 'a')
    await fill(backend, blobs, [[key('a'), key('then')]])
    assert.deepEqual(await blobAt(backend, 'a'), key('then'))
    assert.deepEqual(kept, key('kept'))
  },

  'keeps no hold of the bytes it took in': async (backend) => {
    const [name, value] = [key('a'), key('kept')]
    await fill(backend, blobs, [[name, value]])
    name.fill(0x7a)
    value.fill(0)
    await put(backend, { later: 'transactions do not look at it again' })
    assert.deepEqual(await blobAt(backend, 'a'), key('kept'))
    assert.deepEqual(await names(backend, {}, blobs), ['a'])
  },

  'takes keys up to its limit, and refuses longer ones by name': async (backend) => {
    const longest = 'k'.repeat(backend.limits.keyBytesMax)
    await put(backend, { k: 'short', [longest]: 'long' })
    await backend.run(blind((scope) => scope.add(cell(sums, key(longest)), 1)))
    assert.deepEqual(await get(backend, words, 'k', longest), ['short', 'long'])
    assert.deepEqual(await get(backend, sums, longest), [1])
    assert.deepEqual(await names(backend), ['k', longest])
    assert.deepEqual(await names(backend, { start: key(longest) }), [longest])
    assert.deepEqual(await names(backend, { end: endOfPrefix(key(longest)) }), ['k', longest])
    const longer = key(`${longest}k`)
    await refusesAndWritesNothing(backend, 'INVALID_KEY', (scope) =>
      scope.write(cell(words, longer), 'never'),
    )
    await refusesAndWritesNothing(backend, 'INVALID_KEY', (scope) =>
      scope.add(cell(sums, longer), 1),
    )
    await backend.run(blind((scope) => scope.remove(cell(words, key(longest)))))
    assert.deepEqual(await names(backend), ['k'])
  },

  'answers a key too long to be kept with a miss': async (backend) => {
    for (const more of [1, 10_000]) {
      const name = 'k'.repeat(backend.limits.keyBytesMax + more)
      assert.deepEqual(await get(backend, words, name), [undefined])
      const inside = await backend.run(function* () {
        return yield* read(cell(words, key(name)))
      })
      assert.deepEqual(inside, [undefined])
    }
  },

  'takes values up to its limit, and refuses larger ones by name': async (backend) => {
    const { valueBytesMax } = backend.limits
    const largest = Buffer.alloc(valueBytesMax, 7)
    await fill(backend, blobs, [[key('a'), largest]])
    assert.ok((await blobAt(backend, 'a')).equals(largest))
    for await (const { value } of backend.scan(blobs)) assert.ok(largest.equals(value))
    await refusesAndWritesNothing(backend, 'INVALID_VALUE', (scope) =>
      scope.write(cell(blobs, key('b')), Buffer.alloc(valueBytesMax + 1)),
    )
    assert.deepEqual(await names(backend, {}, blobs), ['a'])
  },

  'refuses a transaction of more cells than its limit': async (backend) => {
    const { cellsMax } = backend.limits
    const tooMany = cellsMax - 1 // and the two of every refused transaction
    await refusesAndWritesNothing(backend, 'BODY_MISUSE', (scope) => {
      for (let at = 0; at < tooMany; at++) scope.write(cell(words, key(`cell ${at}`)), 'never')
    })
    assert.deepEqual(await names(backend), [])
  },

  'lets the error of a codec out, and never turns it into a miss': async (backend) => {
    const at = cell(fragile, key('a'))
    await backend.run(blind((scope) => scope.write(at, 'unreadable')))
    function* reading(): Transaction<unknown> {
      return yield* read(at)
    }
    assert.ok((await rejection(backend.read(reading))) instanceof RangeError)
    assert.ok((await rejection(backend.run(reading))) instanceof RangeError)
    const writing = blind((scope) => scope.write(at, 'unwritable'))
    assert.ok((await rejection(backend.run(writing))) instanceof RangeError)
    await backend.run(blind((scope) => scope.write(at, 'fine')))
    assert.deepEqual(await backend.read(reading), ['fine'])
  },
} satisfies Record<string, Scenario>
