import { setTimeout as sleep } from 'node:timers/promises'

import { describe, expect, it } from 'vitest'

import { ahead } from './ahead.ts'

async function* numbers(count: number): AsyncGenerator<number> {
  for (let number = 0; number < count; number++) yield number
}

async function peakOf(bounds: { itemsMax: number; weightMax: number; weight: number }) {
  let underWay = 0
  let peak = 0
  const results: number[] = []
  const { itemsMax, weightMax, weight } = bounds
  const work = ahead(numbers(40), { itemsMax, weightMax, weigh: () => weight }, async (number) => {
    underWay++
    peak = Math.max(peak, underWay)
    await sleep(number % 3)
    underWay--
    return number
  })
  for await (const result of work) results.push(result)
  return { peak, results }
}

describe('work done ahead', () => {
  it('is handed out in order, whichever ends first', async () => {
    const { results } = await peakOf({ itemsMax: 8, weightMax: 100, weight: 1 })
    expect(results).toEqual(Array.from({ length: 40 }, (_, number) => number))
  })

  it('is bounded in number', async () => {
    const { peak } = await peakOf({ itemsMax: 5, weightMax: 100, weight: 1 })
    expect(peak).toBe(5)
  })

  it('is bounded in weight, and what is too heavy goes alone', async () => {
    expect((await peakOf({ itemsMax: 50, weightMax: 30, weight: 10 })).peak).toBe(4)
    expect((await peakOf({ itemsMax: 50, weightMax: 30, weight: 100 })).peak).toBe(1)
  })
})
