/** Engines whose transactions take few rows: what a document writes must fit, however long it is. */

import { describe, expect, it } from 'vitest'

import { textMaker } from '../../test/corpus-kit.ts'
import { SimulatedWorld } from '../backends/simulated/backend.ts'
import { openDedupe } from './open.ts'

describe('a long document with passages', () => {
  it('fits a transaction of a hundred rows, and copies of its beginning are found', async () => {
    const world = new SimulatedWorld(1)
    world.limits = { ...world.limits, valueBytesMax: 384 * 1024 }
    const deduper = await openDedupe(world.open('worker'), {
      chunks: { enabled: true },
      simhash: { enabled: true },
    })
    const long = textMaker(3)(20_000)
    expect(await deduper.decide({ id: 'long', text: long })).toMatchObject({ action: 'keep' })
    const other = `${long.slice(0, 12_000)} ${textMaker(4)(1500)}`
    const found = await deduper.decide({ id: 'other', text: other })
    expect(found).toMatchObject({ action: 'link', method: 'chunk', of: { id: 'long' } })
    expect(await deduper.decide({ id: 'copy', text: long })).toMatchObject({ action: 'drop' })
    await deduper.close()
  })
})
