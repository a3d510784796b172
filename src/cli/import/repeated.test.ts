import { describe, expect, it } from 'vitest'

import type { Receipt } from '../../index.ts'
import { RepeatedContents } from './repeated.ts'

function duplicate(contentId: string, storedAt: number): Receipt {
  const of = { content: contentId, firstKey: Buffer.from(`first ${contentId}`), storedAt }
  return {
    key: 'created',
    content: 'duplicate',
    contentId,
    of,
    method: 'digest',
    bytes: 5,
    bytesSaved: 5,
  }
}

describe('contents repeated most', () => {
  it('count the first file only where it belongs to this import', () => {
    const repeated = new RepeatedContents(1000)
    repeated.add(duplicate('during', 1000))
    repeated.add(duplicate('before', 999))
    repeated.add(duplicate('before', 999))
    repeated.add(duplicate('once', 999))
    const firstKey = (id: string) => Buffer.from(`first ${id}`)
    expect(repeated.top(10)).toEqual([
      { firstKey: firstKey('before'), times: 2, bytes: 5, bytesSaved: 10 },
      { firstKey: firstKey('during'), times: 2, bytes: 5, bytesSaved: 5 },
    ])
    expect(repeated.isExact).toBe(true)
  })

  it('stay in memory however many there are, and say when the numbers are lower bounds', () => {
    const repeated = new RepeatedContents(0, 10)
    for (let round = 0; round < 50; round++) repeated.add(duplicate('often', 1))
    for (let id = 0; id < 1000; id++) repeated.add(duplicate(`seldom ${id}`, 1))
    expect(repeated.top(1)).toMatchObject([{ firstKey: Buffer.from('first often'), times: 51 }])
    expect(repeated.top(100).length).toBeLessThanOrEqual(10)
    expect(repeated.isExact).toBe(false)
  })
})
