import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { openStore } from '../index.ts'
import { canonicalProfile } from '../canonical/index.ts'
import { jsonText, type JsonValue } from './value-text.ts'

const raw = (value: unknown) => value as JsonValue

describe('JSON values', () => {
  it('come back as they were put, and equal ones are one content', async () => {
    await using store = await openStore('memory:')
    interface Page {
      readonly title: string
      readonly tags: readonly string[]
    }
    await store.putJson('a', { title: 'Über', tags: ['x'], n: { b: 1, a: -0 } })
    const second = await store.putJson('b', { n: { a: 0, b: 1 }, tags: ['x'], title: 'Über' })
    expect(second.content).toBe('duplicate')
    expect(await store.getJson<Page>('b')).toEqual({
      n: { a: 0, b: 1 },
      tags: ['x'],
      title: 'Über',
    })
    expect(await store.getText('a')).toBe('{"n":{"a":0,"b":1},"tags":["x"],"title":"Über"}')
    expect(await store.getJson('missing')).toBeUndefined()
    await store.putJson('null', null)
    expect(await store.getJson('null')).toBeNull()
    expect((await store.putJson('null', 1, { ttlMs: 5 })).expiresAt).toBeGreaterThan(0)
  })

  it('are written as the json profile writes them, and read as JSON.parse reads them', () => {
    const profile = canonicalProfile('json')
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = jsonText(raw(value))
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        const form = Buffer.from(profile.canonicalise(Buffer.from(JSON.stringify(value))))
        expect(text).toBe(form.toString())
      }),
    )
  })

  const cycle: Record<string, unknown> = { deep: [{}] }
  ;(cycle['deep'] as unknown[]).push(cycle)
  let nested: unknown = 1
  for (let depth = 0; depth < 2000; depth++) nested = [nested]
  it.each<[string, unknown]>([
    ['$ is undefined', undefined],
    ['$.a is undefined', { a: undefined }],
    ['$.list[1] is undefined', { list: Object.assign([1], { 2: 3 }) }],
    ['$.f is a function', { f() {} }],
    ['$[0] is a bigint', [1n]],
    ['$.a["b c"] is NaN', { a: { 'b c': NaN } }],
    ['$ is -Infinity', -Infinity],
    ['$ is a Date, not a plain object', new Date(0)],
    ['$.m is a Map, not a plain object', { m: new Map() }],
    ['$.deep[1] contains itself', cycle],
    ['is nested deeper than 1000', nested],
    ['$.s holds a lone surrogate', { s: '\ud800' }],
  ])('refuse what JSON cannot say: %s', async (message, value) => {
    await using store = await openStore('memory:')
    await expect(store.putJson('k', raw(value))).rejects.toMatchObject({
      code: 'INVALID_VALUE',
      message: expect.stringContaining(message) as string,
    })
    expect(await store.has('k')).toBe(false)
  })

  it('that occur twice are no cycle, and a member called __proto__ is one like any other', async () => {
    await using store = await openStore('memory:')
    const shared = { a: 1 }
    await store.putJson('twice', [shared, shared, { shared }])
    expect(await store.getJson('twice')).toEqual([shared, shared, { shared }])
    await store.putJson('odd', raw(JSON.parse('{"__proto__":{"a":1}}')))
    expect(await store.getText('odd')).toBe('{"__proto__":{"a":1}}')
  })

  it('are refused by name where bytes are no JSON, or no text', async () => {
    await using store = await openStore('memory:')
    await store.put('text', 'no JSON')
    await store.put('bytes', Buffer.of(0xff))
    for (const key of ['text', 'bytes']) {
      await expect(store.getJson(key)).rejects.toMatchObject({ code: 'UNREADABLE_VALUE' })
    }
  })
})
