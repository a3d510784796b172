import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { checkedTimeout, RequestSpan } from './request-span.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const after = (ms: number) => () =>
  new Promise<string>((resolve) => {
    setTimeout(() => resolve('answer'), ms)
  })

describe('the time a request may take', () => {
  it('is one span, however often its sender comes back with it', async () => {
    const span = new RequestSpan('The server', 1000)
    const request = {}
    const first = span.within(request, () => Promise.reject(new Error('busy')))
    await expect(first).rejects.toThrow('busy')
    await vi.advanceTimersByTimeAsync(600)
    const second = expect(span.within(request, after(500))).rejects.toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      retryable: true,
    })
    await vi.advanceTimersByTimeAsync(400)
    await second
    await expect(span.within(request, async () => 'answer')).rejects.toThrow('1000 ms')
    expect(vi.getTimerCount()).toBe(1) // of the answer that nobody waits for
  })

  it('is each request’s own', async () => {
    const span = new RequestSpan('The server', 1000)
    const one = span.within({}, after(900))
    await vi.advanceTimersByTimeAsync(900)
    const other = span.within({}, after(900))
    await vi.advanceTimersByTimeAsync(900)
    expect(await Promise.all([one, other])).toEqual(['answer', 'answer'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([0, 99, 600_001, 1.5, Number.NaN])('is refused by name: %d', (timeoutMs) => {
    expect(() => checkedTimeout(timeoutMs)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTIONS' }),
    )
  })
})
