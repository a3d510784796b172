import { describe, expect, it } from 'vitest'

import { prometheusSink } from '../../telemetry/index.ts'
import { eventIn } from './event.ts'
import { keyOf, pathOf, shownKey } from './keys.ts'
import { routeTimes } from './metrics.ts'

describe('a key in a path', () => {
  it.each(['a/b c', 'ключ', '100%', '<b>&"', ''])('%j comes back as it was', (key) => {
    expect(keyOf(pathOf(key))).toBe(key)
    expect(pathOf(key)).not.toContain('/')
  })

  it('may be bytes that are no text', () => {
    const key = { base64: Buffer.of(0xff, 0x00, 0x2f).toString('base64') }
    expect(pathOf(key)).toBe('%ff%00%2f')
    expect(keyOf('%ff%00%2f')).toEqual(key)
    expect(shownKey(key)).toBe('0xff002f')
  })
})

describe('a block of an event stream', () => {
  it('has a name and data of any number of lines', () => {
    expect(eventIn('id: 7\nevent: progress\ndata: {"a":\ndata: 1}')).toEqual({
      event: 'progress',
      data: '{"a":\n1}',
    })
    expect(eventIn('data:x')).toEqual({ event: 'message', data: 'x' })
  })

  it('that is a comment is no event', () => {
    expect(eventIn(': still there')).toBeUndefined()
  })
})

describe('times of routes', () => {
  it('are read from what the server measures, those of the API alone', () => {
    const sink = prometheusSink({ buckets: { 'prestige.http.request_duration_ms': [1, 10, 100] } })
    const measure = (path: string, ms: number) =>
      sink.histogram('prestige.http.request_duration_ms', ms, { method: 'GET', path })
    for (let at = 0; at < 98; at++) measure('/api/v1/kv/{key}', 5)
    measure('/api/v1/kv/{key}', 50)
    measure('/api/v1/kv/{key}', 50)
    measure('/api/v1/kv', 0.5)
    measure('/metrics', 1)
    const [first, second, ...more] = routeTimes(sink.render())
    expect(first).toMatchObject({ route: 'GET kv/{key}', calls: 100 })
    expect(first?.p50Ms).toBeGreaterThan(1)
    expect(first?.p50Ms).toBeLessThan(10)
    expect(first?.p99Ms).toBeGreaterThan(10)
    expect(second).toMatchObject({ route: 'GET kv', calls: 1 })
    expect(more).toEqual([])
  })
})
